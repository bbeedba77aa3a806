//! Rows of vertices, of which a search asks for one after the other, anywhere in the graph.

use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, Way};
use crate::memory::prefetch;
use crate::prepare::prepared::Graph;

/// Binary logarithm of the rows of which one place of the table of blocks says where they begin.
const SHIFT: u32 = 12;

/// One half of all rows.
struct HalfRows<'a> {
    blocks: Vec<Block<'a>>,
    /// The block of every 2^[`SHIFT`]th row.
    of_rows: Vec<u32>,
}

impl<'a> HalfRows<'a> {
    fn new(half: &'a Catalogue, rows: u64) -> HalfRows<'a> {
        let blocks: Vec<Block<'a>> = (0..half.len()).map(|b| half.block(b)).collect();
        let mut b = 0;
        let of_rows = (0..=rows >> SHIFT).map(|part| {
            while blocks.get(b + 1).is_some_and(|next| u64::from(next.first_row) <= part << SHIFT) {
                b += 1;
            }
            b as u32
        });
        HalfRows { of_rows: of_rows.collect(), blocks }
    }

    /// Returns the block of a row and the row's number in it.
    #[inline]
    fn place(&self, row: u32) -> (&Block<'a>, usize) {
        let mut b = self.of_rows[(row >> SHIFT) as usize] as usize;
        while row >= self.blocks[b].end_row() {
            b += 1;
        }
        let block = &self.blocks[b];
        (block, (row - block.first_row) as usize)
    }

    #[inline]
    fn row(&self, row: u32) -> &'a [u32] {
        let (block, local) = self.place(row);
        let (first, end) = (block.offsets[local], block.offsets[local + 1]);
        &block.targets[first as usize..end as usize]
    }

    /// Has fetched where a row is.
    #[inline]
    fn fetch_place(&self, row: u32) {
        let (block, local) = self.place(row);
        prefetch(block.offsets, local);
    }

    /// Has the beginning of a row fetched, whose place was.
    #[inline]
    fn fetch(&self, row: u32) {
        let (block, local) = self.place(row);
        prefetch(block.targets, block.offsets[local] as usize);
    }
}

/// The rows along which a search goes.
pub(super) struct Rows<'a> {
    lower: HalfRows<'a>,
    upper: HalfRows<'a>,
    direction: Direction,
}

/// The row of a vertex: neighbours smaller than it, and those that are larger.
#[derive(Clone, Copy, Default)]
pub(super) struct Row<'a>(pub [&'a [u32]; 2]);

/// Neighbours of a chunk.
const CHUNK: usize = 64;

impl<'a> Row<'a> {
    /// Returns the number of chunks: those of each half by themselves.
    #[inline]
    pub fn chunks(&self) -> usize {
        self.0[0].len().div_ceil(CHUNK) + self.0[1].len().div_ceil(CHUNK)
    }

    /// Returns the neighbours of a chunk: 64 of them, but for the last of each half.
    #[inline]
    pub fn chunk(&self, number: usize) -> &'a [u32] {
        let of_lower = self.0[0].len().div_ceil(CHUNK);
        let (half, number) = if number < of_lower { (self.0[0], number) } else { (self.0[1], number - of_lower) };
        &half[CHUNK * number..half.len().min(CHUNK * (number + 1))]
    }
}

impl<'a> Rows<'a> {
    /// Opens the rows of a graph both halves of which are there.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] where the upper half is not.
    pub fn new(graph: &'a Graph) -> Result<Rows<'a>> {
        let direction = graph.info.direction;
        let rows = direction.rows(graph.info.connected);
        let (lower, upper) = (HalfRows::new(&graph.catalogue, rows), HalfRows::new(graph.upper()?, rows));
        Ok(Rows { lower, upper, direction })
    }

    /// Returns the neighbours to which edges lead from a vertex.
    #[inline]
    pub fn of(&self, v: u32) -> Row<'a> {
        let row = self.direction.row(v, Way::Out);
        Row([self.lower.row(row), self.upper.row(row)])
    }

    /// Has fetched where the row of a vertex is.
    #[inline]
    pub fn fetch_place(&self, v: u32) {
        let row = self.direction.row(v, Way::Out);
        self.lower.fetch_place(row);
        self.upper.fetch_place(row);
    }

    /// Has the row of a vertex fetched, whose place was.
    #[inline]
    pub fn fetch(&self, v: u32) {
        let row = self.direction.row(v, Way::Out);
        self.lower.fetch(row);
        self.upper.fetch(row);
    }
}
