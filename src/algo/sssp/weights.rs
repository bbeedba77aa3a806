//! The weights of edges: stored with the graph, all 1, or random.

use crate::algo::WeightSource;
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::prepare::weight_list::WeightValues;

/// The weights of all edges of a graph.
pub enum EdgeWeights {
    /// Weights of the given type, stored with the blocks of the graph. If weights have 64 bits, the blocks contain
    /// codes, which are indices in the given list of weights.
    Stored(WeightType, WeightValues),
    /// Weights that a hash function computes from the input ids of both ends of an edge. Without ids all weights are 1.
    Drawn(DrawnWeights, Option<InputIds>, Direction),
}

/// The encoding of stored weights: integers, the bits of an f32, or codes of 64-bit weights.
#[derive(Clone, Copy)]
pub struct WeightScale<'a> {
    /// Type of the weights.
    pub kind: WeightType,
    /// For 64-bit weights, the bits of each weight, indexed by its code; otherwise empty.
    pub values: &'a [u64],
}

impl WeightScale<'_> {
    /// Decodes a stored weight. Returns it as a number.
    #[inline]
    pub fn number(self, weight: u32) -> f64 {
        match self.kind {
            WeightType::U32 => weight.into(),
            WeightType::F32 => f32::from_bits(weight).into(),
            WeightType::U64 => self.bits(weight) as f64,
            WeightType::F64 => f64::from_bits(self.bits(weight)),
        }
    }

    /// Decodes a stored weight. Returns its bit pattern.
    #[inline]
    pub fn bits(self, weight: u32) -> u64 {
        if !self.kind.is_wide() {
            return weight.into();
        }
        self.values.get(weight as usize).copied().unwrap_or(u64::MAX)
    }
}

impl EdgeWeights {
    /// Opens the weights of a graph, which come from `source`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`] and [`crate::Error::Io`] from opening the ids from which
    /// random weights are drawn.
    pub fn open(graph: &Graph, source: WeightSource, budget: &Budget) -> Result<EdgeWeights> {
        Ok(match source {
            WeightSource::File => EdgeWeights::Stored(source.kind(graph.stored.weights), graph.weight_values()?),
            WeightSource::Drawn(drawn) => {
                let ids = (drawn != DrawnWeights::Unit).then(|| InputIds::open(graph, budget)).transpose()?;
                EdgeWeights::Drawn(drawn, ids, graph.info.direction)
            }
        })
    }

    /// Returns the host memory, in bytes, that looking up weights requires in a graph of `vertices` vertices.
    pub fn bytes(source: WeightSource, vertices: u64) -> u64 {
        match source {
            WeightSource::File | WeightSource::Drawn(DrawnWeights::Unit) => 0,
            WeightSource::Drawn(_) => InputIds::bytes(vertices),
        }
    }

    /// Returns the encoding of the weights.
    pub fn scale(&self) -> WeightScale<'_> {
        match self {
            EdgeWeights::Stored(kind, values) => WeightScale { kind: *kind, values: values.bits() },
            EdgeWeights::Drawn(drawn, ..) => WeightScale { kind: drawn.kind(), values: &[] },
        }
    }

    /// Returns the function that computes the weight of the edge between vertex `v` and a neighbour, or `None` if
    /// weights are stored. `way` is the direction of the edge.
    #[inline]
    pub fn drawn(&self, v: u32, way: EdgeDirection) -> Option<impl Fn(u32) -> u32> {
        let EdgeWeights::Drawn(drawn, ids, direction) = self else { return None };
        let ids = ids.as_ref().map(|ids| (ids, ids.raw(Vertex(v))));
        Some(move |u| {
            let Some((ids, own)) = ids else { return 1 };
            let other = ids.raw(Vertex(u));
            let (tail, head) = if way == EdgeDirection::In { (other, own) } else { (own, other) };
            drawn.of(*direction, tail, head)
        })
    }
}
