//! Waiting for an answer that mostly comes within microseconds.

use super::call::Nap;
use crate::error::Result;
use crate::process::signals;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Polls before the core is offered to others, if every rank of the machine has a core: some 50 µs.
const SPINS: u32 = 1000;
/// Time after which a request to stop ends a wait: ranks that still work answer sooner.
const PATIENCE: Duration = Duration::from_millis(100);

/// Back-off of rounds: polls without pause, then as [`Nap`] does. With more ranks than cores it begins with the latter.
pub(super) struct Waiting {
    spins: u32,
    polls: u32,
    nap: Nap,
    napping: Option<Instant>,
}

impl Waiting {
    /// Returns the back-off for a machine with so many ranks.
    pub(super) fn of(local_ranks: usize) -> Waiting {
        // It reads files, which takes longer than a round.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
        Waiting { spins: if local_ranks <= cores { SPINS } else { 0 }, polls: 0, nap: Nap::default(), napping: None }
    }

    /// Restarts the back-off after some progress.
    pub(super) fn reset(&mut self) {
        self.polls = 0;
        self.nap.reset();
        self.napping = None;
    }

    /// Waits for a moment.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped) if a signal asks to stop and the wait is long.
    pub(super) fn take(&mut self) -> Result<()> {
        if self.polls < self.spins {
            self.polls += 1;
            std::hint::spin_loop();
            return Ok(());
        }
        if self.napping.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            signals::check()?;
        }
        self.nap.take();
        Ok(())
    }
}
