//! Statistics of a traversal, which all engines share.

use crate::algo::searches::LEVELS;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::{NONE, Search};

/// Statistics of one traversal: its levels, its duration and its traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraverseStats {
    /// Number of vertices that the search reached, including the root.
    pub reached: u64,
    /// Largest level of a reached vertex.
    pub depth: u64,
    /// Duration of the search in seconds.
    pub seconds: f64,
    /// Computation time, in seconds, of the slowest rank: the rank that computed longest.
    pub compute_seconds: f64,
    /// Time, in seconds, that the slowest rank spent on exchanges with other ranks, including waiting.
    pub communication_seconds: f64,
    /// Time, in seconds, that the slowest rank waited for other ranks. It is included in `communication_seconds`.
    #[serde(default)]
    pub waiting_seconds: f64,
    /// Number of row entries (neighbours) that the search checked.
    pub expanded: u64,
    /// Traffic between ranks in all levels, including levels that are not listed in `levels`.
    pub sent: Traffic,
    /// The first 1000 levels of the search, in order. The first of them is the root alone.
    pub levels: Vec<TraverseLevel>,
    /// Times of the parts of a step (sorting, exchange and so on), summed over all steps and averaged over ranks.
    /// `None` if the parts are not measured separately.
    pub steps: Option<StepTimes>,
    /// Computation, exchange and waiting times of each rank, indexed by rank.
    pub ranks: Vec<RankTimes>,
}

impl TraverseStats {
    /// Adds the next level to the totals. Also adds it to the list of levels, unless this list is full.
    pub fn note(&mut self, level: TraverseLevel) {
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

    /// Computes the times of the search from the step times of all ranks.
    pub fn time(&mut self, ranks: &[StepTimes]) {
        let slowest = ranks.iter().max_by(|a, b| a.compute().total_cmp(&b.compute())).copied().unwrap_or_default();
        self.compute_seconds = slowest.compute();
        self.communication_seconds = slowest.exchange + slowest.waiting;
        self.waiting_seconds = slowest.waiting;
        let mean = |mean: StepTimes, steps: &StepTimes| mean.plus(steps, 1.0 / ranks.len() as f64);
        self.steps = Some(ranks.iter().fold(StepTimes::default(), mean));
        let times = |steps: &StepTimes| RankTimes {
            compute_seconds: steps.compute(),
            exchange_seconds: steps.exchange,
            waiting_seconds: steps.waiting,
            kernel_seconds: steps.kernels,
        };
        self.ranks = ranks.iter().map(times).collect();
    }
}

/// Statistics of one level, and of the step from it to the next level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TraverseLevel {
    /// Number of vertices in the level.
    pub frontier: u64,
    /// Number of row entries (neighbours) that the step checked. With strategy `auto`, they include neighbours of
    /// vertices outside the frontier.
    pub expanded: u64,
    /// Number of candidates that were dropped as repeats in this level ([`Traffic::pruned`]); `None` if it is not
    /// measured per level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<u64>,
    /// Number of bytes that ranks sent to others in this level ([`Traffic::sent_bytes`]); `None` if it is not measured
    /// per level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Number of bytes that ranks would have sent in this level if no repeats had been dropped
    /// ([`Traffic::unpruned_bytes`]); `None` if it is not measured per level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpruned_bytes: Option<u64>,
    /// Duration of the step to the next level, in seconds.
    pub seconds: f64,
}

/// Traffic of one or more steps, summed over all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Number of candidates (neighbours of the frontier) that were dropped as repeats before anything was sent.
    pub pruned: u64,
    /// Number of bytes that ranks sent to other ranks.
    pub sent_bytes: u64,
    /// Number of bytes that ranks would have sent if no repeats had been dropped.
    pub unpruned_bytes: u64,
}

impl Traffic {
    /// Size in bytes of a pair (a vertex and its parent).
    const PAIR: u64 = 8;

