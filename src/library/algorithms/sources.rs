//! Source vertices of algorithms that search from many vertices.

use crate::error::Result;
use crate::graph::InputId;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

/// Vertices at which shortest paths begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// Random vertices with at least one edge are the sources.
    Drawn {
        /// Number of random sources, from 1 to 65536. If the graph has fewer vertices with an edge, all of them are
        /// sources.
        roots: u32,
        /// Seed of the random choice of sources.
        seed: u64,
    },
    /// The given vertices, which must be distinct, are the sources.
    Vertices(Vec<Vertex>),
}

/// Keys of an algorithm's job-file table that select its source vertices.
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
    /// Returns the keys of a job-file table that select these source vertices.
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
