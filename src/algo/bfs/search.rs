//! A search, whatever computes it, and what it tells.

use crate::algo::searches::LEVELS;
use crate::algo::searches::tree::LevelFigures;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::NONE;
pub use crate::algo::searches::tree::Search;

/// Switches between the directions of a search (Beamer, Asanović and Patterson 2012).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// Bottom-up begins where the edges of the frontier exceed one in `alpha` of those that are not looked at yet.
    pub alpha: f64,
    /// Top-down begins again where the frontier has less than one in `beta` of the vertices.
    pub beta: f64,
}

/// One search: its levels and what it took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Vertices reached, the root included.
    pub reached: u64,
    /// The level of the vertices that are farthest from the root.
    pub depth: u64,
    /// Seconds of the search.
    pub seconds: f64,
    /// The exchange of this rank with others.
    #[serde(default)]
    pub exchanged: Exchanged,
    /// The first 1000 levels in order; the first has the root alone as its frontier, the last finds nothing new.
    pub levels: Vec<Level>,
}

/// The exchange of a rank with others in a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchanged {
    /// Seconds, with those of waiting for others.
    pub seconds: f64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
}

impl Searched {
    /// Notes the next level.
    pub fn note(&mut self, level: Level) {
        self.depth += u64::from(self.reached > 0);
        self.reached += level.frontier;
        if self.depth < LEVELS {
            self.levels.push(level);
        }
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

/// One step of a search, from the vertices of a level to those of the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Vertices of the level.
    pub frontier: u64,
    /// Entries of rows that were looked at.
    pub edges_checked: u64,
    /// The direction of the step.
    pub direction: Step,
    /// Seconds of the step.
    pub seconds: f64,
    /// Bytes of rows that were read from the disk for it.
    pub bytes: u64,
}

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// From the frontier along its edges.
    TopDown,
    /// From vertices that are not reached yet to any neighbour in the frontier.
    BottomUp,
}
