//! Back-off of a thread that polls for what another thread or process does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time for which the core is offered to others before a thread sleeps.
const AWAKE: Duration = Duration::from_micros(100);
/// Least and most sleep.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// A thread that offers its core and has it back no sooner shares it with a busy one, which then runs for a whole time slice.
const SLICE: Duration = Duration::from_micros(200);
/// Time for which cores count as shared after that.
const SHARED: Duration = Duration::from_millis(100);

/// Exponential back-off: offers the core for a moment, as most answers come at once, then sleeps longer and longer, so that it is free for those that
/// compute. On cores that others keep busy it sleeps at once: whoever sleeps is run again as soon as it wakes, and whoever offers its core is not.
#[derive(Default)]
pub struct Backoff {
    since: Option<Instant>,
}

impl Backoff {
    /// Returns the time to sleep now: a tenth of the time waited so far, between 20 µs and 1 ms; `None` at first, after offering the core.
    pub fn nap(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let waited = now - *self.since.get_or_insert(now);
        if waited > AWAKE || cores_are_shared() {
            return Some((waited / 10).clamp(NAPS[0], NAPS[1]));
        }
        std::thread::yield_now();
        CORES.came_back(now, Instant::now());
        None
    }

    /// Waits for a moment.
    pub fn take(&mut self) {
        if let Some(nap) = self.nap() {
            std::thread::sleep(nap);
        }
    }

    /// Restarts the back-off after some progress.
    pub fn reset(&mut self) {
        self.since = None;
    }
}

/// Returns true if a thread of this process lately found that others keep its core busy.
pub fn cores_are_shared() -> bool {
    // Who asks in each round looks at the clock only once it was so.
    CORES.were_shared() && CORES.are_shared(Instant::now())
}

/// The cores of this process, as its threads found them.
static CORES: Cores = Cores(AtomicU64::new(0));

/// The end of the time for which cores count as shared, by [`micros`].
struct Cores(AtomicU64);

impl Cores {
    /// Notes how long it took until a thread had its core back.
    fn came_back(&self, offered: Instant, back: Instant) {
        if back - offered > SLICE {
            self.0.store(micros(back + SHARED), Relaxed);
        }
    }

    fn were_shared(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    fn are_shared(&self, now: Instant) -> bool {
        micros(now) < self.0.load(Relaxed)
    }
}

/// Returns a time in microseconds since the first call.
fn micros(time: Instant) -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    time.saturating_duration_since(*FIRST.get_or_init(Instant::now)).as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_begin_anew_after_progress() {
        let mut backoff = Backoff::default();
        let begun = Instant::now();
        let first = std::iter::from_fn(|| Some(backoff.nap())).find_map(|nap| nap);
        assert!(first >= Some(NAPS[0]));
        backoff.since = Some(begun.checked_sub(Duration::from_secs(1)).unwrap());
        assert_eq!(backoff.nap(), Some(NAPS[1]));
        backoff.reset();
        assert!(backoff.nap().is_none_or(|nap| nap == NAPS[0]));
    }

    #[test]
    fn a_core_that_is_shared_counts_as_such_for_a_while() {
        let (cores, now) = (Cores(AtomicU64::new(0)), Instant::now());
        assert!(!cores.were_shared() && !cores.are_shared(now));
        cores.came_back(now, now + SLICE);
        assert!(!cores.are_shared(now + SLICE));
        cores.came_back(now, now + 2 * SLICE);
        assert!(cores.are_shared(now + SHARED) && !cores.are_shared(now + 3 * SLICE + SHARED));
    }
}
