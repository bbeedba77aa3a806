//! Edges and lists that a program has in memory.

use crate::formats::WeightType;
use crate::formats::input::memory::EdgeList;
use crate::list::memory::SuccessorList;
use std::sync::Arc;

/// How the weights of an input are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Weights {
    /// As the input has them: whole numbers below 2^32 or decimals. A graph without weights has none.
    #[default]
    Auto,
    /// Weights are left out.
    None,
    /// Whole numbers below 2^32; others are an error.
    U32,
    /// Decimals, rounded to the nearest `f32`.
    F32,
}

impl Weights {
    /// Returns the name in job files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Weights::Auto => "auto",
            Weights::None => "none",
            Weights::U32 => "u32",
            Weights::F32 => "f32",
        }
    }
}

/// A number type that weights in memory may have: `u32` or `f32`.
pub trait Weight: Copy + Send + Sync + private::Sealed + 'static {}

mod private {
    use crate::formats::WeightType;

    /// What only this crate may know of a weight.
    pub trait Sealed {
        const KIND: WeightType;

        fn bits(self) -> u32;
    }

    impl Sealed for u32 {
        const KIND: WeightType = WeightType::U32;

        fn bits(self) -> u32 {
            self
        }
    }

    impl Sealed for f32 {
        const KIND: WeightType = WeightType::F32;

        fn bits(self) -> u32 {
            // -0 is 0, of which the order of bits knows nothing.
            (self + 0.0).to_bits()
        }
    }
}

impl Weight for u32 {}
impl Weight for f32 {}

/// Edges in a vector.
pub(super) struct Pairs(pub(super) Vec<[u64; 2]>);

impl EdgeList for Pairs {
    fn edges(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}

/// Edges with weights in two vectors of one length.
pub(super) struct WeightedPairs<W> {
    pub(super) pairs: Pairs,
    pub(super) weights: Vec<W>,
}

impl<W: Weight> EdgeList for WeightedPairs<W> {
    fn edges(&self) -> u64 {
        self.pairs.edges()
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        self.pairs.read(first, out);
    }

    fn weights(&self) -> Option<WeightType> {
        Some(W::KIND)
    }

    fn read_weights(&self, first: u64, out: &mut [u32]) {
        out.iter_mut().zip(&self.weights[first as usize..]).for_each(|(bits, weight)| *bits = weight.bits());
    }
}

/// Edges whose weights are left out.
pub(super) struct Unweighted(pub(super) Arc<dyn EdgeList>);

impl EdgeList for Unweighted {
    fn edges(&self) -> u64 {
        self.0.edges()
    }

    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        self.0.read(first, out);
    }

    fn read_narrow(&self, first: u64, out: &mut [[u32; 2]]) {
        self.0.read_narrow(first, out);
    }
}

/// A list in a vector.
pub(super) struct Successors(pub(super) Vec<i64>);

impl SuccessorList for Successors {
    fn elements(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [i64]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}
