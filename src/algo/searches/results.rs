//! Results and statistics of a search table, as the manifest and the report store them.

use super::graph500::Fields;
use crate::algo::energy::Energy;
use crate::graph::ids::InputId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Results of all searches of a table. Every trial finds the same results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchOutput<S> {
    /// Result of each source, in the order of sources.
    pub sources: Vec<S>,
    /// Whether every tree was checked.
    pub validated: bool,
}

/// Times and statistics of all searches of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDetails<D> {
    /// Statistics of the search from each source, in the order of sources.
    pub sources: Vec<D>,
    /// Harmonic mean, over all searches, of the traversed edges per second (TEPS).
    pub harmonic_mean_teps: f64,
    /// Graph500 statistics; `None` if the table names its sources instead of drawing roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph500: Option<Fields>,
    /// Energy of all searches, or `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

/// Speed of one search.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed {
    /// Duration of the search, in seconds.
    pub seconds: f64,
    /// Traversed edges per second (TEPS); 0 if the search took no time.
    pub teps: f64,
}

impl Speed {
    /// Returns the speed of a search that traversed `edges` edges in `seconds` seconds.
    pub fn of(edges: u64, seconds: f64) -> Speed {
        Speed { seconds, teps: if seconds > 0.0 { edges as f64 / seconds } else { 0.0 } }
    }
}

/// Statistics of one search that the report needs from every search algorithm.
pub trait SourceDetails: Debug + Serialize + DeserializeOwned {
    /// Returns the speed of the search.
    fn speed(&self) -> Speed;

    /// Returns the statistics of each level of the search, beginning at the source. If the tree is deep, these are only
    /// the first levels. If the search is not level-synchronous, there are none.
    fn levels(&self) -> Vec<LevelFigures> {
        Vec::new()
    }
}

/// Numbers about a source that every search algorithm reports.
#[derive(Debug, Clone)]
pub struct SourceFigures {
    /// Input id of the source.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Number of edges that the search traversed, from which its speed is computed.
    pub edges: u64,
    /// Distance of the farthest reached vertex.
    pub farthest: Farthest,
}

/// Distance from the source of the farthest reached vertex.
#[derive(Debug, Clone)]
pub enum Farthest {
    /// Number of edges on the path to this vertex.
    Steps(u64),
    /// Sum of the weights along the path to this vertex, as text.
    Distance(String),
}

/// Statistics of one level of a search.
#[derive(Debug, Clone)]
pub struct LevelFigures {
    /// Number of vertices in the level.
    pub frontier: u64,
    /// Other counts of the level, as pairs of a name and a count.
    pub counts: Vec<(&'static str, u64)>,
    /// Time of the step from this level to the next, in seconds.
    pub seconds: f64,
    /// Direction of the step from this level to the next (top-down or bottom-up); empty if all steps have the same
    /// direction.
    pub direction: &'static str,
}
