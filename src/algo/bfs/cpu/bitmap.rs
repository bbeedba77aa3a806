//! Functions for bitmaps that several threads share, and for the bits of a word.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sets the bit of vertex `v` while other threads may set bits too. Returns true if it was not set before.
#[inline(always)]
pub fn set(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
}

/// Returns the indices of the bits that are set in a word, ascending.
#[inline]
pub fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Sets the bit of vertex `v` while no other thread sets bits. Returns true if it was not set before.
#[inline(always)]
pub fn set_alone(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    let before = word.load(Relaxed);
    word.store(before | bit, Relaxed);
    before & bit == 0
}
