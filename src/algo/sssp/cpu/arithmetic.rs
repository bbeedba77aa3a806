//! Arithmetic of distances (path lengths) in a search. Integer distances have 32 bits if all sums fit, otherwise 64
//! bits. Floating-point distances are stored as the bits of an `f32` or `f64`, which compare like the (nonnegative)
//! numbers.
//!
//! An entry of an adjacency row contains a 32-bit weight, or a 32-bit code of a 64-bit weight. The slice `values`
//! contains the 64-bit weights, indexed by their codes.

use crate::algo::sssp::Distances;
use crate::algo::sssp::search::NONE;
use crate::memory::Plain;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Arithmetic of one type of distances, such as 32-bit integers.
pub trait Arithmetic: Send + Sync + 'static {
    /// A distance: the sum of the weights along a path.
    type Sum: Copy + Ord + Debug + Default + Into<u64> + TryFrom<u64> + Send + Sync;
    /// An atomic cell that stores the distance of a vertex, and its parent if [`Self::KEEPS_PARENTS`].
    type Cell: Plain + Send + Sync;
    /// A candidate path to a vertex: its length and, if [`Self::KEEPS_PARENTS`], the vertex before the last.
    type CandidatePath: Copy;
    /// Whether cells also store the parent of the vertex.
    const KEEPS_PARENTS: bool = false;
    /// Distance of the root: zero.
    const ZERO: Self::Sum;
    /// Distance of an unreached vertex; larger than any sum.
    const UNREACHED: Self::Sum;

    /// Returns `sum` plus `weight`. If weights have 64 bits, `weight` is a code: the index of the weight in `values`.
    /// The result is never smaller than `sum`, and a larger `sum` or `weight` never makes it smaller.
    fn add(sum: Self::Sum, weight: u32, values: &[u64]) -> Self::Sum;
    /// Reads the distance of a vertex from its cell.
    fn load(cell: &Self::Cell) -> Self::Sum;
    /// Writes a distance into the cell of a vertex.
    fn store(cell: &Self::Cell, sum: Self::Sum);
    /// Returns the candidate path of length `sum` whose last edge leaves vertex `by`. `before` is the distance of `by`.
    fn way(sum: Self::Sum, by: u32, before: Self::Sum) -> Self::CandidatePath;
    /// Returns the length of a candidate path.
    fn sum(way: Self::CandidatePath) -> Self::Sum;
    /// Returns true if the candidate path `way` is better than the path in the cell of its last vertex.
    fn is_better(way: Self::CandidatePath, cell: &Self::Cell) -> bool;
    /// Stores the candidate path `way` in the cell of its last vertex if it is better. Returns true if the distance in
    /// the cell became smaller.
    fn improve(cell: &Self::Cell, way: Self::CandidatePath) -> bool;
    /// Lowers the distance in the cell of a vertex to `sum`, if `sum` is smaller than it. Returns true if it was.
    #[inline(always)]
    fn lower(cell: &Self::Cell, sum: Self::Sum) -> bool {
        Self::improve(cell, Self::way(sum, NONE, sum))
    }
    /// Returns the parent that the cell of a vertex stores, or [`NONE`] if cells store no parents.
    fn parent(_cell: &Self::Cell) -> u32 {
        NONE
    }
    /// Returns the index of the bucket that contains the distance `sum`, if each bucket covers an interval of width
    /// `width`.
    fn bucket(sum: Self::Sum, width: Width) -> u64;
    /// Returns a lower bound on the distances in the bucket with index `bucket` and in all later buckets.
    fn least(bucket: u64, width: Width) -> Self::Sum;
    /// Converts a distance into a 64-bit word. Words are in the same order as distances.
    #[inline]
    fn to_word(sum: Self::Sum) -> u64 {
        sum.into()
    }
    /// Converts a word back into the distance from which [`Self::to_word`] made it.
    #[inline]
    fn of_word(word: u64) -> Self::Sum {
        Self::Sum::try_from(word).unwrap_or(Self::UNREACHED)
    }

    /// Copies the distances in `cells` to `distances`, converted to the type that results contain.
    fn copy(cells: &[Self::Cell], distances: &mut Distances) {
        match distances {
            Distances::Whole(to) => to.iter_mut().zip(cells).for_each(|(to, cell)| {
                let sum = Self::load(cell);
                *to = if sum == Self::UNREACHED { u64::MAX } else { Self::to_word(sum) };
            }),
            Distances::Decimal(to) => to.iter_mut().zip(cells).for_each(|(to, cell)| {
                *to = f32::from_bits(Self::to_word(Self::load(cell)) as u32);
            }),
            Distances::Double(to) => to.iter_mut().zip(cells).for_each(|(to, cell)| {
                *to = f64::from_bits(Self::to_word(Self::load(cell)));
            }),
        }
    }
}