    /// Adds the traffic of one rank: `pruned` candidates that were dropped as repeats, and `pairs` pairs that were
    /// sent. `unpruned` is the number of candidates for vertices of other ranks before repeats were dropped.
    pub fn add(&mut self, pruned: u64, pairs: u64, unpruned: u64) {
        self.pruned += pruned;
        self.sent_bytes += Traffic::PAIR * pairs;
        self.unpruned_bytes += Traffic::PAIR * unpruned;
    }
}

/// Times of one rank in a search, in seconds. Each field is the total time of one part of the steps, such as sorting or
/// exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTimes {
    /// Time to compute prefix sums of the degrees of the frontier, in seconds.
    pub prefix_sum: f64,
    /// Time to find the edge of each candidate (its neighbour and its frontier vertex), in seconds.
    pub search: f64,
    /// Time to sort candidates by neighbour, in seconds.
    pub sort: f64,
    /// Time to drop repeated candidates, in seconds.
    pub unique: f64,
    /// Time to send candidates to their owners, in seconds. If GPUs read pairs from each other's memory, this includes
    /// claiming vertices, because they do so while they read.
    pub exchange: f64,
    /// Time spent waiting for slower ranks before and after an exchange, and at the end of a level, in seconds.
    pub waiting: f64,
    /// Time to update parents and to build the next frontier from newly reached vertices, in seconds.
    pub update: f64,
    /// Execution time of GPU kernels, in seconds. It is included in the other times.
    pub kernels: f64,
}

impl StepTimes {
    /// Returns the computation time in seconds: the sum of the times of all parts except exchange and waiting.
    pub fn compute(&self) -> f64 {
        self.prefix_sum + self.search + self.sort + self.unique + self.update
    }

    /// Returns the sum of these times and of the times of `other` multiplied by `factor`.
    fn plus(&self, other: &StepTimes, factor: f64) -> StepTimes {
        let (own, more) = (self.numbers(), other.numbers());
        StepTimes::of(std::array::from_fn(|at| own[at] + factor * more[at]))
    }

    /// Returns the times in the order of the fields.
    pub fn numbers(&self) -> [f64; 8] {
        let StepTimes { prefix_sum, search, sort, unique, exchange, waiting, update, kernels } = *self;
        [prefix_sum, search, sort, unique, exchange, waiting, update, kernels]
    }

    /// Creates step times from numbers in the order of [`Self::numbers`].
    pub fn of([prefix_sum, search, sort, unique, exchange, waiting, update, kernels]: [f64; 8]) -> StepTimes {
        StepTimes { prefix_sum, search, sort, unique, exchange, waiting, update, kernels }
    }
}

/// Computation, exchange and waiting times of a rank in a search, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Time that the rank spent computing, in seconds.
    pub compute_seconds: f64,
    /// Time that the rank spent on exchanges, in seconds, excluding the time spent waiting for other ranks to start
    /// them.
    pub exchange_seconds: f64,
    /// Time that the rank spent waiting for other ranks, in seconds.
    pub waiting_seconds: f64,
    /// Execution time of kernels on the rank's GPU, in seconds.
    pub kernel_seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_rank_that_computes_longest() {
        let [first, second] = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [2.0, 3.0, 3.0, 4.0, 1.0, 0.5, 9.0, 0.0]];
        let mut searched = TraverseStats::default();
        searched.time(&[StepTimes::of(first), StepTimes::of(second)]);
        assert_eq!((searched.compute_seconds, searched.communication_seconds), (21.0, 1.5));
        assert_eq!(searched.waiting_seconds, 0.5);
        assert_eq!(searched.steps.map(|steps| steps.numbers()), Some([1.5, 2.5, 3.0, 4.0, 3.0, 3.25, 8.0, 4.0]));
        assert_eq!((searched.ranks[0].compute_seconds, searched.ranks[0].waiting_seconds), (17.0, 6.0));
    }
}
