//! The adjacency rows of a graph, which a depth-first search reads one at a time in random order.
//!
//! If the rows are in files that do not fit memory, the search keeps copies of as many of the last rows as fit. The
//! last rows belong to vertices of low degree and are short, so most rows are copied. The search reads the other rows
//! ahead from the disk: it asks for the rows of the next unreached neighbours together, before it waits for any of
//! them.

use crate::error::Result;
use crate::graph::block_store::BlockLocation;
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer, prefetch, random_access, will_need};
use crate::prepare::prepared::Graph;
use crate::process::signals;

/// Base-2 logarithm of the number of consecutive rows for which a table has one block number.
const SHIFT: u32 = 12;
/// Maximum number of neighbours in a row that are read ahead from a disk at once.
const ASKED: usize = 1 << 11;
/// Number of rows that are copied between two checks for signals.
const STRIDE: u32 = 1 << 16;
/// One part in this many of the free memory stays free when rows are copied.
const SPARE: u64 = 16;

/// One half of all rows. The lower half of a row has the neighbours with smaller numbers, the upper half those with
/// larger numbers.
struct RowHalf<'a> {
    blocks: Vec<Block<'a>>,
    /// Index in `blocks` of the block that contains every 2^[`SHIFT`]th row.
    of_rows: Vec<u32>,
    /// The first row that is copied to memory; `u32::MAX` if none is.
    copied: u32,
    copies: Option<Copies>,
}

/// Rows copied to memory, one after another.
struct Copies {
    /// Start of each row in `entries`, and the end of the last row.
    starts: Buffer<u32>,
    entries: Buffer<u32>,
}

impl<'a> RowHalf<'a> {
    fn new(half: &'a BlockStore, rows: u64) -> RowHalf<'a> {
        let blocks: Vec<Block<'a>> = (0..half.len()).map(|b| half.block(b)).collect();
        let mut b = 0;
        let of_rows = (0..=rows >> SHIFT).map(|part| {
            while blocks.get(b + 1).is_some_and(|next| u64::from(next.first_row) <= part << SHIFT) {
                b += 1;
            }
            b as u32
        });
        RowHalf { of_rows: of_rows.collect(), blocks, copied: u32::MAX, copies: None }
    }

    /// Returns the block that contains a row, and the index of the row in the block.
    #[inline]
    fn locate(&self, row: u32) -> (&Block<'a>, usize) {
        let mut b = self.of_rows[(row >> SHIFT) as usize] as usize;
        while row >= self.blocks[b].end_row() {
            b += 1;
        }
        let block = &self.blocks[b];
        (block, (row - block.first_row) as usize)
    }

    /// Returns the number of entries (neighbours) in row `row` and all rows after it.
    fn entries_from(&self, row: u32) -> u64 {
        let of_block = |block: &Block<'_>| {
            let local = row.saturating_sub(block.first_row).min(block.rows() as u32);
            u64::from(block.offsets[block.rows()] - block.offsets[local as usize])
        };
        self.blocks.iter().rev().take_while(|block| block.end_row() > row).map(of_block).sum()
    }

    /// Copies the rows from `first` on to memory. The graph has `rows` rows.
    fn copy(&mut self, first: u32, rows: u32, budget: &Budget) -> Result<()> {
        let purpose = "the last rows of a graph that is larger than memory";
        let mut starts: Buffer<u32> = budget.zeroed((rows - first) as usize + 1, purpose)?;
        let mut entries: Buffer<u32> = budget.zeroed(self.entries_from(first) as usize, purpose)?;
        let mut at = 0;
        for row in first..rows {
            if row % STRIDE == 0 {
                signals::check()?;
            }
            let of_row = self.row(row);
            entries[at..at + of_row.len()].copy_from_slice(of_row);
            at += of_row.len();
            starts[(row - first) as usize + 1] = at as u32;
        }
        (self.copied, self.copies) = (first, Some(Copies { starts, entries }));
        Ok(())
    }

    /// Starts to read the beginning of a row from the disk, unless the row was copied to memory.
    fn read_ahead(&self, row: u32) {
        let of_row = self.row(row);
        if row < self.copied {
            will_need(&of_row[..of_row.len().min(ASKED)]);
        }
    }

    /// Returns the copied rows and the index of the row among them; `None` if the row was not copied to memory.
    #[inline]
    fn copy_of(&self, row: u32) -> Option<(&Copies, usize)> {
        Some((self.copies.as_ref()?, row.checked_sub(self.copied)? as usize))
    }

    #[inline]
    fn row(&self, row: u32) -> &[u32] {
        if let Some((copies, local)) = self.copy_of(row) {
            let [first, end] = [copies.starts[local], copies.starts[local + 1]];
            return &copies.entries[first as usize..end as usize];
        }
        let (block, local) = self.locate(row);
        let (first, end) = (block.offsets[local], block.offsets[local + 1]);
        &block.targets[first as usize..end as usize]
    }

    /// Prefetches the offset at which a row begins.
    #[inline]
    fn prefetch_offset(&self, row: u32) {
        if let Some((copies, local)) = self.copy_of(row) {
            return prefetch(&copies.starts, local);
        }
        let (block, local) = self.locate(row);
        prefetch(block.offsets, local);
    }

