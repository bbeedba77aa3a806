//! Searches for shortest paths, independent of the device that computes them.

use super::distances::{Distance, DistanceBin, Distances};
use super::path::Path;
use crate::memory::Buffer;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::{NONE, Search};

/// Distances and parents that a search writes. [The module](super) defines which vertex is the parent. The root is its
/// own parent, and the parent of an unreached vertex is [`NONE`].
pub struct ShortestPathTree {
    /// Distance of each vertex.
    pub distances: Distances,
    /// Parent of each vertex.
    pub parents: Buffer<u32>,
}

/// Results and statistics of one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspSearched {
    /// Number of reached vertices, including the root.
    pub reached: u64,
    /// Largest distance of a reached vertex.
    pub max_distance: Distance,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Seconds of the search, including those of finding parents.
    pub seconds: f64,
    /// Phases of the search, in order.
    pub phases: Vec<SearchPhase>,
    /// The path to the target, if the table names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Distribution of distances, for the first source only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

impl SsspSearched {
    /// Returns the results and statistics of a search with these phases.
    pub fn new(reached: u64, max_distance: Distance, phases: Vec<SearchPhase>, seconds: f64) -> SsspSearched {
        let relaxations = phases.iter().map(|phase| phase.relaxations).sum();
        SsspSearched { reached, max_distance, relaxations, seconds, phases, path: None, distances: Vec::new() }
    }
}

/// Statistics of one phase of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPhase {
    /// Kind of the phase: `push` along out-edges of vertices that became nearer, `cap` for pushing up to a cap, `pull`
    /// along in-edges, `leaves` for vertices with a single edge, `parents` once distances are known, `plateau` for
    /// parents of vertices that are reached only by edges that add nothing.
    pub kind: String,
    /// Number of rounds, each of which ends at a barrier of all threads.
    pub rounds: u64,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Seconds of the phase.
    pub seconds: f64,
}
