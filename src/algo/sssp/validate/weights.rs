//! The weights of a row's entries, either stored or random.

use crate::algo::WeightSource;
use crate::error::Result;
use crate::graph::catalogue::Catalogue;
use crate::graph::direction::{Direction, Way};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use std::ops::Range;

/// Source of the weights of edges.
pub(super) enum Weights {
    /// The weights are stored with the blocks.
    Stored,
    /// All weights are 1.
    Unit,
    /// Random weights, which follow from the ids of both ends.
    Drawn(DrawnWeights, InputIds, Direction),
}

/// A row, or a piece of one.
pub(super) struct Piece<'a> {
    pub v: u32,
    /// Direction of the row's edges. It has no meaning if the graph is undirected.
    pub way: Way,
    /// Positions of the entries in block `number`.
    pub entries: Range<usize>,
    pub number: usize,
    pub neighbours: &'a [u32],
}

impl Weights {
    pub fn new(graph: &Graph, source: WeightSource, budget: &Budget) -> Result<Weights> {
        Ok(match source {
            WeightSource::File => Weights::Stored,
            WeightSource::Drawn(DrawnWeights::Unit) => Weights::Unit,
            WeightSource::Drawn(drawn) => Weights::Drawn(drawn, InputIds::open(graph, budget)?, graph.info.direction),
        })
    }

    /// Returns the bytes of host memory that looking up weights takes.
    pub fn bytes(source: WeightSource, vertices: u64) -> u64 {
        match source {
            WeightSource::File | WeightSource::Drawn(DrawnWeights::Unit) => 0,
            WeightSource::Drawn(_) => InputIds::bytes(vertices),
        }
    }

    /// Returns the weights of a piece of a row of `rows`. Weights that are not stored are written to `made`.
    pub fn of<'r>(&self, rows: &'r Catalogue, piece: &Piece<'_>, made: &'r mut [u32]) -> &'r [u32] {
        match self {
            Weights::Stored => &rows.weights(piece.number)[piece.entries.clone()],
            Weights::Unit => {
                let made = &mut made[..piece.neighbours.len()];
                made.fill(1);
                made
            }
            Weights::Drawn(drawn, ids, direction) => {
                let made = &mut made[..piece.neighbours.len()];
                let own = ids.raw(Vertex(piece.v));
                for (weight, &w) in made.iter_mut().zip(piece.neighbours) {
                    let other = ids.raw(Vertex(w));
                    let (tail, head) = if piece.way == Way::In { (other, own) } else { (own, other) };
                    *weight = drawn.of(*direction, tail, head);
                }
                made
            }
        }
    }
}
