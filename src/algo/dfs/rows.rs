//! The adjacency rows of a graph, which a depth-first search reads one at a time in random order.
//!
//! If the rows are in files that do not fit memory, the search keeps copies of as many of the last rows as fit. The
//! last rows belong to vertices of low degree and are short, so most rows are copied. The search reads the other rows
//! ahead from the disk: it asks for the rows of the next unreached neighbours together, before it waits for any of
//! them.

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::block_store::BlockLocation;
use crate::graph::block_store::BlockStore;
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer, prefetch, will_need};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::ops::Range;

/// Maximum number of neighbours in a row that are read ahead from a disk at once.
const ASKED: usize = 1 << 11;
/// Number of rows that are copied between two checks for signals.
const STRIDE: u32 = 1 << 16;
/// The copies of rows leave free one part in this many of the free memory.
const SPARE: u64 = 16;

/// The adjacency rows of a graph that a depth-first search follows.
pub(super) struct SearchRows<'a> {
    rows: Adjacency<'a>,
    /// The first row that is copied to memory; `u32::MAX` if none is.
    copied: u32,
    /// The copied rows: their lower halves, which have the neighbours with smaller numbers, and their upper halves.
    copies: Option<[Copies; 2]>,
    direction: Direction,
    is_on_disk: bool,
}

/// One half of consecutive rows, copied to memory one after another.
struct Copies {
    /// Start of each row in `entries`, and the end of the last row.
    starts: Buffer<u32>,
    entries: Buffer<u32>,
}

impl Copies {
    /// Copies the rows `rows` of `half`, which have `entries` entries (neighbours).
    fn new(half: &BlockStore, rows: Range<u32>, entries: u64, budget: &Budget) -> Result<Copies> {
        let purpose = "the last rows of a graph that is larger than memory";
        let mut starts: Buffer<u32> = budget.zeroed(rows.len() + 1, purpose)?;
        let mut copied: Buffer<u32> = budget.zeroed(entries as usize, purpose)?;
        let mut at = 0;
        for ((row, of_row), end) in half.rows(rows).zip(&mut starts[1..]) {
            if row % STRIDE == 0 {
                signals::check()?;
            }
            copied[at..at + of_row.len()].copy_from_slice(of_row);
            at += of_row.len();
            *end = at as u32;
        }
        Ok(Copies { starts, entries: copied })
    }
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
        let rows = Adjacency::new(&graph.block_store, graph.upper()?);
        Ok(SearchRows { rows, copied: u32::MAX, copies: None, direction: graph.info.direction, is_on_disk: false })
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
        let (rows, most) = (self.direction.rows(graph.info.connected) as u32, free - free / SPARE);
        let fits = |row: u32| {
            let halves = [lower, upper].map(|half| entries_from(half, row));
            // Indices of copied neighbours are u32.
            let bytes = 4 * halves.iter().sum::<u64>() + 8 * u64::from(rows - row + 1);
            bytes <= most && halves.iter().all(|&entries| entries <= u32::MAX.into())
        };
        let (mut first, mut end) = (0, rows);
        while first < end {
            let middle = first + (end - first) / 2;
            if fits(middle) { end = middle } else { first = middle + 1 }
        }
        let [lower_copies, upper_copies] =
            [lower, upper].map(|half| Copies::new(half, first..rows, entries_from(half, first), budget));
        (self.copied, self.copies) = (first, Some([lower_copies?, upper_copies?]));
        for half in [lower, upper] {
            (0..half.len()).for_each(|block| half.release(block));
        }
        self.rows.expect_random_access();
        Ok(())
    }

    /// Frees the copied rows.
    pub fn drop_copies(&mut self) {
        (self.copied, self.copies) = (u32::MAX, None);
    }

    /// Starts to read the rows of `vertices` from the disk, if the rows are in files that do not fit memory. Rows that
    /// were copied to memory are left out.
    #[inline]
    pub fn read_ahead(&self, vertices: impl Iterator<Item = u32>) {
        if self.is_on_disk {
            let rows = vertices.map(|v| self.direction.row(v, EdgeDirection::Out)).filter(|&row| row < self.copied);
            let halves = rows.flat_map(|row| self.rows.halves(row));
            halves.for_each(|half| will_need(&half[..half.len().min(ASKED)]));
        }
    }

    /// Returns the two halves of the row of vertex `v`, each as a view of it alone.
    #[inline]
    fn views(&self, v: u32) -> [Block<'_>; 2] {
        let row = self.direction.row(v, EdgeDirection::Out);
        match (&self.copies, row.checked_sub(self.copied)) {
            (Some(copies), Some(local)) => copies.each_ref().map(|Copies { starts, entries }| {
                let offsets = &starts[local as usize..local as usize + 2];
                Block { first_row: row, offsets, targets: entries }
            }),
            _ => self.rows.views(row),
        }
    }

    /// Returns the out-neighbours of vertex `v`.
    #[inline]
    pub fn of(&self, v: u32) -> Neighbours<'_> {
        Neighbours(self.views(v).map(|half| half.row(0)))
    }

    /// Prefetches the offsets at which the row of vertex `v` begins.
    #[inline]
    pub fn prefetch_offset(&self, v: u32) {
        self.views(v).iter().for_each(|half| prefetch(half.offsets, 0));
    }

    /// Prefetches the first neighbours in the row of vertex `v`. The offsets of the row should be in a cache already.
    #[inline]
    pub fn fetch(&self, v: u32) {
        self.views(v).iter().for_each(|half| prefetch(half.row(0), 0));
    }
}

/// Returns the number of entries (neighbours) in row `first` and all rows after it.
fn entries_from(half: &BlockStore, first: u32) -> u64 {
    let of_block = |block: Block<'_>| {
        let local = first.saturating_sub(block.first_row) as usize;
        u64::from(block.offsets[block.rows()] - block.offsets[local])
    };
    half.blocks_of(first..u32::MAX).map(|b| of_block(half.block(b))).sum()
}
