//! Source vertices of algorithms that search from many vertices.

use crate::error::Result;
use crate::graph::InputId;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

/// Vertices at which shortest paths begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// Random vertices with at least one edge.
    Drawn {
        /// Number of sources, from 1 to 65536. If a graph has fewer such vertices, all of them are sources.
        roots: u32,
        /// Seed of the random choice.
        seed: u64,
    },
    /// The given vertices, which must be distinct.
    Vertices(Vec<Vertex>),
}

/// Keys in the job-file table of an algorithm that select its sources.
#[derive(Serialize)]
pub(super) struct SourceKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    roots: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<InputId>>,
}

impl Sources {
    /// Returns the table keys that select these sources.
    pub(super) fn keys(&self, graph: &Graph) -> Result<SourceKeys> {
        Ok(match self {
            &Sources::Drawn { roots, seed } => SourceKeys { roots: Some(roots), seed: Some(seed), sources: None },
            Sources::Vertices(vertices) => {
                let keys = vertices.iter().map(|&vertex| graph.key(vertex)).collect::<Result<_>>()?;
                SourceKeys { roots: None, seed: None, sources: Some(keys) }
            }
        })
    }
}