/// Width of a bucket: the length of the interval of distances that it covers. For integers, it is a power of two, and
/// its logarithm is stored. For floating-point numbers, it is any positive number, and its reciprocal is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Width {
    /// Base-2 logarithm of the width of a bucket, for integers.
    pub shift: u32,
    /// Reciprocal of the width of a bucket, for f32 distances.
    pub reciprocal: f32,
    /// Reciprocal of the width of a bucket, for f64 distances.
    pub reciprocal_f64: f64,
}

/// Implements the functions of [`Arithmetic`] for cells that store a distance without a parent. A candidate path is
/// then represented by its length alone.
macro_rules! sums_alone {
    ($sum:ty, $cell:ty) => {
        type Sum = $sum;
        type Cell = $cell;
        type CandidatePath = $sum;

        #[inline(always)]
        fn load(cell: &$cell) -> $sum {
            cell.load(Relaxed)
        }

        #[inline(always)]
        fn store(cell: &$cell, sum: $sum) {
            cell.store(sum, Relaxed);
        }

        #[inline(always)]
        fn way(sum: $sum, _by: u32, _before: $sum) -> $sum {
            sum
        }

        #[inline(always)]
        fn sum(way: $sum) -> $sum {
            way
        }

        #[inline(always)]
        fn is_better(way: $sum, cell: &$cell) -> bool {
            way < Self::load(cell)
        }
    };
}

macro_rules! whole {
    ($name:ident, $sum:ty, $cell:ty, |$weight:ident, $values:ident| $added:expr, $doc:literal) => {
        #[doc = $doc]
        pub struct $name;

        impl Arithmetic for $name {
            const ZERO: $sum = 0;
            const UNREACHED: $sum = <$sum>::MAX;

            sums_alone!($sum, $cell);

            #[inline(always)]
            fn add(sum: $sum, $weight: u32, $values: &[u64]) -> $sum {
                sum.saturating_add($added)
            }

            #[inline(always)]
            fn improve(cell: &$cell, sum: $sum) -> bool {
                let mut before = cell.load(Relaxed);
                // Another thread rarely interferes, so the first attempt usually succeeds.
                while sum < before {
                    match cell.compare_exchange_weak(before, sum, Relaxed, Relaxed) {
                        Ok(_) => return true,
                        Err(now) => before = now,
                    }
                }
                false
            }

            #[inline(always)]
            fn bucket(sum: $sum, width: Width) -> u64 {
                u64::from(sum) >> width.shift
            }

            fn least(bucket: u64, width: Width) -> $sum {
                let least = u128::from(bucket) << width.shift;
                <$sum>::try_from(least).unwrap_or(<$sum>::MAX)
            }
        }
    };
}

whole!(Short, u32, AtomicU32, |weight, _values| weight, "Whole numbers below 2^32.");
whole!(Long, u64, AtomicU64, |weight, _values| weight.into(), "Whole numbers below 2^64, as sums of 32-bit weights.");
whole!(
    Wide,
    u64,
    AtomicU64,
    // A code beyond `values` stands for the absence of a weight: the lightest weight of an empty row is such a code.
    |weight, values| values.get(weight as usize).copied().unwrap_or(u64::MAX),
    "Whole numbers below 2^64, as sums of 64-bit weights."
);

