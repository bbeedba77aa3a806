//! Memory that all ranks of a machine read and write.
#![allow(unsafe_code)] // a view of shared memory, as atomic numbers

use super::segment::SharedSegment;
use crate::comm::SharedNumber;
use crate::comm::mpi::Ranks;
use std::sync::atomic::AtomicU64;

/// Shared memory of atomic numbers, initially zero, that every rank reads and writes. The system counts the pages that
/// a rank uses as memory of that rank.
pub struct SharedMemory {
    segment: SharedSegment,
}

/// Number of shared words that the barrier of the segment uses. They come first.
const BARRIER: usize = 2;

impl SharedMemory {
    /// Makes `bytes` bytes of shared memory, of which each rank allocates an equal part. Returns `None` on all ranks if
    /// they share no memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, bytes: u64) -> Option<SharedMemory> {
        let part = usize::try_from(bytes).ok()?.div_ceil(ranks.position().ranks);
        Some(SharedMemory { segment: SharedSegment::open(ranks, part)? })
    }

    /// Returns `len` numbers that start at byte `at`, a multiple of their size.
    pub fn numbers<T: SharedNumber>(&self, at: usize, len: usize) -> &[T] {
        // SAFETY: all access is by views of this kind, which are of atomic numbers.
        unsafe { self.segment.whole(at, len) }
    }

    /// Returns the counter with the number `which`, below 62. Each counter has its own cache line.
    pub fn counter(&self, which: usize) -> &AtomicU64 {
        self.segment.word(BARRIER + which)
    }
}
