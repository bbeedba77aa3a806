//! Statistics and thresholds of a breadth-first search, which all engines share.

use crate::algo::searches::LEVELS;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::{NONE, Search};

/// Thresholds at which a search changes direction (Beamer, Asanović and Patterson 2012).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// Threshold for changing to bottom-up steps. The search changes when the frontier has more edges than the
    /// unexplored edges divided by `alpha`.
    pub alpha: f64,
    /// Threshold for changing back to top-down steps. The search changes when the frontier has fewer vertices than
    /// all vertices divided by `beta`.
    pub beta: f64,
}

/// Statistics of one breadth-first search: its levels and its duration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BfsStats {
    /// Number of vertices reached, including the root.
    pub reached: u64,
    /// Level of the vertices that are farthest from the root.
    pub depth: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Time and size of this rank's exchange with other ranks.
    #[serde(default)]
    pub exchanged: RankTraffic,
    /// The first 1000 levels, in order. The first level is the root alone.
    pub levels: Vec<BfsLevel>,
}

/// Time and size of one rank's exchange with other ranks in a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTraffic {
    /// Duration of the exchange in seconds, including the time spent waiting for other ranks.
    pub seconds: f64,
    /// Number of bytes sent to other ranks.
    pub sent_bytes: u64,
}

impl BfsStats {
    /// Adds the next level to the totals. Also adds it to the list of levels, unless the list is full.
    pub fn note(&mut self, level: BfsLevel) {
        self.depth += u64::from(self.reached > 0);
        self.reached += level.frontier;
        if self.depth < LEVELS {
            self.levels.push(level);
        }
    }
}

/// Statistics of one step of a search, which goes from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BfsLevel {
    /// Number of vertices in the level from which the step starts.
    pub frontier: u64,
    /// Number of row entries (neighbours) checked.
    pub edges_checked: u64,
    /// The direction of the step.
    pub direction: Step,
    /// Duration of the step in seconds.
    pub seconds: f64,
    /// Size of the rows that the step read from the disk, in bytes.
    pub bytes: u64,
}

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A top-down step: follows the edges of the frontier.
    TopDown,
    /// A bottom-up step: every unreached vertex looks for a neighbour in the frontier.
    BottomUp,
}