macro_rules! decimal {
    ($name:ident, $sum:ty, $cell:ty, $float:ty, $reciprocal:ident, |$weight:ident, $values:ident| $added:expr, $doc:literal) => {
        #[doc = $doc]
        pub struct $name;

        impl Arithmetic for $name {
            const ZERO: $sum = 0;
            /// Infinity, as a bit pattern. Adding a weight to it does not change it.
            const UNREACHED: $sum = <$float>::INFINITY.to_bits();

            sums_alone!($sum, $cell);

            #[inline(always)]
            fn add(sum: $sum, $weight: u32, $values: &[u64]) -> $sum {
                (<$float>::from_bits(sum) + <$float>::from_bits($added)).to_bits()
            }

            #[inline(always)]
            fn improve(cell: &$cell, sum: $sum) -> bool {
                cell.fetch_min(sum, Relaxed) > sum
            }

            #[inline(always)]
            fn bucket(sum: $sum, width: Width) -> u64 {
                (<$float>::from_bits(sum) * width.$reciprocal) as u64
            }

            fn least(bucket: u64, width: Width) -> $sum {
                // Rounding may put the result into the bucket before.
                let mut least = (bucket as $float / width.$reciprocal).to_bits();
                while Self::bucket(least, width) < bucket && least < Self::UNREACHED {
                    least += 1;
                }
                least
            }
        }
    };
}

decimal!(
    Decimal,
    u32,
    AtomicU32,
    f32,
    reciprocal,
    |weight, _values| weight,
    "Arithmetic of decimals that are stored as the bits of f32."
);
decimal!(
    Double,
    u64,
    AtomicU64,
    f64,
    reciprocal_f64,
    |weight, values| values.get(weight as usize).copied().unwrap_or(f64::INFINITY.to_bits()),
    "Arithmetic of decimals that are stored as the bits of f64."
);

/// Arithmetic of 32-bit distances in cells that also store the parent of a vertex. The parent is the smallest vertex
/// that is nearer to the root and has an edge to the vertex that gives exactly its distance. The parent is final once
/// all edges of vertices at smaller distances have been relaxed.
pub struct WithParents<A>(PhantomData<A>);

impl<A: Arithmetic<Sum = u32>> Arithmetic for WithParents<A> {
    type Sum = u32;
    /// A 64-bit word: the upper half is a distance, and the lower half is a vertex or [`NONE`].
    type Cell = AtomicU64;
    type CandidatePath = u64;
    const KEEPS_PARENTS: bool = true;
    const ZERO: u32 = A::ZERO;
    const UNREACHED: u32 = A::UNREACHED;

    #[inline(always)]
    fn add(sum: u32, weight: u32, values: &[u64]) -> u32 {
        A::add(sum, weight, values)
    }

    #[inline(always)]
    fn load(cell: &AtomicU64) -> u32 {
        Self::sum(cell.load(Relaxed))
    }

    #[inline(always)]
    fn store(cell: &AtomicU64, sum: u32) {
        cell.store(both(sum, NONE), Relaxed);
    }

    #[inline(always)]
    fn way(sum: u32, by: u32, before: u32) -> u64 {
        // A vertex at the same distance can't be the parent.
        both(sum, if sum == before { NONE } else { by })
    }

    #[inline(always)]
    fn sum(way: u64) -> u32 {
        (way >> 32) as u32
    }

    #[inline(always)]
    fn is_better(way: u64, cell: &AtomicU64) -> bool {
        way < cell.load(Relaxed)
    }

    #[inline(always)]
    fn improve(cell: &AtomicU64, way: u64) -> bool {
        let mut before = cell.load(Relaxed);
        while way < before {
            match cell.compare_exchange_weak(before, way, Relaxed, Relaxed) {
                Ok(_) => return Self::sum(way) < Self::sum(before),
                Err(now) => before = now,
            }
        }
        false
    }

    #[inline(always)]
    fn parent(cell: &AtomicU64) -> u32 {
        cell.load(Relaxed) as u32
    }

    #[inline(always)]
    fn bucket(sum: u32, width: Width) -> u64 {
        A::bucket(sum, width)
    }

    fn least(bucket: u64, width: Width) -> u32 {
        A::least(bucket, width)
    }
}

/// Packs a distance and a vertex into a 64-bit word. Words are ordered by distance, then by vertex.
#[inline(always)]
fn both(sum: u32, vertex: u32) -> u64 {
    u64::from(sum) << 32 | u64::from(vertex)
}
