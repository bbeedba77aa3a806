//! Integer types for the elements of a list, and the division of a list into shares of consecutive elements. An index
//! has 32 bits if the list is short enough, and otherwise 64. Ranking takes less time with short indices, because it
//! mostly moves data.
#![allow(unsafe_code)] // a slice of integers seen as atomic ones has no safe form yet

use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::comm::SharedNumber;
use crate::memory::Plain;

/// An unsigned integer type for indices of list elements, ranks and numbers of steps.
pub trait Index: Plain + Copy + Ord + Default + Debug + Send + Sync {
    /// The largest value, which is no element's index and marks the end of the list.
    const END: Self;
    /// Number of bits of the type.
    const BITS: u32;
    /// Atomic integer of the same size, for memory that several threads write.
    type Cell: SharedNumber;

    /// Converts a number to the type. If the number does not fit, its higher bits are lost.
    fn of(number: u64) -> Self;

    /// Returns the value as `u64`.
    fn wide(self) -> u64;

    /// Converts the value to `usize`, for use as an index of a slice.
    #[inline(always)]
    fn at(self) -> usize {
        self.wide() as usize
    }

    /// Views a slice as atomic cells, which threads read and write with relaxed ordering.
    fn shared(slice: &mut [Self]) -> &[Self::Cell];

    /// Reads the value of a cell.
    fn get(cell: &Self::Cell) -> Self;

    /// Writes a cell.
    fn set(cell: &Self::Cell, value: Self);
}

macro_rules! index {
    ($integer:ty, $atomic:ty) => {
        impl Index for $integer {
            const END: Self = <$integer>::MAX;
            const BITS: u32 = <$integer>::BITS;
            type Cell = $atomic;

            #[inline(always)]
            fn of(number: u64) -> Self {
                number as $integer
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }

            fn shared(slice: &mut [Self]) -> &[Self::Cell] {
                // SAFETY: an atomic integer has the same size, values and (on 64-bit machines) alignment as the plain
                // integer. The exclusive borrow prevents plain accesses while the result lives.
                unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), slice.len()) }
            }

            #[inline(always)]
            fn get(cell: &Self::Cell) -> Self {
                cell.load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn set(cell: &Self::Cell, value: Self) {
                cell.store(value, Ordering::Relaxed);
            }
        }
    };
}

index!(u32, AtomicU32);
index!(u64, AtomicU64);
// An index type so small that tests reach its largest value.
#[cfg(test)]
index!(u8, std::sync::atomic::AtomicU8);

/// Division of a list into shares of consecutive elements. All shares have the same size, except that the last ones may
/// be smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Number of elements of the list.
    pub length: u64,
    /// Number of elements of every share, except that the last ones may be smaller.
    pub size: u64,
    /// Reciprocal of `size` as a 64-bit fixed-point number, with which the share of an element is found without a
    /// division.
    reciprocal: u64,
}

impl Shares {
    /// Divides `length` elements into shares of `size` elements.
    pub fn new(length: u64, size: u64) -> Shares {
        Shares { length, size, reciprocal: u64::MAX / size.max(1) }
    }

    /// Returns the index of the share that contains `element`.
    #[inline(always)]
    pub fn of(&self, element: u64) -> u64 {
        let share = ((u128::from(element) * u128::from(self.reciprocal)) >> 64) as u64;
        // The reciprocal is rounded down, so the quotient may be too small by one.
        share + u64::from(element - share * self.size >= self.size)
    }

    /// Returns the range of elements in a share.
    pub fn elements(&self, share: u64) -> Range<u64> {
        let first = (self.size * share).min(self.length);
        first..(first + self.size).min(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds<I: Index>() {
        let mut slice = [I::of(1), I::END, I::of(7)];
        let cells = I::shared(&mut slice);
        assert_eq!(I::get(&cells[1]), I::END);
        I::set(&cells[0], I::get(&cells[2]));
        assert_eq!(slice, [I::of(7), I::END, I::of(7)]);
        assert_eq!((I::END.wide(), I::of(7).at()), (u64::MAX >> (64 - I::BITS), 7));
    }

    #[test]
    fn cells_are_the_integers_they_lend() {
        holds::<u8>();
        holds::<u32>();
        holds::<u64>();
    }

    #[test]
    fn every_element_is_in_its_share() {
        for (n, parts) in [(1, 1), (10, 3), (253, 7), (1 << 28, 17), ((1 << 40) + 3, 511), (u64::MAX / 2, 3u64)] {
            let shares = Shares::new(n, n.div_ceil(parts));
            let mut next = 0;
            for share in 0..parts {
                let Range { start, end } = shares.elements(share);
                assert_eq!(start, next, "{n} {share}");
                let some = [start, (start + end) / 2, end.max(1) - 1].into_iter().filter(|e| (start..end).contains(e));
                some.for_each(|element| assert_eq!(shares.of(element), share, "{n}"));
                next = end;
            }
            assert_eq!(next, n);
        }
    }
}
