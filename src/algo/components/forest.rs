//! A forest over the vertices of a graph. Each tree is the part of a component that is known so far. All threads join
//! trees concurrently.

use crate::error::Result;
use crate::graph::csr::Block;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A forest, stored as the parent of each vertex. A root is its own parent, and every other parent has a smaller id
/// than its child.
///
/// Relaxed memory accesses are enough. A thread may read a parent that another thread has just replaced, but an old
/// parent is still an ancestor.
pub(super) struct Forest {
    parents: Buffer<AtomicU32>,
    /// Number of consecutive vertices, beginning at 0, that are known to be in the tree of vertex 0.
    with_first: AtomicU32,
}

impl Forest {
    /// Returns the size in bytes of a forest of `vertices` vertices.
    pub(super) fn bytes(vertices: u64) -> u64 {
        4 * vertices
    }

    /// Creates a forest in which every vertex is a tree of its own.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(super) fn new(vertices: usize, budget: &Budget) -> Result<Forest> {
        let parents = budget.zeroed(vertices, "components of vertices (4 bytes each)")?;
        let forest = Forest { parents, with_first: AtomicU32::new(0) };
        forest.set((0..).take(vertices));
        Ok(forest)
    }

    /// Returns the parent of each vertex.
    pub(super) fn parents(&self) -> &[AtomicU32] {
        &self.parents
    }

    /// Returns the parent of each vertex for writing, so that the parents of another forest can replace them.
    pub(super) fn parents_mut(&mut self) -> &mut [AtomicU32] {
        &mut self.parents
    }

    /// Replaces the parents of all vertices by `parents`, which come from another forest of the same graph.
    pub(super) fn set(&self, parents: impl Iterator<Item = u32>) {
        self.parents.iter().zip(parents).for_each(|(slot, parent)| slot.store(parent, Relaxed));
    }

    /// Sets the parent of each of `vertices` to the root of its tree.
    pub(super) fn flatten(&self, vertices: Range<usize>) {
        vertices.for_each(|v| self.parents[v].store(self.root(v as u32), Relaxed));
    }

    /// Returns the parent of each vertex. No thread may join trees after this.
    pub(super) fn into_parents(self) -> Buffer<u32> {
        self.parents.into_plain()
    }

    /// Returns the root of vertex `v`'s tree. Applies path halving: every second vertex on the way is linked to its
    /// grandparent, so that later calls take fewer steps.
    #[inline]
    fn root(&self, mut v: u32) -> u32 {
        loop {
            let parent = self.parents[v as usize].load(Relaxed);
            let above = self.parents[parent as usize].load(Relaxed);
            if parent == above {
                return parent;
            }
            self.parents[v as usize].store(above, Relaxed);
            v = above;
        }
    }

    /// Joins the trees of two vertices. Of the two roots, the one with the smaller id becomes the root of both.
    #[inline]
    pub(super) fn join(&self, mut u: u32, mut v: u32) {
        loop {
            (u, v) = (self.root(u), self.root(v));
            let (low, high) = (u.min(v), u.max(v));
            // If another thread has joined `high` to another tree meanwhile, look up the roots again.
            if low == high || self.parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Joins trees along the edges in the rows `rows` of `block`, which contain the neighbours with smaller ids.
    ///
    /// Vertices of high degree come first in the order of vertices, and nearly all of them are in the tree of vertex 0.
    /// Up to some id, vertices are known to be in this tree. Once a vertex is joined with one of them, its edges to the
    /// others join nothing. Neighbours in a row ascend, so these edges are at the start of the row and are skipped
    /// without being read. In a graph with hubs, nearly all edges are skipped.
    pub(super) fn join_rows(&self, block: Block<'_>, rows: Range<usize>, direction: Direction) {
        let known = self.with_first(direction.vertex(block.first_row + rows.start as u32));
        for local in rows {
            let v = direction.vertex(block.first_row + local as u32);
            let row = block.row(local);
            let (Some(&first), Some(&last)) = (row.first(), row.last()) else { continue };
            self.join(v, first);
            let joined = if last < known { row.len() } else { row.partition_point(|&u| u < known).max(1) };
            row[joined..].iter().for_each(|&u| self.join(v, u));
        }
    }

    /// Finds how many consecutive vertices, beginning at 0, are in the tree of vertex 0, and returns their number.
    /// Starts from the number that is already known. Stops at vertex `end` or at the first vertex in another tree.
    pub(super) fn with_first(&self, end: u32) -> u32 {
        let mut known = self.with_first.load(Relaxed);
        // Vertex 0 stays a root, because no vertex is smaller.
        while known < end && self.root(known) == 0 {
            known += 1;
        }
        self.with_first.fetch_max(known, Relaxed);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::team::{Parts, team};

    /// Joins trees along the edges in all rows of a graph, `part` rows at a time, and returns the root of each vertex.
    fn roots(rows: &[Vec<u32>], part: usize, threads: usize) -> Vec<u32> {
        let mut offsets = vec![0];
        rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len() as u32));
        let targets = rows.concat();
        let block = Block { first_row: 0, offsets: &offsets, targets: &targets };
        let forest = Forest::new(rows.len(), &Budget::new(1 << 30, threads).unwrap()).unwrap();
        let parts = Parts::new(rows.len(), part);
        team(threads, &|_| {
            parts.each(|rows| {
                forest.join_rows(block, rows, Direction::Undirected);
                Ok(())
            })
        })
        .unwrap();
        forest.flatten(0..rows.len());
        forest.into_parents().to_vec()
    }

    /// Checks the roots of a graph in which vertices 4 and 5 form a separate component, and a path joins vertex 2 to
    /// vertex 0 late.
    #[test]
    fn every_vertex_has_the_smallest_of_its_component_as_root() {
        let rows = [vec![], vec![0], vec![], vec![2], vec![], vec![4], vec![1, 2], vec![0, 1, 2, 6], vec![]];
        for part in [1, 2, 9] {
            for threads in [1, 3] {
                assert_eq!(roots(&rows, part, threads), [0, 0, 0, 0, 4, 4, 0, 0, 8], "{part} {threads}");
            }
        }
    }

    #[test]
    fn a_long_path_is_one_component() {
        let rows: Vec<Vec<u32>> = (0..100_000u32).map(|v| v.checked_sub(1).into_iter().collect()).collect();
        assert!(roots(&rows, 64, 4).iter().all(|&root| root == 0));
    }
}
