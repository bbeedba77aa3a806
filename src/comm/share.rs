//! Divides an array among ranks. The share of a rank is the range of indices that it owns. Shares are consecutive and
//! begin at multiples of a cache line.

use crate::memory::Number;
use std::ops::Range;

/// Number type that ranks can sum. Sums saturate at the type's maximum.
pub trait Summand: Number {
    /// Returns the saturating sum of two numbers.
    fn plus(self, other: Self) -> Self;
}

impl Summand for u32 {
    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.saturating_add(other)
    }
}

impl Summand for u64 {
    #[inline(always)]
    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }
}

/// Granularity of the ranks' shares of an array, in elements: the length of a share is a multiple of it, except at the
/// end of the array. 16 elements of 4 bytes fill a cache line.
pub(super) const GRAIN: usize = 16;

/// Returns the share of `rank`, one of `ranks` ranks, in an array of `len` elements.
pub(super) fn of(rank: usize, ranks: usize, len: usize) -> Range<usize> {
    let grains = len.div_ceil(GRAIN);
    // The product is computed in 128 bits, because an array of bytes may in theory have 2^60 elements.
    let bound = |rank: usize| (((grains as u128 * rank as u128 / ranks as u128) as usize) * GRAIN).min(len);
    bound(rank)..bound(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_consecutive_nearly_equal_and_begin_at_cache_lines() {
        for ranks in [1, 2, 3, 7, 8, 64] {
            for len in [0, 1, 15, 16, 17, 100, 1000, 4097, 1 << 31, usize::MAX / 2] {
                let shares: Vec<_> = (0..ranks).map(|rank| of(rank, ranks, len)).collect();
                assert_eq!((shares[0].start, shares[ranks - 1].end), (0, len));
                for pair in shares.windows(2) {
                    assert_eq!(pair[0].end, pair[1].start);
                }
                assert!(shares.iter().all(|share| share.start % 16 == 0 || share.start == len), "{shares:?}");
                let lengths: Vec<_> = shares.iter().map(ExactSizeIterator::len).collect();
                let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
                assert!(most - least < 32, "{lengths:?}");
            }
        }
    }
}
