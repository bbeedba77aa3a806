//! Level-synchronous breadth-first traversal. By default, the neighbours of each frontier are sorted and duplicates are
//! dropped, as in the literature on breadth-first search on GPU clusters.
//!
//! [`bfs`](super::bfs) finds the same trees and is faster. This module is for comparing strategies.

pub use super::tree::Tree;
pub use crate::algo::traverse::Strategy;
use crate::error::Result;
use crate::library::context::Context;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

/// Options of a breadth-first traversal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Options {
    /// Method that computes the next level of vertices from the current one.
    pub strategy: Strategy,
    /// Whether to validate the breadth-first tree after the traversal, by the rules of Graph500.
    pub validate: bool,
}

/// Traverses `graph` breadth-first from `source`.
///
/// # Errors
/// Errors of [`bfs::search`](super::bfs::search).
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Tree> {
    Tree::search(graph, source, ("traverse", options), context)
}
