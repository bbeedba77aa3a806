//! Adds up the figures of trees during the pass over rows.

use super::TreeFigures;
use super::level_vector::{LevelVector, any_equal};
use crate::algo::searches::tree::levels::Mark;
use crate::graph::direction::Direction;

/// Sums over the vertices that one thread has checked, for each tree.
pub(super) struct TreeSums<M, const W: usize> {
    reached: [u64; W],
    entries: [u64; W],
    deepest: LevelVector<M, W>,
    /// Number of vertices that all trees reach, and sum of their row lengths. The other sums leave these vertices out.
    by_all: (u64, u64),
}

impl<M: Mark, const W: usize> TreeSums<M, W> {
    pub fn new() -> Self {
        TreeSums { reached: [0; W], entries: [0; W], deepest: [M::default(); W], by_all: (0, 0) }
    }

    /// Counts a vertex, with `entries` entries in its row, in the trees that reach it.
    #[inline]
    pub fn count(&mut self, own: &LevelVector<M, W>, entries: u64) {
        for (deepest, &own) in self.deepest.iter_mut().zip(own) {
            *deepest = (*deepest).max(if own == M::UNREACHED { M::default() } else { own });
        }
        if any_equal(own, &[M::UNREACHED; W]) {
            for ((sum, sum_of_entries), &own) in self.reached.iter_mut().zip(&mut self.entries).zip(own) {
                let reached = u64::from(own != M::UNREACHED);
                *sum += reached;
                *sum_of_entries += entries * reached;
            }
        } else {
            self.by_all.0 += 1;
            self.by_all.1 += entries;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for place in 0..W {
            self.reached[place] += other.reached[place] + other.by_all.0;
            self.entries[place] += other.entries[place] + other.by_all.1;
            self.deepest[place] = self.deepest[place].max(other.deepest[place]);
        }
    }

    pub fn of(&self, tree: usize, direction: Direction) -> TreeFigures {
        let ends = if direction == Direction::Undirected { 2 } else { 1 };
        TreeFigures {
            reached: self.reached[tree],
            depth: u64::from(self.deepest[tree].level()),
            entries: ends * self.entries[tree],
        }
    }
}
