//! Number types for counts of shortest paths. An f64 represents counts up to 10^308, which large grids exceed. Wide
//! numbers represent larger counts.
//!
//! A *wide number* is a u64. Its upper 24 bits are an exponent, and its lower 40 bits are a mantissa whose highest bit
//! is set. The u64 0 represents the number 0. Any other u64 represents `mantissa * 2^(exponent - BIAS)`.

use crate::memory::Number;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number type for counts of shortest paths.
pub(super) trait Count: Number + PartialEq {
    const ONE: Self;

    fn plus(self, other: Self) -> Self;

    /// Returns true if up to `terms` counts, none of them larger than this one, have the same sum in any order of
    /// additions.
    fn sums_exactly(self, terms: u64) -> bool;

    /// Adds this count of shortest paths to the count whose bit pattern is in `cell`. Returns true if that count was 0
    /// before.
    fn add_to(self, cell: &AtomicU64) -> bool;

    /// Returns true if this count of shortest paths is too large for its number type.
    fn is_too_large(self) -> bool;

    /// Returns the dependency of a vertex to which this many shortest paths lead. `sum` is the sum of (1 + dependency)
    /// / (number of shortest paths) over the successors of the vertex.
    fn dependency(self, sum: Self) -> f64;

    /// Returns (1 + dependency) / (number of shortest paths) for a vertex to which this many shortest paths lead: the
    /// share that the vertex adds to the sum of each predecessor.
    fn share(self, dependency: f64) -> Self;
}

/// Maximum number of neighbours whose values are summed in one sequence (a piece of a row). The sums of the pieces are
/// then added to the sum of the row.
pub(super) const PIECE: usize = 128;

/// Largest count of shortest paths that is stored as f64. Its reciprocal has full precision.
const LARGEST: f64 = f64::from_bits((1000 + 1023) << 52);

impl Count for f64 {
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn sums_exactly(self, terms: u64) -> bool {
        self * terms as f64 <= (1u64 << f64::MANTISSA_DIGITS) as f64
    }

    #[inline(always)]
    fn add_to(self, cell: &AtomicU64) -> bool {
        cell.fetch_update(Relaxed, Relaxed, |before| Some((f64::from_bits(before) + self).to_bits())) == Ok(0)
    }

    #[inline(always)]
    fn is_too_large(self) -> bool {
        self > LARGEST
    }

    #[inline(always)]
    fn dependency(self, sum: f64) -> f64 {
        self * sum
    }

    #[inline(always)]
    fn share(self, dependency: f64) -> f64 {
        (1.0 + dependency) / self
    }
}

/// Number of mantissa bits of a wide number (a u64 that represents larger numbers than an f64).
const BITS: u32 = 40;
/// Stored exponent of a wide number that is equal to its mantissa.
const BIAS: i64 = 1 << 23;
/// Largest exponent of a count of shortest paths. The exponents of the shares that [`Count::share`] returns are at
/// least [`BIAS`] minus 2^22.
const LARGEST_EXPONENT: i64 = BIAS + (1 << 22);
/// Number of stored mantissa bits of an f64, without the implied bit. An f64 with this exponent is equal to its
/// mantissa, read as an integer.
const F64_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const F64_BIAS: i64 = 1023 + F64_BITS as i64;

impl Count for u64 {
    const ONE: u64 = wide(1, 0);

    #[inline]
    fn plus(self, other: u64) -> u64 {
        let (large, small) = (self.max(other), self.min(other));
        let shift = (large >> BITS) - (small >> BITS);
        if small == 0 || shift > u64::from(BITS) {
            return large;
        }
        // The extra bits are used to round the sum to nearest.
        let sum = (mantissa(large) << 20) + ((mantissa(small) << 20) >> shift);
        wide(sum, exponent(large) - 20)
    }

    /// Always returns false, because sums of wide numbers are rounded.
    fn sums_exactly(self, _: u64) -> bool {
        false
    }

    fn add_to(self, cell: &AtomicU64) -> bool {
        cell.fetch_update(Relaxed, Relaxed, |before| Some(before.plus(self))) == Ok(0)
    }

    #[inline]
    fn is_too_large(self) -> bool {
        (self >> BITS) as i64 > LARGEST_EXPONENT
    }

