//! Division of a list into shares of consecutive elements.

use std::ops::Range;

/// Shares of a list. All but the last ones have the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Number of elements of the list.
    pub length: u64,
    /// Number of elements of every share but the last ones.
    pub size: u64,
    /// Reciprocal of `size`, so that shares are found without a division.
    reciprocal: u64,
}

impl Shares {
    /// Divides `length` elements into shares of `size` elements.
    pub fn new(length: u64, size: u64) -> Shares {
        Shares { length, size, reciprocal: u64::MAX / size.max(1) }
    }

    /// Returns the number of the share that an element belongs to.
    #[inline(always)]
    pub fn of(&self, element: u64) -> u64 {
        let share = ((u128::from(element) * u128::from(self.reciprocal)) >> 64) as u64;
        // The reciprocal is rounded down, so the quotient may be too small by one.
        share + u64::from(element - share * self.size >= self.size)
    }

    /// Returns the elements of a share.
    pub fn elements(&self, share: u64) -> Range<u64> {
        let first = (self.size * share).min(self.length);
        first..(first + self.size).min(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
