//! The result of distances from many sources.

use crate::graph::ids::InputId;
use crate::results::about::About;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result columns of `[distances]`.
pub(super) const COLUMNS: &[About] = &[
    About::new("sources", "number of sources, apart from the vertex itself, that reach the vertex", "0: no vertex"),
    About::new("total", "sum of the distances from these sources", "0: no vertex"),
    About::new("farthest", "largest distance from one of these sources", "0: no vertex"),
];

/// Memory, in bytes, for the statistics of one source, including copies of them in the manifest and the report.
const SOURCE_BYTES: u64 = 5 << 10;

/// Returns an upper bound on the memory, in bytes, for the statistics of `sources` sources.
pub(super) fn figures_bytes(sources: u64) -> u64 {
    SOURCE_BYTES * sources
}

/// Statistics of the distances from all sources, and bounds on the diameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DistancesOutput {
    /// Statistics of the distances from each source, in the order of the sources.
    pub sources: Vec<SourceDistances>,
    /// Number of pairs of a source and another vertex that the source reaches.
    pub pairs: u64,
    /// Lower and upper bound on the diameter of the graph.
    pub diameter: Diameter,
}

/// Statistics of the distances from one source to other vertices, along out-edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceDistances {
    /// Id of the source in the input.
    pub source: InputId,
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

/// Bounds on the diameter of a graph: the largest distance between two vertices of which one reaches the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diameter {
    /// Lower bound on the diameter: the largest distance from a source.
    pub lower: u64,
    /// Upper bound on the distance between any two vertices of a component that contains a source. `None` if the graph
    /// is directed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<u64>,
    /// Total number of vertices in the components that contain a source. `None` if the graph is directed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u64>,
}

/// Number of vertices that one source reaches, and statistics of their distances. The source itself does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Number of vertices that the source reaches.
    pub vertices: u64,
    /// Sum of the distances from the source.
    pub total: u64,
    /// Largest distance from the source.
    pub farthest: u64,
    /// Sum of the reciprocals of the distances from the source.
    pub harmonic: f64,
}

impl Sums {
    /// Adds `vertices` vertices that are at `distance` from the source. Distances must ascend from call to call, so
    /// that the terms of the harmonic sum are always added in the same order.
    #[inline]
    pub(super) fn add(&mut self, distance: u64, vertices: u64) {
        if vertices > 0 {
            self.vertices += vertices;
            self.total += distance * vertices;
            self.farthest = distance;
            self.harmonic += vertices as f64 / distance as f64;
        }
    }

    /// Returns the statistics of the distances from `source`, in a graph of `rows` vertices.
    pub(super) fn of_source(&self, source: InputId, rows: u64) -> SourceDistances {
        let &Sums { vertices, total, farthest, harmonic } = self;
        // The operations are in the same order as in networkx, so that the results are bit-identical.
        let closeness = match total {
            0 => 0.0,
            _ => vertices as f64 / total as f64 * (vertices as f64 / (rows - 1) as f64),
        };
        SourceDistances { source, reached: vertices + 1, total, eccentricity: farthest, harmonic, closeness }
    }
}

impl DistancesOutput {
    /// Creates the result from the statistics of all sources. `components` contains the component of each source, or is
    /// `None` if the graph is directed.
    pub(super) fn new(sources: Vec<SourceDistances>, components: Option<&[u32]>) -> DistancesOutput {
        let pairs = sources.iter().map(|of| of.reached - 1).sum();
        let lower = sources.iter().map(|of| of.eccentricity).max().unwrap_or(0);
        let (upper, vertices) = components.map(|components| upper_bound(&sources, components)).unzip();
        DistancesOutput { sources, pairs, diameter: Diameter { lower, upper, vertices } }
    }
}

/// Returns an upper bound on the diameter of every component that contains a source, and the total number of vertices
/// in these components.
fn upper_bound(sources: &[SourceDistances], components: &[u32]) -> (u64, u64) {
    // For each component: number of sources, smallest and largest eccentricity, number of vertices.
    let mut found: BTreeMap<u32, (u64, u64, u64, u64)> = BTreeMap::new();
    for (of, &component) in sources.iter().zip(components) {
        let (number, least, largest, vertices) = found.entry(component).or_insert((0, u64::MAX, 0, 0));
        (*number, *least, *largest) = (*number + 1, of.eccentricity.min(*least), of.eccentricity.max(*largest));
        *vertices = of.reached;
    }
    // Two vertices are at most as far apart as the sum of their distances from a source, so at most twice its
    // eccentricity.
    let bound = |&(number, least, largest, vertices): &(u64, u64, u64, u64)| {
        if number == vertices { largest } else { 2 * least }
    };
    (found.values().map(bound).max().unwrap_or(0), found.values().map(|of| of.3).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bound_holds_for_every_component_of_a_source() {
        let source = |vertices, farthest| {
            Sums { vertices, farthest, total: 9, harmonic: 1.0 }.of_source(InputId::Number(1), 100)
        };
        // Five sources: two in a component of ten vertices, both vertices of a component of two, and one without an
        // edge.
        let sources = vec![source(9, 6), source(1, 1), source(9, 4), source(1, 1), source(0, 0)];
        let components = [5, 1, 5, 1, 2];
        let output = DistancesOutput::new(sources.clone(), Some(&components));
        assert_eq!(output.diameter, Diameter { lower: 6, upper: Some(8), vertices: Some(13) });
        assert_eq!(output.pairs, 20);
        let directed = DistancesOutput::new(sources[1..4].to_vec(), None);
        assert_eq!(directed.diameter, Diameter { lower: 4, upper: None, vertices: None });
        assert_eq!(DistancesOutput::new(sources[1..2].to_vec(), Some(&[0])).diameter.upper, Some(2));
        assert_eq!(DistancesOutput::new(vec![source(1, 1); 2], Some(&[0, 0])).diameter.upper, Some(1));
        assert_eq!(DistancesOutput::new(Vec::new(), Some(&[])).diameter.upper, Some(0));
    }
}
