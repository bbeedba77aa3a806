//! Counters in shared memory through which the ranks of a machine tell each other numbers without messages.
#![allow(unsafe_code)] // a view of shared memory

use super::segment::SharedSegment;
use crate::comm::mpi::Ranks;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters in shared memory, initially zero. Each rank sets its own counters, and all ranks of the machine can read
/// them at any time.
pub struct SharedCounters {
    segment: SharedSegment,
    rank: usize,
    numbers: usize,
}

/// Time between two polls of another rank's counter.
const NAP: Duration = Duration::from_micros(20);

impl SharedCounters {
    /// Creates `numbers` counters per rank. Returns `None` on all ranks if the ranks can't share memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, numbers: usize) -> Option<SharedCounters> {
        let segment = SharedSegment::open(ranks, numbers * size_of::<u64>())?;
        Some(SharedCounters { segment, rank: ranks.position().rank, numbers })
    }

    /// Sets this rank's counter `which` to `number`. A rank that reads the value also sees everything that this rank
    /// wrote to shared memory before.
    pub fn publish(&self, which: usize, number: u64) {
        self.of(self.rank)[which].store(number, Ordering::Release);
    }

    /// Returns the value of counter `which` of rank `rank` that the rank published last.
    pub fn read(&self, rank: usize, which: usize) -> u64 {
        self.of(rank)[which].load(Ordering::Acquire)
    }

    /// Waits until counter `which` of rank `rank` is at least `least`, and returns its value. While it waits, it calls
    /// `check_cancelled` repeatedly, because a rank that has ended never changes its counter.
    ///
    /// # Errors
    /// The error that a call of `check_cancelled` returned.
    pub fn wait<E>(
        &self,
        rank: usize,
        which: usize,
        least: u64,
        mut check_cancelled: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        loop {
            match self.read(rank, which) {
                seen if seen >= least => return Ok(seen),
                _ => check_cancelled()?,
            }
            std::thread::sleep(NAP);
        }
    }

    /// Returns counter `which` of rank `rank` as an atomic integer, which every rank may modify.
    pub(in crate::comm) fn word(&self, rank: usize, which: usize) -> &AtomicU64 {
        &self.of(rank)[which]
    }

    fn of(&self, rank: usize) -> &[AtomicU64] {
        // SAFETY: the partition of a rank contains nothing but these atomics.
        unsafe { self.segment.view(rank, 0, self.numbers) }
    }
}
