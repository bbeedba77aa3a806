//! The weights of edges: stored with the graph, all 1, or random.

use crate::algo::WeightSource;
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::block_store::BlockStore;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::prepare::weight_list::WeightValues;
use std::ops::Range;

/// The weights of all edges of a graph.
pub enum EdgeWeights {
    /// The weights are stored with the blocks. If they have 64 bits, the blocks have their codes.
    Stored(WeightValues),
    /// All weights are 1.
    Unit,
    /// Random weights. Each is a hash of the ids of both ends of its edge.
    Drawn(DrawnWeights, InputIds, Direction),
}

/// The meaning of stored weights: whole numbers, the bits of f32, or codes of weights of 64 bits.
#[derive(Clone, Copy)]
pub struct WeightScale<'a> {
    /// Type of the weights.
    pub kind: WeightType,
    /// The bits of weights by their codes, if they have 64 bits.
    pub values: &'a [u64],
}

impl WeightScale<'_> {
    /// Returns a stored weight as a number.
    #[inline]
    pub fn number(self, weight: u32) -> f64 {
        match self.kind {
            WeightType::U32 => weight.into(),
            WeightType::F32 => f32::from_bits(weight).into(),
            WeightType::U64 => self.bits(weight) as f64,
            WeightType::F64 => f64::from_bits(self.bits(weight)),
        }
    }

    /// Returns the bits of a weight, given as it is stored.
    #[inline]
    pub fn bits(self, weight: u32) -> u64 {
        if !self.kind.is_wide() {
            return weight.into();
        }
        self.values.get(weight as usize).copied().unwrap_or(u64::MAX)
    }
}

/// A row of a graph, or a part of a row, whose weights are wanted.
pub struct RowPiece<'a> {
    /// The vertex of the row.
    pub v: u32,
    /// Direction of the edges in the row. It is ignored if the graph is undirected.
    pub way: EdgeDirection,
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
            WeightSource::File => EdgeWeights::Stored(graph.weight_values()?),
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
    /// Weights that are not stored are computed into `buffer`.
    pub fn of<'r>(&self, rows: &'r BlockStore, piece: &RowPiece<'_>, buffer: &'r mut [u32]) -> &'r [u32] {
        if let EdgeWeights::Stored(_) = self {
            return &rows.weights(piece.number)[piece.entries.clone()];
        }
        let buffer = &mut buffer[..piece.neighbours.len()];
        self.each(piece.v, piece.way, piece.neighbours.iter().zip(&mut *buffer), |(_, to), weight| *to = weight);
        buffer
    }

    /// Returns the meaning of the weights, whose type is `kind`.
    pub fn scale(&self, kind: WeightType) -> WeightScale<'_> {
        let values = if let EdgeWeights::Stored(values) = self { values.bits() } else { &[] };
        WeightScale { kind, values }
    }

    /// Computes weights that are not stored. Calls `each` with each item and the weight of its edge. The first field of
    /// an item is a neighbour of vertex `v`.
    #[inline]
    pub fn each<'n, T>(
        &self,
        v: u32,
        way: EdgeDirection,
        items: impl Iterator<Item = (&'n u32, T)>,
        mut each: impl FnMut((u32, T), u32),
    ) {
        let EdgeWeights::Drawn(drawn, ids, direction) = self else {
            return items.for_each(|(&u, item)| each((u, item), 1));
        };
        let own = ids.raw(Vertex(v));
        for (&u, item) in items {
            let other = ids.raw(Vertex(u));
            let (tail, head) = if way == EdgeDirection::In { (other, own) } else { (own, other) };
            each((u, item), drawn.of(*direction, tail, head));
        }
    }
}
