//! Edges and lists that a program has in memory.

use crate::formats::WeightType;
use crate::formats::input::memory::EdgeList;
use crate::list::memory::SuccessorList;
use std::sync::Arc;

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