    /// Prefetches the first neighbours in a row. The offset of the row should be in a cache already.
    #[inline]
    fn fetch(&self, row: u32) {
        prefetch(self.row(row), 0);
    }
}

/// The adjacency rows of a graph that a depth-first search follows.
pub(super) struct SearchRows<'a> {
    /// The lower halves of all rows, then the upper halves.
    halves: [RowHalf<'a>; 2],
    direction: Direction,
    rows: u32,
    is_on_disk: bool,
}

/// The row of a vertex in two halves: the neighbours with smaller numbers, and the neighbours with larger ones.
#[derive(Clone, Copy, Default)]
pub(super) struct Neighbours<'a>(pub [&'a [u32]; 2]);

/// Number of neighbours in a chunk, the part of a row that the search tests at once.
const CHUNK: usize = 64;

impl<'a> Neighbours<'a> {
    /// Returns the number of chunks of the row, which have 64 neighbours each. Each half is divided separately.
    #[inline]
    pub fn chunks(&self) -> usize {
        self.0[0].len().div_ceil(CHUNK) + self.0[1].len().div_ceil(CHUNK)
    }

    /// Returns the neighbours in chunk `number`: 64, or fewer in the last chunk of each half.
    #[inline]
    pub fn chunk(&self, number: usize) -> &'a [u32] {
        let of_lower = self.0[0].len().div_ceil(CHUNK);
        let (half, number) = if number < of_lower { (self.0[0], number) } else { (self.0[1], number - of_lower) };
        &half[CHUNK * number..half.len().min(CHUNK * (number + 1))]
    }
}

impl<'a> SearchRows<'a> {
    /// Opens the rows of a graph. The graph must have both the lower and the upper halves of rows.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] if the upper halves are missing.
    pub fn new(graph: &'a Graph) -> Result<SearchRows<'a>> {
        let direction = graph.info.direction;
        let rows = direction.rows(graph.info.connected);
        let halves = [&graph.block_store, graph.upper()?].map(|half| RowHalf::new(half, rows));
        Ok(SearchRows { halves, direction, rows: rows as u32, is_on_disk: false })
    }

    /// If the rows are in files that do not fit the free memory of `budget`, copies as many of the last rows to memory
    /// as fit.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; [`crate::Error::Stopped`].
    pub fn copy_last(&mut self, graph: &Graph, budget: &Budget) -> Result<()> {
        let (lower, upper, free) = (&graph.block_store, graph.upper()?, budget.free());
        let in_files = !lower.is_empty() && matches!(lower.location(0), BlockLocation::InFile(_));
        if !in_files || lower.bytes() + upper.bytes() <= free {
            return Ok(());
        }
        self.is_on_disk = true;
        let most = free - free / SPARE;
        let fits = |row: u32| {
            let halves = self.halves.each_ref().map(|half| half.entries_from(row));
            // Indices of copied neighbours are u32.
            let bytes = 4 * halves.iter().sum::<u64>() + 8 * u64::from(self.rows - row + 1);
            bytes <= most && halves.iter().all(|&entries| entries <= u32::MAX.into())
        };
        let (mut first, mut end) = (0, self.rows);
        while first < end {
            let middle = first + (end - first) / 2;
            if fits(middle) { end = middle } else { first = middle + 1 }
        }
        self.halves.iter_mut().try_for_each(|half| half.copy(first, self.rows, budget))?;
        for half in [lower, upper] {
            (0..half.len()).for_each(|block| {
                half.release(block);
                random_access(half.block(block).targets);
            });
        }
        Ok(())
    }

    /// Frees the copied rows.
    pub fn drop_copies(&mut self) {
        for half in &mut self.halves {
            (half.copied, half.copies) = (u32::MAX, None);
        }
    }

    /// Starts to read the rows of `vertices` from the disk, if the rows are in files that do not fit memory.
    #[inline]
    pub fn read_ahead(&self, vertices: impl Iterator<Item = u32>) {
        if self.is_on_disk {
            vertices.for_each(|v| {
                let row = self.direction.row(v, EdgeDirection::Out);
                self.halves.iter().for_each(|half| half.read_ahead(row));
            });
        }
    }

    /// Returns the out-neighbours of vertex `v`.
    #[inline]
    pub fn of(&self, v: u32) -> Neighbours<'_> {
        let row = self.direction.row(v, EdgeDirection::Out);
        Neighbours([self.halves[0].row(row), self.halves[1].row(row)])
    }

    /// Prefetches the offsets at which the row of vertex `v` begins.
    #[inline]
    pub fn prefetch_offset(&self, v: u32) {
        let row = self.direction.row(v, EdgeDirection::Out);
        self.halves.iter().for_each(|half| half.prefetch_offset(row));
    }

    /// Prefetches the first neighbours in the row of vertex `v`. The offsets of the row should be in a cache already.
    #[inline]
    pub fn fetch(&self, v: u32) {
        let row = self.direction.row(v, EdgeDirection::Out);
        self.halves.iter().for_each(|half| half.fetch(row));
    }
}
