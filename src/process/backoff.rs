//! Exponential back-off of a thread that polls for the progress of another thread or process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Duration of the first phase of a wait, in which the polling thread yields its core between polls. Afterwards it
/// sleeps.
const AWAKE: Duration = Duration::from_micros(100);
/// Minimum and maximum time for which a polling thread sleeps between polls.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// Duration of a yield above which another busy thread has probably used the core, because such a thread runs for a
/// whole time slice.
const SLICE: Duration = Duration::from_micros(200);
/// Time for which the cores count as shared after a yield that exceeded [`SLICE`].
const SHARED: Duration = Duration::from_millis(100);

/// Exponential back-off. It first yields the core, because most waits are short. Then it sleeps for increasing times,
/// so that the core is free for threads that compute. If other threads keep the cores busy, it sleeps at once, because
/// the scheduler runs a thread that wakes from sleep sooner than a thread that yields.
#[derive(Default)]
pub struct Backoff {
    since: Option<Instant>,
}

impl Backoff {
    /// Returns the time to sleep now: a tenth of the time waited so far, between 20 µs and 1 ms. In the first phase of
    /// a wait it yields the core instead and returns `None`.
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

    /// Performs one step of the back-off: yields or sleeps.
    pub fn take(&mut self) {
        if let Some(nap) = self.nap() {
            std::thread::sleep(nap);
        }
    }

    /// Restarts the back-off after progress, so that the next step yields the core.
    pub fn reset(&mut self) {
        self.since = None;
    }
}

/// Returns true if, within the last 0.1 s, a thread of this process found its core in use by another busy thread.
pub fn cores_are_shared() -> bool {
    // Callers poll this often, so read the clock only if the cores were ever shared.
    CORES.were_shared() && CORES.are_shared(Instant::now())
}

/// Records whether other busy threads use the cores of this process.
static CORES: Cores = Cores(AtomicU64::new(0));

/// Time until which the cores count as shared, as returned by [`micros`]; 0 if they never were.
struct Cores(AtomicU64);

impl Cores {
    /// Records that a thread yielded its core at `offered` and ran again at `back`.
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

/// Converts a time to microseconds since the first call of this function.
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
