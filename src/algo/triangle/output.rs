//! The result of a count, and how it went.

use super::figures::{Clustering, ClusteringBin, PairTimes};
use serde::{Deserialize, Serialize};

/// The result of a count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriangleOutput {
    /// Triangles.
    pub triangles: u128,
    /// Units that they were counted in.
    pub units: u64,
    /// Wedges that were tested.
    pub probes: u128,
    /// Wedges of the graph, by its degrees.
    pub wedges: u128,
    /// Three times the triangles divided by the wedges; 0 without wedges.
    pub transitivity: f64,
}

/// How a count went, and clustering, which has to agree with other trials within rounding alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TriangleDetails {
    /// Times of pairs of blocks, of a count without corners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<PairTimes>,
    /// Clustering by degree, of a count per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clustering: Option<Vec<ClusteringBin>>,
    /// [`Clustering::average`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_clustering: Option<f64>,
    /// [`Clustering::average_degree_2`].
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
