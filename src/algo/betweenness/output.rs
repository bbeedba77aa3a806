//! The result of betweenness centrality.

use super::options::Normalise;
use crate::algo::pagerank::{LARGEST, LargestRanks, RankBin, RankCounts};
use crate::graph::ids::InputId;
use crate::results::about::About;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Columns of the table.
pub(super) const COLUMNS: &[About] = &[About::new(
    "centrality",
    "betweenness: sum of dependencies of the sources, divided as `normalise` says",
    "0: no vertex",
)];

/// The sources, and the vertices with the highest scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BetweennessOutput {
    /// The sources, by their ids in the input.
    pub sources: Vec<InputId>,
    /// Number of pairs of a source and another vertex that it reaches.
    pub pairs: u64,
    /// Largest distance from a source to a vertex.
    pub depth: u64,
    /// Number by which sums of dependencies are divided.
    pub divisor: f64,
    /// The vertices with the highest scores, by descending score. Equal scores are in ascending order of ids.
    pub largest: Vec<CentralVertex>,
    /// Number of vertices by score, in ascending order.
    pub by_score: Vec<RankBin>,
}

/// A vertex and its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CentralVertex {
    /// The vertex, by its id in the input.
    pub vertex: InputId,
    /// Score of the vertex.
    pub centrality: f64,
}

/// Figures that are computed from the scores of all vertices.
#[derive(Debug, Default)]
pub(super) struct ScoreFigures {
    counts: RankCounts,
    largest: LargestRanks,
}

impl ScoreFigures {
    /// Adds the score of the vertex in row `row`. Rows must ascend.
    #[inline]
    pub(super) fn add(&mut self, score: f64, row: u64) {
        self.counts.add(score, 1);
        self.largest.offer(score, row);
    }

    /// Adds the rows of vertices without an edge, which come after all other rows.
    pub(super) fn add_isolated(&mut self, rows: Range<u64>) {
        self.counts.add(0.0, rows.end - rows.start);
        rows.take(LARGEST).for_each(|row| self.largest.offer(0.0, row));
    }

    /// Adds the figures to a result. `id` returns the id of the vertex in a row.
    pub(super) fn into_output(self, output: BetweennessOutput, id: impl Fn(u64) -> InputId) -> BetweennessOutput {
        let named = self.largest.named(id).into_iter();
        let largest = named.map(|of| CentralVertex { vertex: of.vertex, centrality: of.rank }).collect();
        BetweennessOutput { largest, by_score: self.counts.bins(), ..output }
    }
}

/// Returns the number by which scores are divided, in a graph of `vertices` vertices where the largest sum of
/// dependencies is `largest`. It is 1 if all scores are 0.
pub(super) fn divisor(normalise: Normalise, vertices: u64, largest: f64) -> f64 {
    match normalise {
        Normalise::Largest if largest > 0.0 => largest,
        Normalise::Pairs if vertices > 2 => (vertices - 1) as f64 * (vertices - 2) as f64,
        _ => 1.0,
    }
}
