//! Random edge weights that are computed rather than read. The weight of an edge is a hash of a seed and of the ids of
//! both ends. So nothing is stored, and every process, thread and device computes the same weight.
//!
//! The hash applies the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) to the seed and then to each id. It
//! uses 64-bit additions, multiplications and shifts, which kernels compute in the same way. A decimal weight is
//! rounded after the multiplication and again after the addition, so kernels must not contract them to a fused
//! multiply-add.

use crate::formats::WeightType;
use crate::generate::random::number;
use crate::graph::direction::Direction;
use crate::graph::ids::RawId;
use serde::{Deserialize, Serialize};

/// Distribution from which weights are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DrawnWeights {
    /// Every weight is 1.
    Unit,
    /// Integers. All integers in the range are equally likely.
    Whole {
        /// Smallest weight that can be drawn.
        least: u32,
        /// Largest weight that can be drawn.
        most: u32,
        /// Seed of the hash that draws the weights.
        seed: u64,
    },
    /// Decimals (f32): 2^24 equally spaced values in the range, all equally likely.
    Decimal {
        /// Smallest weight that can be drawn.
        least: f32,
        /// Upper bound on the weights that can be drawn.
        most: f32,
        /// Seed of the hash that draws the weights.
        seed: u64,
    },
}

impl DrawnWeights {
    /// Returns the type of the weights.
    pub fn kind(self) -> WeightType {
        match self {
            DrawnWeights::Unit | DrawnWeights::Whole { .. } => WeightType::U32,
            DrawnWeights::Decimal { .. } => WeightType::F32,
        }
    }

    /// Returns an upper bound on all weights: an integer, or the bit pattern of an f32.
    pub fn largest(self) -> u32 {
        match self {
            DrawnWeights::Unit => 1,
            DrawnWeights::Whole { most, .. } => most,
            DrawnWeights::Decimal { least, most, .. } => most.to_bits().max(least.to_bits()),
        }
    }

    /// Returns the weight of the edge from `tail` to `head`: an integer, or the bit pattern of an f32. In an undirected
    /// graph the order of the two does not matter.
    #[inline]
    pub fn of(self, direction: Direction, tail: RawId, head: RawId) -> u32 {
        let (first, second) = match direction {
            Direction::Undirected => (tail.min(head), tail.max(head)),
            Direction::Directed => (tail, head),
        };
        match self {
            DrawnWeights::Unit => 1,
            DrawnWeights::Whole { least, most, seed } => {
                let numbers = u64::from(most - least) + 1;
                least + (((hash(seed, first, second) >> 32) * numbers) >> 32) as u32
            }
            DrawnWeights::Decimal { least, most, seed } => {
                let part = (hash(seed, first, second) >> 40) as f32 / (1 << 24) as f32;
                (least + part * (most - least)).min(most).to_bits()
            }
        }
    }
}

#[inline]
fn hash(seed: u64, first: RawId, second: RawId) -> u64 {
    number(number(number(seed, 1).wrapping_add(first.0), 1).wrapping_add(second.0), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the hash against the first outputs of the reference implementation of SplitMix64 with seed 1234567.
    #[test]
    fn the_hash_is_that_of_the_reference() {
        let known = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423u64];
        for (nth, known) in (0u64..).zip(known) {
            assert_eq!(number(1_234_567, nth + 1), known);
        }
    }

    proptest! {
        #[test]
        fn weights_keep_within_their_bounds_and_are_the_same_from_either_end(
            u in any::<u64>(), v in any::<u64>(), seed in any::<u64>(), ends in any::<[u32; 2]>(), decimals in any::<[u16; 2]>(),
        ) {
            let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let [low, high] = [decimals[0].min(decimals[1]), decimals[0].max(decimals[1])].map(|n| f32::from(n) / 7.0);
            let (u, v) = (RawId(u), RawId(v));
            for drawn in [
                DrawnWeights::Unit,
                DrawnWeights::Whole { least, most, seed },
                DrawnWeights::Decimal { least: low, most: high, seed },
            ] {
                let weight = drawn.of(Direction::Undirected, u, v);
                prop_assert!(weight <= drawn.largest());
                prop_assert_eq!(weight, drawn.of(Direction::Undirected, v, u));
                prop_assert!([drawn.of(Direction::Directed, u, v), drawn.of(Direction::Directed, v, u)].contains(&weight));
                match drawn {
                    DrawnWeights::Unit => prop_assert_eq!(weight, 1),
                    DrawnWeights::Whole { .. } => prop_assert!((least..=most).contains(&weight)),
                    DrawnWeights::Decimal { .. } => prop_assert!((low..=high).contains(&f32::from_bits(weight))),
                }
            }
        }
    }

    /// Checks that weights are uniformly distributed for several seeds, and that another seed or the opposite direction
    /// gives other weights.
    #[test]
    fn weights_are_uniform_and_depend_on_the_seed_and_on_direction() {
        let draw = |seed, direction, (u, v): (u64, u64)| {
            DrawnWeights::Whole { least: 1, most: 10, seed }.of(direction, RawId(u), RawId(v))
        };
        let edges = || (0..300u64).flat_map(|u| (0..u).map(move |v| (u, v)));
        for seed in [0, 1, u64::MAX] {
            let mut counts = [0u32; 11];
            edges().for_each(|edge| counts[draw(seed, Direction::Undirected, edge) as usize] += 1);
            assert_eq!(counts[0], 0);
            // 44850 edges: each of ten weights is expected 4485 times, with a standard deviation of 64.
            assert!(counts[1..].iter().all(|&count| count.abs_diff(4485) < 320), "{counts:?}");
        }
        let others = |a: &dyn Fn((u64, u64)) -> u32, b: &dyn Fn((u64, u64)) -> u32| {
            edges().filter(|&edge| a(edge) != b(edge)).count() > 39_000
        };
        assert!(others(&|e| draw(1, Direction::Directed, e), &|e| draw(2, Direction::Directed, e)));
        assert!(others(&|e| draw(1, Direction::Directed, e), &|(u, v)| draw(1, Direction::Directed, (v, u))));
    }

    /// Checks that weights are the same as in earlier versions, because results of jobs depend on them.
    #[test]
    fn known_weights() {
        let (u, v) = (RawId(5), RawId(1 << 40));
        let whole = DrawnWeights::Whole { least: 1, most: 1000, seed: 1 };
        let decimal = DrawnWeights::Decimal { least: 0.0, most: 1.0, seed: 1 };
        let all = DrawnWeights::Whole { least: 0, most: u32::MAX, seed: 1 };
        // The expected values come from the same formula in Python.
        assert_eq!(whole.of(Direction::Undirected, v, u), 168);
        assert_eq!(f32::from_bits(decimal.of(Direction::Undirected, v, u)), 2802663.0 / 16_777_216.0);
        assert_eq!(all.of(Direction::Directed, v, u), 3_839_282_959);
    }
}
