//! Memory that all ranks of a machine read and write.
#![allow(unsafe_code)] // a view of shared memory, as atomic numbers

use super::segment::SharedSegment;
use crate::comm::SharedNumber;
use crate::comm::mpi::Ranks;
use std::sync::atomic::AtomicU64;

/// Shared memory of atomic numbers, initially zero, that every rank can read and write. The kernel counts each page as
/// memory of every rank that touches it.
pub struct SharedMemory {
    segment: SharedSegment,
}

/// Number of shared words that the barrier of the segment uses. They precede the counters.
const BARRIER: usize = 2;

impl SharedMemory {
    /// Creates `bytes` bytes of shared memory. Each rank allocates an equal fraction of its pages. Returns `None` on
    /// all ranks if the ranks can't share memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, bytes: u64) -> Option<SharedMemory> {
        let part = usize::try_from(bytes).ok()?.div_ceil(ranks.position().ranks);
        Some(SharedMemory { segment: SharedSegment::open(ranks, part)? })
    }

    /// Returns `len` numbers that start at byte offset `at`, which must be a multiple of their size.
    pub fn numbers<T: SharedNumber>(&self, at: usize, len: usize) -> &[T] {
        // SAFETY: all access is by views of this kind, which are of atomic numbers.
        unsafe { self.segment.whole(at, len) }
    }

    /// Returns counter `which` (0 to 61). Each counter has its own cache line.
    pub fn counter(&self, which: usize) -> &AtomicU64 {
        self.segment.word(BARRIER + which)
    }
}
