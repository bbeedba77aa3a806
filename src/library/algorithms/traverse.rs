//! Traversal level by level. Candidates are sorted and repeats are dropped, which is the published method for clusters
//! of GPUs.
//!
//! [`bfs`](super::bfs) finds the same trees and is faster. This module is for comparing the two strategies.

pub use super::tree::Tree;
pub use crate::algo::traverse::Strategy;
use crate::error::Result;
use crate::library::context::Context;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

/// Options of a traversal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Options {
    /// The method that takes the search from one level to the next.
    pub strategy: Strategy,
    /// Whether to check the tree by the rules of Graph500 after the search.
    pub validate: bool,
}

/// Traverses `graph` from `source`.
///
/// # Errors
/// Errors of [`bfs::search`](super::bfs::search).
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Tree> {
    Tree::search(graph, source, ("traverse", options), context)
}
