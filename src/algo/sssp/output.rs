//! Results of a table of shortest paths, and how its searches went.

use super::distances::Distance;
use super::distances::DistanceBin;
use super::path::Path;
use super::search::SearchPhase;
use crate::algo::searches::results::{SearchOutput, SourceDetails, Speed};
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};

/// Result of a table `[sssp]`.
pub type SsspOutput = SearchOutput<SsspSource>;

/// Result of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspSource {
    /// The source's id in the input.
    pub source: InputId,
    /// Number of reached vertices, including the source.
    pub reached: u64,
    /// Largest distance of a reached vertex.
    pub max_distance: Distance,
    /// Edges of the input between reached vertices. Repeats count, loops do not. In a directed graph, distinct edges
    /// that leave reached vertices.
    pub edges: u64,
    /// The path to the target, if the table names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
}

/// Times and statistics of the search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspDetails {
    /// Seconds of the search.
    pub seconds: f64,
    /// Traversed edges per second.
    pub teps: f64,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Phases of the search, in order.
    pub phases: Vec<SearchPhase>,
    /// Distribution of distances, for the first source only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

impl SourceDetails for SsspDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }
}
