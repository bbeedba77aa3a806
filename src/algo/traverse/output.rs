//! Statistics of `[traverse]` searches, as the report stores them.

use super::search::{RankTimes, StepTimes, TraverseLevel, TraverseStats};
use crate::algo::searches::results::{LevelFigures, SourceDetails, Speed};
use crate::algo::searches::tree::LevelStats;
use serde::{Deserialize, Serialize};

/// Statistics of the search from one source, as the report stores them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraverseDetails {
    /// Duration of the search in seconds.
    pub seconds: f64,
    /// Traversed edges per second (TEPS).
    pub teps: f64,
    /// Computation time, in seconds, of the slowest rank: the rank that computed longest.
    pub compute_seconds: f64,
    /// Time, in seconds, that the slowest rank spent on exchanges with other ranks, including waiting.
    pub communication_seconds: f64,
    /// Time, in seconds, that the slowest rank waited for other ranks. It is included in `communication_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_seconds: Option<f64>,
    /// Number of row entries (neighbours) that the search checked.
    pub expanded: u64,
    /// Number of candidates (neighbours of the frontier) that were dropped as repeats before anything was sent.
    pub pruned: u64,
    /// Number of bytes that ranks sent to other ranks.
    pub sent_bytes: u64,
    /// Number of bytes that ranks would have sent if no repeats had been dropped.
    pub unpruned_bytes: u64,
    /// Statistics of the first levels of the search, in order. The report limits their number.
    pub levels: Vec<TraverseLevel>,
    /// Times of the parts of a step (sorting, exchange and so on), summed over all steps and averaged over ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepTimes>,
    /// Computation, exchange and waiting times of each rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<RankTimes>>,
}

impl SourceDetails for TraverseDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }

    fn levels(&self) -> Vec<LevelFigures> {
        let level = |level: &TraverseLevel| {
            let pruned = level.pruned.map(|pruned| ("pruned", pruned));
            let counts = [("expanded", level.expanded)].into_iter().chain(pruned).collect();
            LevelFigures { frontier: level.frontier, counts, seconds: level.seconds, direction: "" }
        };
        self.levels.iter().map(level).collect()
    }
}

impl LevelStats for TraverseStats {
    type Details = TraverseDetails;

    fn isolated() -> TraverseStats {
        let mut stats = TraverseStats::default();
        stats.note(TraverseLevel { frontier: 1, ..TraverseLevel::default() });
        stats
    }

    fn reached_and_depth(&self) -> (u64, u64) {
        (self.reached, self.depth)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn details(mut self, Speed { seconds, teps }: Speed, levels: usize) -> TraverseDetails {
        self.levels.truncate(levels);
        let TraverseStats { compute_seconds, communication_seconds, expanded, sent, steps, levels, .. } = self;
        TraverseDetails {
            seconds,
            teps,
            compute_seconds,
            communication_seconds,
            waiting_seconds: steps.map(|_| self.waiting_seconds),
            expanded,
            pruned: sent.pruned,
            sent_bytes: sent.sent_bytes,
            unpruned_bytes: sent.unpruned_bytes,
            levels,
            steps,
            ranks: steps.map(|_| self.ranks),
        }
    }
}
