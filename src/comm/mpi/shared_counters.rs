//! Numbers that ranks of one machine show each other, without a message.
#![allow(unsafe_code)] // a view of shared memory

use super::Ranks;
use super::segment::Segment;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Some numbers of each rank, zero at first, that all ranks of the machine can see at any time.
pub struct SharedCounters {
    segment: Segment,
    rank: usize,
    numbers: usize,
}

/// Between two looks at what another rank shows.
const NAP: Duration = Duration::from_micros(20);

impl SharedCounters {
    /// `numbers` for each rank; none, for all of them, where ranks share no memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, numbers: usize) -> Option<SharedCounters> {
        let segment = Segment::open(ranks, numbers * size_of::<u64>())?;
        Some(SharedCounters { segment, rank: ranks.place().rank, numbers })
    }

    /// Shows all what this rank's number `which` is from now on. Who sees it sees what this rank did before, too.
    pub fn show(&self, which: usize, number: u64) {
        self.of(self.rank)[which].store(number, Ordering::Release);
    }

    /// What rank `rank` has shown last as its number `which`.
    pub fn seen(&self, rank: usize, which: usize) -> u64 {
        self.of(rank)[which].load(Ordering::Acquire)
    }

    /// What rank `rank` shows as its number `which`, once that is `least` or more. It asks `go_on` meanwhile, for a rank that is
    /// gone shows nothing any more.
    ///
    /// # Errors
    /// What `go_on` returned.
    pub fn wait<E>(
        &self,
        rank: usize,
        which: usize,
        least: u64,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        loop {
            match self.seen(rank, which) {
                seen if seen >= least => return Ok(seen),
                _ => go_on()?,
            }
            std::thread::sleep(NAP);
        }
    }

    /// Rank `rank`'s number `which`, for all to change.
    pub(in crate::comm) fn word(&self, rank: usize, which: usize) -> &AtomicU64 {
        &self.of(rank)[which]
    }

    fn of(&self, rank: usize) -> &[AtomicU64] {
        // SAFETY: nothing but these atomics lies in a part.
        unsafe { self.segment.view(rank, 0, self.numbers) }
    }
}
