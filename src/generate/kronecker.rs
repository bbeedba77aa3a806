//! Kronecker (R-MAT) edges (Chakrabarti, Zhan & Faloutsos, SDM 2004) with the parameters of the Graph500 specification:
//! A = 0.57, B = C = 0.19, D = 0.05.
//!
//! An edge descends `scale` levels of the adjacency matrix, at each level into one of four quadrants. Four levels
//! together have 256 outcomes. One 32-bit draw chooses an outcome from an alias table (Walker 1977; Vose 1991): 8 bits
//! choose a column, and 24 bits choose one of the two outcomes of that column. So the probability of an outcome is a
//! multiple of 2^-32, within 2^-32 of the true one. The smallest, 0.05^4, has a relative error of at most 2e-5. One
//! 64-bit random number is enough for eight levels.
//!
//! If the scale is not a multiple of four, the surplus levels of the last draw are dropped. Then both ids go through a
//! bijection of `scale` bits that depends on the seed, so that an id reveals nothing about its degree.

use std::sync::LazyLock;

use super::permutation::Permutation;
use super::random::{key, number};
use crate::formats::KroneckerParameters;

/// Number of columns in the alias table.
const COLUMNS: usize = 256;

/// The alias table. An outcome stores four bits of the edge's first id in its low half, and four bits of the second id
/// in its high half.
#[derive(Debug, PartialEq)]
pub(super) struct AliasTable {
    /// Threshold of each column: 24-bit draws below it choose the first outcome of the column, others the second.
    first_below: [u32; COLUMNS],
    /// The two outcomes of each column of the alias table.
    outcomes: [u64; 2 * COLUMNS],
}

/// The alias table of Graph500, whose parameters A, B, C and D are given in percent.
pub(super) static GRAPH500: LazyLock<AliasTable> = LazyLock::new(|| AliasTable::new([57, 19, 19, 5]));

impl AliasTable {
    /// Creates the table for quadrant probabilities in proportion to `quadrants` (A, B, C, D). Their sum must be
    /// positive and at most [`super::PARTS`].
    pub fn new(quadrants: [u32; 4]) -> AliasTable {
        // Probabilities are in units of 2^-32, and are rounded by the largest remainder method, so that they sum to
        // exactly one.
        let scaled = |outcome: usize| {
            let ways: u128 = (0..4).map(|level| u128::from(quadrants[outcome >> (2 * level) & 3])).product();
            ways << 32
        };
        let total = quadrants.iter().map(|&share| u128::from(share)).sum::<u128>().pow(4);
        let mut mass: Vec<u64> = (0..COLUMNS).map(|outcome| (scaled(outcome) / total) as u64).collect();
        let mut by_remainder: Vec<usize> = (0..COLUMNS).collect();
        by_remainder.sort_by_key(|outcome| (std::cmp::Reverse(scaled(*outcome) % total), *outcome));
        let missing = (1u64 << 32) - mass.iter().sum::<u64>();
        for outcome in by_remainder.into_iter().take(missing as usize) {
            mass[outcome] += 1;
        }
        // This is Vose's construction, on integers: a column has a capacity of 2^24, and a small outcome is filled up
        // by a large one.
        const FULL: u64 = 1 << 24;
        let mut table = AliasTable { first_below: [FULL as u32; COLUMNS], outcomes: [0; 2 * COLUMNS] };
        let mut alias: Vec<usize> = (0..COLUMNS).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..COLUMNS).partition(|outcome| mass[*outcome] < FULL);
        while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
            table.first_below[taker] = mass[taker] as u32;
            alias[taker] = giver;
            mass[giver] -= FULL - mass[taker];
            if mass[giver] < FULL {
                large.pop();
                small.push(giver);
            }
        }
        for (column, (alias, outcomes)) in alias.into_iter().zip(table.outcomes.as_chunks_mut::<2>().0).enumerate() {
            *outcomes = [Self::bits(column), Self::bits(alias)];
        }
        table
    }

    /// Converts four quadrant digits to bits of ids: digit 1 sets a bit of the second id, digit 2 of the first, digit 3
    /// of both.
    fn bits(outcome: usize) -> u64 {
        (0..4).fold(0, |bits, level| {
            let digit = (outcome >> (2 * level) & 3) as u64;
            bits | (digit >> 1) << level | (digit & 1) << (level + 32)
        })
    }

    /// Returns the outcome of the alias table that the 32-bit random number `draw` chooses.
    #[inline(always)]
    fn outcome(&self, draw: u32) -> u64 {
        let column = (draw >> 24) as usize;
        let second = (draw & 0xff_ffff) >= self.first_below[column];
        self.outcomes[2 * column + usize::from(second)]
    }
}

