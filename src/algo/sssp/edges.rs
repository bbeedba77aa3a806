//! The weighted edges of a graph. Weights are stored in its blocks, or are random.

use crate::algo::WeightSource;
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::catalogue::Catalogue;
use crate::graph::direction::{Direction, Way};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use rayon::prelude::*;

/// Rows of a graph, with the weight of each edge.
pub struct Edges<'a> {
    halves: [&'a Catalogue; 2],
    direction: Direction,
    kind: WeightType,
    drawn: Option<(DrawnWeights, InputIds)>,
}

/// Returns the type of the weights that a table uses on a graph.
pub fn kind(weights: WeightSource, graph: &Graph) -> WeightType {
    match weights {
        WeightSource::Drawn(drawn) => drawn.kind(),
        // A graph without edges has no weights, so any type will do.
        WeightSource::File => graph.stored.weights.map_or(WeightType::U32, |weights| weights.kind),
    }
}

/// Returns the bytes of host memory that looking up the weights of `vertices` vertices takes.
pub fn bytes(weights: WeightSource, vertices: u64) -> u64 {
    match weights {
        WeightSource::Drawn(DrawnWeights::Unit) | WeightSource::File => 0,
        WeightSource::Drawn(_) => InputIds::bytes(vertices),
    }
}

impl<'a> Edges<'a> {
    /// Returns the edges of a graph, which must have both halves of its rows.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`] from opening the ids by which weights
    /// are drawn.
    pub fn new(graph: &'a Graph, weights: WeightSource, budget: &Budget) -> Result<Edges<'a>> {
        let drawn = match weights {
            WeightSource::Drawn(drawn) => Some((drawn, InputIds::open(graph, budget)?)),
            WeightSource::File => None,
        };
        let halves = [&graph.catalogue, graph.upper()?];
        Ok(Edges { halves, direction: graph.info.direction, kind: kind(weights, graph), drawn })
    }

    /// Returns the type of the weights.
    pub fn kind(&self) -> WeightType {
        self.kind
    }

    /// Returns how random weights are drawn, with the ids from which they follow; `None` if weights are stored.
    pub fn drawn(&self) -> Option<&(DrawnWeights, InputIds)> {
        self.drawn.as_ref()
    }

    /// Returns an upper bound of the weights.
    pub fn largest(&self) -> u32 {
        match &self.drawn {
            Some((drawn, _)) => drawn.largest(),
            None => {
                // Every edge is in a row of the lower half.
                let of_block = |block| self.halves[0].weights(block).iter().copied().max().unwrap_or(0);
                (0..self.halves[0].len()).into_par_iter().map(of_block).max().unwrap_or(0)
            }
        }
    }

    /// Returns the direction of the edges.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Calls `each` with every neighbour in a row of vertex `v`, in order, and with the weight of the edge to it: a
    /// whole number, or the bits of an f32.
    #[inline]
    pub fn each(&self, v: u32, way: Way, mut each: impl FnMut(u32, u32)) {
        let row = self.direction.row(v, way);
        match &self.drawn {
            None => {
                for half in self.halves {
                    let (neighbours, weights) = half.weighted_row(row);
                    neighbours.iter().zip(weights).for_each(|(&u, &weight)| each(u, weight));
                }
            }
            Some((drawn, ids)) => {
                let own = ids.raw(Vertex(v));
                for &u in self.halves.iter().flat_map(|half| half.row(row)) {
                    let other = ids.raw(Vertex(u));
                    let (tail, head) = if way == Way::Out { (own, other) } else { (other, own) };
                    each(u, drawn.of(self.direction, tail, head));
                }
            }
        }
    }
}
