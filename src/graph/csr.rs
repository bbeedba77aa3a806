//! A block of compressed sparse rows, borrowed from wherever its bytes lie.

/// Rows `first_row .. first_row + rows()` of the oriented graph. Row `v` holds the neighbours of `v` that are smaller
/// than `v`, ascending, without repeats (ids ascend by descending degree, so these are the hubs among them).
///
/// Invariants, checked when a stored block is opened: `offsets` has one entry a row and one more, starts at 0,
/// never falls, ends at `targets.len()`; every target of row `v` is `< v`.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Id of the first row.
    pub first_row: u32,
    /// Start of each row in `targets`, relative to this block.
    pub offsets: &'a [u32],
    /// Neighbour ids, row after row.
    pub targets: &'a [u32],
}

impl<'a> Block<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// One past the last row's id.
    pub fn end_row(&self) -> u32 {
        self.first_row + self.rows() as u32
    }

    /// The neighbours of the `local`-th row, which is vertex `first_row + local`.
    #[inline]
    pub fn row(&self, local: usize) -> &'a [u32] {
        &self.targets[self.offsets[local] as usize..self.offsets[local + 1] as usize]
    }
}
