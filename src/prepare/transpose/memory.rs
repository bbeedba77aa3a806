//! Division of memory for building the upper half. The contents of blocks do not depend on it.

use super::batch::GROUP_BITS;
use crate::graph::{BIN_ROWS, Bins, Layout};

/// Maximum number of entries (neighbours) of a batch. It is small enough that the entries and their copy in the order
/// of bins stay in a core's cache, and large enough that the entries of most bins fill several cache lines.
const BATCH: u64 = 1 << 17;

/// Target number of entries (neighbours) of a bin. Bins are larger if there would be more than `MOST_BINS`.
const BIN: u64 = 1 << 17;
/// Maximum number of bins of the target size. If a graph would need more, its bins are larger.
const MOST_BINS: u64 = 1 << 12;

/// Number of entries (neighbours) that are written at a time if a bin has only one row.
pub(super) const PIECE: usize = 1 << 14;

/// Size in bytes of an element in the list of batches.
const BATCH_BYTES: u64 = 64;

/// Sizes of the upper half's division into bins and batches, on which the division of memory depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransposeShape {
    /// Number of bins into which the rows are divided.
    pub bins: u64,
    /// Number of batches into which the entries of the lower half are divided.
    pub batches: u64,
    /// Size in bytes of the largest bin with several rows: its entries, and a cursor for each row. A bin with one row
    /// need not fit in memory.
    pub largest: u64,
    /// Number of entries (neighbours) of the upper half.
    pub entries: u64,
    /// Whether entries have weights.
    pub weighted: bool,
}

/// Returns the number of 32-bit words of an entry: one for the neighbour, and one for the weight if edges have weights.
pub(super) fn entry_words(weighted: bool) -> u64 {
    if weighted { 2 } else { 1 }
}

/// Returns the size in bytes of `rows` rows with `entries` entries while they are built: the entries, and a cursor for
/// each row.
pub(super) fn rows_bytes(rows: u64, entries: u64, weighted: bool) -> u64 {
    4 * (rows + entry_words(weighted) * entries)
}

/// Returns the size in bytes of one bin's entries in all batches, plus 4 bytes for each of the `batches`: the position
/// at which the bin's entries start in this batch.
pub(super) fn bin_bytes(entries: u64, batches: u64, weighted: bool) -> u64 {
    4 * (entry_words(weighted) * entries + batches)
}

impl TransposeShape {
    /// Divides the layout of the upper half into bins. Returns the sizes of the division, and the bins. The graph has
    /// at most `edges` edges, and its lower half has `blocks` blocks; `weighted` says whether edges have weights.
    pub fn and_bins(layout: &Layout, edges: u64, blocks: u64, weighted: bool) -> (TransposeShape, Bins) {
        let bins = layout.bins(BIN.max(layout.bound() / MOST_BINS));
        let many = bins.spans.iter().filter(|span| span.len() > 1);
        let largest = many.map(|span| rows_bytes(span.len() as u64, span.bound, weighted)).max().unwrap_or(0);
        let entries = layout.bound().min(edges);
        let batches = most_batches(entries, layout.rows(), blocks);
        (TransposeShape { bins: bins.spans.len() as u64, batches, largest, entries, weighted }, bins)
    }

    /// Returns upper bounds on the sizes for any graph with `edges` edges and `rows` rows. They are derived as in
    /// [`super::super::memory_plan::LayoutShape::at_most`]. The upper half has one entry for each edge.
    pub fn at_most(edges: u64, rows: u64, weighted: bool) -> TransposeShape {
        let target = BIN.max(2 * edges / MOST_BINS);
        let bin = target.max(edges / 512 + 2048).min(2 * edges);
        let blocks = 4 * edges / Layout::block_target(edges) + 33;
        let bins = 2 * (2 * edges / target.div_ceil(2) + rows / BIN_ROWS) + 2 * blocks + 1;
        let batches = most_batches(edges, rows, blocks);
        let largest = rows_bytes(rows.min(BIN_ROWS), bin, weighted);
        TransposeShape { bins, batches, largest, entries: edges, weighted }
    }

    /// Returns the size in bytes of the list of batches, including the start of each batch.
    fn list_bytes(&self) -> u64 {
        (BATCH_BYTES + 4) * self.batches
    }

