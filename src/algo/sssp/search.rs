//! A search for shortest paths, whatever computes it.

use super::distances::{Distance, Distances};
use super::path::Path;
use crate::error::Result;
use crate::graph::ids::Vertex;
use serde::{Deserialize, Serialize};

pub use crate::algo::searches::NONE;

/// A graph that is ready to be searched on some device.
pub trait Search {
    /// Searches from `root`, and writes the distance and the parent of every vertex, by the rule that [the module](super) has: the root is its own
    /// parent, and [`NONE`] is that of a vertex that is not reached. All ranks call it together; the arrays have an element for each vertex on
    /// rank 0 and none on the others. The seconds told are those of the search alone, parents included: without copying what it found from a
    /// device or other ranks to the arrays, and without widening distances to the arrays' type.
    ///
    /// # Errors
    /// Those of the device and of other ranks, and a stop.
    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched>;

    /// Searches once more for its own sake: the arrays may be left as they are. Collective.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    fn repeat(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<()> {
        self.search(root, distances, parents).map(drop)
    }
}

/// One search: what it found and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Vertices reached, the root included.
    pub reached: u64,
    /// The distance of the vertex that is farthest from the root.
    pub max_distance: Distance,
    /// Edges along which a shorter way was looked for.
    pub relaxations: u64,
    /// Seconds of the search.
    pub seconds: f64,
    /// The kinds of steps that it took, in order.
    pub phases: Vec<Phase>,
    /// The path to the target, if the table names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Vertices by their distances, of the first source alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<DistanceBin>,
}

/// The vertices whose distances lie between two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DistanceBin {
    /// The end of the distances, which the last bin has and the others do not.
    pub to: f64,
    /// Number of vertices.
    pub vertices: u64,
}

/// Steps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The kind: `push` along edges of vertices that became nearer, `pull` by vertices along edges that lead to them, `leaves` by vertices that have
    /// one edge, `parents` once distances are known.
    pub kind: String,
    /// Rounds between which all threads met.
    pub rounds: u64,
    /// Edges along which a shorter way was looked for.
    pub relaxations: u64,
    /// Seconds.
    pub seconds: f64,
}
