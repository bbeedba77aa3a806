//! A block of compressed sparse rows (CSR), borrowed from a file or from memory.

use std::ops::Range;

/// Rows `first_row .. first_row + rows()` of one half of a graph. In the lower half, the row of vertex `v` lists the
/// neighbours with ids below `v`, ascending and without duplicates. Ids ascend with descending degree, so these
/// neighbours have the same or higher degree. In the upper half, the row lists the neighbours with larger ids in the
/// same way.
///
/// Invariants, which `StoredBlock::verify` checks: `offsets` has `rows() + 1` elements, starts at 0, never decreases,
/// and ends at `targets.len()`. Every target in a row of vertex `v` is `< v` in the lower half and `> v` in the upper
/// half.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Index in the graph of the first row of the block.
    pub first_row: u32,
    /// Start of each row in `targets`, followed by the end of the last row.
    pub offsets: &'a [u32],
    /// Neighbours in all rows of the block, row after row.
    pub targets: &'a [u32],
}

impl<'a> Block<'a> {
    /// Returns the number of rows of the block.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the exclusive end of the block's rows: the index, in the graph, of the row after the last one.
    pub fn end_row(&self) -> u32 {
        self.first_row + self.rows() as u32
    }

    /// Returns the length of each row of the block: its number of neighbours.
    pub fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0]).collect()
    }

    /// Returns the neighbours in row `local` of the block (0-based), which is row `first_row + local` of the graph.
    #[inline]
    pub fn row(&self, local: usize) -> &'a [u32] {
        &self.targets[self.entries(local)]
    }

    /// Returns the range of `targets` that contains row `local` of the block (0-based).
    #[inline]
    pub fn entries(&self, local: usize) -> Range<usize> {
        self.offsets[local] as usize..self.offsets[local + 1] as usize
    }
}
