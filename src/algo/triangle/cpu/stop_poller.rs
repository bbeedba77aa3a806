//! Cancellation check that each counting thread makes every few milliseconds.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Cancellation check of one counting thread. It calls `stop` every 2^23 steps of counting, which take a few
/// milliseconds.
pub struct StopPoller<'a> {
    work: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: &'a AtomicBool,
}

impl<'a> StopPoller<'a> {
    const STEPS: usize = 1 << 23;

    /// Creates the cancellation check of one thread. All threads share `stopped`, which is set as soon as `stop`
    /// returns true on one of them.
    pub fn new(stop: &'a (dyn Fn() -> bool + Sync), stopped: &'a AtomicBool) -> StopPoller<'a> {
        StopPoller { work: 0, stop, stopped }
    }

    /// Counts `steps` more steps, and calls `stop` once 2^23 steps have been counted since the last call. Returns
    /// `None` if the count must stop.
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
