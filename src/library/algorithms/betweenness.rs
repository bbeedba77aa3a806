//! Betweenness centrality.
//!
//! ```
//! use gpugraph::{Context, Graph, betweenness};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3)], &context)?;
//! let sources = betweenness::Sources::Vertices((0..4).map(|id| graph.vertex(id)).collect::<Result<_, _>>()?);
//! let found = betweenness::centrality(&graph, &betweenness::Options { sources, ..Default::default() }, &context)?;
//! // Each path counts in both directions.
//! assert_eq!(&found.centrality()[..], &[0.0, 4.0, 4.0, 0.0]);
//! # Ok::<(), gpugraph::Error>(())
//! ```

use super::sources::SourceKeys;
pub use super::sources::Sources;
use crate::algo::betweenness::BetweennessOutput;
pub use crate::algo::betweenness::Normalise;
use crate::error::Result;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};
use serde::Serialize;

/// Options of a computation of betweenness centrality.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Vertices at which shortest paths begin.
    pub sources: Sources,
    /// Normalisation of the scores: the number by which they are divided.
    pub normalise: Normalise,
}

impl Default for Options {
    /// Returns options with four random sources (seed 1) and scores that are not normalised.
    fn default() -> Options {
        Options { sources: Sources::Drawn { roots: 4, seed: 1 }, normalise: Normalise::None }
    }
}

#[derive(Serialize)]
struct Table {
    #[serde(flatten)]
    sources: SourceKeys,
    normalise: Normalise,
}

/// Betweenness scores of all vertices of a graph.
#[derive(Debug, Clone)]
pub struct Scores {
    output: BetweennessOutput,
    sources: Vec<u64>,
    largest: Vec<(u64, f64)>,
    seconds: f64,
    centrality: Column<f64>,
}

/// Computes betweenness centrality by Brandes' algorithm. The score of a vertex is a sum over all pairs of a source
/// and a target: each pair adds the fraction of its shortest paths that pass through the vertex. Scores are bitwise
/// identical for any number of threads.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for no source or more than 65536;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn centrality(graph: &Graph, options: &Options, context: &Context) -> Result<Scores> {
    let table = Table { sources: options.sources.keys(graph)?, normalise: options.normalise };
    let found: Computed<'_, BetweennessOutput> = graph.compute(context, "betweenness", &table)?;
    let (seconds, centrality) = (found.seconds(), found.column("betweenness/centrality")?);
    let sources = found.output.sources.iter().filter_map(|&source| graph.id_of(source)).collect();
    let largest = found.output.largest.iter().filter_map(|of| Some((graph.id_of(of.vertex)?, of.centrality))).collect();
    Ok(Scores { output: found.output, sources, largest, seconds, centrality })
}

impl Scores {
    /// Returns the betweenness score of each vertex.
    pub fn centrality(&self) -> &Column<f64> {
        &self.centrality
    }

    /// Returns the ids of the sources, the vertices at which shortest paths begin.
    pub fn sources(&self) -> &[u64] {
        &self.sources
    }

    /// Returns the ten vertices with the highest scores, as pairs of id and score, in descending order of scores.
    pub fn largest(&self) -> &[(u64, f64)] {
        &self.largest
    }

    /// Returns the number of pairs of a source and another vertex that the source reaches.
    pub fn pairs(&self) -> u64 {
        self.output.pairs
    }

    /// Returns the largest distance from a source to a vertex.
    pub fn depth(&self) -> u64 {
        self.output.depth
    }

    /// Returns the divisor of the scores, which [`Options::normalise`] determines.
    pub fn divisor(&self) -> f64 {
        self.output.divisor
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
