//! Reads the edges of a graph with their weights.

use super::weights::EdgeWeights;
use crate::algo::WeightSource;
use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use rayon::prelude::*;

/// Adjacency rows of a graph, and the weights of its edges.
pub struct WeightedEdges<'a> {
    halves: [&'a BlockStore; 2],
    /// Direction of the edges.
    pub direction: Direction,
    /// The weights of all edges.
    pub weights: EdgeWeights,
}

impl<'a> WeightedEdges<'a> {
    /// Opens the edges of a graph with their weights. The graph must have both halves of its rows (smaller and larger
    /// neighbours).
    ///
    /// # Errors
    /// Errors of [`EdgeWeights::open`].
    pub fn new(graph: &'a Graph, source: WeightSource, budget: &Budget) -> Result<WeightedEdges<'a>> {
        let (weights, halves) = (EdgeWeights::open(graph, source, budget)?, [&graph.block_store, graph.upper()?]);
        Ok(WeightedEdges { halves, direction: graph.info.direction, weights })
    }

    /// Returns an upper bound on the weights of all edges, in their stored encoding.
    pub fn largest(&self) -> u32 {
        if let EdgeWeights::Drawn(drawn, ..) = &self.weights {
            return drawn.largest();
        }
        // Every edge is in a row of the lower half.
        let of_block = |block| self.halves[0].weights(block).iter().copied().max().unwrap_or(0);
        (0..self.halves[0].len()).into_par_iter().map(of_block).max().unwrap_or(0)
    }

    /// Calls `each(neighbour, weight)` for every edge of vertex `v` in direction `way`, in ascending order of
    /// neighbours. `weight` is in its stored encoding.
    #[inline]
    pub fn each(&self, v: u32, way: EdgeDirection, each: impl FnMut(u32, u32)) {
        each_in_row(self.halves, self.direction.row(v, way), self.weights.drawn(v, way), each);
    }
}

/// Calls `each(neighbour, weight)` for every entry of the adjacency row `row`, in ascending order of neighbours.
/// `halves` contains the lower and the upper half of all rows. `weight` is in its stored encoding. `drawn` computes the
/// weight of the edge to a neighbour; it is `None` if weights are stored with the rows.
#[inline]
pub fn each_in_row(
    halves: [&BlockStore; 2],
    row: u32,
    drawn: Option<impl Fn(u32) -> u32>,
    mut each: impl FnMut(u32, u32),
) {
    for half in halves {
        match &drawn {
            Some(weight) => half.row(row).iter().for_each(|&u| each(u, weight(u))),
            None => {
                let (neighbours, weights) = half.weighted_row(row);
                neighbours.iter().zip(weights).for_each(|(&u, &weight)| each(u, weight));
            }
        }
    }
}
