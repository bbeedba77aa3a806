//! Statistics of `[bfs]` searches, as the report stores them.

use super::search::{BfsLevel, BfsStats, Step};
use crate::algo::searches::results::{LevelFigures, SourceDetails, Speed};
use crate::algo::searches::tree::LevelStats;
use serde::{Deserialize, Serialize};

/// Statistics of the search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BfsDetails {
    /// Duration of the search in seconds.
    pub seconds: f64,
    /// Traversed edges per second (TEPS).
    pub teps: f64,
    /// Statistics of the first levels of the search, in order. The report limits their number.
    pub levels: Vec<BfsLevel>,
}

impl SourceDetails for BfsDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }

    fn levels(&self) -> Vec<LevelFigures> {
        let level = |level: &BfsLevel| LevelFigures {
            frontier: level.frontier,
            counts: vec![("edges checked", level.edges_checked)],
            seconds: level.seconds,
            direction: match level.direction {
                Step::TopDown => "top-down",
                Step::BottomUp => "bottom-up",
            },
        };
        self.levels.iter().map(level).collect()
    }
}

impl LevelStats for BfsStats {
    type Details = BfsDetails;

    fn isolated() -> BfsStats {
        let mut stats = BfsStats::default();
        stats.note(BfsLevel { frontier: 1, edges_checked: 0, direction: Step::TopDown, seconds: 0.0, bytes: 0 });
        stats
    }

    fn reached_and_depth(&self) -> (u64, u64) {
        (self.reached, self.depth)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn details(mut self, Speed { seconds, teps }: Speed, levels: usize) -> BfsDetails {
        self.levels.truncate(levels);
        BfsDetails { seconds, teps, levels: self.levels }
    }
}
