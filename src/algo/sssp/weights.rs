//! The weights of edges: stored with the graph, all 1, or random.

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

/// The weights of all edges of a graph.
pub enum EdgeWeights {
    /// The weights are stored with the blocks.
    Stored,
    /// All weights are 1.
    Unit,
    /// Random weights. Each is a hash of the ids of both ends of its edge.
    Drawn(DrawnWeights, InputIds, Direction),
}

/// A row of a graph, or a part of a row, whose weights are wanted.
pub struct RowPiece<'a> {
    /// The vertex of the row.
    pub v: u32,
    /// Direction of the edges in the row. It is ignored if the graph is undirected.
    pub way: Way,
    /// Number of the block that holds the row.
    pub number: usize,
    /// Positions of the entries in the block.
    pub entries: Range<usize>,
    /// Neighbours in these entries.
    pub neighbours: &'a [u32],
}

impl EdgeWeights {
    /// Opens the weights of a graph that come from `source`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`] and [`crate::Error::Io`] from opening the ids from which
    /// random weights are drawn.
    pub fn open(graph: &Graph, source: WeightSource, budget: &Budget) -> Result<EdgeWeights> {
        Ok(match source {
            WeightSource::File => EdgeWeights::Stored,
            WeightSource::Drawn(DrawnWeights::Unit) => EdgeWeights::Unit,
            WeightSource::Drawn(drawn) => {
                EdgeWeights::Drawn(drawn, InputIds::open(graph, budget)?, graph.info.direction)
            }
        })
    }

    /// Returns the bytes of host memory for looking up weights in a graph of `vertices` vertices.
    pub fn bytes(source: WeightSource, vertices: u64) -> u64 {
        match source {
            WeightSource::File | WeightSource::Drawn(DrawnWeights::Unit) => 0,
            WeightSource::Drawn(_) => InputIds::bytes(vertices),
        }
    }

    /// Returns the weights of the edges in a part of a row. `rows` is the half of the adjacency that holds the row.
    /// Weights that are not stored are computed into `made`.
    pub fn of<'r>(&self, rows: &'r Catalogue, piece: &RowPiece<'_>, made: &'r mut [u32]) -> &'r [u32] {
        if let EdgeWeights::Stored = self {
            return &rows.weights(piece.number)[piece.entries.clone()];
        }
        let made = &mut made[..piece.neighbours.len()];
        self.each(piece.v, piece.way, piece.neighbours.iter().zip(&mut *made), |(_, to), weight| *to = weight);
        made
    }

    /// Computes weights that are not stored. Calls `each` with each item and the weight of its edge. The first field of
    /// an item is a neighbour of vertex `v`.
    #[inline]
    pub fn each<'n, T>(
        &self,
        v: u32,
        way: Way,
        items: impl Iterator<Item = (&'n u32, T)>,
        mut each: impl FnMut((u32, T), u32),
    ) {
        let EdgeWeights::Drawn(drawn, ids, direction) = self else {
            return items.for_each(|(&u, item)| each((u, item), 1));
        };
        let own = ids.raw(Vertex(v));
        for (&u, item) in items {
            let other = ids.raw(Vertex(u));
            let (tail, head) = if way == Way::In { (other, own) } else { (own, other) };
            each((u, item), drawn.of(*direction, tail, head));
        }
    }
}
