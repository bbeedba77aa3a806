//! Triangle counts and clustering coefficients.
//!
//! ```
//! use gpugraph::{Context, Graph, triangles};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], &context)?;
//! assert_eq!(triangles::count(&graph, &context)?, 1);
//! assert_eq!(&triangles::per_vertex(&graph, &context)?[..], [1, 1, 1, 0]);
//! assert_eq!(triangles::per_edge(&graph, &context)?.iter().filter(|&(_, support)| support == 1).count(), 3);
//! assert_eq!(triangles::comparisons(&graph, &context)?.degree_order, 1);
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::triangle::{TriangleDetails, TriangleOutput};
use crate::error::{Error, Result};
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph};
use serde::Serialize;
use std::collections::BTreeMap;

/// Triangle and wedge counts of a whole graph.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Totals {
    /// Number of triangles.
    pub triangles: u128,
    /// Number of wedges (pairs of edges with a common endpoint): the sum of d(d − 1)/2 over all vertices, where d is
    /// the degree.
    pub wedges: u128,
    /// Fraction of the wedges that are part of a triangle, from 0 to 1.
    pub transitivity: f64,
    /// Time of the triangle count in seconds, without the preparation of the graph.
    pub seconds: f64,
}

/// Triangle count, degree and clustering coefficient of each vertex.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Clustering {
    /// Triangle and wedge counts of the whole graph.
    pub totals: Totals,
    /// Number of triangles that contain each vertex.
    pub triangles: Column<u64>,
    /// Number of neighbours of each vertex, ignoring the direction of edges.
    pub degree: Column<u32>,
    /// Clustering coefficient of each vertex: the fraction of the pairs of its neighbours that are joined by an edge,
    /// from 0 to 1; 0 for fewer than two neighbours.
    pub clustering: Column<f64>,
    /// Mean clustering coefficient of all vertices with at least one edge.
    pub average: f64,
}

/// Directed clustering coefficient of each vertex, as LDBC Graphalytics defines it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DirectedClustering {
    /// Triangle and wedge counts of the whole graph, ignoring the direction of edges.
    pub totals: Totals,
    /// Number of directed edges between the neighbours of each vertex.
    pub links: Column<u64>,
    /// Number of neighbours of each vertex, ignoring the direction of edges.
    pub degree: Column<u32>,
    /// Directed clustering coefficient of each vertex: the fraction of the ordered pairs of its neighbours that have
    /// an edge from the first to the second, from 0 to 1; 0 for fewer than two neighbours.
    pub clustering: Column<f64>,
    /// Mean clustering coefficient of all vertices with at least one edge.
    pub average: f64,
}

/// Number of triangles that contain each edge (its support). An edge has the same index in each column.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EdgeSupports {
    /// Triangle and wedge counts of the whole graph.
    pub totals: Totals,
    /// For each edge, the smaller id of its two endpoints. Ids are unsigned: cast a value to `u64` to get the id.
    pub source: Column<i64>,
    /// For each edge, the larger id of its two endpoints. Cast a value to `u64` to get the id.
    pub target: Column<i64>,
    /// Number of triangles that contain each edge.
    pub support: Column<u32>,
    /// The largest support of an edge (number of triangles that contain it); 0 if there are no edges.
    pub largest: u32,
}

impl EdgeSupports {
    /// Yields each edge as a pair: the ids of its two endpoints, and the number of triangles that contain it.
    pub fn iter(&self) -> impl Iterator<Item = ([u64; 2], u32)> + '_ {
        let ends =
            self.source.iter().zip(&self.target[..]).map(|((_, source), &target)| [source as u64, target as u64]);
        ends.zip(self.support[..].iter().copied())
    }
}

/// Number of comparisons that a merge-based triangle count takes, for two orders of the vertices. Such a count merges,
/// for each edge, the sorted adjacency rows of its endpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Comparisons {
    /// Triangle and wedge counts of the whole graph. The time in `seconds` includes the counting of comparisons.
    pub totals: Totals,
    /// Number of comparisons of a merge-based triangle count if vertices are ordered by id.
    pub input_order: u128,
    /// Number of comparisons of a merge-based triangle count if vertices are ordered by ascending degree.
    pub degree_order: u128,
    /// `input_order` divided by `degree_order`; 0 if there are no comparisons.
    pub ratio: f64,
}

