//! The upper half of all rows from the lower half.
//!
//! Rows of the lower half are distinct and come in ascending order of their vertex. So when the entries `v` of each row `u` are taken in that
//! order, and `u` is appended to the upper row of `v`, upper rows come out ascending and without repeats: nothing is sorted. How long they
//! become is known before, from the degrees.
//!
//! ```text
//! lower half ─ batches, each by bins (in cache, one thread a batch) ─ rows of a bin grow (in cache, one thread a bin) ─ upper blocks
//! ```
//!
//! Bytes moved for E edges: 4·E of the lower half are read, 4·E go to batches in memory and come from there, 4·E of rows are written to memory
//! and from there to files. Rows that do not fit memory together are made in several passes, *windows* of consecutive bins, each of which
//! reads the lower half again. With a spill file of entries by bins, 4·E more would be written and read once whatever the memory: as much as
//! two more passes take, and rows of a graph of whose rows a third does not fit are rare. In the window of a pass, the memory of a row is in
//! use from the first to the last batch. A row that is longer than a window gets a pass of its own, and goes to its file as it is found.

mod batch;
mod lengths;
mod memory;
mod window;

pub use self::memory::{TransposeMemory, TransposeShape};

use self::lengths::Lengths;
use self::window::{Window, windows};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::Watch;
use crate::graph::catalogue::Catalogue;
use crate::graph::half::Half;
use crate::graph::layout::{Bins, Layout};
use crate::graph::stored::{self, BlockWriter};
use crate::memory::Budget;
use crate::store::sync::Syncer;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Builds blocks of the upper half.
pub struct Transpose<'a> {
    /// The lower half, which is local.
    pub lower: &'a Catalogue,
    /// The degrees of the simple graph.
    pub degrees: &'a [u32],
    /// The blocks of the upper half.
    pub layout: &'a Layout,
    /// The bins of the upper half, as [`TransposeShape::and_bins`] cut them.
    pub bins: &'a Bins,
    /// True for each block that has to be built.
    pub wanted: &'a [bool],
    /// The folder that blocks are written to.
    pub folder: &'a Path,
    /// Key of the graph.
    pub key: u64,
    /// The division of memory.
    pub memory: TransposeMemory,
    /// Host memory.
    pub budget: &'a Budget,
    /// Makes the written blocks durable in the background.
    pub syncer: &'a Syncer,
}

/// The blocks that were built.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Transposed {
    /// Entries of them.
    pub entries: u64,
    /// Passes over the lower half.
    pub passes: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// A block that is not written to its end.
struct Open {
    block: usize,
    writer: BlockWriter,
}

