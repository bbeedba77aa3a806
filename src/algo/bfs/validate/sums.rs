//! Figures of trees, added up while rows are gone through.

use super::Figures;
use super::line::{Line, meet};
use crate::algo::bfs::levels::Mark;
use crate::graph::direction::Direction;

/// What a thread adds up.
pub(super) struct Sums<M, const W: usize> {
    reached: [u64; W],
    entries: [u64; W],
    deepest: Line<M, W>,
    /// Vertices, and entries of their rows, that all trees reach.
    by_all: (u64, u64),
}

impl<M: Mark, const W: usize> Sums<M, W> {
    pub fn new() -> Self {
        Sums { reached: [0; W], entries: [0; W], deepest: [M::default(); W], by_all: (0, 0) }
    }

    /// Counts a vertex whose row has this many entries, in the trees that reach it.
    #[inline]
    pub fn count(&mut self, own: &Line<M, W>, entries: u64) {
        for place in 0..W {
            let reached = if own[place] == M::UNREACHED { M::default() } else { own[place] };
            self.deepest[place] = self.deepest[place].max(reached);
        }
        if meet(own, &[M::UNREACHED; W]) {
            for place in 0..W {
                let reached = u64::from(own[place] != M::UNREACHED);
                self.reached[place] += reached;
                self.entries[place] += entries * reached;
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

    pub fn of(&self, tree: usize, direction: Direction) -> Figures {
        let ends = if direction == Direction::Undirected { 2 } else { 1 };
        Figures {
            reached: self.reached[tree],
            depth: u64::from(self.deepest[tree].level()),
            entries: ends * self.entries[tree],
        }
    }
}
