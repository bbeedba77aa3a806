//! Traversal level by level, with candidates pruned by sort and unique: the published method for clusters of GPUs.
//!
//! [`bfs`](super::bfs) finds the same trees and is faster. This is for comparisons of the two strategies.

use super::context::Context;
use super::graph::{Graph, Vertex};
pub use super::tree::Tree;
use crate::error::Result;
use serde::Serialize;

/// The way from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Candidates are sorted, and repeats dropped.
    #[default]
    SortUnique,
    /// Candidates are claimed by atomic operations.
    Atomic,
    /// The engines of [`bfs`](super::bfs).
    Auto,
}

/// Options of a traversal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Options {
    /// The way from one level to the next.
    pub strategy: Strategy,
    /// Whether to check the tree by the rules of Graph500 afterwards.
    pub validate: bool,
}

/// Traverses `graph` from `source`.
///
/// # Errors
/// Those of [`bfs::search`](super::bfs::search).
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Tree> {
    Tree::search(graph, source, ("traverse", options), context)
}
