//! Waiting for an answer that mostly comes within microseconds.
//!
//! A wait does not ask for a signal to stop, as no collective does: a rank that notices one ends the job, and with it those that wait.

use crate::process::backoff::{Backoff, cores_are_shared};
use crate::process::host::cores_at_hand;

/// Polls of memory before the core is offered to others, if every rank of the machine has a core: some 50 µs.
const SPINS: u32 = 1000;
/// Polls of MPI before that. Each runs all of its progress, so that more would keep a core from ranks and threads that share it.
const CALLS: u32 = 8;

/// Times as many polls are made by ranks that stay awake: some 3 ms of memory.
const AWAKE: u32 = 64;

/// Back-off of rounds: polls without pause, then as [`Backoff`] does. With more ranks than cores, or on cores that others keep busy, it
/// begins with the latter.
pub(super) struct Waiting {
    spins: u32,
    polls: u32,
    backoff: Backoff,
}

impl Waiting {
    /// Returns the back-off for polls of memory on a machine with so many ranks.
    pub(super) fn in_memory(local_ranks: usize) -> Waiting {
        Waiting::after(SPINS, local_ranks)
    }

    /// Returns the back-off for polls by calls of MPI on a machine with so many ranks.
    pub(super) fn for_messages(local_ranks: usize) -> Waiting {
        Waiting::after(CALLS, local_ranks)
    }

    fn after(spins: u32, local_ranks: usize) -> Waiting {
        Waiting { spins: if local_ranks <= cores_at_hand() { spins } else { 0 }, polls: 0, backoff: Backoff::default() }
    }

    /// Polls for longer from now on, unless there are more ranks than cores.
    pub(super) fn stay_awake(&mut self) {
        self.spins *= AWAKE;
    }

    /// Restarts the back-off after some progress.
    pub(super) fn reset(&mut self) {
        self.polls = 0;
        self.backoff.reset();
    }

    /// Waits for a moment.
    pub(super) fn take(&mut self) {
        if self.polls < self.spins && !(self.polls == 0 && cores_are_shared()) {
            self.polls += 1;
            std::hint::spin_loop();
        } else {
            self.backoff.take();
        }
    }
}
