//! The result of betweenness centrality.

use super::options::Normalise;
use crate::algo::pagerank::{LARGEST, RankBin, RankFigures, RankedVertex};
use crate::graph::ids::InputId;
use crate::results::about::About;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Result columns of `[betweenness]`.
pub(super) const COLUMNS: &[About] = &[About::new(
    "centrality",
    "betweenness: sum of dependencies of the sources, divided as `normalise` says",
    "0: no vertex",
)];

/// Result of betweenness centrality: the sources, and the vertices with the highest scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BetweennessOutput {
    /// Ids of the sources in the input.
    pub sources: Vec<InputId>,
    /// Number of pairs of a source and another vertex that the source reaches.
    pub pairs: u64,
    /// Largest distance from a source to a vertex.
    pub depth: u64,
    /// Number by which the sums of dependencies are divided to get scores.
    pub divisor: f64,
    /// The vertices with the highest scores, by descending score. Vertices with equal scores are in ascending order of
    /// ids.
    pub largest: Vec<CentralVertex>,
    /// Histogram of the scores: the number of vertices in each range of scores, in ascending order.
    pub by_score: Vec<RankBin>,
}

/// A vertex and its betweenness score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CentralVertex {
    /// Id of the vertex in the input.
    pub vertex: InputId,
    /// Betweenness score of the vertex.
    pub centrality: f64,
}

impl BetweennessOutput {
    /// Adds the statistics of all scores to the result. `figures` contains the scores of the vertices with edges. The
    /// vertices in the rows `isolated`, which follow all other rows of the result column, have no edges and thus the
    /// score 0. `id` returns the input id of the vertex in a row.
    pub(super) fn with(self, mut figures: RankFigures, isolated: Range<u64>, id: impl Fn(u64) -> InputId) -> Self {
        figures.count(0.0, isolated.end - isolated.start);
        isolated.take(LARGEST).for_each(|row| figures.offer(0.0, row));
        let (largest, by_score) = figures.finish(id);
        let central = |RankedVertex { vertex, rank }| CentralVertex { vertex, centrality: rank };
        BetweennessOutput { largest: largest.into_iter().map(central).collect(), by_score, ..self }
    }
}

/// Returns the number by which scores are divided, in a graph with `vertices` vertices in which the largest sum of
/// dependencies is `largest`. It is 1 if all scores are 0.
pub(super) fn divisor(normalise: Normalise, vertices: u64, largest: f64) -> f64 {
    match normalise {
        Normalise::Largest if largest > 0.0 => largest,
        Normalise::Pairs if vertices > 2 => (vertices - 1) as f64 * (vertices - 2) as f64,
        _ => 1.0,
    }
}
