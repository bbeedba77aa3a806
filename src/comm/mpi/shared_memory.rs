//! Memory of numbers that all ranks of a machine read and write.
#![allow(unsafe_code)] // a view of shared memory, as atomic numbers

use super::Ranks;
use super::segment::Segment;
use crate::comm::SharedNumber;
use std::sync::atomic::AtomicU64;

/// Numbers that every rank reads and writes, each of them whole, initially zero. Pages that a rank uses count as its memory, too.
pub struct SharedMemory {
    segment: Segment,
}

/// Words of the segment that its barrier uses.
const BARRIER: usize = 2;

impl SharedMemory {
    /// Makes memory of `bytes` bytes, to which ranks add like parts. Returns `None` on all of them if they share no memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, bytes: u64) -> Option<SharedMemory> {
        let part = usize::try_from(bytes).ok()?.div_ceil(ranks.place().ranks);
        Some(SharedMemory { segment: Segment::open(ranks, part)? })
    }

    /// Returns `len` numbers from byte `at` on, which is a multiple of their size.
    pub fn numbers<T: SharedNumber>(&self, at: usize, len: usize) -> &[T] {
        // SAFETY: all access is by views of this kind, which are of atomic numbers.
        unsafe { self.segment.whole(at, len) }
    }

    /// Returns counter `which`, below 62, which has a cache line of its own.
    pub fn counter(&self, which: usize) -> &AtomicU64 {
        self.segment.word(BARRIER + which)
    }
}
