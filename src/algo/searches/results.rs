//! Results of a table of searches, in the form of the manifest and the report.

use super::graph500::Fields;
use crate::algo::energy::Energy;
use crate::graph::ids::InputId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Results of all searches of a table. They are the same in every trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchOutput<S> {
    /// Result of each source.
    pub sources: Vec<S>,
    /// True if every tree was checked.
    pub validated: bool,
}

/// Times and statistics of all searches of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDetails<D> {
    /// Details of the search from each source.
    pub sources: Vec<D>,
    /// Harmonic mean of traversed edges per second.
    pub harmonic_mean_teps: f64,
    /// Figures of Graph500, if the roots were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph500: Option<Fields>,
    /// Energy of all searches, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

/// Speed of one search.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed {
    /// Seconds of the search.
    pub seconds: f64,
    /// Traversed edges per second; 0 if the search took no time.
    pub teps: f64,
}

impl Speed {
    /// Returns the speed of a search that traversed `edges` edges in `seconds` seconds.
    pub fn of(edges: u64, seconds: f64) -> Speed {
        Speed { seconds, teps: if seconds > 0.0 { edges as f64 / seconds } else { 0.0 } }
    }
}

/// Details of one search.
pub trait SourceDetails: Debug + Serialize + DeserializeOwned {
    /// Returns the speed of the search.
    fn speed(&self) -> Speed;

    /// Returns the levels of the search, beginning at the source, if it went by levels. For a deep tree only the first
    /// ones.
    fn levels(&self) -> Vec<LevelFigures> {
        Vec::new()
    }
}

/// Figures of the search from one source that every kind of search has.
#[derive(Debug, Clone)]
pub struct SourceFigures {
    /// The source.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Number of edges by which the speed is measured.
    pub edges: u64,
    /// How far away the farthest vertex is.
    pub farthest: Farthest,
}

/// Distance of the farthest vertex.
#[derive(Debug, Clone)]
pub enum Farthest {
    /// Number of steps.
    Steps(u64),
    /// Sum of weights, as printed.
    Distance(String),
}

/// Figures of one level of a search.
#[derive(Debug, Clone)]
pub struct LevelFigures {
    /// Number of vertices in the level.
    pub frontier: u64,
    /// Other numbers of the level, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Seconds of the step from this level to the next.
    pub seconds: f64,
    /// Direction of the step, if levels differ in direction; otherwise empty.
    pub direction: &'static str,
}
