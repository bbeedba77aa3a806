//! Batches of consecutive entries (neighbours in rows) of the lower half. Entry `v` of lower row `u` becomes entry `u`
//! of upper row `v`. The entries of a batch are sorted by the bins of these upper rows.

use crate::graph::{Bins, Block, BlockStore};
use std::ops::Range;

/// Consecutive entries (neighbours in rows) of a block of the lower half. A batch may begin and end within a row.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) block: usize,
    /// Indices of the first and of the last row (inclusive).
    pub(super) rows: [u32; 2],
    pub(super) entries: Range<usize>,
}

/// Binary logarithm of the number of rows in a group of rows. No batch contains rows of two groups, because the GPU
/// sorts by group.
pub(super) const GROUP_BITS: u32 = 17;

/// Divides the lower half into batches of at most `size` entries and `rows` rows, in order.
pub(super) fn batches(lower: &BlockStore, size: usize, rows: u64) -> Vec<Batch> {
    let mut all = Vec::new();
    for index in 0..lower.len() {
        let block = lower.block(index);
        let mut entry = 0;
        while entry < block.targets.len() {
            let row_of = |entry: usize| block.offsets.partition_point(|&offset| offset as usize <= entry) - 1;
            let first = row_of(entry);
            let u = u64::from(block.first_row) + first as u64;
            let after = rows.min((1 << GROUP_BITS) - u % (1 << GROUP_BITS));
            let last = (first + after as usize).min(block.rows());
            let end = (entry + size).min(block.offsets[last] as usize);
            let rows = [first, row_of(end - 1)].map(|row| block.first_row + row as u32);
            all.push(Batch { block: index, rows, entries: entry..end });
            entry = end;
        }
    }
    all
}

/// The rows of the upper half that a pass over the lower half builds, and their division into bins.
pub(super) struct PassTarget<'a> {
    pub(super) bins: &'a Bins,
    /// Range of the bins that the pass builds.
    pub(super) range: Range<usize>,
    /// First row of each bin of the pass.
    firsts: Vec<u32>,
    /// Whether the pass builds all rows of the upper half.
    pub(super) is_all: bool,
}

impl<'a> PassTarget<'a> {
    pub(super) fn new(bins: &'a Bins, range: Range<usize>) -> Self {
        let firsts = bins.spans[range.clone()].iter().map(|span| span.rows.start as u32).collect();
        PassTarget { bins, is_all: range.len() == bins.spans.len(), range, firsts }
    }

    /// Returns the rows of the upper half that the pass builds.
    pub(super) fn rows(&self) -> Range<u64> {
        self.bins.spans[self.range.start].rows.start..self.bins.spans[self.range.end - 1].rows.end
    }

    /// Returns the index range of those `entries` (neighbours) whose upper rows are in `rows`. `entries` is the lower
    /// row `row` or a part of it.
    #[inline]
    fn of(&self, row: u32, entries: &[u32], rows: &Range<u64>) -> Range<usize> {
        if self.is_all {
            return 0..entries.len();
        }
        let opposite = |v: u32| u64::from(self.bins.direction().opposite(row, v));
        let from = entries.partition_point(|&v| opposite(v) < rows.start);
        from..from + entries[from..].partition_point(|&v| opposite(v) < rows.end)
    }
}

impl Batch {
    /// Returns the number of entries (neighbours) in the batch.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of rows in the batch.
    pub(super) fn rows_len(&self) -> usize {
        self.rows[1].abs_diff(self.rows[0]) as usize + 1
    }

    /// Calls `each` for every row that is at least partly in the batch, with two arguments: the row's index in the
    /// graph, and an index range in the block. The range covers the entries of this row that are in the batch and whose
    /// upper row is one of `target`'s.
    #[inline]
    fn rows(&self, block: Block<'_>, target: &PassTarget<'_>, mut each: impl FnMut(u32, Range<usize>)) {
        let rows = target.rows();
        let (mut row, mut at) = ((self.rows[0] - block.first_row) as usize, self.entries.start);
        while at < self.entries.end {
            let end = (block.offsets[row + 1] as usize).min(self.entries.end);
            let number = block.first_row + row as u32;
            let of = target.of(number, &block.targets[at..end], &rows);
            each(number, at + of.start..at + of.end);
            (row, at) = (row + 1, end);
        }
    }

    /// Counts the batch's entries for each bin of `target` in `counts`, which must be all zero. Returns the total.
    pub(super) fn count(&self, lower: &BlockStore, target: &PassTarget<'_>, counts: &mut [u32]) -> usize {
        let (bins, first_bin) = (target.bins, target.range.start);
        let direction = bins.direction();
        let mut sum = 0;
        let block = lower.block(self.block);
        self.rows(block, target, |row, entries| {
            sum += entries.len();
            for &v in &block.targets[entries] {
                counts[bins.of(direction.opposite(row, v)) - first_bin] += 1;
            }
        });
        sum
    }

    /// Writes the batch's entries for `target` to `out` in the order of bins, and within a bin in the order of rows. An
    /// entry is written as two 16-bit numbers: the index of its lower row in the batch (high 16 bits), and the index of
    /// its upper row in the bin (low 16 bits). `counts` must contain the number of entries of each bin, and is replaced
    /// by the start of each bin: the entries of bin `i` are in `counts[i]..counts[i + 1]`. If edges are `WEIGHTED`,
    /// their weights are written to the same positions in `weights`.
    pub(super) fn place<const WEIGHTED: bool>(
        &self,
        lower: &BlockStore,
        target: &PassTarget<'_>,
        counts: &mut [u32],
        out: &mut [u32],
        weights: &mut [u32],
    ) {
        let (bins, first_bin) = (target.bins, target.range.start);
        let mut sum = 0;
        for count in counts.iter_mut() {
            sum += std::mem::replace(count, sum);
        }
        let direction = bins.direction();
        let (block, of_block) = (lower.block(self.block), lower.weights(self.block));
        self.rows(block, target, |row, entries| {
            let place = (row - self.rows[0]) << 16;
            let of_row = if WEIGHTED { &of_block[entries.clone()] } else { &[] };
            for (nth, &v) in block.targets[entries].iter().enumerate() {
                let to = direction.opposite(row, v);
                let bin = bins.of(to) - first_bin;
                let at = &mut counts[bin];
                out[*at as usize] = place | (to - target.firsts[bin]);
                if WEIGHTED {
                    weights[*at as usize] = of_row[nth];
                }
                *at += 1;
            }
        });
        // Each element has advanced from the bin's start to its end, which is the start of the next bin.
        counts.copy_within(..counts.len() - 1, 1);
        counts[0] = 0;
    }
}
