//! The result of a search, and how it went.

use super::options::Dfs;
use crate::error::{Error, Result};
use crate::graph::bins::Bin;
use crate::graph::ids::InputId;
use serde::{Deserialize, Serialize};

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DfsOutput {
    /// The source; `None` for a forest.
    pub source: Option<InputId>,
    /// Trees: of a forest, of vertices that have an edge.
    pub trees: u64,
    /// Vertices reached, roots included.
    pub reached: u64,
    /// The depth of the deepest vertex.
    pub max_depth: u64,
    /// True if the tree was checked.
    pub validated: bool,
    /// Articulation points and bridges, if they are asked for.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub articulation: Option<ArticulationFound>,
    /// Strongly connected components, if they are asked for.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub strong: Option<StrongFound>,
}

/// Articulation points and bridges of what was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticulationFound {
    /// Number of articulation points.
    pub articulation_points: u64,
    /// Number of bridges.
    pub bridges: u64,
    /// True if an edge that the input repeats is no bridge; otherwise repeats count as one edge.
    pub multigraph: bool,
}

/// Strongly connected components of what was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrongFound {
    /// Number of components.
    pub components: u64,
    /// Vertices of the largest.
    pub largest_component: u64,
    /// Vertices of a cycle: 1 of a loop, 0 if there is no cycle. Nothing where a kept graph does not tell which vertices have loops.
    pub cycle_length: Option<u64>,
    /// The vertices of the cycle, as edges lead: at most [`MOST_OF_CYCLE`] of them. The last of all leads to the first.
    pub cycle: Vec<InputId>,
}

/// How a search went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DfsDetails {
    /// Vertices by depth; nothing for a source that has no edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depths: Option<Vec<Bin>>,
}

/// Most vertices of a cycle that the result has.
pub(super) const MOST_OF_CYCLE: usize = 1000;

impl DfsOutput {
    /// Checks that it has what the options ask for.
    ///
    /// # Errors
    /// [`Error::Validation`] if it is not.
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

    /// Checks the figures against each other, in a graph with so many vertices that have an edge.
    pub(super) fn agrees(&self, connected: u64) -> Result<String> {
        let DfsOutput { source, trees, reached, max_depth, .. } = *self;
        let fits = trees <= reached && reached <= connected.max(1) && max_depth <= reached - trees;
        if fits && (source.is_none() || trees == 1) && (trees > 0 || connected == 0) {
            return Ok(format!("{reached} vertices in {trees} trees"));
        }
        Err(Error::Validation(format!("no result of a graph of {connected} vertices with edges: {self:?}")))
    }
}
