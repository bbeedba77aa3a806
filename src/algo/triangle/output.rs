//! The result of triangle counting, and statistics of the count.

use super::units;
use crate::graph::bins::Bin;
use crate::results::about::About;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Paths of the columns per vertex, without file extension.
pub(super) const TRIANGLES: &str = "out/triangles";
pub(super) const LINKS: &str = "out/links";
pub(super) const DEGREE: &str = "out/degree";
pub(super) const CLUSTERING: &str = "out/clustering";

/// Folder of the columns per edge.
pub(super) const EDGES: &str = "out/triangle";

/// Columns that triangle counting can write, with their descriptions.
pub(super) const COLUMNS: &[About] = &[
    About::new("triangles", "triangles that the vertex is in", "0"),
    About::new("links", "directed edges between neighbours of the vertex", "0"),
    About::new("clustering", "fraction of the pairs of neighbours that are adjacent, from 0 to 1", "0"),
    About::new("degree", "neighbours in the simple graph without direction", "0"),
    About::of_others("source", "end of the edge with the smaller id"),
    About::of_others("target", "end of the edge with the larger id"),
    About::of_others("support", "triangles that the edge is in"),
    About::of_others("edges", "both ends of each edge, and the triangles that it is in"),
];

/// The result of triangle counting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriangleOutput {
    /// Number of triangles.
    pub triangles: u128,
    /// Number of units (pairs of blocks of rows) into which the count was divided.
    pub units: u64,
    /// Number of wedges (paths of two edges) that were tested.
    pub probes: u128,
    /// Number of wedges of the graph, computed from its degrees.
    pub wedges: u128,
    /// Three times the number of triangles, divided by the number of wedges; 0 without wedges.
    pub transitivity: f64,
    /// Number of links (directed edges between the neighbours of a vertex), added up over all vertices; `None` if
    /// they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u128>,
    /// Statistics of the triangles per edge; `None` if they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<EdgeSupport>,
    /// Numbers of comparisons that a plain merge of sorted rows makes; `None` if they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparisons: Option<Comparisons>,
}

/// Numbers of comparisons that a plain merge of sorted adjacency rows makes, for two orders of the vertices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparisons {
    /// Number of comparisons if vertices are in the order of the input's ids.
    pub input_order: u128,
    /// Number of comparisons if vertices are in ascending order of degree.
    pub degree_order: u128,
    /// `input_order` divided by `degree_order`; 0 if `degree_order` is 0.
    pub ratio: f64,
}

impl Comparisons {
    /// Creates the statistics from the numbers of comparisons in both orders of vertices.
    pub(super) fn new(input_order: u128, degree_order: u128) -> Comparisons {
        let ratio = if degree_order == 0 { 0.0 } else { input_order as f64 / degree_order as f64 };
        Comparisons { input_order, degree_order, ratio }
    }
}

/// Statistics of the support of edges: the number of triangles that each edge is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeSupport {
    /// Number of edges.
    pub edges: u64,
    /// Number of edges that are in at least one triangle.
    pub in_triangles: u64,
    /// Largest number of triangles that one edge is in.
    pub largest: u32,
    /// Histogram: the number of edges for each range of triangle counts.
    pub bins: Vec<SupportBin>,
}

/// Histogram bin with the number of edges whose triangle count is in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportBin {
    /// Smallest triangle count of the bin.
    pub from: u32,
    /// Largest triangle count of the bin.
    pub to: u32,
    /// Number of edges in the bin.
    pub edges: u64,
}

/// Details of a count that may differ between trials and are therefore not part of the result: times, and clustering
/// coefficients, which have rounding errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TriangleDetails {
    /// Counting time of each pair of blocks; `None` if triangles are counted per vertex and not per edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<PairTimes>,
    /// Clustering coefficients by degree; `None` if triangles are not counted per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clustering: Option<Vec<ClusteringBin>>,
    /// Mean clustering coefficient of all vertices that have an edge; `None` if triangles are not counted per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_clustering: Option<f64>,
    /// Mean clustering coefficient of all vertices of degree 2 or more; `None` if triangles are not counted per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_clustering_degree_2: Option<f64>,
}

impl TriangleDetails {
    /// Creates the details of a count per vertex from its clustering coefficients.
    pub(super) fn of_clustering(clustering: Clustering) -> TriangleDetails {
        TriangleDetails {
            pairs: None,
            clustering: Some(clustering.bins),
            average_clustering: Some(clustering.average),
            average_clustering_degree_2: Some(clustering.average_degree_2),
        }
    }
}

/// Maximum number of rows and of columns in the chart of counting times.
pub(super) const SIDE: usize = 32;

