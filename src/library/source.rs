//! Edges and lists that a program has in memory.

use crate::formats::WeightType;
use crate::formats::input::memory::EdgeList;
use crate::list::memory::SuccessorList;
use std::sync::Arc;

/// A number type that weights in memory may have: `u32`, `u64`, `f32` or `f64`.
pub trait Weight: Copy + Send + Sync + private::Sealed + 'static {}

mod private {
    use crate::formats::WeightType;

    /// What only this crate may know of a weight.
    pub trait Sealed {
        const KIND: WeightType;

        fn bits(self) -> u64;
    }

    macro_rules! weight {
        ($($number:ty, $kind:ident, $bits:expr;)*) => {$(
            impl super::Weight for $number {}

            impl Sealed for $number {
                const KIND: WeightType = WeightType::$kind;

                fn bits(self) -> u64 {
                    $bits(self)
                }
            }
        )*};
    }

    weight! {
        u32, U32, u64::from;
        u64, U64, u64::from;
        f32, F32, |number: f32| number.to_bits().into();
        f64, F64, f64::to_bits;
    }
}

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
        let weights = &self.weights[first as usize..];
        for (words, weight) in out.chunks_exact_mut(W::KIND.words()).zip(weights) {
            let bits = weight.bits();
            words[0] = bits as u32;
            if let Some(high) = words.get_mut(1) {
                *high = (bits >> 32) as u32;
            }
        }
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
