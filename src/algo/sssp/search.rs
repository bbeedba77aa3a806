//! Tree, results and statistics of a shortest-path search, in the form that all devices share.

use super::distances::{Distance, DistanceBin, Distances};
use super::path::Path;
use crate::memory::Buffer;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::{NONE, Search};

/// The distances and parents that a search writes. [The module](super) defines which vertex is the parent. The root is
/// its own parent, and the parent of an unreached vertex is [`NONE`].
pub struct ShortestPathTree {
    /// Distance of each vertex from the root.
    pub distances: Distances,
    /// Parent of each vertex.
    pub parents: Buffer<u32>,
}

/// Results and statistics of one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SsspStats {
    /// Number of vertices that the search reached, including the root.
    pub reached: u64,
    /// Largest distance of a reached vertex.
    pub max_distance: Distance,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Duration of the search in seconds, including the time to find parents.
    pub seconds: f64,
    /// Phases of the search, in order.
    pub phases: Vec<SearchPhase>,
    /// The path from the root to the target; `None` if the table names no target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Whether a sum may have overflowed. If so, an edge may lead from a reached vertex to an unreached one. This flag
    /// is not serialized.
    #[serde(skip)]
    pub may_overflow: bool,
    /// Distribution of the distances; stored only for the first source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

impl SsspStats {
    /// Returns the results and statistics of a search with the given phases, along edges with weights up to `heaviest`
    /// ([`Distance::may_overflow`]). The number of relaxed edges is summed over the phases.
    pub fn new(
        reached: u64,
        (max_distance, heaviest): (Distance, u64),
        phases: Vec<SearchPhase>,
        seconds: f64,
    ) -> SsspStats {
        let may_overflow = max_distance.may_overflow(heaviest);
        let relaxations = phases.iter().map(|phase| phase.relaxations).sum();
        let (path, distances) = (None, Vec::new());
        SsspStats { reached, max_distance, relaxations, seconds, phases, path, may_overflow, distances }
    }
}

/// One phase of a search, with its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPhase {
    /// Kind of the phase. `push` relaxes the out-edges of vertices whose distances became smaller. `cap` does the same
    /// up to a certain distance, the cap. `pull` relaxes the in-edges of the vertices beyond the cap. `leaves` handles
    /// vertices with a single edge. `parents` finds parents once distances are known. `plateau` finds the parents of
    /// vertices that are reached only by edges that add nothing to a distance.
    pub kind: String,
    /// Number of rounds of the phase. A barrier of all threads ends each round.
    pub rounds: u64,
    /// Number of edges that were relaxed in the phase.
    pub relaxations: u64,
    /// Duration of the phase in seconds.
    pub seconds: f64,
}
