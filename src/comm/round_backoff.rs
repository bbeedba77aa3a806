//! Back-off for a rank that waits for other ranks. Most of these waits end within microseconds.
//!
//! A waiting rank does not check for stop signals, and neither does any collective operation. The rank that notices the
//! signal ends the job on all ranks.

use crate::process::backoff::{Backoff, cores_are_shared};
use crate::process::host::cores_at_hand;

/// Number of polls of shared memory before a waiting rank yields its core, provided that every rank of the machine has
/// a core. They take some 50 µs.
const SPINS: u32 = 1000;
/// Number of polls of MPI before a waiting rank yields its core. Each poll runs MPI's progress engine, so more polls
/// would keep the core from other ranks and threads for too long.
const CALLS: u32 = 8;

/// Factor by which [`RoundBackoff::poll_longer`] multiplies the number of polls before a rank yields its core. A rank
/// then polls shared memory for some 3 ms.
const AWAKE: u32 = 64;

/// Back-off for waits in rounds of messages. A waiting rank first polls without pause, and then yields its core and
/// sleeps like [`Backoff`]. It skips the first phase if the machine has more ranks than cores, or if other programs
/// keep the cores busy.
pub(super) struct RoundBackoff {
    spins: u32,
    polls: u32,
    backoff: Backoff,
}

impl RoundBackoff {
    /// Creates a back-off for polling shared memory, on a machine with `local_ranks` ranks.
    pub(super) fn in_memory(local_ranks: usize) -> RoundBackoff {
        RoundBackoff::after(SPINS, local_ranks)
    }

    /// Creates a back-off for polling MPI, on a machine with `local_ranks` ranks.
    pub(super) fn for_messages(local_ranks: usize) -> RoundBackoff {
        RoundBackoff::after(CALLS, local_ranks)
    }

    fn after(spins: u32, local_ranks: usize) -> RoundBackoff {
        RoundBackoff {
            spins: if local_ranks <= cores_at_hand() { spins } else { 0 },
            polls: 0,
            backoff: Backoff::default(),
        }
    }

    /// Makes a waiting rank poll longer before it yields its core, unless the machine has more ranks than cores.
    pub(super) fn poll_longer(&mut self) {
        self.spins *= AWAKE;
    }

    /// Restarts the back-off with polls without pause. It must be called when a wait made progress.
    pub(super) fn reset(&mut self) {
        self.polls = 0;
        self.backoff.reset();
    }

    /// Performs one step of the back-off: a pause instruction, a yield, or a sleep.
    pub(super) fn take(&mut self) {
        if self.polls < self.spins && !(self.polls == 0 && cores_are_shared()) {
            self.polls += 1;
            std::hint::spin_loop();
        } else {
            self.backoff.take();
        }
    }
}