    fn dependency(self, sum: u64) -> f64 {
        if self == 0 || sum == 0 {
            return 0.0;
        }
        let product = (u128::from(mantissa(self)) * u128::from(mantissa(sum))) >> 20;
        let power = exponent(self) + exponent(sum) + 20;
        // A dependency is at most the number of vertices. Below 2^-1000 it adds nothing.
        let power = power.clamp(-1000, 900);
        product as f64 * f64::from_bits(((power + 1023) as u64) << F64_BITS)
    }

    fn share(self, dependency: f64) -> u64 {
        let bits = (1.0 + dependency).to_bits();
        let number = bits & ((1 << F64_BITS) - 1) | 1 << F64_BITS;
        let quotient = (u128::from(number) << 40) / u128::from(mantissa(self));
        wide(quotient as u64, (bits >> F64_BITS) as i64 - F64_BIAS - 40 - exponent(self))
    }
}

#[inline]
fn mantissa(wide: u64) -> u64 {
    wide & ((1 << BITS) - 1)
}

/// Returns the number p for which a wide number is equal to its mantissa times 2^p.
#[inline]
fn exponent(wide: u64) -> i64 {
    (wide >> BITS) as i64 - BIAS
}

/// Returns the wide number nearest to `number * 2^power`. `number` is not 0, and less than 2^63.
#[inline]
const fn wide(number: u64, power: i64) -> u64 {
    let length = u64::BITS - number.leading_zeros();
    if length <= BITS {
        return (number << (BITS - length)) + (((power - (BITS - length) as i64 + BIAS) as u64) << BITS);
    }
    let shift = length - BITS;
    let rounded = (number + (1 << (shift - 1))) >> shift;
    let carry = (rounded >> BITS) as u32;
    (rounded >> carry) + (((power + (shift + carry) as i64 + BIAS) as u64) << BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u64) -> u64 {
        wide(number, 0)
    }

    fn value(wide: u64) -> f64 {
        mantissa(wide) as f64 * (exponent(wide) as f64).exp2()
    }

    #[test]
    fn wide_numbers_compute_as_f64_does_with_fewer_bits() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> (1 + state % 60)).max(1)
        };
        let near = |found: f64, known: f64| assert!((found / known - 1.0).abs() < 4e-12, "{found} {known}");
        for _ in 0..10_000 {
            let (a, b) = (random() >> 1, random() >> 1);
            let (a, b) = (a.max(1), b.max(1));
            near(value(of(a)), a as f64);
            near(value(of(a).plus(of(b))), a as f64 + b as f64);
            near(of(a).dependency(of(b)), a as f64 * b as f64);
            near(value(of(a).share(b as f64)), (1.0 + b as f64) / a as f64);
            assert_eq!(of(a).plus(0), of(a));
            assert_eq!(of(a).plus(of(b)), of(b).plus(of(a)));
        }
        assert_eq!(of(3).dependency(0), 0.0);
        assert_eq!(value(u64::ONE), 1.0);
    }

    #[test]
    fn small_counts_have_the_same_sum_in_any_order() {
        let counts: Vec<f64> = (0..1u64 << 20).map(|n| ((n * 40_503) % (1 << 20) + 1) as f64).collect();
        assert!(counts.iter().all(|count| count.sums_exactly(counts.len() as u64)));
        let sum = |counts: &mut dyn Iterator<Item = &f64>| {
            let cell = AtomicU64::new(0);
            let firsts = counts.filter(|count| count.add_to(&cell)).count();
            (firsts, f64::from_bits(cell.into_inner()))
        };
        let known = counts.iter().map(|&count| count as u64).sum::<u64>() as f64;
        assert_eq!([sum(&mut counts.iter()), sum(&mut counts.iter().rev())], [(1, known); 2]);
        assert!(!2f64.powi(33).sums_exactly((1 << 20) + 1) && !u64::ONE.sums_exactly(1));
    }

    #[test]
    fn counts_beyond_f64_cancel_in_dependencies() {
        let (mut count, mut doubled) = (u64::ONE, 0);
        while !count.is_too_large() {
            count = count.plus(count);
            doubled += 1;
        }
        assert!(doubled > 4_000_000, "{doubled}");
        assert_eq!(count.dependency(count.share(6.0)), 7.0);
        assert!(!LARGEST.is_too_large() && (2.0 * LARGEST).is_too_large() && (1.0 / (2.0 * LARGEST)).is_normal());
    }
}
