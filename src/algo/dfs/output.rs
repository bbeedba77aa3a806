//! The result of a depth-first search, and statistics of the search.

use super::options::Dfs;
use crate::error::{Error, Result};
use crate::graph::bins::Bin;
use crate::graph::ids::InputId;
use crate::results::about::{About, NOT_REACHED};
use serde::{Deserialize, Serialize};

/// Columns of a depth-first search and of the results computed from its tree.
pub(super) const COLUMNS: &[About] = &[
    About::PARENT,
    About::new("preorder", "0-based position in the order in which the search reaches vertices", NOT_REACHED),
    About::new("postorder", "0-based position in the order in which the search leaves vertices", NOT_REACHED),
    About::new("depth", "edges on the path from the root of the tree", NOT_REACHED),
    About::new("articulation", "1 if removing the vertex disconnects its component", NOT_REACHED),
    About::new("bridge", "1 if removing the edge from the parent disconnects its component", NOT_REACHED),
    About::new("component", "first vertex of the strongly connected component", NOT_REACHED),
    About::new("topological", "0-based position in a topological order", NOT_REACHED),
    About::of_others("cycle", "vertices of a cycle in its order, a row for each"),
];

/// The result of a depth-first search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DfsOutput {
    /// The source of the search; `None` for a forest.
    pub source: Option<InputId>,
    /// Number of trees. In a forest, vertices without edges do not count as trees.
    pub trees: u64,
    /// Number of vertices reached, including roots.
    pub reached: u64,
    /// Depth of the deepest vertex.
    pub max_depth: u64,
    /// Whether the tree was checked after the search.
    pub validated: bool,
    /// Articulation points and bridges, if they are requested.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub articulation: Option<ArticulationPoints>,
    /// Strongly connected components, if they are requested.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub strong: Option<StrongComponents>,
}

/// Articulation points and bridges among the reached vertices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticulationPoints {
    /// Number of articulation points.
    pub articulation_points: u64,
    /// Number of bridges.
    pub bridges: u64,
    /// Whether repeated edges count as several edges. If so, an edge that the input repeats is not a bridge.
    pub multigraph: bool,
}

/// Strongly connected components of the reached vertices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrongComponents {
    /// Number of components.
    pub components: u64,
    /// Number of vertices of the largest component.
    pub largest_component: u64,
    /// Number of vertices of a cycle: 1 for a self-loop, 0 if there is no cycle. `None` if that is unknown, because a
    /// prepared graph does not store which vertices have self-loops.
    pub cycle_length: Option<u64>,
    /// The first vertices of the cycle, in the direction of its edges, at most [`MOST_OF_CYCLE`]. The last vertex of
    /// the whole cycle has an edge to the first.
    pub cycle: Vec<InputId>,
}

/// Statistics of a search that are not part of its result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DfsDetails {
    /// Histogram of the depths of vertices; `None` if the source has no edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depths: Option<Vec<Bin>>,
}

/// Maximum number of vertices of a cycle that the result lists.
pub(super) const MOST_OF_CYCLE: usize = 1000;

impl DfsOutput {
    /// Checks that the result contains what the options request.
    ///
    /// # Errors
    /// [`Error::Validation`] if it does not.
    pub(super) fn is_of(&self, options: &Dfs) -> Result<()> {
        let multigraph = self.articulation.as_ref().map(|found| found.multigraph);
        let found = (self.source, self.validated, multigraph, self.strong.is_some());
        match found
            == (
                options.source,
                options.validate,
                options.articulation.then_some(options.multigraph),
                options.components.is_some(),
            ) {
            true => Ok(()),
            false => Err(Error::Validation(format!("not a result of the table {options:?}: {self:?}"))),
        }
    }

    /// Checks that the numbers in the result agree with each other. `connected` is the number of vertices that have an
    /// edge.
    pub(super) fn check(&self, connected: u64) -> Result<String> {
        let DfsOutput { source, trees, reached, max_depth, .. } = *self;
        let fits = trees <= reached && reached <= connected.max(1) && max_depth <= reached - trees;
        if fits && (source.is_none() || trees == 1) && (trees > 0 || connected == 0) {
            return Ok(format!("{reached} vertices in {trees} trees"));
        }
        Err(Error::Validation(format!("no result of a graph of {connected} vertices with edges: {self:?}")))
    }
}