impl Transpose<'_> {
    /// Builds all wanted blocks by the threads of the current pool. `watch` advances by entries.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where degrees and rows do not agree; those of memory and disk, and of a stop that `watch` reports.
    pub fn build(&self, watch: &dyn Watch) -> Result<Transposed> {
        let lengths = Lengths { lower: self.lower, degrees: self.degrees };
        let entries = lengths.of_bins(self.bins)?;
        let mut done = Transposed::default();
        let mut open = None;
        for window in windows(self.layout, self.bins, &entries, self.wanted, self.memory.window) {
            done.passes += 1;
            match window {
                Window::Bins(range) => self.bins_of(&lengths, &entries, range, &mut open, &mut done, watch)?,
                Window::Row(bin) => self.long_row(&lengths, &entries, bin, &mut open, &mut done, watch)?,
            }
        }
        Ok(done)
    }

    /// Makes the rows of some bins, and writes them.
    fn bins_of(
        &self,
        lengths: &Lengths<'_>,
        entries: &[u64],
        range: Range<usize>,
        open: &mut Option<Open>,
        done: &mut Transposed,
        watch: &dyn Watch,
    ) -> Result<()> {
        let rows = window::Rows::make(self, lengths, entries, range.clone(), watch)?;
        // Blocks that are in the window as a whole are written side by side; one that is not comes alone.
        let blocks = self.bins.block_of[range.start]..self.bins.block_of[range.end - 1] + 1;
        if blocks.len() == 1 {
            self.append(lengths, entries, range.clone(), rows.targets(range), open, done, watch)?;
            return Ok(());
        }
        let write = |block: usize| {
            let (mut open, mut done) = (None, Transposed::default());
            let bins = self.bins_of_block(block);
            self.append(lengths, entries, bins.clone(), rows.targets(bins), &mut open, &mut done, watch)?;
            Ok(done)
        };
        let written = blocks.into_par_iter().map(write).collect::<Result<Vec<Transposed>>>()?;
        for one in written {
            (done.entries, done.bytes) = (done.entries + one.entries, done.bytes + one.bytes);
        }
        Ok(())
    }

    /// Returns the bins of a block.
    fn bins_of_block(&self, block: usize) -> Range<usize> {
        let end = |block: usize| self.bins.block_of.partition_point(|&b| b < block);
        end(block)..end(block + 1)
    }

    /// Writes the targets of some consecutive bins of a block, which is begun with the first and completed with the last.
    #[allow(clippy::too_many_arguments)]
    fn append(
        &self,
        lengths: &Lengths<'_>,
        entries: &[u64],
        bins: Range<usize>,
        targets: &[u32],
        open: &mut Option<Open>,
        done: &mut Transposed,
        watch: &dyn Watch,
    ) -> Result<()> {
        let mut writer = self.writer(lengths, entries, bins.start, open)?;
        writer.targets(targets)?;
        done.entries += targets.len() as u64;
        self.complete(bins.end, writer, open, done, watch)
    }

    /// Returns the block of `bin`, begun with the lengths of its rows if that is its first bin.
    fn writer(
        &self,
        lengths: &Lengths<'_>,
        entries: &[u64],
        bin: usize,
        open: &mut Option<Open>,
    ) -> Result<BlockWriter> {
        let block = self.bins.block_of[bin];
        if let Some(Open { writer, .. }) = open.take().filter(|open| open.block == block) {
            return Ok(writer);
        }
        let path = || stored::path(self.folder, Half::Upper, block);
        failpoint::hit("transpose.block").map_err(|e| Error::io("write", path(), e))?;
        let rows = self.layout.block(block).rows;
        let sum = entries[self.bins_of_block(block)].iter().sum();
        let mut writer = BlockWriter::create(self.folder, self.key, Half::Upper, block, rows.clone(), sum)?;
        lengths.chunks(rows, |chunk| writer.lengths(chunk))?;
        Ok(writer)
    }

    /// Completes the block if `end` is the end of its bins; leaves it open otherwise.
    fn complete(
        &self,
        end: usize,
        writer: BlockWriter,
        open: &mut Option<Open>,
        done: &mut Transposed,
        watch: &dyn Watch,
    ) -> Result<()> {
        let block = self.bins.block_of[end - 1];
        if end < self.bins_of_block(block).end {
            *open = Some(Open { block, writer });
            return Ok(());
        }
        let bytes = self.syncer.push(writer.finish()?).bytes;
        done.bytes += bytes;
        watch.wrote(bytes);
        Ok(())
    }

    /// Finds the entries of a row that is longer than a window, and writes them as they come.
    fn long_row(
        &self,
        lengths: &Lengths<'_>,
        entries: &[u64],
        bin: usize,
        open: &mut Option<Open>,
        done: &mut Transposed,
        watch: &dyn Watch,
    ) -> Result<()> {
        let v = self.bins.spans[bin].rows.start as u32;
        let mut writer = self.writer(lengths, entries, bin, open)?;
        let some = (self.memory.window / 4 / lengths::CHUNK as u64).max(1) as usize * lengths::CHUNK;
        let mut found = Vec::new();
        let mut sum = 0;
        let (mut from, end) = (u64::from(v) + 1, self.layout.rows());
        while from < end {
            let rows = from..(from + some as u64).min(end);
            found.clear();
            let has = |&u: &u64| self.lower.row(u as u32).binary_search(&v).is_ok();
            found.par_extend(rows.clone().into_par_iter().filter(has).map(|u| u as u32));
            writer.targets(&found)?;
            sum += found.len() as u64;
            watch.advance(found.len() as u64)?;
            let passed = self.lower.layout.block_of(from as u32)..self.lower.layout.block_of(rows.end as u32 - 1);
            passed.for_each(|block| self.lower.release(block));
            from = rows.end;
        }
        if sum != entries[bin] {
            return Err(lengths.differ(v));
        }
        done.entries += sum;
        self.complete(bin + 1, writer, open, done, watch)
    }
}
