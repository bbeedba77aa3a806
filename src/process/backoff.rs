//! Exponential back-off of a thread that polls for the progress of another thread or process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time for which a polling thread yields its core before it begins to sleep.
const AWAKE: Duration = Duration::from_micros(100);
/// Shortest and longest sleep of a polling thread.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// Longest time until a thread that yields its core runs again, if no other busy thread uses the core. Another busy
/// thread would run for a whole time slice, which is longer.
const SLICE: Duration = Duration::from_micros(200);
/// Time for which the cores count as shared after a thread found its core in use by another thread.
const SHARED: Duration = Duration::from_millis(100);

/// Exponential back-off. It yields the core at first, because most answers come at once. Then it sleeps longer and
/// longer, so that the core is free for threads that compute. On cores that other threads keep busy it sleeps at once,
/// because a sleeping thread runs again as soon as it wakes, and a yielding thread does not.
#[derive(Default)]
pub struct Backoff {
    since: Option<Instant>,
}

impl Backoff {
    /// Returns the time to sleep now: a tenth of the time waited so far, between 20 µs and 1 ms. At first it yields the
    /// core instead and returns `None`.
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

    /// Does one step of the back-off: yields or sleeps.
    pub fn take(&mut self) {
        if let Some(nap) = self.nap() {
            std::thread::sleep(nap);
        }
    }

    /// Restarts the back-off after progress, so that the next step yields.
    pub fn reset(&mut self) {
        self.since = None;
    }
}

/// Whether a thread of this process found, within the last 0.1 s, its core in use by another thread.
pub fn cores_are_shared() -> bool {
    // Callers ask in every round, so read the clock only if cores were ever shared.
    CORES.were_shared() && CORES.are_shared(Instant::now())
}

/// Whether this process's cores count as shared.
static CORES: Cores = Cores(AtomicU64::new(0));

/// Time until which the cores count as shared, in microseconds as [`micros`] counts them.
struct Cores(AtomicU64);

impl Cores {
    /// Records that a thread yielded its core at `offered` and got it back at `back`.
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

/// Converts a time to microseconds since this function's first call.
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
