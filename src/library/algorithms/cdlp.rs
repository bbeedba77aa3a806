//! Communities by label propagation.
//!
//! ```
//! use gpugraph::{Context, Graph, cdlp};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], &context)?;
//! let found = cdlp::communities(&graph, &cdlp::Options::default(), &context)?;
//! assert_eq!((found.number(), &found.label()[..]), (2, &[0, 0, 0, 3, 3, 3][..]));
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::cdlp::CdlpOutput;
use crate::error::Result;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};
use serde::Serialize;

/// Options of label propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Maximum number of iterations. The computation ends earlier if no label changes.
    pub iterations: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { iterations: 10 }
    }
}

/// The communities that label propagation found in a graph.
#[derive(Debug, Clone)]
pub struct Communities {
    output: CdlpOutput,
    seconds: f64,
    label: Column<i64>,
}

/// Finds communities by synchronous label propagation, as LDBC Graphalytics defines it: in each iteration, every
/// vertex adopts the most frequent label among its neighbours. If several labels are equally frequent, it adopts the
/// smallest.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for 0 iterations, [`ErrorKind::Limit`](crate::ErrorKind::Limit),
/// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the disk.
pub fn communities(graph: &Graph, options: &Options, context: &Context) -> Result<Communities> {
    let found: Computed<'_, CdlpOutput> = graph.compute(context, "cdlp", options)?;
    let (seconds, label) = (found.seconds(), found.column("cdlp/label")?);
    Ok(Communities { output: found.output, seconds, label })
}

impl Communities {
    /// Returns the number of iterations that label propagation took.
    pub fn iterations(&self) -> u64 {
        self.output.iterations
    }

    /// Returns the number of vertices whose label changed in the last iteration.
    pub fn changed(&self) -> u64 {
        self.output.changed
    }

    /// Returns the number of communities. A vertex without edges is a community by itself.
    pub fn number(&self) -> u64 {
        self.output.communities
    }

    /// Returns the sizes of the ten largest communities, in vertices, in descending order.
    pub fn largest(&self) -> &[u64] {
        &self.output.largest
    }

    /// Returns the label of each vertex. All vertices of a community have the same label, which is the id of some
    /// vertex.
    pub fn label(&self) -> &Column<i64> {
        &self.label
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
