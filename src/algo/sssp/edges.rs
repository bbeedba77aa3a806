//! Reads the edges of a graph with their weights.

use super::weights::{EdgeWeights, WeightScale};
use crate::algo::WeightSource;
use crate::error::Result;
use crate::formats::WeightType;
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
    /// Type of the weights.
    pub kind: WeightType,
    /// The weights.
    pub weights: EdgeWeights,
    /// Upper bound of the weights, if they are random.
    most: u32,
}

/// Returns the type of the weights that a table uses on a graph: whole numbers or decimals.
pub fn kind(weights: WeightSource, graph: &Graph) -> WeightType {
    match weights {
        WeightSource::Drawn(drawn) => drawn.kind(),
        // A graph without edges has no weights, so any type will do.
        WeightSource::File => graph.stored.weights.map_or(WeightType::U32, |weights| weights.kind),
    }
}

impl<'a> WeightedEdges<'a> {
    /// Opens the weighted edges of a graph. The graph must have both halves of its rows.
    ///
    /// # Errors
    /// Errors of [`EdgeWeights::open`].
    pub fn new(graph: &'a Graph, source: WeightSource, budget: &Budget) -> Result<WeightedEdges<'a>> {
        let (weights, halves) = (EdgeWeights::open(graph, source, budget)?, [&graph.block_store, graph.upper()?]);
        let most = if let WeightSource::Drawn(drawn) = source { drawn.largest() } else { 0 };
        Ok(WeightedEdges { halves, direction: graph.info.direction, kind: kind(source, graph), weights, most })
    }

    /// Returns the meaning of the weights.
    pub fn scale(&self) -> WeightScale<'_> {
        self.weights.scale(self.kind)
    }

    /// Returns an upper bound of all weights, in the form in which they are stored.
    pub fn largest(&self) -> u32 {
        match self.weights {
            EdgeWeights::Stored(_) => {
                // Every edge is in a row of the lower half.
                let of_block = |block| self.halves[0].weights(block).iter().copied().max().unwrap_or(0);
                (0..self.halves[0].len()).into_par_iter().map(of_block).max().unwrap_or(0)
            }
            _ => self.most,
        }
    }

    /// Calls `each` with every neighbour in a row of vertex `v`, in ascending order, and with the weight of the edge
    /// between them, in the form in which it is stored.
    #[inline]
    pub fn each(&self, v: u32, way: EdgeDirection, mut each: impl FnMut(u32, u32)) {
        let row = self.direction.row(v, way);
        for half in self.halves {
            match self.weights {
                EdgeWeights::Stored(_) => {
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
