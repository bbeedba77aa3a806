//! Resources and counters of a ranking by contraction, which replaces parts of a list by single links until the rest
//! fits in memory.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sizes::{BinSizes, PIECE};
use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::list::Visit;
use crate::memory::Budget;

/// A function that scans a list. It must call its argument with ranges of consecutive elements: the index of the first
/// element, and the successors of all of them. -1 stands for no successor. Every element must be passed once, in any
/// order and on any thread. Successors must be in range.
pub type ListScan<'a> = &'a dyn Fn(Visit<'_>) -> Result<()>;

/// A ranking of one list by contraction: its settings, resources and counters.
pub struct Contraction<'a> {
    /// Division of the list into bins.
    pub sizes: BinSizes,
    /// Folder of the ranking's files. It is created if it is missing, and contains nothing else. [`disk`](super::disk)
    /// is an upper bound on its size.
    pub folder: &'a Path,
    /// Key of the input. Files that were written with another key are ignored.
    pub key: u64,
    /// Number of threads.
    pub threads: usize,
    /// Memory budget; [`BinSizes::memory`] bytes must be free.
    pub budget: &'a Budget,
    /// Cancellation check that all threads call from time to time. If it returns an error, the ranking ends with this
    /// error. A later call with the same key and sizes resumes the ranking.
    pub check_cancelled: &'a (dyn Fn() -> Result<()> + Sync),
    /// Callback that receives the number of bytes read or written since its last call, about
    /// [`volume`](super::volume) in total.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Collects the rounds with their durations: the scan, each eliminated bin and each ranked bin.
    pub rounds: &'a Rounds,
    /// Number of bytes read and written.
    pub bytes: AtomicU64,
}

impl Contraction<'_> {
    /// Counts bytes that were read or written, and reports them to `moved`.
    pub fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        (self.moved)(bytes);
    }

    /// Returns how many integers a thread reads or writes at a time. It is a multiple of `record`, the length of a
    /// record in integers.
    pub fn piece<I>(&self, record: usize) -> usize {
        PIECE as usize / size_of::<I>() / record * record
    }
}
