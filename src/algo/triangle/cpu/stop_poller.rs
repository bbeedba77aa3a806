//! Checks from time to time whether a count must stop.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Counter of a thread's steps that calls `stop` after some millions of steps, which take a few milliseconds.
pub struct StopPoller<'a> {
    work: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: &'a AtomicBool,
}

impl<'a> StopPoller<'a> {
    const STEPS: usize = 1 << 23;

    /// Starts the counter of a thread. `stopped` is set once `stop` has returned true on any thread.
    pub fn new(stop: &'a (dyn Fn() -> bool + Sync), stopped: &'a AtomicBool) -> StopPoller<'a> {
        StopPoller { work: 0, stop, stopped }
    }

    /// Counts `steps` steps. Returns `None` if the work must stop.
    #[inline]
    pub fn advance(&mut self, steps: usize) -> Option<()> {
        self.work += steps;
        if self.work >= Self::STEPS { self.poll() } else { Some(()) }
    }

    #[cold]
    fn poll(&mut self) -> Option<()> {
        self.work = 0;
        if (self.stop)() {
            self.stopped.store(true, Relaxed);
        }
        (!self.stopped.load(Relaxed)).then_some(())
    }
}
