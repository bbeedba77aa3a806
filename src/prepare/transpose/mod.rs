//! Builds the upper half of all rows (for each vertex, its neighbours with larger ids) from the lower half (for each
//! vertex, its neighbours with smaller ids).
//!
//! The lower half has no duplicates, and its rows are read in ascending order of their vertices. For each entry `v` of
//! each row `u`, in this order, `u` is appended to the upper row of `v`. So upper rows are ascending and have no
//! duplicates without any sorting. The lengths of upper rows are known in advance from the degrees.
//!
//! ```text
//! lower half ─ batches sorted by bin (in cache, thread per batch) ─ rows of a bin (in cache, thread per bin) ─ blocks
//! ```
//!
//! For E edges, 4·E bytes of the lower half are read, 4·E bytes of batches are written to memory and read back, and 4·E
//! bytes of rows are written from the cache to files. Weights add 4 bytes per edge each time. The rows of a bin are
//! built from the entries in all batches at once. The alternative is to append each batch to the rows in memory, but
//! then each round of batches would access the ends of most rows again. (With rounds of 2^23 entries, the speed was 28
//! to 65 M entries/s at scale 24 and 88 M/s at scale 22.)
//!
//! If the entries do not all fit in memory, there are several passes. Each pass reads the lower half again and builds a
//! *window*, a range of consecutive bins. (A spill file of entries by bin would need one pass, but 4·E more bytes would
//! be written and read. That is as much as two more passes, and graphs that need more than three windows are rare.) A
//! row that is longer than a window gets a separate pass, which writes the row's entries to the file as it finds them.

mod batch;
pub mod gpu;
mod lengths;
mod memory;
mod placed;
mod rows;
mod window;
mod write;

pub use self::memory::{TransposeMemory, TransposeShape};

use self::batch::{Batch, batches};
use self::lengths::Lengths;
use self::memory::{bin_bytes, entry_words};
use self::placed::PlacedEntries;
use self::rows::{RowBuilder, write_window};
use self::window::{RowWindow, windows};
use self::write::Files;
use crate::error::Result;
use crate::formats::Watch;
use crate::graph::{BIN_ROWS, Bins, BlockStore, GraphWeights, Layout, Packer};
use crate::memory::Budget;
use crate::store::sync::Syncer;
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Builder of the blocks of a graph's upper half from its lower half.
pub struct Transpose<'a> {
    /// The lower half, which must be [local](BlockStore::is_local).
    pub lower: &'a BlockStore,
    /// Degrees of the simple graph.
    pub degrees: &'a [u32],
    /// Layout of the upper half.
    pub layout: &'a Layout,
    /// Bins of the upper half. They must come from [`TransposeShape::and_bins`].
    pub bins: &'a Bins,
    /// For each block, whether it must be built.
    pub wanted: &'a [bool],
    /// Destination of the blocks: files or memory.
    pub to: Destination<'a>,
    /// Description of the weights; `None` if the upper half gets no weights. If it gets them, the weights of the lower
    /// half must be open.
    pub weights: Option<GraphWeights>,
    /// Division of memory between entries in batches and the rows that are built from them.
    pub memory: TransposeMemory,
    /// Budget of host memory.
    pub budget: &'a Budget,
}

/// Destination of the blocks of the upper half.
#[derive(Clone, Copy)]
pub enum Destination<'a> {
    /// Files in a folder.
    Files {
        /// Folder of the files.
        folder: &'a Path,
        /// Key of the graph.
        key: u64,
        /// Thread that makes the files durable in the background.
        syncer: &'a Syncer,
    },
    /// Packed rows in memory. Edges must have no weights.
    Packed(&'a Packer),
}

/// Totals over all blocks that were built.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Transposed {
    /// Number of entries (neighbours) in the blocks.
    pub entries: u64,
    /// Number of passes over the lower half.
    pub passes: u64,
    /// Number of bytes written.
    pub bytes: u64,
}

impl Transposed {
    fn add(&mut self, other: Transposed) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }
}

/// Description of the work of building the upper half, shared by all threads.
#[derive(Clone, Copy)]
struct TransposeWork<'t, 'a> {
    transpose: &'t Transpose<'a>,
    lengths: &'t Lengths<'a>,
    /// Number of entries (neighbours) in each bin.
    entries: &'t [u64],
    /// Batches of entries of the lower half.
    batches: &'t [Batch],
    watch: &'t dyn Watch,
    /// Progress reported to `watch` so far, as a number of entries (neighbours).
    advanced: &'t AtomicU64,
}

