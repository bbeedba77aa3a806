//! The result of a count, and how the count went.

use super::figures::{Clustering, ClusteringBin, PairTimes};
use crate::results::about::About;
use serde::{Deserialize, Serialize};

/// Columns of counts by vertex.
pub(super) const COLUMNS: &[About] = &[
    About::new("triangles", "triangles that the vertex is in", "0"),
    About::new("clustering", "share of pairs of neighbours that are joined, from 0 to 1", "0"),
    About::new("degree", "neighbours in the simple graph without direction", "0"),
];

/// The result of a count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriangleOutput {
    /// Number of triangles.
    pub triangles: u128,
    /// Number of units in which they were counted.
    pub units: u64,
    /// Number of wedges that were tested.
    pub probes: u128,
    /// Number of wedges of the graph, computed from its degrees.
    pub wedges: u128,
    /// Three times the triangles divided by the wedges; 0 without wedges.
    pub transitivity: f64,
}

/// How a count went, and its clustering, which may differ between trials by rounding errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TriangleDetails {
    /// Times of pairs of blocks, for a count without per-vertex counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<PairTimes>,
    /// Clustering by degree, for a count per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clustering: Option<Vec<ClusteringBin>>,
    /// Mean clustering coefficient of all vertices that have an edge, for a count per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_clustering: Option<f64>,
    /// Mean clustering coefficient of vertices of degree 2 and more, for a count per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_clustering_degree_2: Option<f64>,
}

impl TriangleDetails {
    /// Returns the details of a count per vertex.
    pub(super) fn of_clustering(clustering: Clustering) -> TriangleDetails {
        TriangleDetails {
            pairs: None,
            clustering: Some(clustering.bins),
            average_clustering: Some(clustering.average),
            average_clustering_degree_2: Some(clustering.average_degree_2),
        }
    }
}
