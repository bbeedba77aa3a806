//! The result of a table of shortest paths, and how its searches went.

use super::distances::Distance;
use super::path::Path;
use super::search::{DistanceBin, Phase};
use crate::algo::searches::results::{SearchOutput, SourceDetails, Speed};
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};

/// The result of a table.
pub type SsspOutput = SearchOutput<SourceOutput>;

/// The result of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceOutput {
    /// Its id in the input.
    pub source: InputId,
    /// Vertices reached, the source included.
    pub reached: u64,
    /// The distance of the vertex that is farthest from it.
    pub max_distance: Distance,
    /// Edges of the input between vertices that are reached. Repeats count, loops do not. Of a directed graph, the distinct edges that leave
    /// vertices that are reached.
    pub edges: u64,
    /// The path to the target, if the table names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
}

/// How the search from one source went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspDetails {
    /// Seconds.
    pub seconds: f64,
    /// Traversed edges a second.
    pub teps: f64,
    /// Edges along which a shorter way was looked for.
    pub relaxations: u64,
    /// The kinds of steps that it took, in order.
    pub phases: Vec<Phase>,
    /// Vertices by their distances, of the first source alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

impl SourceDetails for SsspDetails {
    fn speed(&self) -> Speed {
        Speed { seconds: self.seconds, teps: self.teps }
    }
}
