//! Sums of weights as a search keeps them: in 32 bits where they fit, else in 64, or as the bits of f32, which are in the same order.

use crate::algo::sssp::{Distance, Distances};
use crate::memory::Plain;
use std::fmt::Debug;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Sums of one kind.
pub trait Arithmetic: Send + Sync + 'static {
    /// A sum.
    type Sum: Copy + Ord + Debug + Send + Sync;
    /// A sum that threads share.
    type Cell: Plain + Send + Sync;
    /// The sum of a root.
    const ZERO: Self::Sum;
    /// The sum of a vertex that is not reached: no sum is larger.
    const UNREACHED: Self::Sum;

    /// Returns the sum with one more weight. It is never smaller, and in the order of sums and of weights.
    fn add(sum: Self::Sum, weight: u32) -> Self::Sum;
    /// Makes a cell with this sum.
    fn cell(sum: Self::Sum) -> Self::Cell;
    /// Returns the sum in a cell.
    fn load(cell: &Self::Cell) -> Self::Sum;
    /// Replaces the sum in a cell.
    fn store(cell: &Self::Cell, sum: Self::Sum);
    /// Lowers the sum in a cell to this one; returns true if it was larger.
    fn lower(cell: &Self::Cell, sum: Self::Sum) -> bool;
    /// Returns the bucket of a sum.
    fn bucket(sum: Self::Sum, width: Width) -> u64;
    /// Returns the least sum that is in this bucket or behind it.
    fn least(bucket: u64, width: Width) -> Self::Sum;
    /// Returns the sum as a number, in the order of sums.
    fn to_word(sum: Self::Sum) -> u64;
    /// Returns the sum of a number.
    fn of_word(word: u64) -> Self::Sum;
    /// Returns the sum as a distance.
    fn distance(sum: Self::Sum) -> Distance;
    /// Copies sums to distances, from that of vertex `first` on.
    fn copy(cells: &[Self::Cell], distances: &mut Distances);
}

/// The width of buckets: a power of two for whole numbers, and the reciprocal of any for decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Width {
    /// Its binary logarithm.
    pub shift: u32,
    /// Its reciprocal.
    pub reciprocal: f32,
}

macro_rules! whole {
    ($name:ident, $sum:ty, $cell:ty, $doc:literal) => {
        #[doc = $doc]
        pub struct $name;

        impl Arithmetic for $name {
            type Sum = $sum;
            type Cell = $cell;
            const ZERO: $sum = 0;
            const UNREACHED: $sum = <$sum>::MAX;

            #[inline(always)]
            fn add(sum: $sum, weight: u32) -> $sum {
                sum.saturating_add(weight.into())
            }

            fn cell(sum: $sum) -> $cell {
                <$cell>::new(sum)
            }

            #[inline(always)]
            fn load(cell: &$cell) -> $sum {
                cell.load(Relaxed)
            }

            #[inline(always)]
            fn store(cell: &$cell, sum: $sum) {
                cell.store(sum, Relaxed);
            }

            #[inline(always)]
            fn lower(cell: &$cell, sum: $sum) -> bool {
                let mut before = cell.load(Relaxed);
                // Another thread is rarely in between: the first try does.
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

            #[inline]
            fn to_word(sum: $sum) -> u64 {
                sum.into()
            }

            #[inline]
            fn of_word(word: u64) -> $sum {
                word as $sum
            }

            fn distance(sum: $sum) -> Distance {
                Distance::Whole(sum.into())
            }

            fn copy(cells: &[$cell], distances: &mut Distances) {
                let Distances::Whole(to) = distances else { return };
                for (to, cell) in to.iter_mut().zip(cells) {
                    let sum = cell.load(Relaxed);
                    *to = if sum == Self::UNREACHED { u64::MAX } else { sum.into() };
                }
            }
        }
    };
}

whole!(Short, u32, AtomicU32, "Whole numbers below 2^32.");
whole!(Long, u64, AtomicU64, "Whole numbers below 2^64.");

/// Decimals, as the bits of f32.
pub struct Decimal;

impl Arithmetic for Decimal {
    type Sum = u32;
    type Cell = AtomicU32;
    const ZERO: u32 = 0;
    /// Those of infinity, to which nothing adds.
    const UNREACHED: u32 = 0x7f80_0000;

    #[inline(always)]
    fn add(sum: u32, weight: u32) -> u32 {
        (f32::from_bits(sum) + f32::from_bits(weight)).to_bits()
    }

    fn cell(sum: u32) -> AtomicU32 {
        AtomicU32::new(sum)
    }

    #[inline(always)]
    fn load(cell: &AtomicU32) -> u32 {
        cell.load(Relaxed)
    }

    #[inline(always)]
    fn store(cell: &AtomicU32, sum: u32) {
        cell.store(sum, Relaxed);
    }

    #[inline(always)]
    fn lower(cell: &AtomicU32, sum: u32) -> bool {
        cell.fetch_min(sum, Relaxed) > sum
    }

    #[inline(always)]
    fn bucket(sum: u32, width: Width) -> u64 {
        (f32::from_bits(sum) * width.reciprocal) as u64
    }

    fn least(bucket: u64, width: Width) -> u32 {
        // Rounding may put it into the bucket before.
        let mut least = (bucket as f32 / width.reciprocal).to_bits();
        while Self::bucket(least, width) < bucket && least < Self::UNREACHED {
            least += 1;
        }
        least
    }

    #[inline]
    fn to_word(sum: u32) -> u64 {
        sum.into()
    }

    #[inline]
    fn of_word(word: u64) -> u32 {
        word as u32
    }

    fn distance(sum: u32) -> Distance {
        Distance::Decimal(f32::from_bits(sum))
    }

    fn copy(cells: &[AtomicU32], distances: &mut Distances) {
        let Distances::Decimal(to) = distances else { return };
        to.iter_mut().zip(cells).for_each(|(to, cell)| *to = f32::from_bits(cell.load(Relaxed)));
    }
}
