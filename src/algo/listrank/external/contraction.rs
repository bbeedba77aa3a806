//! Resources of a ranking by contraction, and its counters.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sizes::{BinSizes, PIECE};
use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::list::Visit;
use crate::memory::Budget;

/// A scan of a list. It calls its argument from any threads and in any order, with the first index and the successors
/// of consecutive elements; -1 ends the list. Every element comes once, and successors are in range.
pub type ListScan<'a> = &'a dyn Fn(Visit<'_>) -> Result<()>;

/// A ranking of one list by contraction.
pub struct Contraction<'a> {
    /// Division of the list into bins.
    pub sizes: BinSizes,
    /// Folder of the ranking's files. It is created if it is missing, and contains nothing else. [`disk`](super::disk)
    /// is an upper bound of its size.
    pub folder: &'a Path,
    /// Key of the input. Files with another key are not used.
    pub key: u64,
    /// Number of threads.
    pub threads: usize,
    /// Memory budget; [`BinSizes::memory`] bytes must be free.
    pub budget: &'a Budget,
    /// Check that all threads call between pieces of work. An error ends the ranking; the same call resumes it later.
    pub go_on: &'a (dyn Fn() -> Result<()> + Sync),
    /// Callback that receives the number of bytes read or written since its last call, about
    /// [`volume`](super::volume) in total.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Records each round: the scan, each eliminated bin and each ranked bin.
    pub rounds: &'a Rounds,
    /// Bytes read, and bytes written.
    pub bytes: [AtomicU64; 2],
}

impl Contraction<'_> {
    /// Counts bytes read.
    pub fn read(&self, bytes: u64) {
        self.bytes[0].fetch_add(bytes, Ordering::Relaxed);
        (self.moved)(bytes);
    }

    /// Counts bytes written.
    pub fn wrote(&self, bytes: u64) {
        self.bytes[1].fetch_add(bytes, Ordering::Relaxed);
        (self.moved)(bytes);
    }

    /// Returns how many numbers a thread reads or writes at a time: a multiple of `record`.
    pub fn piece<I>(&self, record: usize) -> usize {
        PIECE as usize / size_of::<I>() / record * record
    }
}
