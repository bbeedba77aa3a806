//! PageRank.
//!
//! ```
//! use gpugraph::{Context, Graph, pagerank};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (0, 2), (0, 3)], &context)?;
//! let found = pagerank::rank(&graph, &pagerank::Options::default(), &context)?;
//! assert_eq!(found.largest()[0].0, 0);
//! assert!(found.converged() && found.ranks()[0] > 3.0 * 0.85 * found.ranks()[1]);
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::pagerank::PagerankOutput;
use crate::error::Result;
use crate::graph::InputId;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph, Vertex};
use serde::Serialize;

/// Treatment of sinks (vertices without out-edges), and the condition that ends the iterations of PageRank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Variant {
    /// As in the GAP Benchmark Suite: the PageRank values of sinks are dropped, and iterations end when the values
    /// hardly change.
    Gap {
        /// Iterations end when the changes of all PageRank values add up to less than this tolerance. It is above 0 and
        /// at most 1.
        tolerance: f64,
    },
    /// As in LDBC Graphalytics: the PageRank values of sinks are spread evenly over all vertices, and the number of
    /// iterations is fixed.
    Graphalytics,
}

/// Options of PageRank.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Damping factor: the probability that the random surfer follows an edge instead of teleporting. At least 0 and
    /// less than 1.
    pub damping: f64,
    /// Treatment of sinks, and the condition that ends the iterations.
    pub variant: Variant,
    /// Number of iterations: the maximum for [`Variant::Gap`] (1000 if `None`), and the exact number for
    /// [`Variant::Graphalytics`] (10 if `None`).
    pub iterations: Option<u64>,
    /// Target vertices of teleports (personalised PageRank). If there are none, all vertices are targets.
    pub personalised: Vec<Vertex>,
}

impl Default for Options {
    /// Returns options with a damping factor of 0.85 and [`Variant::Gap`] with a tolerance of 10^-4.
    fn default() -> Options {
        Options { damping: 0.85, variant: Variant::Gap { tolerance: 1e-4 }, iterations: None, personalised: Vec::new() }
    }
}

#[derive(Serialize)]
struct Table {
    damping: f64,
    variant: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    personalised: Vec<InputId>,
}

/// PageRank values of all vertices of a graph.
#[derive(Debug, Clone)]
pub struct Ranks {
    output: PagerankOutput,
    largest: Vec<(u64, f64)>,
    seconds: f64,
    ranks: Column<f64>,
}

/// Computes the PageRank values of all vertices. They are bitwise identical for any number of threads.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options out of range;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn rank(graph: &Graph, options: &Options, context: &Context) -> Result<Ranks> {
    let (variant, tolerance) = match options.variant {
        Variant::Gap { tolerance } => ("gap", Some(tolerance)),
        Variant::Graphalytics => ("graphalytics", None),
    };
    let personalised = options.personalised.iter().map(|&vertex| graph.key(vertex)).collect::<Result<_>>()?;
    let table = Table { damping: options.damping, variant, tolerance, iterations: options.iterations, personalised };
    let found: Computed<'_, PagerankOutput> = graph.compute(context, "pagerank", &table)?;
    let (seconds, ranks) = (found.seconds(), found.column("pagerank/rank")?);
    let largest = found.output.largest.iter().filter_map(|of| Some((graph.id_of(of.vertex)?, of.rank))).collect();
    Ok(Ranks { output: found.output, largest, seconds, ranks })
}

impl Ranks {
    /// Returns the PageRank value of each vertex.
    pub fn ranks(&self) -> &Column<f64> {
        &self.ranks
    }

    /// Returns the ten vertices with the highest PageRank values, as pairs of id and value, in descending order of
    /// values.
    pub fn largest(&self) -> &[(u64, f64)] {
        &self.largest
    }

    /// Returns the number of iterations that PageRank took.
    pub fn iterations(&self) -> u64 {
        self.output.iterations
    }

    /// Returns the sum of the absolute changes of all PageRank values in the last iteration.
    pub fn change(&self) -> f64 {
        self.output.change
    }

    /// Returns true if the change of the PageRank values in the last iteration is below the tolerance, or if there is
    /// no tolerance.
    pub fn converged(&self) -> bool {
        self.output.converged != Some(false)
    }

    /// Returns the sum of all PageRank values.
    pub fn sum(&self) -> f64 {
        self.output.sum
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
