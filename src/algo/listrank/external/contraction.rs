//! Resources and counters of a ranking by contraction. Contraction replaces parts of a list by single links until the
//! rest fits in memory.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sizes::{BinSizes, PIECE};
use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::list::Visit;
use crate::memory::Budget;

/// Function that scans a list. It must call its argument with ranges of consecutive elements: the index of the first
/// element of a range, and the successors of all its elements. A successor of -1 means that there is none. Every
/// element must be passed once, in any order and on any thread. Successors must be in range.
pub type ListScan<'a> = &'a dyn Fn(Visit<'_>) -> Result<()>;

/// A ranking of one list by contraction: its settings, resources and counters.
pub struct Contraction<'a> {
    /// Division of the list into bins (ranges of elements).
    pub sizes: BinSizes,
    /// Folder of the ranking's files, which contains nothing else and is created if it is missing.
    /// [`disk`](super::disk) is an upper bound on the size of the files.
    pub folder: &'a Path,
    /// Key of the input. Files of an earlier run with another key are ignored.
    pub key: u64,
    /// Number of threads.
    pub threads: usize,
    /// Memory budget, of which [`BinSizes::memory`] bytes must be free.
    pub budget: &'a Budget,
    /// Cancellation check that all threads call from time to time. If it returns an error, the ranking ends with this
    /// error. A later ranking with the same key and sizes resumes.
    pub check_cancelled: &'a (dyn Fn() -> Result<()> + Sync),
    /// Callback that receives the number of bytes read or written since the last call. In total there are about
    /// [`volume`](super::volume) bytes.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Collects the rounds and their durations: the scan, each eliminated bin and each ranked bin.
    pub rounds: &'a Rounds,
    /// Number of bytes read from files and written to them so far.
    pub bytes: AtomicU64,
}

impl Contraction<'_> {
    /// Counts `bytes` bytes that were read or written, and reports them to `moved`.
    pub fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        (self.moved)(bytes);
    }

    /// Returns the number of integers that a thread reads or writes at a time. It is a multiple of `record`, the number
    /// of integers in a record.
    pub fn piece<I>(&self, record: usize) -> usize {
        PIECE as usize / size_of::<I>() / record * record
    }
}
