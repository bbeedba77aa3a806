//! Reads the edges of a graph with their weights.

use super::weights::EdgeWeights;
use crate::algo::WeightSource;
use crate::error::Result;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use rayon::prelude::*;

/// Adjacency rows of a graph, with the weight of each edge.
pub struct WeightedEdges<'a> {
    halves: [&'a BlockStore; 2],
    /// Direction of the edges.
    pub direction: Direction,
    /// The weights.
    pub weights: EdgeWeights,
}

impl<'a> WeightedEdges<'a> {
    /// Opens the weighted edges of a graph. The graph must have both halves of its rows.
    ///
    /// # Errors
    /// Errors of [`EdgeWeights::open`].
    pub fn new(graph: &'a Graph, source: WeightSource, budget: &Budget) -> Result<WeightedEdges<'a>> {
        let (weights, halves) = (EdgeWeights::open(graph, source, budget)?, [&graph.block_store, graph.upper()?]);
        Ok(WeightedEdges { halves, direction: graph.info.direction, weights })
    }

    /// Returns an upper bound of all weights, in the form in which they are stored.
    pub fn largest(&self) -> u32 {
        if let EdgeWeights::Drawn(drawn, ..) = &self.weights {
            return drawn.largest();
        }
        // Every edge is in a row of the lower half.
        let of_block = |block| self.halves[0].weights(block).iter().copied().max().unwrap_or(0);
        (0..self.halves[0].len()).into_par_iter().map(of_block).max().unwrap_or(0)
    }

    /// Calls `each` with every neighbour in a row of vertex `v`, in ascending order, and with the weight of the edge
    /// between them, in the form in which it is stored.
    #[inline]
    pub fn each(&self, v: u32, way: EdgeDirection, mut each: impl FnMut(u32, u32)) {
        let row = self.direction.row(v, way);
        for half in self.halves {
            match self.weights {
                EdgeWeights::Stored(..) => {
                    let (neighbours, weights) = half.weighted_row(row);
                    neighbours.iter().zip(weights).for_each(|(&u, &weight)| each(u, weight));
                }
                _ => {
                    let neighbours = half.row(row).iter().map(|u| (u, ()));
                    self.weights.each(v, way, neighbours, |(u, ()), weight| each(u, weight));
                }
            }
        }
    }
}