impl Transpose<'_> {
    /// Builds all wanted blocks on the current thread pool. `watch` advances by the number of entries.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] if degrees and rows are inconsistent; errors of memory and disk, and cancellation
    /// reported by `watch`.
    pub fn build(&self, watch: &dyn Watch) -> Result<Transposed> {
        let lengths = Lengths { lower: self.lower, degrees: self.degrees };
        let entries = lengths.of_bins(self.bins)?;
        let batches = batches(self.lower, self.memory.batch, BIN_ROWS);
        let work = TransposeWork {
            transpose: self,
            lengths: &lengths,
            entries: &entries,
            batches: &batches,
            watch,
            advanced: &AtomicU64::new(0),
        };
        let bytes = |bin: usize| bin_bytes(entries[bin], batches.len() as u64, self.weights.is_some());
        let windows = windows(self.layout, self.bins, bytes, self.wanted, self.memory.window);
        let passes = windows.len() as u64;
        let mut row_builders =
            (0..self.memory.row_builders).map(|_| RowBuilder::new(work)).collect::<Result<Vec<RowBuilder>>>()?;
        let mut files = Files::new(work);
        for window in windows {
            match window {
                RowWindow::Bins(range) => {
                    write_window(&mut files, &PlacedEntries::take(work, range)?, &mut row_builders)?
                }
                RowWindow::Row(bin) => work.long_row(&mut files, bin)?,
            }
        }
        work.end(Transposed { passes, ..files.written })
    }
}

impl TransposeWork<'_, '_> {
    /// Advances `watch` by `entries`. Half of an entry's progress is counted when it is read from the lower half of the
    /// graph, and half when it is written.
    fn advance(&self, entries: u64) -> Result<()> {
        self.advanced.fetch_add(entries, Ordering::Relaxed);
        self.watch.advance(entries)
    }

    /// Advances `watch` by the entries that have not been counted yet, because each half was rounded down. Returns
    /// `built`.
    fn end(&self, built: Transposed) -> Result<Transposed> {
        self.advance(built.entries - self.advanced.load(Ordering::Relaxed).min(built.entries))?;
        Ok(built)
    }

    /// Builds the only row of bin `bin`, a row that is longer than a window. Finds and writes some of its entries at a
    /// time.
    fn long_row(&self, files: &mut Files<'_, '_>, bin: usize) -> Result<()> {
        let Transpose { lower, memory, budget, bins, .. } = *self.transpose;
        let (row, direction) = (bins.spans[bin].rows.start as u32, bins.direction());
        let v = direction.vertex(row);
        let at_a_time = (memory.window / 16).max(lengths::CHUNK as u64);
        // Twice the size of an entry, because the entries that the threads find are copied when they are combined.
        let entry = 8 * entry_words(self.transpose.weights.is_some());
        let _reserved = budget.reserve(entry * at_a_time, "a long row of the upper half")?;
        let mut found = (Vec::new(), Vec::new());
        let mut sum = 0;
        let (mut from, end) = (direction.rows(u64::from(v) + 1), lower.layout.rows());
        while from < end {
            let rows = from..(from + at_a_time).min(end);
            found.0.clear();
            found.1.clear();
            let of_rows = rows.clone().into_par_iter().map(|u| u as u32).filter(|&u| direction.opposite(u, v) == row);
            match self.transpose.weights {
                None => {
                    let listing = of_rows.filter(|&u| lower.row(u).binary_search(&v).is_ok());
                    found.0.par_extend(listing.map(|u| direction.vertex(u)));
                }
                Some(_) => found.par_extend(of_rows.filter_map(|u| {
                    let (row, weights) = lower.weighted_row(u);
                    row.binary_search(&v).ok().map(|place| (direction.vertex(u), weights[place]))
                })),
            }
            let (targets, weights) = &found;
            sum += targets.len() as u64;
            files.append(bin, targets, weights)?;
            self.advance(targets.len() as u64)?;
            let [first, last] = [from, rows.end - 1].map(|u| lower.layout.block_of(u as u32));
            (first..last).for_each(|block| lower.release(block));
            from = rows.end;
        }
        if sum != self.entries[bin] {
            return Err(self.lengths.mismatch(row));
        }
        files.end_of_bin(bin)
    }
}
