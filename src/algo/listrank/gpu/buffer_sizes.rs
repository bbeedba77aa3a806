//! Sizes of the GPU memory for ranking a list. The cost model and the ranking call the same functions. A splitter is an
//! element at which a sublist begins.

use super::index::{PART_BITS, most_numbers};
use crate::algo::listrank::index::Index;
use crate::gpu::slice_bytes;

/// Number of 32-bit counters that the kernels of list ranking use.
pub(super) const COUNTERS: u64 = 2;
/// Number of 64-bit words in the result of the check of a list.
pub(super) const FOUND: u64 = 8;

/// Number of successors that one pass of the check covers. The pass has a bit for each of them, which takes 16 MiB and
/// stays in the cache.
pub(super) const SEEN: u64 = 1 << 27;
/// Minimum length of lists with few splitters (elements at which sublists begin). Shorter lists have more splitters, so
/// that all threads have sublists. This reduces the time for 1e7 elements from 1.73 to 1.16 ms.
const MANY: u64 = 1 << 28;
/// Base-2 logarithm of the largest number of elements per splitter. Long lists have fewer splitters, because the index
/// of every part of a sublist must fit a word.
const WIDEST: u32 = 16;
/// Maximum number of elements with 32-bit indices, one value of which marks the end of the list.
const MOST_NARROW: u64 = u32::MAX as u64 - 1;

/// A method by which a GPU ranks a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuMethod {
    /// Ruling sets: sublists between splitters are walked concurrently. Then the list of sublists is ranked (Wei and
    /// JáJá, IPDPS 2010).
    RulingSet,
    /// Pointer jumping: every element points to its successor, then to the successor of that, and so on, until all
    /// point to the end (Wyllie, 1979).
    Wyllie,
}

/// Sizes of the GPU memory that a method takes to rank a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankingBufferSizes {
    pub method: GpuMethod,
    /// Base-2 logarithm of the number of elements per splitter.
    pub shift: u32,
    /// Number of sublists, including the one that begins at the head.
    pub sublists: u64,
    /// Maximum number of parts of sublists. Long sublists are split into several parts.
    pub parts: u64,
    /// GPU memory in bytes that ranking takes in addition to the list.
    pub extra: u64,
}

impl RankingBufferSizes {
    /// Plans memory for `n` elements with one splitter in 2^`shift` elements. Uses fewer splitters if the indices of
    /// the parts of sublists would not fit the index type. Returns `None` if the method can't rank so many elements.
    pub fn of<I: Index>(n: u64, method: GpuMethod, shift: u32) -> Option<RankingBufferSizes> {
        match method {
            GpuMethod::Wyllie => (n <= MOST_NARROW && I::BITS == 32).then(|| {
                // The 64-bit words take twice as much memory as the successors. The successors are at the end of the
                // words' memory.
                let extra = slice_bytes::<u32>(n);
                RankingBufferSizes { method, shift: 0, sublists: 0, parts: 0, extra }
            }),
            GpuMethod::RulingSet => (shift..=WIDEST.max(shift)).find_map(|shift| {
                let sublists = n.div_ceil(1 << shift) + 1;
                let parts = sublists + (n >> PART_BITS);
                let extra = slice_bytes::<u64>(parts) + slice_bytes::<I>(parts);
                (parts <= most_numbers::<I>()).then_some(RankingBufferSizes { method, shift, sublists, parts, extra })
            }),
        }
    }

    /// Returns the GPU memory in bytes for ranking `n` elements, including the list.
    pub fn bytes<I: Index>(&self, n: u64) -> u64 {
        small_bytes() + slice_bytes::<I>(n) + self.extra.max(slice_bytes::<u32>(seen_words(n)))
    }
}

/// Returns the base-2 logarithm of the number of elements per splitter in a list of `n` elements.
pub(super) fn spacing(n: u64) -> u32 {
    if n < MANY { 6 } else { 8 }
}

/// Returns the part of the GPU memory in bytes that does not depend on the length of the list.
pub(super) fn small_bytes() -> u64 {
    slice_bytes::<u64>(FOUND) + slice_bytes::<u32>(COUNTERS)
}

/// Returns the number of 32-bit words of the bitmap in which one pass of the check marks successors.
pub(super) fn seen_words(n: u64) -> u64 {
    n.min(SEEN).div_ceil(32)
}

/// Returns the size in bytes of an index for ranking a list of `n` elements on a GPU: 4 if all indices that `method`
/// uses have at most 32 bits, else 8.
pub fn index_bytes(n: u64, method: GpuMethod) -> u64 {
    if RankingBufferSizes::of::<u32>(n, method, spacing(n)).is_some() { 4 } else { 8 }
}

/// Returns the minimum GPU memory in bytes for ranking a list of `n` elements with indices of [`index_bytes`]; `None`
/// if the method can't rank so many elements.
pub fn least_bytes(n: u64, method: GpuMethod) -> Option<u64> {
    match index_bytes(n, method) {
        4 => Some(RankingBufferSizes::of::<u32>(n, method, spacing(n))?.bytes::<u32>(n)),
        _ => Some(RankingBufferSizes::of::<u64>(n, method, spacing(n))?.bytes::<u64>(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_little_more_than_its_successors() {
        // A GPU with 4 GiB must be able to rank 1e9 elements.
        let least = least_bytes(1_000_000_000, GpuMethod::RulingSet).expect("32 bits");
        assert!((4_000_000_000..4 << 30).contains(&least), "{least}");
        assert!(least < 4_000_000_000 + 128_000_000, "{least}");
        assert!(least_bytes(1_000_000_000, GpuMethod::Wyllie).expect("32 bits") >= 8_000_000_000);
        assert_eq!(least_bytes(1 << 32, GpuMethod::Wyllie), None);
        for n in [0, 1, 255, 256, 257, MANY - 1, MANY, 1 << 31, (1 << 31) + 1, MOST_NARROW, 1 << 32, 15_000_000_000] {
            let (least, width) =
                (least_bytes(n, GpuMethod::RulingSet).expect("room"), index_bytes(n, GpuMethod::RulingSet));
            let list = n * width;
            assert!((list..list + list / 16 + (17 << 20)).contains(&least), "{n}: {least}");
        }
    }

    #[test]
    fn part_numbers_fit_next_to_offsets() {
        assert_eq!([MANY - 1, MANY].map(spacing), [6, 8]);
        for n in [1u64 << 31, 4_000_000_000] {
            let sizes = RankingBufferSizes::of::<u32>(n, GpuMethod::RulingSet, spacing(n)).expect("wider spacing");
            assert!(sizes.shift > spacing(n) && sizes.parts <= 1 << 24, "{sizes:?}");
        }
        // The longest lists have more parts of sublists than there are 24-bit indices.
        assert_eq!([4_000_000_000, MOST_NARROW, 1 << 32].map(|n| index_bytes(n, GpuMethod::RulingSet)), [4, 8, 8]);
        assert_eq!([0, MOST_NARROW, MOST_NARROW + 1].map(|n| index_bytes(n, GpuMethod::Wyllie)), [4, 4, 8]);
        assert_eq!(least_bytes(1 << 34, GpuMethod::RulingSet), None);
    }
}
