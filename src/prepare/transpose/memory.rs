//! How the transposition divides its memory. The blocks do not depend on it.

use crate::graph::layout::{BIN_ROWS, Bins, Layout};

/// Entries of a batch: as many as stay in a core's own cache while they are put into the order of their bins. The fewest are for limits
/// that hold little more than the largest bin.
const BATCH: u64 = 1 << 18;
const SMALLEST_BATCH: u64 = 1 << 12;

/// Most entries of a round. The more, the longer a bin's rows stay in cache while they grow.
const ROUND: u64 = 1 << 23;

/// Entries that a bin aims at, and most bins of a graph for which that holds.
const BIN: u64 = 1 << 18;
const MOST_BINS: u64 = 1 << 11;

/// The figures of a layout that the division depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransposeShape {
    /// Number of bins.
    pub bins: u64,
    /// Bytes of the largest bin of several rows, with its cursors. A bin of one row need not fit.
    pub largest: u64,
    /// Bytes of all rows, with their cursors.
    pub all: u64,
}

/// Returns the bytes of rows in memory, with a cursor for each.
pub(super) fn bin_bytes(rows: u64, entries: u64) -> u64 {
    4 * (rows + entries)
}

impl TransposeShape {
    /// Cuts the layout of the upper half into bins, and returns its shape and these.
    pub fn and_bins(layout: &Layout) -> (TransposeShape, Bins) {
        let bins = layout.bins(BIN.max(layout.bound() / MOST_BINS));
        let many = bins.spans.iter().filter(|span| span.len() > 1);
        let largest = many.map(|span| bin_bytes(span.len() as u64, span.bound)).max().unwrap_or(0);
        let shape =
            TransposeShape { bins: bins.spans.len() as u64, largest, all: bin_bytes(layout.rows(), layout.bound()) };
        (shape, bins)
    }

    /// Returns a shape that no layout of a graph of `edges` edges and `rows` connected vertices exceeds, for the reasons that
    /// [`super::super::memory_plan::LayoutShape::at_most`] has. Of both ends of an edge, one is in the upper half.
    pub fn at_most(edges: u64, rows: u64) -> TransposeShape {
        let target = BIN.max(2 * edges / MOST_BINS);
        let bin = target.max(edges / 512 + 2048).min(2 * edges);
        let blocks = 4 * edges / Layout::block_target(edges) + 33;
        let bins = 2 * (2 * edges / target.div_ceil(2) + rows / BIN_ROWS) + 2 * blocks + 1;
        TransposeShape { bins, largest: bin_bytes(rows.min(BIN_ROWS), bin), all: bin_bytes(rows, 2 * edges) }
    }

    /// Returns the bytes of a batch of `entries` entries, with where each bin begins in it.
    fn batch_bytes(&self, entries: u64) -> u64 {
        4 * (entries + self.bins + 2)
    }

    /// Returns the fewest bytes that do.
    pub fn least(&self) -> u64 {
        self.largest + self.batch_bytes(SMALLEST_BATCH)
    }
}

/// The division of memory between the rows that are made at a time, and the entries on their way there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransposeMemory {
    /// Entries of a batch.
    pub batch: usize,
    /// Batches of a round.
    pub batches: usize,
    /// Bytes of rows, with their cursors, that are made in one pass over the lower half.
    pub window: u64,
}

impl TransposeMemory {
    /// Divides `free` bytes where `threads` threads work.
    ///
    /// # Errors
    /// The fewest bytes that would do.
    pub fn new(shape: &TransposeShape, threads: usize, free: u64) -> Result<TransposeMemory, u64> {
        if free < shape.least() {
            return Err(shape.least());
        }
        // Every pass over the lower half costs more than short batches do, so these get little where not all fits.
        let room = (free - shape.largest).min((free / 8).max(free.saturating_sub(shape.all)));
        let mut batch = BATCH;
        while batch > SMALLEST_BATCH && threads as u64 * shape.batch_bytes(batch) > room {
            batch /= 2;
        }
        let batches = (room / shape.batch_bytes(batch)).clamp(1, ROUND / batch);
        let window = (free - batches * shape.batch_bytes(batch)).min(shape.all.max(shape.largest));
        Ok(TransposeMemory { batch: batch as usize, batches: batches as usize, window })
    }

    /// Returns the bytes that it takes in all.
    pub fn bytes(&self, shape: &TransposeShape) -> u64 {
        self.window + self.batches as u64 * shape.batch_bytes(self.batch as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::order::DegreeRuns;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_keeps_within_what_is_free_and_the_least_does(
            runs in prop::collection::btree_map(1u32..50_000, 1u32..300_000, 1..40),
            free in 1u64 << 12..1 << 34,
            threads in 1usize..64,
        ) {
            let runs = DegreeRuns::new(runs.into_iter().rev().collect());
            let edges = runs.iter().map(|(d, from, to)| u64::from(d) * (to - from)).sum::<u64>().div_ceil(2);
            let (shape, _) = TransposeShape::and_bins(&Layout::upper(&runs, edges));
            let most = TransposeShape::at_most(edges, runs.vertices());
            prop_assert!(shape.bins <= most.bins && shape.largest <= most.largest && shape.all <= most.all, "{shape:?} {most:?}");
            for free in [free, shape.least()] {
                match TransposeMemory::new(&shape, threads, free) {
                    Ok(memory) => {
                        prop_assert!(memory.bytes(&shape) <= free && memory.window >= shape.largest, "{memory:?}");
                        prop_assert!(memory.batch > 0 && memory.batches > 0, "{memory:?}");
                    }
                    Err(least) => prop_assert!(least == shape.least() && free < least),
                }
            }
        }
    }
}
