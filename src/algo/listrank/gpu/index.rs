//! Index types on the GPU, each with the kernels that are compiled for it.
#![allow(unsafe_code)] // words of a slot seen as wider indices

use super::{HEADER, TEXT};
use crate::gpu::DeviceSlice;
use crate::gpu::constant;
use crate::memory::Plain;

/// Bits of the number of elements of a sublist, in its word.
pub(super) const LENGTH_BITS: u32 = constant(HEADER, "LENGTH_BITS");
/// Base-2 logarithm of the elements of a sublist that have one number.
pub(super) const PART_BITS: u32 = constant(TEXT, "PART_BITS");

/// Names of the kernels that are compiled for an index type.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    pub(super) check: &'static str,
    pub(super) walk: &'static str,
    pub(super) ranks_of_parts: &'static str,
    pub(super) finish: &'static str,
    pub(super) measure: &'static str,
    pub(super) mark: &'static str,
}

/// An index of an element: `u32` or `u64`. All ones stand for no successor.
pub trait Index: Plain + Copy + Into<u64> {
    /// Size of an index in words of 32 bits.
    const WORDS: u64;
    /// Maximum number of parts such that a part number fits an index next to the place in the part, and fits a word.
    const MOST_NUMBERS: u64;
    /// Names of the kernels for this type.
    const KERNELS: Kernels;

    /// Views words as indices. The words must be aligned like indices.
    fn indices(words: &[u32]) -> &[Self];

    /// Views words as mutable indices.
    fn indices_mut(words: &mut [u32]) -> &mut [Self];

    /// Views a slice of indices in GPU memory as words.
    fn words(slice: DeviceSlice<Self>) -> DeviceSlice<u32> {
        DeviceSlice::at(slice.address(), slice.len() * Self::WORDS)
    }
}

impl Index for u32 {
    const WORDS: u64 = 1;
    const MOST_NUMBERS: u64 = 1 << (32 - PART_BITS);
    const KERNELS: Kernels = Kernels {
        check: "check_list",
        walk: "walk_sublists",
        ranks_of_parts: "ranks_of_parts",
        finish: "finish_ranks",
        measure: "measure_sublists",
        mark: "mark_ending",
    };

    fn indices(words: &[u32]) -> &[u32] {
        words
    }

    fn indices_mut(words: &mut [u32]) -> &mut [u32] {
        words
    }
}

impl Index for u64 {
    const WORDS: u64 = 2;
    const MOST_NUMBERS: u64 = (1 << (64 - LENGTH_BITS)) - 1;
    const KERNELS: Kernels = Kernels {
        check: "check_list_wide",
        walk: "walk_sublists_wide",
        ranks_of_parts: "ranks_of_parts_wide",
        finish: "finish_ranks_wide",
        measure: "measure_sublists_wide",
        mark: "mark_ending_wide",
    };

    fn indices(words: &[u32]) -> &[u64] {
        // SAFETY: any bytes are a valid u64; slots are whole pages, so that nothing is left over at either end.
        unsafe { words.align_to().1 }
    }

    fn indices_mut(words: &mut [u32]) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { words.align_to_mut().1 }
    }
}