/// Fills `out` with the generated edges from number `first_edge` on. `narrow` converts each id to `T`.
#[inline(always)]
pub(super) fn fill<T>(
    table: &AliasTable,
    (scale, seed): (u32, u64),
    first_edge: u64,
    out: &mut [[T; 2]],
    narrow: impl Fn(u64) -> T + Copy,
) {
    let stream = key(seed, 1);
    let permutation = Permutation::new(scale, seed);
    // Each arm is a loop with a constant number of draws, so that the compiler unrolls it.
    let fill = KroneckerFill { scale, stream, first_edge, table, permutation: &permutation };
    match scale.div_ceil(4) {
        0 => fill.run::<0, T>(out, narrow),
        1 => fill.run::<1, T>(out, narrow),
        2 => fill.run::<2, T>(out, narrow),
        3 => fill.run::<3, T>(out, narrow),
        4 => fill.run::<4, T>(out, narrow),
        5 => fill.run::<5, T>(out, narrow),
        6 => fill.run::<6, T>(out, narrow),
        7 => fill.run::<7, T>(out, narrow),
        8 => fill.run::<8, T>(out, narrow),
        _ => fill.run_long(out, narrow),
    }
}

/// Returns the parameters with which a GPU generates the same edges; `None` if ids need more than 32 bits.
pub(super) fn on_gpu(scale: u32, seed: u64) -> Option<KroneckerParameters> {
    if scale > u32::BITS {
        return None;
    }
    let table = &*GRAPH500;
    let bits = |outcome: u64| outcome & 15 | (outcome >> 32) << 4;
    let column = |column: usize| {
        let [first, second] = [table.outcomes[2 * column], table.outcomes[2 * column + 1]].map(bits);
        u64::from(table.first_below[column]) | first << 32 | second << 40
    };
    let Permutation { shift, add, multiply, .. } = Permutation::new(scale, seed);
    Some(KroneckerParameters {
        columns: std::array::from_fn(column),
        stream: key(seed, 1),
        multiply: multiply.map(|odd| odd as u32),
        add: add as u32,
        shift,
        scale,
    })
}

struct KroneckerFill<'a> {
    scale: u32,
    stream: u64,
    first_edge: u64,
    table: &'a AliasTable,
    permutation: &'a Permutation,
}

impl KroneckerFill<'_> {
    /// Generates edges for scales up to 32. Each edge takes `DRAWS` draws. A draw is half of a 64-bit random number;
    /// the high half comes first. Both ids are collected in one 64-bit word, one in each half.
    #[inline(always)]
    fn run<const DRAWS: u32, T>(&self, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T) {
        let drop = 4 * DRAWS - self.scale;
        let numbers = u64::from(DRAWS.div_ceil(2));
        for (index, edge) in out.iter_mut().enumerate() {
            let counter = (self.first_edge + index as u64).wrapping_mul(numbers);
            let mut both = 0u64;
            for n in 0..numbers {
                let random = number(self.stream, counter.wrapping_add(n));
                both = both << 4 | self.table.outcome((random >> 32) as u32);
                if DRAWS.is_multiple_of(2) || n + 1 < numbers {
                    both = both << 4 | self.table.outcome(random as u32);
                }
            }
            let (u, v) = ((both & 0xffff_ffff) >> drop, both >> 32 >> drop);
            *edge = [narrow(self.permutation.apply(u)), narrow(self.permutation.apply(v))];
        }
    }

    /// Generates edges for scales from 33 to 40. Each edge takes five random numbers.
    fn run_long<T>(&self, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T) {
        let drop = 40 - self.scale;
        for (index, edge) in out.iter_mut().enumerate() {
            let counter = (self.first_edge + index as u64).wrapping_mul(5);
            let (mut u, mut v) = (0u64, 0u64);
            for n in 0..5 {
                let random = number(self.stream, counter.wrapping_add(n));
                for draw in [(random >> 32) as u32, random as u32] {
                    let outcome = self.table.outcome(draw);
                    (u, v) = (u << 4 | (outcome & 15), v << 4 | outcome >> 32);
                }
            }
            *edge = [narrow(self.permutation.apply(u >> drop)), narrow(self.permutation.apply(v >> drop))];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_table_has_the_right_probabilities() {
        let mut mass = std::collections::HashMap::new();
        for column in 0..COLUMNS {
            let below = u64::from(GRAPH500.first_below[column]);
            *mass.entry(GRAPH500.outcomes[2 * column]).or_insert(0) += below;
            *mass.entry(GRAPH500.outcomes[2 * column + 1]).or_insert(0) += (1 << 24) - below;
        }
        assert_eq!(mass.values().sum::<u64>(), 1 << 32);
        for (outcome, mass) in mass {
            let (u, v) = (outcome & 15, outcome >> 32);
            let p: f64 =
                (0..4).map(|b| [[0.57, 0.19], [0.19, 0.05]][(u >> b & 1) as usize][(v >> b & 1) as usize]).product();
            assert!((mass as f64 - p * (1u64 << 32) as f64).abs() <= 1.0, "{outcome:x}");
        }
    }
}
