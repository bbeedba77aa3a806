//! A bijection of vertex ids that depends on a seed, so that an id reveals nothing about how its vertex was generated.

use super::random::{key, number};

/// A bijection of the numbers below a bound. It mixes the bits of a number: multiplications by odd numbers carry low
/// bits up, and shifts carry high bits down. An image at or above the bound is mapped again until it is below (Black &
/// Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Permutation {
    mask: u64,
    pub(super) shift: u32,
    pub(super) add: u64,
    pub(super) multiply: [u64; 3],
    end: u64,
}

impl Permutation {
    /// Returns the bijection of all `scale`-bit numbers.
    pub fn new(scale: u32, seed: u64) -> Self {
        let secret = |n| number(key(seed, 2), n);
        let mask = (1u64 << scale) - 1;
        let multiply = [1, 2, 3].map(|n| (secret(n) & mask) | 1);
        Permutation { mask, shift: scale.div_ceil(2).max(1), add: secret(0) & mask, multiply, end: 1 << scale }
    }

    /// Returns the bijection of the numbers below `end`, which must be from 1 to 2^40.
    pub fn below(end: u64, seed: u64) -> Self {
        let scale = u64::BITS - (end - 1).leading_zeros();
        Permutation { end, ..Permutation::new(scale, seed) }
    }

    /// Returns the image of a number below 2^`scale` under the bijection. The image may be at or above the bound.
    #[inline(always)]
    pub fn apply(&self, id: u64) -> u64 {
        let mut x = id.wrapping_add(self.add) & self.mask;
        for odd in self.multiply {
            x = x.wrapping_mul(odd) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }

    /// Returns the image, below the bound, of a number below the bound.
    #[inline(always)]
    pub fn within(&self, id: u64) -> u64 {
        let mut x = self.apply(id);
        while x >= self.end {
            x = self.apply(x);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_bijective() {
        for scale in 0..=14 {
            let permutation = Permutation::new(scale, 7);
            let mut seen = vec![false; 1 << scale];
            for id in 0..1u64 << scale {
                let image = permutation.apply(id) as usize;
                assert!(!std::mem::replace(&mut seen[image], true), "scale {scale}");
            }
        }
        for end in 1..300 {
            let permutation = Permutation::below(end, 7);
            let mut seen = vec![false; end as usize];
            for id in 0..end {
                assert!(!std::mem::replace(&mut seen[permutation.within(id) as usize], true), "{end}");
            }
        }
    }
}
