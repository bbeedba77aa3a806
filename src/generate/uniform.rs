//! Generates edges as uniform random pairs of 2^`scale` vertices.

use super::random::{key, number};

/// Fills `out` with the generated edges from number `first_edge` on. `narrow` converts each id to `T`.
#[inline(always)]
pub(super) fn fill<T>(scale: u32, seed: u64, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T) {
    let stream = key(seed, 3);
    let mask = (1u64 << scale) - 1;
    for (index, edge) in out.iter_mut().enumerate() {
        let counter = first_edge + index as u64;
        let (u, v) = if scale <= 32 {
            let random = number(stream, counter);
            (random >> 32, random)
        } else {
            (number(stream, counter.wrapping_mul(2)), number(stream, counter.wrapping_mul(2).wrapping_add(1)))
        };
        *edge = [narrow(u & mask), narrow(v & mask)];
    }
}
