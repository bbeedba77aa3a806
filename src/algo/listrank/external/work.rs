//! The means that all parts of a ranking share.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Means;
use super::sizes::{PIECE, Sizes};
use crate::algo::listrank::rounds::Rounds;
use crate::error::Result;
use crate::memory::Budget;

/// A list's scan: it calls its argument, from any threads and in any order, with the first index and the successors of consecutive elements;
/// -1 ends the list. Every element comes once, and successors are in range.
pub type Scan<'a> = &'a dyn Fn(Visit<'_>) -> Result<()>;

/// A visitor of a list's elements, as a scan calls it.
pub type Visit<'a> = &'a (dyn Fn(u64, &[i64]) -> Result<()> + Sync);

/// The means of a ranking.
pub struct Work<'a> {
    /// Division into bins.
    pub sizes: Sizes,
    /// Folder of the files, which holds nothing else.
    pub folder: &'a Path,
    /// Number of threads.
    pub threads: usize,
    /// Memory.
    pub budget: &'a Budget,
    /// Asked between pieces of work; an error ends the ranking, which can go on later.
    pub go_on: &'a (dyn Fn() -> Result<()> + Sync),
    /// Told the bytes that were read or written since the last call.
    pub moved: &'a (dyn Fn(u64) + Sync),
    /// Told each round: the scan, each bin that is eliminated, and each that is ranked.
    pub rounds: &'a Rounds,
    /// Bytes read and written.
    pub bytes: [AtomicU64; 2],
}

impl<'a> Work<'a> {
    /// Begins to count.
    pub fn new(sizes: Sizes, means: &Means<'a>) -> Work<'a> {
        let Means { folder, threads, budget, go_on, moved, rounds, .. } = *means;
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

    /// Returns the numbers of a piece that a thread reads or writes at a time: a multiple of `record`.
    pub fn piece<I>(&self, record: usize) -> usize {
        PIECE as usize / size_of::<I>() / record * record
    }
}
