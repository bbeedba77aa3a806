//! Counts the vertices of trees, and computes their depths, during the pass over the adjacency rows.

use super::TreeFigures;
use super::level_vector::{LevelVector, any_equal};
use crate::algo::searches::tree::levels::Mark;

/// Sums, for each tree, over the vertices that one thread has checked.
pub(super) struct TreeSums<M, const W: usize> {
    reached: [u64; W],
    deepest: LevelVector<M, W>,
    /// Number of vertices that are in every tree. These vertices are not counted in `reached`.
    by_all: u64,
}

impl<M: Mark, const W: usize> TreeSums<M, W> {
    pub fn new() -> Self {
        TreeSums { reached: [0; W], deepest: [M::default(); W], by_all: 0 }
    }

    /// Counts a vertex in each tree that reaches it. `own` contains the marks (levels plus 1) of the vertex in all
    /// trees.
    #[inline]
    pub fn count(&mut self, own: &LevelVector<M, W>) {
        for (deepest, &own) in self.deepest.iter_mut().zip(own) {
            *deepest = (*deepest).max(if own == M::UNREACHED { M::default() } else { own });
        }
        if any_equal(own, &[M::UNREACHED; W]) {
            for (sum, &own) in self.reached.iter_mut().zip(own) {
                *sum += u64::from(own != M::UNREACHED);
            }
        } else {
            self.by_all += 1;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for place in 0..W {
            self.reached[place] += other.reached[place] + other.by_all;
            self.deepest[place] = self.deepest[place].max(other.deepest[place]);
        }
    }

    pub fn of(&self, tree: usize) -> TreeFigures {
        TreeFigures { reached: self.reached[tree], depth: self.deepest[tree].level().into() }
    }
}
