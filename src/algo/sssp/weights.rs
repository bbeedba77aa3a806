//! The weights of edges: stored, all 1, or random.

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

/// The weights of a graph's edges.
pub enum EdgeWeights {
    /// The weights are stored with the blocks.
    Stored,
    /// All weights are 1.
    Unit,
    /// Random weights, which follow from the ids of both ends.
    Drawn(DrawnWeights, InputIds, Direction),
}

/// A row, or a piece of one.
pub struct RowPiece<'a> {
    /// The vertex of the row.
    pub v: u32,
    /// Direction of the row's edges. It has no meaning if the graph is undirected.
    pub way: Way,
    /// Number of the block.
    pub number: usize,
    /// Positions of the entries in the block.
    pub entries: Range<usize>,
    /// The neighbours there.
    pub neighbours: &'a [u32],
}

impl EdgeWeights {
    /// Opens the weights of a graph.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`] from opening the ids by which weights
    /// are drawn.
    pub fn open(graph: &Graph, source: WeightSource, budget: &Budget) -> Result<EdgeWeights> {
        Ok(match source {
            WeightSource::File => EdgeWeights::Stored,
            WeightSource::Drawn(DrawnWeights::Unit) => EdgeWeights::Unit,
            WeightSource::Drawn(drawn) => {
                EdgeWeights::Drawn(drawn, InputIds::open(graph, budget)?, graph.info.direction)
            }
        })
    }

    /// Returns the bytes of host memory that the weights of `vertices` vertices take when they are looked up.
    pub fn bytes(source: WeightSource, vertices: u64) -> u64 {
        match source {
            WeightSource::File | WeightSource::Drawn(DrawnWeights::Unit) => 0,
            WeightSource::Drawn(_) => InputIds::bytes(vertices),
        }
    }

    /// Returns the weights of a piece of a row of `rows`. Weights that are not stored are written to `made`.
    pub fn of<'r>(&self, rows: &'r Catalogue, piece: &RowPiece<'_>, made: &'r mut [u32]) -> &'r [u32] {
        if let EdgeWeights::Stored = self {
            return &rows.weights(piece.number)[piece.entries.clone()];
        }
        let made = &mut made[..piece.neighbours.len()];
        self.each(piece.v, piece.way, piece.neighbours.iter().zip(&mut *made), |(_, to), weight| *to = weight);
        made
    }

    /// Calls `each` with all `items`, whose first part is a neighbour in a row of vertex `v`, and with the weight of the
    /// edge to it. Weights must not be stored.
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
