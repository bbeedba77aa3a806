//! The arithmetic of one iteration of PageRank. A GPU kernel that performs the same operations one by one computes the
//! same bits.
//!
//! PageRank values are f64. A vertex with PageRank r and out-degree d contributes ⌊r / d · 2^62⌋ to each out-neighbour.
//! The sum of the contributions to a vertex is an exact integer, so threads and MPI ranks may add in any order. All
//! PageRank values together are at most 1, so no sum exceeds 2^62 by more than rounding errors, and it fits i64.
//!
//! A contribution is rounded down to a multiple of 2^-62, in addition to the rounding of the division in f64. So the
//! PageRank of a vertex of in-degree d is off by less than d · 2^-62 in each iteration. That is 2·10^-13 with a million
//! in-neighbours.
//!
//! Each operation is rounded separately, so a product and a sum must not be fused.

/// The number 1 in fixed point, in units of 2^-62.
const ONE: f64 = (1u64 << 62) as f64;

/// Converts a number from 0 to 1 to fixed point: the number of units of 2^-62, rounded down.
#[inline(always)]
pub(super) fn units(number: f64) -> u64 {
    // A conversion to i64 is one instruction, unlike one to u64.
    (number * ONE) as i64 as u64
}

/// Converts `units`, a fixed-point number in units of 2^-62, to f64. `units` is at most 2^63 - 1.
#[inline(always)]
pub(super) fn number(units: u64) -> f64 {
    units as i64 as f64 / ONE
}

/// Returns the contribution, in units of 2^-62, of a vertex with PageRank `rank` to each of its `degree`
/// out-neighbours.
#[inline(always)]
pub(super) fn contribution(rank: f64, degree: u32) -> u64 {
    if degree == 0 { 0 } else { units(rank / f64::from(degree)) }
}

/// Returns the PageRank of a vertex whose in-neighbours contribute `sum` units of 2^-62. `base` is the teleport
/// contribution to the vertex.
#[inline(always)]
pub(super) fn rank(base: f64, damping: f64, sum: u64) -> f64 {
    base + damping * number(sum)
}

/// Returns the teleport contribution to each of `vertices` vertices. `sinks` is the total PageRank of the vertices
/// without out-edges, in units of 2^-62, if it is spread over all vertices; otherwise 0.
#[inline]
pub(super) fn base(damping: f64, sinks: u64, vertices: u64) -> f64 {
    ((1.0 - damping) + damping * number(sinks)) / vertices as f64
}

/// Returns the absolute difference of two PageRank values, in units of 2^-62.
#[inline(always)]
pub(super) fn change(before: f64, after: f64) -> u64 {
    units((after - before).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_exact_and_contributions_are_less_than_a_unit_too_small() {
        for number_of in [0.0, 1.0, 0.5, 2f64.powi(-62), 2f64.powi(-40) * 3.0] {
            assert_eq!(number(units(number_of)), number_of);
        }
        assert_eq!(units(2f64.powi(-63)), 0);
        for degree in [1, 3, 7, 1_000_003, u32::MAX] {
            let exact = (1u128 << 62) / u128::from(degree);
            let found = u128::from(contribution(1.0, degree));
            // The quotient in f64 has 53 bits.
            assert!(found.abs_diff(exact) <= (exact >> 53) + 1, "{degree}: {found} {exact}");
        }
        assert_eq!(contribution(1.0, 0), 0);
    }

    #[test]
    fn a_rank_is_a_share_of_the_jumps_and_the_damped_sum() {
        assert_eq!(base(0.85, 0, 4), (1.0 - 0.85) / 4.0);
        assert_eq!(rank(0.25, 0.5, units(0.5)), 0.5);
        assert_eq!(base(0.5, units(0.5), 1), 0.75);
        assert_eq!(change(0.25, 0.5), change(0.5, 0.25));
    }
}
