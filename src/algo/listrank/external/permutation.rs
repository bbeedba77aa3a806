//! Checks that ranks are a permutation: each number below the length of the list occurs once.

use crate::algo::listrank::index::Index;
use crate::algo::team::{Parts, gathered};
use crate::error::Result;

/// Number of ranks that a thread adds up at a time.
const PART: usize = 1 << 16;

/// Sum of all ranks and sum of their squares, modulo 2^64. These sums are known for a permutation. Damaged ranks are
/// unlikely to have the same sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PowerSums {
    first: u64,
    second: u64,
}

impl PowerSums {
    /// Returns the sums for all numbers below `length`.
    pub fn of_all(length: u64) -> PowerSums {
        let before = length.saturating_sub(1);
        // The product for the first sum is divisible by 2, that for the second by 6. Some factor is divisible by each
        // divisor.
        let halved = if length.is_multiple_of(2) { [length / 2, before] } else { [length, before / 2] };
        let [a, b, c] = [halved[0], halved[1], length.wrapping_add(before)];
        let thirds = match (a % 3, b % 3) {
            (0, _) => [a / 3, b, c],
            (_, 0) => [a, b / 3, c],
            _ => [a, b, c / 3],
        };
        let product = |factors: &[u64]| factors.iter().fold(1u64, |all, &factor| all.wrapping_mul(factor));
        PowerSums { first: product(&halved), second: product(&thirds) }
    }

    /// Adds ranks and their squares to the sums, with `threads` threads.
    ///
    /// # Errors
    /// [`crate::error::Error::Addresses`] if the operating system can't start a thread.
    pub fn add<I: Index>(&mut self, ranks: &[I], threads: usize) -> Result<()> {
        let parts = Parts::new(ranks.len(), PART);
        let sums = gathered(threads.min(ranks.len().div_ceil(PART)), &|_| {
            let mut sums = PowerSums::default();
            parts.each(|part| {
                ranks[part].iter().for_each(|rank| sums.add_one(rank.wide()));
                Ok(())
            })?;
            Ok(sums)
        })?;
        for PowerSums { first, second } in sums {
            *self = PowerSums { first: self.first.wrapping_add(first), second: self.second.wrapping_add(second) };
        }
        Ok(())
    }

    #[inline]
    fn add_one(&mut self, rank: u64) {
        self.first = self.first.wrapping_add(rank);
        self.second = self.second.wrapping_add(rank.wrapping_mul(rank));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_numbers_are_those_of_adding_them_up() {
        for length in (0..200u64).chain([65_537, 1 << 17, 199_999]) {
            let ranks: Vec<u64> = (0..length).rev().collect();
            let mut sums = PowerSums::default();
            ranks.chunks(70_000).try_for_each(|piece| sums.add(piece, 2)).expect("no refusal");
            assert_eq!(sums, PowerSums::of_all(length), "{length}");
        }
        // For these lengths the products exceed 2^64, so the expected sums are computed in 128 bits.
        for length in [1u64 << 33, (1 << 41) + 1, 3_000_000_000_001] {
            let (n, before) = (u128::from(length), u128::from(length) - 1);
            let known = PowerSums { first: (n * before / 2) as u64, second: (n * before * (n + before) / 6) as u64 };
            assert_eq!(PowerSums::of_all(length), known, "{length}");
        }
    }

    #[test]
    fn a_rank_too_many_or_a_bit_that_flipped_is_noticed() {
        let all = PowerSums::of_all(1000);
        let sums = |change: &dyn Fn(&mut Vec<u32>)| {
            let mut ranks: Vec<u32> = (0..1000).collect();
            change(&mut ranks);
            let mut sums = PowerSums::default();
            sums.add(&ranks, 1).expect("no refusal");
            sums
        };
        assert_eq!(sums(&|ranks| ranks.reverse()), all);
        for bit in 0..32 {
            assert_ne!(sums(&|ranks| ranks[777] ^= 1 << bit), all, "bit {bit}");
        }
        assert_ne!(sums(&|ranks| (ranks[5], ranks[9]) = (6, 8)), all);
        assert_ne!(sums(&|ranks| ranks[100..300].iter_mut().for_each(|rank| *rank += 1)), all);
    }
}
