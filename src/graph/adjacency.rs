//! Random access to the whole rows (both halves) of a graph. A lookup table finds the block of a row in constant time.

use super::block_store::BlockStore;
use super::csr::Block;
use super::half::Half;
use crate::memory::{prefetch_near, random_access, usual_access, will_need};
use std::ops::Range;

/// Maximum number of row ranges in the table that maps rows to blocks.
const HINTS: u32 = 1 << 12;
/// Two rows are requested from the disk together if at most this number of neighbours lies between them in the file.
const GAP: usize = 1 << 12;
/// Maximum number of rows whose offsets are requested from the disk ahead of use.
const OFFSETS: u32 = 1 << 16;
/// Initial number of rows whose offsets are requested from the disk ahead of use. After a row that is not near its
/// predecessor, the number is reset to this value.
const FIRST_OFFSETS: u32 = 1 << 10;

/// Index of the whole rows (both halves) of a graph. Both halves of the graph must [be local](BlockStore::is_local).
pub struct Adjacency<'a> {
    lower: IndexedRows<'a>,
    upper: IndexedRows<'a>,
    /// Whether [`Self::expect_random_access`] was called.
    is_random: bool,
}

/// Index of the rows of one half of a graph.
struct IndexedRows<'a> {
    blocks: Vec<Block<'a>>,
    /// For each block, the first row after the block.
    ends: Vec<u32>,
    /// Lookup table: for each range of 2^`shift` rows, the block that contains its first row.
    hints: Vec<u32>,
    shift: u32,
}

impl<'a> Adjacency<'a> {
    /// Builds the index of a graph's rows from its two halves.
    pub fn new(lower: &'a BlockStore, upper: &'a BlockStore) -> Adjacency<'a> {
        Adjacency { lower: IndexedRows::new(lower), upper: IndexedRows::new(upper), is_random: false }
    }

    /// Advises the kernel that rows are read in random order until this index is dropped, so that it does not read
    /// ahead in mapped files. Also requests the offsets of all rows from the disk, because they are small.
    pub fn expect_random_access(&mut self) {
        self.is_random = true;
        for block in self.lower.blocks.iter().chain(&self.upper.blocks) {
            will_need(block.offsets);
            random_access(block.offsets);
            random_access(block.targets);
        }
    }

    /// Returns the two halves of `row`: the neighbours with smaller ids than the row's vertex, then those with larger
    /// ids. Each half is in ascending order.
    #[inline]
    pub fn halves(&self, row: u32) -> [&'a [u32]; 2] {
        [self.lower.row(row), self.upper.row(row)]
    }

    /// Returns the lower and the upper half of `row`, each as a view with this single row. The `targets` of the view
    /// are still those of the whole stored block.
    #[inline]
    pub fn views(&self, row: u32) -> [Block<'a>; 2] {
        [&self.lower, &self.upper].map(|half| {
            let (block, local) = half.find(row);
            Block { first_row: row, offsets: &block.offsets[local..local + 2], ..block }
        })
    }

    /// Asks the kernel to read one half of the rows `rows` from the disk ahead of use. Consecutive items of `rows` that
    /// are in ascending order and close to each other are requested together. If `with_offsets` is true, also requests
    /// the offsets of the rows that follow, which helps if `rows` is in ascending order.
    pub fn read_ahead(&self, half: Half, rows: impl Iterator<Item = u32>, with_offsets: bool) {
        let half = if half == Half::Lower { &self.lower } else { &self.upper };
        let (mut of, mut wanted): (&[u32], _) = (&[], 0..0);
        // This function itself reads row offsets, so it requests the offsets of later rows ahead of use. It requests
        // more of them at a time as long as each row is near the previous one.
        let (mut requested, mut window) = (0..0, 0);
        for row in rows {
            let (block, local) = half.find(row);
            if with_offsets && !requested.contains(&row) {
                let goes_on = (requested.end..=requested.end + window).contains(&row);
                window = if goes_on { (4 * window).clamp(FIRST_OFFSETS, OFFSETS) } else { FIRST_OFFSETS };
                will_need(&block.offsets[local..block.offsets.len().min(local + 2 * window as usize)]);
                requested = row..block.end_row().min(row + window);
            }
            let entries = block.entries(local);
            if !std::ptr::eq(of, block.targets) || !(wanted.end..=wanted.end + GAP).contains(&entries.start) {
                will_need(&of[wanted]);
                (of, wanted) = (block.targets, entries.clone());
            }
            wanted.end = entries.end;
        }
        will_need(&of[wanted]);
    }

    /// Prefetches the row offsets of the two halves of `row` to the processor's cache.
    #[inline]
    pub fn prefetch_starts(&self, row: u32) {
        for half in [&self.lower, &self.upper] {
            let (block, local) = half.find(row);
            prefetch_near(block.offsets, local);
        }
    }

    /// Prefetches the first neighbours in the two halves of `row` to the processor's cache. This reads the row offsets,
    /// which [`Self::prefetch_starts`] prefetches.
    #[inline]
    pub fn prefetch_neighbours(&self, row: u32) {
        for half in [&self.lower, &self.upper] {
            let (block, local) = half.find(row);
            prefetch_near(block.targets, block.offsets[local] as usize);
        }
    }

    /// Returns the neighbours in `row` without the first `skip`, as (rest of the lower half, rest of the upper half).
    #[inline]
    pub fn row_from(&self, row: u32, skip: usize) -> [&'a [u32]; 2] {
        let [lower, upper] = self.halves(row);
        let above = skip.saturating_sub(lower.len()).min(upper.len());
        [&lower[skip.min(lower.len())..], &upper[above..]]
    }

    /// Returns the neighbours at the positions `places` of `row`, as (slice of the lower half, slice of the upper
    /// half). Positions number the neighbours of the lower half first, and then those of the upper half.
    #[inline]
    pub fn part(&self, row: u32, places: Range<usize>) -> [&'a [u32]; 2] {
        let [lower, upper] = self.halves(row);
        let at = |place: usize| (place.min(lower.len()), place.saturating_sub(lower.len()).min(upper.len()));
        let ((from, upper_from), (to, upper_to)) = (at(places.start), at(places.end));
        [&lower[from..to], &upper[upper_from..upper_to]]
    }
}

