//! What all parts of a ranking share.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Context;
use super::sizes::{PIECE, Sizes};
use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::memory::Budget;

/// A scan of a list. It calls its argument from any threads and in any order, with the first index and the successors
/// of consecutive elements; -1 ends the list. Every element comes once, and successors are in range.
pub type Scan<'a> = &'a dyn Fn(Visit<'_>) -> Result<()>;

/// A visitor of a list's elements, which a scan calls.
pub type Visit<'a> = &'a (dyn Fn(u64, &[i64]) -> Result<()> + Sync);

/// The context of a ranking: what the caller provides, the sizes, and counters.
pub struct Work<'a> {
    /// Division into bins.
    pub sizes: Sizes,
    /// Folder of the files. It contains nothing else.
    pub folder: &'a Path,
    /// Number of threads.
    pub threads: usize,
    /// Memory budget.
    pub budget: &'a Budget,
    /// Check that is called between pieces of work. An error ends the ranking, which can be resumed later.
    pub go_on: &'a (dyn Fn() -> Result<()> + Sync),
    /// Callback that receives the number of bytes read or written since its last call.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Records each round: the scan, each eliminated bin and each ranked bin.
    pub rounds: &'a Rounds,
    /// Bytes read, and bytes written.
    pub bytes: [AtomicU64; 2],
}

impl<'a> Work<'a> {
    /// Creates the context with counters at zero.
    pub fn new(sizes: Sizes, context: &Context<'a>) -> Work<'a> {
        let Context { folder, threads, budget, go_on, moved, rounds, .. } = *context;
        Work { sizes, folder, threads, budget, go_on, moved, rounds, bytes: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

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
