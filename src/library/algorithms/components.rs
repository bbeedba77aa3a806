//! Weakly and strongly connected components.
//!
//! ```
//! use gpugraph::{Context, Graph, components};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(4, 1), (1, 2), (3, 5)], &context)?;
//! let found = components::weak(&graph, &context)?;
//! assert_eq!((found.number(), &found.component()[..]), (3, &[0, 1, 1, 3, 1, 3][..]));
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::components::ComponentsOutput;
use crate::error::Result;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};
use std::collections::BTreeMap;

/// The connected components of a graph.
#[derive(Debug, Clone)]
pub struct Components {
    output: ComponentsOutput,
    seconds: f64,
    component: Column<i64>,
}

/// Finds the weakly connected components of a graph, which ignore the direction of edges.
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn weak(graph: &Graph, context: &Context) -> Result<Components> {
    of_kind(graph, false, context)
}

/// Finds the strongly connected components of a graph. Two vertices are in the same component if each has a path to
/// the other along the direction of edges. In an undirected graph, the strongly connected components are the weakly
/// connected components.
///
/// # Errors
/// Errors of [`weak`].
pub fn strong(graph: &Graph, context: &Context) -> Result<Components> {
    of_kind(graph, true, context)
}

fn of_kind(graph: &Graph, strong: bool, context: &Context) -> Result<Components> {
    let options = BTreeMap::from([("strong", strong)]);
    let found: Computed<'_, ComponentsOutput> = graph.compute(context, "components", &options)?;
    let (seconds, component) = (found.seconds(), found.column("components/component")?);
    Ok(Components { output: found.output, seconds, component })
}

impl Components {
    /// Returns the number of components. A vertex without edges is a component by itself.
    pub fn number(&self) -> u64 {
        self.output.components
    }

    /// Returns the sizes of the ten largest components, in vertices, in descending order.
    pub fn largest(&self) -> &[u64] {
        &self.output.largest
    }

    /// Returns, for each vertex, the smallest vertex id in its component.
    pub fn component(&self) -> &Column<i64> {
        &self.component
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
