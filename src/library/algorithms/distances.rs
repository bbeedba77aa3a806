//! Distances from many sources.
//!
//! ```
//! use gpugraph::{Context, Graph, distances};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (1, 2), (2, 3)], &context)?;
//! let sources = distances::Sources::Vertices((0..4).map(|id| graph.vertex(id)).collect::<Result<_, _>>()?);
//! let found = distances::sums(&graph, &distances::Options { sources }, &context)?;
//! assert_eq!(&found.total()[..], &[6, 4, 4, 6]);
//! assert_eq!(found.diameter().upper, Some(3));
//! # Ok::<(), gpugraph::Error>(())
//! ```

pub use super::sources::Sources;
pub use crate::algo::distances::Diameter;
use crate::algo::distances::{DistancesOutput, SourceDistances};
use crate::error::Result;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};

/// Options of a computation of distances from many sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Vertices from which distances are computed.
    pub sources: Sources,
}

impl Default for Options {
    /// Returns options with 64 random sources (seed 1).
    fn default() -> Options {
        Options { sources: Sources::Drawn { roots: 64, seed: 1 } }
    }
}

/// Statistics of the distances from one source to other vertices, along out-edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfSource {
    /// Id of the source vertex.
    pub source: u64,
    /// Number of vertices that the source reaches, including itself.
    pub reached: u64,
    /// Sum of the distances from the source to all vertices that it reaches.
    pub total: u64,
    /// Largest distance from the source to a vertex that it reaches.
    pub eccentricity: u64,
    /// Sum of the reciprocals of the distances from the source to all other vertices that it reaches.
    pub harmonic: f64,
    /// Closeness of the source, as networkx defines it for outgoing distances: `(reached - 1) / total`, times the
    /// fraction of the other vertices that the source reaches.
    pub closeness: f64,
}

/// Statistics of the distances from the sources to all vertices of a graph, for each source and for each vertex.
#[derive(Debug, Clone)]
pub struct Distances {
    of_sources: Vec<OfSource>,
    pairs: u64,
    diameter: Diameter,
    seconds: f64,
    sources: Column<u32>,
    total: Column<u64>,
    farthest: Column<u32>,
}

/// Finds the distances from all sources by breadth-first search, 64 sources at once. Sums up the distances for each
/// source and for each vertex. Results are bitwise identical for any number of threads.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for no source or more than 65536;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn sums(graph: &Graph, options: &Options, context: &Context) -> Result<Distances> {
    let table = options.sources.keys(graph)?;
    let found: Computed<'_, DistancesOutput> = graph.compute(context, "distances", &table)?;
    let of_source = |of: &SourceDistances| {
        Some(OfSource {
            source: graph.id_of(of.source)?,
            reached: of.reached,
            total: of.total,
            eccentricity: of.eccentricity,
            harmonic: of.harmonic,
            closeness: of.closeness,
        })
    };
    Ok(Distances {
        of_sources: found.output.sources.iter().filter_map(of_source).collect(),
        pairs: found.output.pairs,
        diameter: found.output.diameter.clone(),
        seconds: found.seconds(),
        sources: found.column("distances/sources")?,
        total: found.column("distances/total")?,
        farthest: found.column("distances/farthest")?,
    })
}

impl Distances {
    /// Returns the statistics of the distances from each source, in the order of the sources.
    pub fn of_sources(&self) -> &[OfSource] {
        &self.of_sources
    }

    /// Returns, for each vertex, the number of sources that reach it. A source does not count itself.
    pub fn sources(&self) -> &Column<u32> {
        &self.sources
    }

    /// Returns for each vertex the sum of the distances from the sources that reach it.
    pub fn total(&self) -> &Column<u64> {
        &self.total
    }

    /// Returns for each vertex the largest distance from a source that reaches it.
    pub fn farthest(&self) -> &Column<u32> {
        &self.farthest
    }

    /// Returns the number of pairs of a source and another vertex that the source reaches.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Returns lower and upper bounds on the diameter of the graph.
    pub fn diameter(&self) -> &Diameter {
        &self.diameter
    }

    /// Returns the time of the computation in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}
