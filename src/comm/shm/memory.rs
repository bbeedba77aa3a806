//! Memory that all ranks of a machine can read and write.
#![allow(unsafe_code)] // a view of shared memory, as atomic numbers

use super::segment::SharedSegment;
use crate::comm::SharedNumber;
use crate::comm::mpi::Ranks;
use std::sync::atomic::AtomicU64;

/// Memory of atomic numbers, initially zero, that every rank of the machine can read and write. Linux counts each page
/// as memory of every rank that touches it.
pub struct SharedMemory {
    segment: SharedSegment,
}

/// Number of shared words that the barrier of the shared memory segment uses. The words after them are counters.
const BARRIER: usize = 2;

impl SharedMemory {
    /// Creates `bytes` bytes of shared memory. Each rank allocates an equal fraction of the pages. Returns `None` on
    /// all ranks if the ranks can't share memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, bytes: u64) -> Option<SharedMemory> {
        let part = usize::try_from(bytes).ok()?.div_ceil(ranks.position().ranks);
        Some(SharedMemory { segment: SharedSegment::open(ranks, part)? })
    }

    /// Returns the `len` numbers that start at byte offset `at` of the shared memory. The offset must be a multiple of
    /// the size of a number.
    pub fn numbers<T: SharedNumber>(&self, at: usize, len: usize) -> &[T] {
        // SAFETY: all access is by views of this kind, which are of atomic numbers.
        unsafe { self.segment.whole(at, len) }
    }

    /// Returns shared counter `which` (0 to 61), which every rank may read and change. Each counter has its own cache
    /// line.
    pub fn counter(&self, which: usize) -> &AtomicU64 {
        self.segment.word(BARRIER + which)
    }
}
