//! Statistics of a breadth-first search, and thresholds for its direction. All engines share them.

use crate::algo::searches::LEVELS;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::{NONE, Search};

/// Thresholds at which a search changes direction (Beamer, Asanović and Patterson 2012).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// Threshold for changing to bottom-up steps. The search changes to them when the number of the frontier's edges
    /// exceeds the number of unexplored edges divided by `alpha`.
    pub alpha: f64,
    /// Threshold for changing back to top-down steps. The search changes to them when the frontier has fewer vertices
    /// than the graph's vertices divided by `beta`.
    pub beta: f64,
}

/// Statistics of one breadth-first search: its levels and its duration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BfsStats {
    /// Number of vertices that the search reached, including the root.
    pub reached: u64,
    /// Level of the vertices that are farthest from the root.
    pub depth: u64,
    /// Duration of the search in seconds.
    pub seconds: f64,
    /// Duration and size of this rank's exchange with other ranks.
    #[serde(default)]
    pub exchanged: RankTraffic,
    /// The first 1000 levels of the search, in order. The first of them is the root alone.
    pub levels: Vec<BfsLevel>,
}

/// Duration and size of one rank's exchange with other ranks in a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTraffic {
    /// Duration of the exchange in seconds, including the time spent waiting for other ranks.
    pub seconds: f64,
    /// Number of bytes sent to other ranks.
    pub sent_bytes: u64,
}

impl BfsStats {
    /// Adds the next level to the totals. Also adds it to the list of levels, unless this list is full.
    pub fn note(&mut self, level: BfsLevel) {
        self.depth += u64::from(self.reached > 0);
        self.reached += level.frontier;
        if self.depth < LEVELS {
            self.levels.push(level);
        }
    }
}

/// Statistics of one step of a search, which leads from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BfsLevel {
    /// Number of vertices in the level from which the step starts.
    pub frontier: u64,
    /// Number of row entries (neighbours) that the step checked.
    pub edges_checked: u64,
    /// The direction of the step.
    pub direction: Step,
    /// Duration of the step in seconds.
    pub seconds: f64,
    /// Size of the rows that the step read from the disk, in bytes.
    pub bytes: u64,
}

/// The direction of a step from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Top-down: the step follows the edges of the frontier.
    TopDown,
    /// Bottom-up: every unreached vertex looks for a neighbour in the frontier.
    BottomUp,
}