/// Counting times of pairs of blocks (front block, partner block). If there are more than [`SIDE`] blocks, neighbouring
/// blocks form groups of about equal size, and times are added up for pairs of groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PairTimes {
    /// Number of blocks of the graph.
    pub blocks: usize,
    /// Times in seconds, by group of front blocks (outer list) and group of partner blocks (inner list). An inner list
    /// begins with the group of its front blocks, because a partner block never comes before its front block.
    pub seconds: Vec<Vec<f64>>,
}

impl PairTimes {
    /// Creates the times for a graph of `blocks` blocks, all of which are zero.
    pub fn new(blocks: usize) -> PairTimes {
        let side = blocks.min(SIDE);
        PairTimes { blocks, seconds: (0..side).map(|front| vec![0.0; side - front]).collect() }
    }

    /// Adds `nanoseconds` to the time of unit `unit`, which is a pair of blocks.
    pub fn add(&mut self, unit: u64, nanoseconds: u64) {
        let (front, partner) = units::blocks_of(unit);
        let side = self.seconds.len();
        let group = |block: u64| (block as usize).min(self.blocks.saturating_sub(1)) * side / self.blocks.max(1);
        let (front, partner) = (group(front), group(partner));
        if let Some(cell) = self.seconds.get_mut(front).and_then(|row| row.get_mut(partner - front)) {
            *cell += nanoseconds as f64 / 1e9;
        }
    }
}

/// The clustering coefficients of the vertices in a range of degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct ClusteringBin {
    /// The smallest degree of the range.
    pub from: u32,
    /// The largest degree of the range.
    pub to: u32,
    /// Number of vertices whose degree is in the range.
    pub vertices: u64,
    /// Mean clustering coefficient of these vertices.
    pub clustering: f64,
}

/// The clustering coefficients of all vertices that have an edge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Clustering {
    /// Clustering coefficients of vertices of degree 2 or more, one bin per range of degrees.
    pub bins: Vec<ClusteringBin>,
    /// Mean clustering coefficient of all vertices that have an edge; 0 if there are none. The coefficient of a vertex
    /// of degree 1 is 0.
    pub average: f64,
    /// Mean clustering coefficient of vertices of degree 2 or more; 0 if there are none.
    pub average_degree_2: f64,
}

impl Clustering {
    /// Computes clustering coefficients from the degree of each vertex and its triangle count or link count. `each` is
    /// the number of directed edges that one count stands for: 2 for triangles, 1 for links.
    pub fn of(degrees: &[u32], counts: &[AtomicU64], each: u64) -> Clustering {
        type Sums = BTreeMap<u32, (u64, f64)>;
        let add = |mut sums: Sums, (degrees, counts): (&[u32], &[AtomicU64])| {
            for (&degree, count) in degrees.iter().zip(counts).filter(|&(&degree, _)| degree > 1) {
                let (vertices, sum) = sums.entry(Bin::of(degree).from).or_default();
                (*vertices, *sum) = (*vertices + 1, *sum + coefficient(degree, each * count.load(Relaxed)));
            }
            sums
        };
        let chunks: Vec<Sums> =
            degrees.par_chunks(1 << 16).zip(counts.par_chunks(1 << 16)).map(|chunk| add(Sums::new(), chunk)).collect();
        // Values are added up sequentially, so that the sums do not depend on the number of threads.
        let mut sums = Sums::new();
        for (from, (vertices, sum)) in chunks.into_iter().flatten() {
            let entry = sums.entry(from).or_default();
            (entry.0, entry.1) = (entry.0 + vertices, entry.1 + sum);
        }
        let (vertices, sum) = sums.values().fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let bin = |(from, (vertices, sum))| ClusteringBin {
            from,
            to: Bin::of(from).to,
            vertices,
            clustering: mean(sum, vertices),
        };
        Clustering {
            bins: sums.into_iter().map(bin).collect(),
            average: mean(sum, degrees.len() as u64),
            average_degree_2: mean(sum, vertices),
        }
    }
}

/// Returns `sum / number`, or 0 if `number` is 0.
pub(super) fn mean(sum: f64, number: u64) -> f64 {
    if number == 0 { 0.0 } else { sum / number as f64 }
}

/// Returns the clustering coefficient of a vertex with `degree` neighbours and `links` directed edges between these
/// neighbours. An undirected edge counts as two directed edges.
pub(super) fn coefficient(degree: u32, links: u64) -> f64 {
    let d = f64::from(degree);
    if d < 2.0 { 0.0 } else { links as f64 / (d * (d - 1.0)) }
}
