//! Counts how often the edges of a tree are in the input.

use crate::algo::EdgeSource;
use crate::algo::dfs::record::DfsTree;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How often the edge between each vertex and its parent is in the input: up to twice in each direction.
pub(super) struct Repeats {
    /// Counts from the parent in the lower half of a number, counts to the parent in the upper half.
    counts: Buffer<AtomicU32>,
    /// Whether the input lists each edge from both ends.
    both_ends: bool,
}

impl Repeats {
    /// Creates the counts before any edge.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of [`crate::formats::Input::lists_both_ends`].
    pub fn new(edges: &EdgeSource<'_>, tree: &DfsTree, budget: &Budget) -> Result<Repeats> {
        let both_ends = match edges {
            EdgeSource::Input(input) => input.lists_both_ends()?,
            EdgeSource::Blocks(_) => false,
        };
        let counts = budget.zeroed(tree.vertices() as usize, "repeats of the tree's edges (4 bytes a vertex)")?;
        Ok(Repeats { counts, both_ends })
    }

    /// Counts an edge.
    pub fn note(&self, tree: &DfsTree, u: u32, v: u32) {
        for (parent, child, one) in [(u, v, 1), (v, u, 1 << 16)] {
            if tree.parent(child) == parent {
                let add = |count: u32| (count / one % (1 << 16) < 2).then_some(count + one);
                let _enough = self.counts[child as usize].fetch_update(Relaxed, Relaxed, add);
            }
        }
    }

    /// Returns true if the edge between a vertex and its parent occurs more than once.
    pub fn is_repeated(&self, v: u32) -> bool {
        let count = self.counts[v as usize].load(Relaxed);
        let (forth, back) = (count % (1 << 16), count >> 16);
        if self.both_ends { forth.max(back) > 1 } else { forth + back > 1 }
    }
}
