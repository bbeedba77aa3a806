//! A traversal, whatever computes it, and what it tells.

use crate::algo::searches::LEVELS;
use crate::algo::searches::tree::LevelFigures;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::NONE;
pub use crate::algo::searches::tree::Search;

/// One search: its levels and what it took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Vertices reached, the root included.
    pub reached: u64,
    /// The level of the vertices that are farthest from the root.
    pub depth: u64,
    /// Seconds of the search.
    pub seconds: f64,
    /// Seconds that the rank computed which computed longest.
    pub compute_seconds: f64,
    /// Seconds that the same rank exchanged candidates with others, and waited for them.
    pub communication_seconds: f64,
    /// The part of these in which it waited.
    #[serde(default)]
    pub waiting_seconds: f64,
    /// Entries of rows that were looked at.
    pub expanded: u64,
    /// The traffic between ranks in all levels, also in those that are not told.
    pub sent: Sent,
    /// The first 1000 levels in order; the first has the root alone as its frontier, the last finds nothing new.
    pub levels: Vec<Level>,
    /// Seconds by step: the mean over ranks. Empty where steps are not told apart.
    pub steps: Option<Steps>,
    /// The times of each rank.
    pub ranks: Vec<RankTimes>,
}

impl Searched {
    /// Notes the next level.
    pub fn note(&mut self, level: Level) {
        self.depth += u64::from(self.reached > 0);
        self.reached += level.frontier;
        self.expanded += level.expanded;
        self.sent.pruned += level.pruned.unwrap_or(0);
        self.sent.sent_bytes += level.sent_bytes.unwrap_or(0);
        self.sent.unpruned_bytes += level.unpruned_bytes.unwrap_or(0);
        if self.depth < LEVELS {
            self.levels.push(level);
        }
    }

    /// Notes the seconds by step of all ranks.
    pub fn time(&mut self, ranks: &[Steps]) {
        let slowest = ranks.iter().max_by(|a, b| a.compute().total_cmp(&b.compute())).copied().unwrap_or_default();
        self.compute_seconds = slowest.compute();
        self.communication_seconds = slowest.exchange + slowest.waiting;
        self.waiting_seconds = slowest.waiting;
        let mut mean = Steps::default();
        ranks.iter().for_each(|steps| mean.add(steps, 1.0 / ranks.len() as f64));
        self.steps = Some(mean);
        let times = |steps: &Steps| RankTimes {
            compute_seconds: steps.compute(),
            exchange_seconds: steps.exchange,
            waiting_seconds: steps.waiting,
            kernel_seconds: steps.kernels,
        };
        self.ranks = ranks.iter().map(times).collect();
    }
}

impl LevelFigures for Searched {
    fn alone() -> Searched {
        Searched { reached: 1, ..Searched::default() }
    }

    fn reached_and_depth(&self) -> (u64, u64) {
        (self.reached, self.depth)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// One level, and the step from it to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Vertices of the level.
    pub frontier: u64,
    /// Entries of rows that were looked at: those of the frontier, unless the strategy is free to look elsewhere.
    pub expanded: u64,
    /// Fields of [`Sent`], where they are told by level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<u64>,
    /// Likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpruned_bytes: Option<u64>,
    /// Seconds of the step.
    pub seconds: f64,
}

/// Sums over a step, or several, and over all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Candidates that were dropped as repeats before anything was sent.
    pub pruned: u64,
    /// Bytes that ranks sent to others.
    pub sent_bytes: u64,
    /// Bytes that they would have sent without pruning.
    pub unpruned_bytes: u64,
}

impl Sent {
    /// Bytes of a pair.
    const PAIR: u64 = 8;

    /// Adds `pruned` candidates that were dropped, and `pairs` that were sent where `unpruned` are those of vertices of other ranks.
    pub fn add(&mut self, pruned: u64, pairs: u64, unpruned: u64) {
        self.pruned += pruned;
        self.sent_bytes += Sent::PAIR * pairs;
        self.unpruned_bytes += Sent::PAIR * unpruned;
    }
}

/// Seconds of one rank by step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// Prefix sums of the degrees of the frontier.
    pub prefix_sum: f64,
    /// Search of the vertex and the neighbour of each candidate.
    pub search: f64,
    /// Sort by neighbour.
    pub sort: f64,
    /// Removal of repeats.
    pub unique: f64,
    /// Exchange with the owners. GPUs that read pairs from each other's memory claim vertices as they read, which is part of it.
    pub exchange: f64,
    /// Waiting for slower ranks before and after an exchange, and at the end of a level.
    pub waiting: f64,
    /// Update of parents, and of the next frontier by candidates that are not reached.
    pub update: f64,
    /// Kernels of a GPU, which are part of the steps above.
    pub kernels: f64,
}

impl Steps {
    /// Numbers of one rank.
    pub const WORDS: usize = 8;

    /// Returns the seconds of computation.
    pub fn compute(&self) -> f64 {
        self.prefix_sum + self.search + self.sort + self.unique + self.update
    }

    /// Adds a multiple of others.
    fn add(&mut self, other: &Steps, factor: f64) {
        let sums: Vec<f64> = self.numbers().into_iter().zip(other.numbers()).map(|(a, b)| a + factor * b).collect();
        *self = Steps::of(&sums);
    }

    /// Returns all numbers.
    pub fn numbers(&self) -> [f64; Steps::WORDS] {
        let Steps { prefix_sum, search, sort, unique, exchange, waiting, update, kernels } = *self;
        [prefix_sum, search, sort, unique, exchange, waiting, update, kernels]
    }

    /// Returns the steps of these numbers.
    pub fn of(numbers: &[f64]) -> Steps {
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0.0);
        Steps {
            prefix_sum: number(0),
            search: number(1),
            sort: number(2),
            unique: number(3),
            exchange: number(4),
            waiting: number(5),
            update: number(6),
            kernels: number(7),
        }
    }
}

/// Seconds of a rank in a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Its computation.
    pub compute_seconds: f64,
    /// Exchanges, without waiting for others to begin them.
    pub exchange_seconds: f64,
    /// Waiting for others.
    pub waiting_seconds: f64,
    /// Kernels of its GPU.
    pub kernel_seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_rank_that_computes_longest() {
        let [first, second] = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [2.0, 3.0, 3.0, 4.0, 1.0, 0.5, 9.0, 0.0]];
        let mut searched = Searched::default();
        searched.time(&[Steps::of(&first), Steps::of(&second)]);
        assert_eq!((searched.compute_seconds, searched.communication_seconds), (21.0, 1.5));
        assert_eq!(searched.waiting_seconds, 0.5);
        assert_eq!(searched.steps.map(|steps| steps.numbers()), Some([1.5, 2.5, 3.0, 4.0, 3.0, 3.25, 8.0, 4.0]));
        assert_eq!((searched.ranks[0].compute_seconds, searched.ranks[0].waiting_seconds), (17.0, 6.0));
    }
}
