//! Level-synchronous breadth-first traversal. By default, the neighbours of each frontier are sorted and duplicates
//! are dropped, which is a published method for GPU clusters.
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
    /// Method that computes the next level from the current one.
    pub strategy: Strategy,
    /// Whether to validate the tree after the search, by the rules of Graph500.
    pub validate: bool,
}

/// Traverses `graph` from `source`.
///
/// # Errors
/// Errors of [`bfs::search`](super::bfs::search).
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Tree> {
    Tree::search(graph, source, ("traverse", options), context)
}
