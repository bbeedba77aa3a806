//! Sets of vertices, stored as bitmaps that several threads may share. Bits are looked up one at a time or 64 at once.
#![allow(unsafe_code)] // vector instructions, behind a check that the processor has them

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Fastest instructions for bit lookups that this processor supports. A value of this type proves that the processor
/// supports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    avx2: bool,
}

impl Lookup {
    /// Detects the fastest instructions for bit lookups that this processor supports.
    pub fn detect() -> Lookup {
        #[cfg(target_arch = "x86_64")]
        return Lookup { avx2: is_x86_feature_detected!("avx2") };
        #[cfg(not(target_arch = "x86_64"))]
        Lookup { avx2: false }
    }

    /// Looks up the bits of 64 vertices in the bitmap `bits`. Bit `i` of the result is the bit of `vertices[i]`, if bit
    /// `i` of `wanted` is 1, and unspecified otherwise.
    #[inline]
    pub fn known(self, bits: &[AtomicU64], vertices: &[u32], wanted: u64) -> u64 {
        debug_assert!(vertices.len() == 64 && vertices.iter().all(|&v| (v as usize) < 64 * bits.len()));
        #[cfg(target_arch = "x86_64")]
        if self.avx2 && wanted.count_ones() > 4 {
            // SAFETY: `detect` found the instructions. Callers pass 64 vertices that all have a bit, as debug builds
            // assert.
            return unsafe { known_avx2(bits, vertices) };
        }
        each(bits, vertices, wanted)
    }

    /// Looks up the bits of up to 64 vertices in the bitmap `bits`. Bit `i` of the result is 1 if the bit of
    /// `vertices[i]` is not set. Bits beyond the last vertex are 0.
    #[inline]
    pub fn lacking(self, bits: &[AtomicU64], vertices: &[u32]) -> u64 {
        debug_assert!(vertices.len() <= 64 && vertices.iter().all(|&v| (v as usize) < 64 * bits.len()));
        #[cfg(target_arch = "x86_64")]
        if self.avx2 && vertices.len() > 4 && vertices.len() <= 64 {
            // SAFETY: `detect` found the instructions. Callers pass vertices that have a bit, as debug builds assert.
            return unsafe { lacking_avx2(bits, vertices) };
        }
        vertices.iter().enumerate().fold(0, |lacking, (lane, &v)| lacking | u64::from(!is_set(bits, v)) << lane)
    }
}

/// Returns true if the bit of vertex `v` is set in the bitmap `bits`.
#[inline(always)]
pub fn is_set(bits: &[AtomicU64], v: u32) -> bool {
    bits[(v >> 6) as usize].load(Relaxed) >> (v & 63) & 1 == 1
}

/// Sets the bit of vertex `v` in the bitmap `bits`, while other threads may set bits, too. Returns true if the bit was
/// not set before.
#[inline(always)]
pub fn set(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
}

/// Yields the indices of the set bits of a 64-bit word in ascending order.
#[inline]
pub fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Sets the bit of vertex `v` in the bitmap `bits`, while no other thread may set bits. Returns true if the bit was not
/// set before.
#[inline(always)]
pub fn set_alone(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    let before = word.load(Relaxed);
    word.store(before | bit, Relaxed);
    before & bit == 0
}

/// Looks up the bits of eight vertices in the bitmap `bits`. Bit `i` of the result is the bit of the vertex in lane
/// `i`.
///
/// # Safety
/// Each vertex has a bit in `bits`, and no other thread writes the words that contain these bits during the call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn eight(bits: &[AtomicU64], vertices: __m256i) -> u8 {
    // SAFETY: the 32-bit word of each vertex is within `bits`.
    let words = unsafe { _mm256_i32gather_epi32::<4>(bits.as_ptr().cast(), _mm256_srli_epi32::<5>(vertices)) };
    // Shift the bit of each vertex into the sign bit of its word.
    let words = _mm256_sllv_epi32(words, _mm256_andnot_si256(vertices, _mm256_set1_epi32(31)));
    _mm256_movemask_ps(_mm256_castsi256_ps(words)) as u8
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn lacking_avx2(bits: &[AtomicU64], vertices: &[u32]) -> u64 {
    let (eights, rest) = vertices.as_chunks::<8>();
    let mut lacking = 0;
    for (number, of_eight) in eights.iter().enumerate() {
        // SAFETY: `of_eight` has 32 bytes, and each vertex has a bit.
        let known = unsafe { eight(bits, _mm256_loadu_si256(of_eight.as_ptr().cast::<__m256i>())) };
        lacking |= u64::from(!known) << (8 * number);
    }
    if !rest.is_empty() {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let is_there = _mm256_cmpgt_epi32(_mm256_set1_epi32(rest.len() as i32), lanes);
        // SAFETY: lanes beyond the rest are not read. They become vertex 0, which has a bit.
        let known = unsafe { eight(bits, _mm256_maskload_epi32(rest.as_ptr().cast::<i32>(), is_there)) };
        lacking |= (u64::from(!known) & ((1 << rest.len()) - 1)) << (8 * eights.len());
    }
    lacking
}

#[inline]
fn each(bits: &[AtomicU64], vertices: &[u32], mut wanted: u64) -> u64 {
    let mut known = 0;
    while wanted != 0 {
        let lane = wanted.trailing_zeros();
        wanted &= wanted - 1;
        known |= u64::from(is_set(bits, vertices[lane as usize])) << lane;
    }
    known
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn known_avx2(bits: &[AtomicU64], vertices: &[u32]) -> u64 {
    let of_eight = |number: usize| {
        // SAFETY: there are 64 vertices, and each has a bit. Other threads write none of these words during the call.
        let known = unsafe { eight(bits, _mm256_loadu_si256(vertices.as_ptr().add(8 * number).cast::<__m256i>())) };
        u64::from(known) << (8 * number)
    };
    (0..8).fold(0, |known, number| known | of_eight(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_the_same_unset_bits() {
        let bits: Vec<AtomicU64> = (1..50u64).map(|i| AtomicU64::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let vertices: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(1_103_515_245) % (49 * 64)).collect();
        for length in 0..=64 {
            let some = &vertices[..length];
            let expected =
                some.iter().enumerate().fold(0, |lacking, (lane, &v)| lacking | u64::from(!is_set(&bits, v)) << lane);
            for lookup in [Lookup::detect(), Lookup { avx2: false }] {
                assert_eq!(lookup.lacking(&bits, some), expected, "{length}");
            }
        }
    }

    #[test]
    fn both_ways_look_up_the_same_bits() {
        let bits: Vec<AtomicU64> = (1..50u64).map(|i| AtomicU64::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let vertices: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(1_103_515_245) % (49 * 64)).collect();
        let expected = each(&bits, &vertices, u64::MAX);
        assert!(expected != 0 && expected != u64::MAX);
        for lookup in [Lookup::detect(), Lookup { avx2: false }] {
            for wanted in [u64::MAX, 0xf0f0_0000_1234_5678, 1 << 63, 0] {
                assert_eq!(lookup.known(&bits, &vertices, wanted) & wanted, expected & wanted);
            }
        }
    }
}
