//! Details of `[bfs]` searches, for the report.

use super::search::{Level, Step};
use crate::algo::searches::figures::{self, LevelDetails};
use crate::algo::searches::results::{SourceDetails, Speed};
use serde::{Deserialize, Serialize};

/// Details of the search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BfsDetails {
    /// Duration in seconds.
    pub seconds: f64,
    /// Traversed edges per second.
    pub teps: f64,
    /// The first levels in order.
    pub levels: Vec<Level>,
}

impl SourceDetails for BfsDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }
}

impl LevelDetails for BfsDetails {
    type Level = Level;

    fn levels(&self) -> &[Level] {
        &self.levels
    }
}

impl figures::Level for Level {
    fn frontier(&self) -> u64 {
        self.frontier
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("edges checked", self.edges_checked)]
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn direction(&self) -> &'static str {
        match self.direction {
            Step::TopDown => "top-down",
            Step::BottomUp => "bottom-up",
        }
    }
}
