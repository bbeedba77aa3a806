//! The result of PageRank.

use crate::graph::ids::InputId;
use crate::results::about::About;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result columns of `[pagerank]`.
pub(super) const COLUMNS: &[About] =
    &[About::new("rank", "PageRank; the ranks of all vertices add up to 1, less what `gap` loses", "0: no vertex")];

/// Maximum number of vertices in the list of the highest values.
pub(in crate::algo) const LARGEST: usize = 10;

/// Result of PageRank: statistics of the iterations and of the PageRank values of all vertices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PagerankOutput {
    /// Number of iterations that PageRank took.
    pub iterations: u64,
    /// Sum of the absolute changes of all PageRank values in the last iteration.
    pub change: f64,
    /// Whether the change in the last iteration is below the tolerance; `None` if there is no tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    /// Sum of all PageRank values.
    pub sum: f64,
    /// The vertices with the highest PageRank values, in descending order. Vertices with equal values are in ascending
    /// order of ids.
    pub largest: Vec<RankedVertex>,
    /// Histogram of the PageRank values: the number of vertices in each range of values, in ascending order.
    pub by_rank: Vec<RankBin>,
}

/// A vertex and its PageRank value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedVertex {
    /// Id of the vertex in the input.
    pub vertex: InputId,
    /// PageRank value of the vertex.
    pub rank: f64,
}

/// A bin of a histogram of vertices by value. The values in a bin range from a power of two to twice that power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankBin {
    /// Smallest value in the bin: a power of two, or 0. All values in the bin are less than twice this value.
    pub from: f64,
    /// Number of vertices whose values are in the bin.
    pub vertices: u64,
}

/// Statistics of the values of all vertices (PageRank values or other scores): a histogram, and the highest values.
#[derive(Debug, Default)]
pub(in crate::algo) struct RankFigures {
    /// Histogram of the values: the number of vertices for each binary exponent of a value.
    counts: BTreeMap<u64, u64>,
    /// The highest values, in descending order, each with its vertex's row in the result column.
    largest: Vec<(f64, u64)>,
}

impl RankFigures {
    /// Adds `vertices` vertices, which all have the value `rank`, to the histogram.
    #[inline]
    pub(in crate::algo) fn count(&mut self, rank: f64, vertices: u64) {
        // The exponent of an f64 is in its upper bits.
        *self.counts.entry(rank.to_bits() >> (f64::MANTISSA_DIGITS - 1)).or_default() += vertices;
    }

    /// Adds the value `rank` of the vertex in row `row` to the list of the highest values if it is one of them. Calls
    /// must be in ascending order of rows.
    #[inline]
    pub(in crate::algo) fn offer(&mut self, rank: f64, row: u64) {
        if self.largest.len() == LARGEST && self.largest[LARGEST - 1].0 >= rank {
            return;
        }
        let at = self.largest.partition_point(|&(larger, _)| larger >= rank);
        self.largest.insert(at, (rank, row));
        self.largest.truncate(LARGEST);
    }

    /// Adds the value `rank` of the vertex in row `row` to the histogram, and to the list of the highest values if it
    /// is one of them. Calls must be in ascending order of rows.
    #[inline]
    pub(in crate::algo) fn add(&mut self, rank: f64, row: u64) {
        self.count(rank, 1);
        self.offer(rank, row);
    }

    /// Returns the vertices with the highest values, and the bins of the histogram that are not empty. `id` returns the
    /// input id of the vertex in a row.
    pub(in crate::algo) fn finish(self, id: impl Fn(u64) -> InputId) -> (Vec<RankedVertex>, Vec<RankBin>) {
        let bin =
            |(exponent, vertices)| RankBin { from: f64::from_bits(exponent << (f64::MANTISSA_DIGITS - 1)), vertices };
        let bins = self.counts.into_iter().filter(|&(_, vertices)| vertices > 0).map(bin).collect();
        (self.largest.into_iter().map(|(rank, row)| RankedVertex { vertex: id(row), rank }).collect(), bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_ranks_are_listed_and_equal_ones_by_row() {
        let mut figures = RankFigures::default();
        (0..30).for_each(|row| figures.offer([0.5, 0.25, 0.75][row as usize % 3], row));
        let (named, _) = figures.finish(InputId::Number);
        let rows: Vec<_> = named.iter().map(|of| of.vertex).collect();
        assert_eq!(rows, (0..10).map(|i| InputId::Number(2 + 3 * i)).collect::<Vec<_>>());
    }

    #[test]
    fn ranks_are_counted_by_powers_of_two() {
        let mut figures = RankFigures::default();
        [(0.0, 2), (0.25, 1), (0.49, 3), (0.5, 5), (0.1, 0)].into_iter().for_each(|(rank, n)| figures.count(rank, n));
        let (_, bins) = figures.finish(InputId::Number);
        let bins: Vec<_> = bins.into_iter().map(|bin| (bin.from, bin.vertices)).collect();
        assert_eq!(bins, [(0.0, 2), (0.25, 4), (0.5, 5)]);
    }
}