    /// Returns the number of bytes of memory that one thread needs to build the rows of a bin.
    fn row_builder_bytes(&self) -> u64 {
        self.largest.max(4 * entry_words(self.weighted) * PIECE as u64)
    }

    /// Returns the size in bytes of all entries in batches, including the start of each bin in each batch.
    fn all_bytes(&self) -> u64 {
        4 * entry_words(self.weighted) * self.entries + 4 * self.bins * self.batches
    }

    /// Returns the minimum number of bytes of memory that building the upper half needs.
    pub fn least(&self) -> u64 {
        self.list_bytes() + self.row_builder_bytes() + self.largest + bin_bytes(0, self.batches, self.weighted)
    }
}

/// Returns the maximum number of batches of a lower half with `blocks` blocks. A batch ends after `BATCH` entries,
/// after `BIN_ROWS` rows, at the end of a group of 2^`GROUP_BITS` rows, or at the end of its block.
fn most_batches(entries: u64, rows: u64, blocks: u64) -> u64 {
    entries / BATCH + rows / BIN_ROWS + (rows >> GROUP_BITS) + blocks
}

/// Division of memory between the entries in batches and the rows that are built from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransposeMemory {
    /// Maximum number of entries (neighbours) of a batch.
    pub batch: usize,
    /// Number of bins whose rows are built at the same time.
    pub row_builders: usize,
    /// Maximum size in bytes of the entries of one pass over the lower half, including the start of each bin in each
    /// batch.
    pub window: u64,
}

impl TransposeMemory {
    /// Divides `free` bytes of memory for `threads` threads.
    ///
    /// # Errors
    /// The minimum number of bytes of memory that is enough.
    pub fn new(shape: &TransposeShape, threads: usize, free: u64) -> Result<TransposeMemory, u64> {
        if free < shape.least() {
            return Err(shape.least());
        }
        // Another pass over the lower half costs more time than a waiting thread. So if memory is scarce, little of it
        // is used for building rows.
        let free = free - shape.list_bytes();
        let most = shape.all_bytes().max(shape.largest + bin_bytes(0, shape.batches, shape.weighted));
        let room = (free / 8).max(free.saturating_sub(most));
        let row_builders = (room / shape.row_builder_bytes()).clamp(1, threads as u64);
        let window = (free - row_builders * shape.row_builder_bytes()).min(most);
        Ok(TransposeMemory { batch: BATCH as usize, row_builders: row_builders as usize, window })
    }

    /// Returns the total number of bytes of memory in this division.
    pub fn bytes(&self, shape: &TransposeShape) -> u64 {
        self.window + self.row_builders as u64 * shape.row_builder_bytes() + shape.list_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{DegreeRuns, Direction};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_division_fits_free_memory_and_the_least_is_enough(
            runs in prop::collection::btree_map(1u32..50_000, 1u32..300_000, 1..40),
            free in 1u64 << 12..1 << 34,
            threads in 1usize..64,
            weighted in any::<bool>(),
        ) {
            let runs = DegreeRuns::new(runs.into_iter().rev().collect());
            let edges = runs.iter().map(|(d, from, to)| u64::from(d) * (to - from)).sum::<u64>().div_ceil(2);
            let blocks = Layout::new(&runs, edges, Direction::Undirected).blocks() as u64;
            let layout = Layout::upper(&runs, edges, Direction::Undirected);
            let (shape, _) = TransposeShape::and_bins(&layout, edges, blocks, weighted);
            let most = TransposeShape::at_most(edges, runs.vertices(), weighted);
            prop_assert!(shape.bins <= most.bins && shape.largest <= most.largest, "{shape:?} {most:?}");
            prop_assert!(shape.batches <= most.batches && shape.entries <= most.entries, "{shape:?} {most:?}");
            for free in [free, shape.least()] {
                match TransposeMemory::new(&shape, threads, free) {
                    Ok(memory) => {
                        prop_assert!(memory.bytes(&shape) <= free && memory.row_builders > 0, "{memory:?}");
                        prop_assert!(memory.window >= shape.largest + bin_bytes(0, shape.batches, shape.weighted), "{memory:?}");
                    }
                    Err(least) => prop_assert!(least == shape.least() && free < least),
                }
            }
        }
    }
}
