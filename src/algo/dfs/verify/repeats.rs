//! Counts how often the input contains each edge of a tree.

use crate::algo::EdgeSource;
use crate::algo::dfs::pairs::lists_both_ends;
use crate::algo::dfs::record::DfsTree;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::InputInfo;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// For each vertex, counts how often the input contains the edge between the vertex and its parent. The count for each
/// direction stops at 2.
pub(super) struct Repeats {
    /// For each vertex, the number of edges from its parent (lower 16 bits) and the number of edges to it (upper 16
    /// bits).
    counts: Buffer<AtomicU32>,
    /// Whether the input lists each edge from both ends.
    both_ends: bool,
}

impl Repeats {
    /// Creates the counts for the edges of `tree`, all of which are zero.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of [`lists_both_ends`].
    pub fn new(edges: &EdgeSource<'_>, info: &InputInfo, tree: &DfsTree, budget: &Budget) -> Result<Repeats> {
        let both_ends = match edges {
            EdgeSource::Input(input) => lists_both_ends(input, info)?,
            EdgeSource::Blocks(_) => false,
        };
        let counts = budget.zeroed(tree.vertices() as usize, "repeats of the tree's edges (4 bytes a vertex)")?;
        Ok(Repeats { counts, both_ends })
    }

    /// Counts the edge `u` → `v` if it is between a vertex and its parent in the tree.
    pub fn note(&self, tree: &DfsTree, u: u32, v: u32) {
        for (parent, child, one) in [(u, v, 1), (v, u, 1 << 16)] {
            if tree.parent(child) == parent {
                let add = |count: u32| (count / one % (1 << 16) < 2).then_some(count + one);
                let _enough = self.counts[child as usize].fetch_update(Relaxed, Relaxed, add);
            }
        }
    }

    /// Returns true if the input repeats the edge between vertex `v` and its parent.
    pub fn is_repeated(&self, v: u32) -> bool {
        let count = self.counts[v as usize].load(Relaxed);
        let (forth, back) = (count % (1 << 16), count >> 16);
        if self.both_ends { forth.max(back) > 1 } else { forth + back > 1 }
    }
}
