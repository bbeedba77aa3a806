//! Computes a division of a list into bins (ranges of elements) that fit in memory.

use crate::algo::listrank::index::Shares;

/// Number of bytes that a thread reads from a file or writes to it at a time.
pub const PIECE: u64 = 1 << 20;
/// Possible sizes in bytes of the buffer between a thread and a file, from the best to the smallest. With smaller
/// buffers, writes would be too short.
const BUFFERS: [u64; 5] = [1 << 20, 1 << 19, 1 << 18, 1 << 17, 1 << 16];
/// Maximum number of bins (ranges of elements). Each bin needs an open file.
const MOST_BINS: u64 = 512;
/// Number of integers in memory per element of a bin: target and weight of the link from the element, source and weight
/// of the link to the element, and target of a chain.
const WORDS: u64 = 5;

/// Division of a list into bins (ranges of elements), and the sizes of buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinSizes {
    /// Division of the elements into ranges of equal size, which are the bins.
    pub shares: Shares,
    /// Number of bins.
    pub bins: u64,
    /// Size in bytes of the buffer between a thread and a file.
    pub buffer: u64,
    /// Number of threads, each of which has a buffer for every file.
    pub threads: u64,
}

impl BinSizes {
    /// Divides `n` elements into about `bins` bins, at least 1. Buffers have `buffer` bytes.
    pub fn of(n: u64, bins: u64, buffer: u64, threads: usize) -> BinSizes {
        let bin_len = n.div_ceil(bins).max(1);
        let bins = n.div_ceil(bin_len).max(1);
        BinSizes { shares: Shares::new(n, bin_len), bins, buffer, threads: threads.max(1) as u64 }
    }

    /// Returns the memory in bytes for ranking with integers of `word` bytes: for one bin, and for the buffers of all
    /// threads.
    pub fn memory(&self, word: u64) -> u64 {
        let buffers = self.threads * (self.bins * self.buffer + PIECE);
        // The links of bin 0 are ranked by sublists, in the memory that other bins use for chains. Short lists need
        // some more.
        WORDS * word * self.shares.size + buffers + (1 << 16)
    }

    /// Returns the index of the bin that contains an element.
    #[inline(always)]
    pub fn bin(&self, element: u64) -> u64 {
        self.shares.of(element)
    }

    /// Returns the first element of a bin.
    pub fn first(&self, bin: u64) -> u64 {
        bin * self.shares.size
    }

    /// Returns the number of elements of a bin.
    pub fn len(&self, bin: u64) -> u64 {
        let elements = self.shares.elements(bin);
        elements.end - elements.start
    }
}

/// Returns the division with the fewest bins for which ranking `n` elements with integers of `word` bytes takes at most
/// `limit` bytes of memory, without the memory to scan the list. Returns `None` if no division fits.
pub fn memory(n: u64, word: u64, limit: u64, threads: usize) -> Option<BinSizes> {
    let sized = |bins| BUFFERS.iter().map(move |&buffer| BinSizes::of(n, bins, buffer, threads));
    (1..=MOST_BINS).flat_map(sized).find(|sizes| sizes.memory(word) <= limit)
}

/// Returns the minimum memory in bytes for ranking `n` elements with integers of `word` bytes, without the memory to
/// scan the list.
pub fn least_memory(n: u64, word: u64, threads: usize) -> u64 {
    let sizes = (1..=MOST_BINS).map(|bins| BinSizes::of(n, bins, BUFFERS[BUFFERS.len() - 1], threads).memory(word));
    sizes.min().unwrap_or(u64::MAX)
}

/// Returns an upper bound on the disk space in bytes for ranking `n` elements with integers of `word` bytes. Files
/// contain links of 2 or 3 integers each. For each element of an eliminated bin, they contain the index of a chain, a
/// number of steps, a request and an answer.
pub fn disk(n: u64, word: u64) -> u64 {
    8 * word * n + (1 << 20)
}

/// Returns approximately how many bytes ranking reads from its own files and writes to them, for `n` elements in random
/// order and integers of `word` bytes.
pub fn volume(n: u64, word: u64) -> u64 {
    // Integers per element: links twice (2 and 3), chain and steps (2), request (1), answer (1) and rank (1). All are
    // written and read.
    20 * word * n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_fit_the_limit_and_no_fewer_would() {
        let sizes = memory(1 << 28, 4, 400 << 20, 2).unwrap();
        assert!(sizes.memory(4) <= 400 << 20);
        assert!((13..=20).contains(&sizes.bins), "{sizes:?}");
        assert_eq!(memory(1 << 20, 4, 400 << 20, 2).unwrap().bins, 1);
        assert_eq!(memory(1 << 40, 8, 1 << 30, 2), None);
    }
}
