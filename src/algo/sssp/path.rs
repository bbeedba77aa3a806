//! Finds the shortest path from a source to the target that a table `[sssp]` names.

use super::distances::{Distance, Distances};
use crate::algo::searches::NONE;
use crate::graph::ids::{InputId, Vertex};
use crate::prepare::input_ids::InputIds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum number of vertices of a path that the report lists.
pub const MOST_REPORTED: usize = 1000;

/// The shortest path from a source to a target. It has no length if the target is unreachable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Id of the target in the input.
    pub target: InputId,
    /// Length of the path; `None` if the target is unreachable.
    pub length: Option<Distance>,
    /// Number of edges on the path.
    pub edges: u64,
    /// Input ids of the vertices on the path, from the source on. Only the first [`MOST_REPORTED`] are stored.
    pub vertices: Vec<InputId>,
}

impl Path {
    /// Returns the path to an unreachable target, which has no length and no vertices.
    pub fn none(target: InputId) -> Path {
        Path { target, length: None, edges: 0, vertices: Vec::new() }
    }

    /// Finds the path from the source to `target` by following parents from `vertex`, the target as a vertex of the
    /// graph.
    pub fn follow(target: InputId, vertex: u32, distances: &Distances, parents: &[u32], ids: &InputIds) -> Path {
        let mut vertices = Vec::new();
        let mut at = vertex;
        // Parents should form a tree, which is checked elsewhere. The loop must end even if they do not.
        while at != NONE && vertices.len() < parents.len() {
            vertices.push(at);
            match parents[at as usize] {
                parent if parent == at => break,
                parent => at = parent,
            }
        }
        let reported = vertices.iter().rev().take(MOST_REPORTED).map(|&v| ids.of(Vertex(v))).collect();
        match distances.of(vertex) {
            Some(length) => Path { target, length: Some(length), edges: vertices.len() as u64 - 1, vertices: reported },
            None => Path::none(target),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(length) = self.length else { return write!(f, "none, {} is unreachable", self.target) };
        write!(f, "length {length}  edges {}  vertices", self.edges)?;
        self.vertices.iter().try_for_each(|vertex| write!(f, " {vertex}"))?;
        match (self.edges + 1).saturating_sub(self.vertices.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
