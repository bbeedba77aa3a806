//! Breadth-first search.
//!
//! ```
//! use gpugraph::{Context, Graph, bfs};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (1, 2), (3, 4)], &context)?;
//! let tree = bfs::search(&graph, graph.vertex(0)?, &bfs::Options::default(), &context)?;
//! assert_eq!(&tree.levels()[..], [0, 1, 2, -1, -1]);
//! # Ok::<(), gpugraph::Error>(())
//! ```

pub use super::tree::Tree;
use crate::error::Result;
use crate::library::context::Context;
use crate::library::graph::{Graph, Vertex};
use serde::Serialize;

/// Options of a breadth-first search.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Options {
    /// Threshold for bottom-up steps: the search switches to them when the frontier has more than 1/`alpha` of the
    /// edges of unvisited vertices. The default depends on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Threshold for top-down steps: the search switches back to them when the frontier has fewer than 1/`beta` of the
    /// vertices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Whether to validate the breadth-first tree after the search, by the rules of Graph500.
    pub validate: bool,
}

/// Searches `graph` breadth-first from `source`, switching between top-down and bottom-up steps.
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Validation`](crate::ErrorKind::Validation),
/// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the disk and the device.
pub fn search(graph: &Graph, source: Vertex, options: &Options, context: &Context) -> Result<Tree> {
    Tree::search(graph, source, ("bfs", options), context)
}
