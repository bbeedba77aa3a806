//! Counter-based random numbers: the random number at counter `c` is a function of a key and of `c`, without state.
//!
//! The function is SplitMix64 (Steele, Lea & Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): its
//! state after `c` steps is `key + c·γ`, and its output is a mix of the state. As a stream it passes BigCrush.

/// Version of the generators. It is incremented whenever a generator produces different edges from the same parameters.
pub(super) const VERSION: u64 = 1;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a number with the finaliser of SplitMix64, a bijection of 64-bit numbers.
#[inline(always)]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the random number at index `counter` of the sequence that `key` selects.
#[inline(always)]
pub(crate) fn number(key: u64, counter: u64) -> u64 {
    mix(key.wrapping_add(counter.wrapping_mul(GAMMA)))
}

/// Scales a 64-bit random number to a number below `end`.
#[inline(always)]
pub(crate) fn below(end: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// Derives a key from a seed and the id of a purpose. So random numbers for different purposes (such as the ends of
/// edges, and weights) have different keys.
pub(crate) fn key(seed: u64, purpose: u64) -> u64 {
    mix(mix(seed.wrapping_add(GAMMA)) ^ purpose.wrapping_mul(GAMMA))
}

#[cfg(test)]
mod tests {
    /// Checks the random numbers against Vigna's reference implementation of SplitMix64 with seed 0.
    #[test]
    fn is_splitmix64() {
        assert_eq!(super::number(0, 1), 0xe220_a839_7b1d_cdaf);
        assert_eq!(super::number(0, 2), 0x6e78_9e6a_a1b9_65f4);
    }
}
