//! Traversal level by level, with candidates pruned by sort and unique: the published method for clusters of GPUs.
//!
//! [`bfs`](super::bfs) finds the same trees and is faster. This is for comparisons of the two strategies.

pub use super::tree::Tree;
pub use crate::algo::traverse::Strategy;
use crate::error::Result;
use crate::library::context::Context;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

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