/// Counts triangles, with the key `key` of the job-file table `[triangle]` set to `value`.
fn with_key<'g>(
    graph: &'g Graph,
    context: &Context,
    (key, value): (&str, impl Serialize),
) -> Result<Computed<'g, TriangleOutput>> {
    graph.compute(context, "triangle", &BTreeMap::from([(key, value)]))
}

/// Counts the triangles of a graph, ignoring the direction of edges.
///
/// # Errors
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk and the device.
pub fn count(graph: &Graph, context: &Context) -> Result<u128> {
    Ok(totals(graph, context)?.triangles)
}

/// Counts the triangles and wedges of a graph.
///
/// # Errors
/// Errors of [`count`].
pub fn totals(graph: &Graph, context: &Context) -> Result<Totals> {
    let found = with_key(graph, context, ("per_vertex", false))?;
    Ok(Totals::of(&found.output, found.seconds()))
}

/// Returns, for each vertex, the number of triangles that contain it.
///
/// # Errors
/// Errors of [`count`].
pub fn per_vertex(graph: &Graph, context: &Context) -> Result<Column<u64>> {
    Ok(clustering(graph, context)?.triangles)
}

/// Returns the triangle count, degree and clustering coefficient of each vertex.
///
/// # Errors
/// Errors of [`count`].
pub fn clustering(graph: &Graph, context: &Context) -> Result<Clustering> {
    let found = with_key(graph, context, ("per_vertex", true))?;
    let details: TriangleDetails = found.details()?;
    Ok(Clustering {
        totals: Totals::of(&found.output, found.seconds()),
        triangles: found.column("triangles")?,
        degree: found.column("degree")?,
        clustering: found.column("clustering")?,
        average: details.average_clustering.unwrap_or(0.0),
    })
}

/// Returns the edges of a graph, each with the number of triangles that contain it. The order of the edges depends only
/// on the graph.
///
/// # Errors
/// Errors of [`count`].
pub fn per_edge(graph: &Graph, context: &Context) -> Result<EdgeSupports> {
    let found = with_key(graph, context, ("per_edge", true))?;
    Ok(EdgeSupports {
        totals: Totals::of(&found.output, found.seconds()),
        source: found.column_of_rows("triangle/source")?,
        target: found.column_of_rows("triangle/target")?,
        support: found.column_of_rows("triangle/support")?,
        largest: found.output.support.map_or(0, |edges| edges.largest),
    })
}

/// Counts the comparisons that a merge-based triangle count takes, with vertices ordered by id and by degree. CPUs do
/// this, even if the device is a GPU.
///
/// # Errors
/// Errors of [`count`]; [`ErrorKind::Usage`](crate::ErrorKind::Usage) for a directed graph, and for a graph with
/// self-loops that another job prepared.
pub fn comparisons(graph: &Graph, context: &Context) -> Result<Comparisons> {
    let found = with_key(graph, context, ("comparisons", true))?;
    let none = || Error::internal("count comparisons", "the result has none");
    let counted = found.output.comparisons.ok_or_else(none)?;
    Ok(Comparisons {
        totals: Totals::of(&found.output, found.seconds()),
        input_order: counted.input_order,
        degree_order: counted.degree_order,
        ratio: counted.ratio,
    })
}

/// Returns three columns for all vertices: the number of edges between the vertex's neighbours (links), its degree, and
/// its directed clustering coefficient. In an undirected graph, every edge counts in both directions.
///
/// # Errors
/// Errors of [`count`].
pub fn directed_clustering(graph: &Graph, context: &Context) -> Result<DirectedClustering> {
    let found = with_key(graph, context, ("clustering", "directed"))?;
    let details: TriangleDetails = found.details()?;
    Ok(DirectedClustering {
        totals: Totals::of(&found.output, found.seconds()),
        links: found.column("links")?,
        degree: found.column("degree")?,
        clustering: found.column("clustering")?,
        average: details.average_clustering.unwrap_or(0.0),
    })
}

impl Totals {
    pub(in crate::library) fn of(output: &TriangleOutput, seconds: f64) -> Totals {
        let &TriangleOutput { triangles, wedges, transitivity, .. } = output;
        Totals { triangles, wedges, transitivity, seconds }
    }
}
