//! A block of compressed sparse rows (CSR), borrowed from a file or from memory.

use std::ops::Range;

/// Rows `first_row .. first_row + rows()` of one half of a graph. In the lower half, the row of vertex `v` has the
/// neighbours that are smaller than `v`, ascending and without repeats. Vertices are numbered by descending degree, so
/// these are the neighbours of higher degree. In the upper half, the row has the larger neighbours, in the same form.
///
/// Invariants, which `StoredBlock::verify` checks: `offsets` has one element more than there are rows, starts at 0,
/// never decreases, and ends at `targets.len()`. Every target in a row of vertex `v` is `< v` in the lower half and `>
/// v` in the upper half.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Row number, in the graph, of the block's first row.
    pub first_row: u32,
    /// Start of each row in `targets`, and the end of the last row.
    pub offsets: &'a [u32],
    /// Neighbours of all rows, row after row.
    pub targets: &'a [u32],
}

impl<'a> Block<'a> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns one more than the number of the last row.
    pub fn end_row(&self) -> u32 {
        self.first_row + self.rows() as u32
    }

    /// Returns the number of neighbours in each row.
    pub fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0]).collect()
    }

    /// Returns the neighbours in the `local`-th row, which has the number `first_row + local` in the graph.
    #[inline]
    pub fn row(&self, local: usize) -> &'a [u32] {
        &self.targets[self.entries(local)]
    }

    /// Returns the range of the `local`-th row in `targets`.
    #[inline]
    pub fn entries(&self, local: usize) -> Range<usize> {
        self.offsets[local] as usize..self.offsets[local + 1] as usize
    }
}
