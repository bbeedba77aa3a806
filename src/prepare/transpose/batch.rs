//! Batches: consecutive entries of the lower half, put into the order of the bins of the upper half that they belong to.

use crate::graph::catalogue::Catalogue;
use crate::graph::csr::Block;
use crate::graph::layout::{BIN_ROWS, Bins};
use std::ops::Range;

/// Entries of a block of the lower half that follow each other, also within a row, and belong to at most [`BIN_ROWS`] rows.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) block: usize,
    /// The row of the first entry, by its place in the block.
    first: usize,
    entries: Range<usize>,
}

/// Cuts the lower half into batches, in order.
pub(super) struct Batches<'a> {
    lower: &'a Catalogue,
    size: usize,
    block: usize,
    entry: usize,
}

impl<'a> Batches<'a> {
    /// Returns batches of at most `size` entries, which begin with row `v`.
    pub(super) fn from(lower: &'a Catalogue, size: usize, v: u32) -> Self {
        let block = lower.layout.block_of(v).min(lower.len());
        let row = |block: Block<'_>| {
            block.offsets[v.clamp(block.first_row, block.end_row()).abs_diff(block.first_row) as usize]
        };
        let entry = if block < lower.len() { row(lower.block(block)) as usize } else { 0 };
        Batches { lower, size, block, entry }
    }
}

impl Iterator for Batches<'_> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        loop {
            if self.block >= self.lower.len() {
                return None;
            }
            let block = self.lower.block(self.block);
            if self.entry >= block.targets.len() {
                (self.block, self.entry) = (self.block + 1, 0);
                continue;
            }
            let first = block.offsets.partition_point(|&offset| offset as usize <= self.entry) - 1;
            let last = (first + BIN_ROWS as usize).min(block.rows());
            let end = (self.entry + self.size).min(block.offsets[last] as usize);
            let entries = std::mem::replace(&mut self.entry, end)..end;
            return Some(Batch { block: self.block, first, entries });
        }
    }
}

/// The rows of the upper half that are made in a pass, and the bins that they are cut into.
pub(super) struct Target<'a> {
    pub(super) bins: &'a Bins,
    /// The bins of the pass.
    pub(super) range: Range<usize>,
    /// First row of each of them.
    pub(super) firsts: Vec<u32>,
    /// True if these are all rows.
    pub(super) is_all: bool,
}

impl<'a> Target<'a> {
    pub(super) fn new(bins: &'a Bins, range: Range<usize>) -> Self {
        let firsts = bins.spans[range.clone()].iter().map(|span| span.rows.start as u32).collect();
        Target { bins, is_all: range.len() == bins.spans.len(), range, firsts }
    }

    /// Returns the rows.
    pub(super) fn rows(&self) -> Range<u64> {
        self.bins.spans[self.range.start].rows.start..self.bins.spans[self.range.end - 1].rows.end
    }

    /// Returns the entries of `row` that are vertices of these rows.
    #[inline]
    fn of<'r>(&self, row: &'r [u32], rows: &Range<u64>) -> &'r [u32] {
        if self.is_all {
            return row;
        }
        let from = row.partition_point(|&v| u64::from(v) < rows.start);
        let row = &row[from..];
        &row[..row.partition_point(|&v| u64::from(v) < rows.end)]
    }
}

impl Batch {
    /// Returns the vertex of its first row.
    pub(super) fn first_vertex(&self, lower: &Catalogue) -> u32 {
        lower.block(self.block).first_row + self.first as u32
    }

    /// Calls `each` for all parts of rows, with the row's place behind the first.
    #[inline]
    fn rows(&self, block: Block<'_>, target: &Target<'_>, mut each: impl FnMut(u32, &[u32])) {
        let rows = target.rows();
        let mut row = self.first;
        let mut at = self.entries.start;
        while at < self.entries.end {
            let end = (block.offsets[row + 1] as usize).min(self.entries.end);
            each((row - self.first) as u32, target.of(&block.targets[at..end], &rows));
            (row, at) = (row + 1, end);
        }
    }

    /// Puts the entries of `target` into the order of bins, and within a bin leaves them in that of rows. An entry is the place of its row
    /// behind the batch's first, and that of its vertex behind its bin's first, 16 bits each. Those of bin `i` come to lie at
    /// `starts[i]..starts[i + 1]`. Returns their number.
    pub(super) fn place(&self, lower: &Catalogue, target: &Target<'_>, starts: &mut [u32], out: &mut [u32]) -> u64 {
        let block = lower.block(self.block);
        let (bins, first_bin) = (target.bins, target.range.start);
        starts.fill(0);
        // While entries are placed, the start of bin `i` is at `i + 1`, and becomes its end.
        self.rows(block, target, |_, row| {
            for &v in row {
                starts[bins.of(v) - first_bin + 2] += 1;
            }
        });
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        self.rows(block, target, |place, row| {
            for &v in row {
                let bin = bins.of(v) - first_bin;
                let at = &mut starts[bin + 1];
                out[*at as usize] = place << 16 | (v - target.firsts[bin]);
                *at += 1;
            }
        });
        u64::from(sum)
    }
}
