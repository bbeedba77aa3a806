//! Conversions between indices of elements and 32-bit words in GPU memory or in pinned host memory.
#![allow(unsafe_code)] // words of a slot seen as indices

use super::{HEADER, TEXT};
use crate::algo::listrank::index::Index;
use crate::gpu::{DeviceSlice, constant};

/// Number of bits of a sublist's length in a 64-bit word, which also contains the index of the next sublist.
pub(super) const LENGTH_BITS: u32 = constant(HEADER, "LENGTH_BITS");
/// Base-2 logarithm of the maximum number of elements in a part of a sublist. Longer sublists have several parts.
pub(super) const PART_BITS: u32 = constant(TEXT, "PART_BITS");

/// Returns the number of 32-bit words of an index.
pub(super) const fn words_per_index<I: Index>() -> u64 {
    I::BITS as u64 / 32
}

/// Returns the maximum number of parts of sublists. The index of a part and an offset in it must fit one value of type
/// `I`. The index of a part and a length must fit one 64-bit word.
pub(super) fn most_numbers<I: Index>() -> u64 {
    if I::BITS == 32 { 1 << (32 - PART_BITS) } else { (1 << (64 - LENGTH_BITS)) - 1 }
}

/// Views 32-bit words of pinned memory as indices of list elements.
pub(super) fn indices<I: Index>(words: &[u32]) -> &[I] {
    // SAFETY: any bytes are a valid index; slots are whole pages, so no bytes are left over at either end.
    unsafe { words.align_to().1 }
}

/// Views 32-bit words of pinned memory as mutable indices of list elements.
pub(super) fn indices_mut<I: Index>(words: &mut [u32]) -> &mut [I] {
    // SAFETY: as above.
    unsafe { words.align_to_mut().1 }
}

/// Views a slice of indices in GPU memory as 32-bit words.
pub(super) fn as_words<I: Index>(slice: DeviceSlice<I>) -> DeviceSlice<u32> {
    DeviceSlice::at(slice.address(), slice.len() * words_per_index::<I>())
}