impl Drop for Adjacency<'_> {
    /// Restores the default access advice, because the next task of a job may read the same mapped files sequentially.
    fn drop(&mut self) {
        for block in self.lower.blocks.iter().chain(&self.upper.blocks).filter(|_| self.is_random) {
            usual_access(block.offsets);
            usual_access(block.targets);
        }
    }
}

impl<'a> IndexedRows<'a> {
    fn new(block_store: &'a BlockStore) -> IndexedRows<'a> {
        let blocks: Vec<Block<'a>> = (0..block_store.len()).map(|b| block_store.block(b)).collect();
        let ends: Vec<u32> = blocks.iter().map(Block::end_row).collect();
        let rows = ends.last().copied().unwrap_or(0);
        let shift = rows.div_ceil(HINTS).next_power_of_two().ilog2();
        let firsts = (0..=rows >> shift).map(|hint| hint << shift);
        let hints = firsts.map(|row| ends.partition_point(|&end| end <= row) as u32).collect();
        IndexedRows { blocks, ends, hints, shift }
    }

    #[inline]
    fn row(&self, row: u32) -> &'a [u32] {
        let (block, local) = self.find(row);
        block.row(local)
    }

    /// Returns the block that contains `row`, and the row's index in the block.
    #[inline]
    fn find(&self, row: u32) -> (Block<'a>, usize) {
        let mut b = self.hints[(row >> self.shift) as usize] as usize;
        while self.ends[b] <= row {
            b += 1;
        }
        let block = self.blocks[b];
        (block, (row - block.first_row) as usize)
    }
}
