//! Core numbers.
//!
//! ```
//! use gpugraph::{Context, Graph, cores};
//!
//! let context = Context::new()?;
//! // A triangle with a path of two edges.
//! let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], &context)?;
//! let found = cores::numbers(&graph, &context)?;
//! assert_eq!((found.degeneracy(), &found.core()[..]), (2, &[2, 2, 2, 1, 1][..]));
//! assert_eq!(found.order(), [4, 3, 0, 1, 2]);
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::cores::CoresOutput;
use crate::error::Result;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};
use serde::Serialize;

/// The core numbers of a graph.
#[derive(Debug, Clone)]
pub struct Cores {
    output: CoresOutput,
    seconds: f64,
    core: Column<i64>,
    layer: Column<i64>,
}

#[derive(Serialize)]
struct Options {}

/// Finds the core number of every vertex: the largest k such that the vertex is in a set of vertices, each of which
/// has at least k neighbours in the set. The direction of edges is ignored.
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn numbers(graph: &Graph, context: &Context) -> Result<Cores> {
    let found: Computed<'_, CoresOutput> = graph.compute(context, "cores", &Options {})?;
    let (seconds, core, layer) = (found.seconds(), found.column("cores/core")?, found.column("cores/layer")?);
    Ok(Cores { output: found.output, seconds, core, layer })
}

impl Cores {
    /// Returns the largest core number.
    pub fn degeneracy(&self) -> u64 {
        self.output.degeneracy
    }

    /// Returns the core number of each vertex.
    pub fn core(&self) -> &Column<i64> {
        &self.core
    }

    /// Returns the 1-based layer of each vertex. Peeling removes one layer after another. At level k, a layer consists
    /// of all vertices that have at most k remaining neighbours. If there are no such vertices, k rises to the
    /// smallest number of remaining neighbours of any vertex.
    pub fn layer(&self) -> &Column<i64> {
        &self.layer
    }

    /// Returns the ids of all vertices in a degeneracy order: no vertex has more neighbours later in the order than
    /// its core number. Vertices are ordered by layer, and by id within a layer.
    pub fn order(&self) -> Vec<u64> {
        let mut order: Vec<(i64, u64)> = self.layer.iter().map(|(id, layer)| (layer, id)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
