//! The record of each vertex (parent, preorder number, postorder number, depth), and the counters of a depth-first
//! search.

use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};

/// Value that means "no vertex" or "no number".
pub(super) const NONE: u32 = u32::MAX;

/// Number of values in a record. The constants below are the indices of the values in a record.
const NUMBERS: usize = 4;
const PARENT: usize = 0;
const PRE: usize = 1;
const POST: usize = 2;
const DEPTH: usize = 3;

/// A depth-first tree as one record per vertex: parent, preorder number, postorder number and depth. The four values
/// are adjacent, so that reaching a vertex changes one cache line.
pub(super) struct DfsTree {
    records: Buffer<u32>,
    /// Number of vertices that the search has reached so far.
    pub reached: u32,
    /// Number of vertices that the search has finished so far.
    pub left: u32,
}

impl DfsTree {
    /// Returns the size in bytes of `vertices` records.
    pub fn bytes(vertices: u64) -> u64 {
        4 * NUMBERS as u64 * vertices
    }

    /// Creates the records of `vertices` vertices, none of which is reached.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, budget: &Budget) -> Result<DfsTree> {
        let mut records: Buffer<u32> = budget.zeroed(NUMBERS * vertices, "records of vertices (16 bytes each)")?;
        records.fill(NONE);
        Ok(DfsTree { records, reached: 0, left: 0 })
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> u32 {
        (self.records.len() / NUMBERS) as u32
    }

    /// Returns the values of the records of all vertices, one record after another.
    pub fn numbers(&self) -> &[u32] {
        &self.records
    }

    /// Returns the values of all records for writing them from a checkpoint or from columns.
    pub fn numbers_mut(&mut self) -> &mut [u32] {
        &mut self.records
    }

    /// Prefetches the record of a vertex.
    #[inline]
    pub fn fetch(&self, v: u32) {
        prefetch(&self.records, NUMBERS * v as usize);
    }

    /// Records that vertex `v` is reached from vertex `parent`, `depth` edges below the root.
    #[inline]
    pub fn reach(&mut self, v: u32, parent: u32, depth: u32) {
        let record = &mut self.records[NUMBERS * v as usize..][..NUMBERS];
        (record[PARENT], record[PRE], record[DEPTH]) = (parent, self.reached, depth);
        self.reached += 1;
    }

    /// Records that vertex `v` is finished, which is when the search returns from it to its parent.
    #[inline]
    pub fn leave(&mut self, v: u32) {
        self.records[NUMBERS * v as usize + POST] = self.left;
        self.left += 1;
    }

    /// Returns the parent of a vertex. A root is its own parent, and the parent of a vertex that was not reached is
    /// [`NONE`].
    #[inline]
    pub fn parent(&self, v: u32) -> u32 {
        self.records[NUMBERS * v as usize + PARENT]
    }

    /// Returns the preorder number of vertex `v`: the number of vertices that were reached before it.
    #[inline]
    pub fn pre(&self, v: u32) -> u32 {
        self.records[NUMBERS * v as usize + PRE]
    }

    /// Returns the postorder number of vertex `v`: the number of vertices that were finished before it.
    #[inline]
    pub fn post(&self, v: u32) -> u32 {
        self.records[NUMBERS * v as usize + POST]
    }

    /// Returns the depth of vertex `v`: the number of tree edges from the root to `v`.
    #[inline]
    pub fn depth(&self, v: u32) -> u32 {
        self.records[NUMBERS * v as usize + DEPTH]
    }
}
