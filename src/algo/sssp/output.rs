//! Results and statistics of a table `[sssp]`, as the manifest and the report store them.

use super::distances::Distance;
use super::distances::DistanceBin;
use super::path::Path;
use super::search::SearchPhase;
use crate::algo::searches::results::{SearchOutput, SourceDetails, Speed};
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};

/// Result of a table `[sssp]` for all sources.
pub type SsspOutput = SearchOutput<SsspSource>;

/// Result of the search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspSource {
    /// Id of the source in the input.
    pub source: InputId,
    /// Number of vertices that the search reached, including the source.
    pub reached: u64,
    /// Largest distance of a reached vertex.
    pub max_distance: Distance,
    /// Number of input edges between reached vertices. Repeated edges count, self-loops do not. In a directed graph,
    /// the number of distinct edges that leave reached vertices.
    pub edges: u64,
    /// The path from the source to the target; `None` if the table names no target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
}

/// Times and statistics of the search from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspDetails {
    /// Duration of the search in seconds.
    pub seconds: f64,
    /// Traversed edges per second (TEPS).
    pub teps: f64,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Phases of the search, in order.
    pub phases: Vec<SearchPhase>,
    /// Distribution of the distances; stored only for the first source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

impl SourceDetails for SsspDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }
}
