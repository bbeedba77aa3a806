//! Sizes of the arrays that a traversal allocates in GPU memory. The cost estimate and the traversal call the same
//! functions.

use super::TEXT;
use crate::algo::traverse::levels::BATCH;
use crate::gpu::{Scan, constant, slice_bytes};

/// Number of pairs (a vertex and its proposed parent) in a tile. A thread block sorts a tile at a time.
pub(super) const TILE: u64 = (constant(TEXT, "TRAVERSE_THREADS") * constant(TEXT, "TRAVERSE_EACH")) as u64;
/// Number of bits of a digit. Each sorting pass orders pairs (a vertex and its proposed parent) by one digit of their
/// keys.
pub(super) const DIGIT: u32 = constant(TEXT, "TRAVERSE_DIGIT");
/// Number of different values of a digit, by which a sorting pass orders pairs.
pub(super) const DIGITS: u64 = 1 << DIGIT;

/// Number of sums that kernels compute in a step, such as the number of reached vertices.
pub(super) const SUMS: u64 = 6;
/// Maximum number of entries in the adjacency rows of the vertices of a rank. Kernels can't index more.
pub(super) const MOST_ENTRIES: u64 = 1 << 31;
/// Minimum number of row entries for which memory is reserved per piece (a range of the frontier's edges that is
/// expanded at once).
pub(super) const LEAST_PIECE: u64 = 1 << 14;
/// Maximum number of row entries in a piece (a range of the frontier's edges that is expanded at once).
const MOST_PIECE: u64 = 1 << 30;
/// GPU memory in bytes per edge of a piece (a range of the frontier's edges that is expanded at once): for a pair in
/// each of the two arrays of a sort, and for a fraction of a counter.
const SLOT: u64 = 17;

/// Sizes of the arrays of a rank in GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraverseBufferSizes {
    own: u64,
    /// Number of entries in the adjacency rows of this rank's vertices.
    pub entries: u64,
    ranks: u64,
    /// Maximum number of row entries in a piece (a range of the frontier's edges that is expanded at once).
    pub piece: u64,
}

impl TraverseBufferSizes {
    /// Returns the array sizes for a rank that owns `own` vertices with `entries` entries in their rows. The pieces
    /// (ranges of the frontier's edges that are expanded at once) have the minimum size.
    pub fn of(own: u64, entries: u64, ranks: usize) -> TraverseBufferSizes {
        TraverseBufferSizes { own, entries, ranks: ranks as u64, piece: LEAST_PIECE }
    }

    /// Returns array sizes with larger pieces (ranges of the frontier's edges that are expanded at once). The pieces
    /// are as large as is useful, as long as all arrays fit in `bytes` bytes.
    pub fn within(self, bytes: u64) -> TraverseBufferSizes {
        let more = bytes.saturating_sub(self.bytes()) / SLOT / TILE * TILE;
        let useful = self.entries.next_multiple_of(TILE).clamp(LEAST_PIECE, MOST_PIECE);
        TraverseBufferSizes { piece: (self.piece + more).min(useful), ..self }
    }

    /// Returns the number of 32-bit words of a bitmap of this rank's vertices.
    pub fn words(&self) -> u64 {
        self.own.div_ceil(32)
    }

    /// Returns the maximum number of pairs (a vertex and its proposed parent) that arrive from other ranks at a time.
    pub fn inbox(&self) -> u64 {
        if self.ranks == 1 { 0 } else { BATCH as u64 }
    }

    /// Returns the number of counters that are needed to sort the pairs of a piece (a range of the frontier's edges):
    /// one for each value of a digit and each tile (a range of pairs that one thread block sorts).
    pub fn counts(&self) -> u64 {
        DIGITS * self.piece.div_ceil(TILE)
    }

    /// Returns the number of 32-bit words of scratch memory that prefix sums need.
    pub fn scratch(&self) -> u64 {
        Scan::scratch(self.counts().max(self.own + 1))
    }

    /// Returns the total size of all arrays in bytes.
    pub fn bytes(&self) -> u64 {
        let vertices = 2 * slice_bytes::<u32>(self.own + 1) + 2 * slice_bytes::<u32>(self.own);
        let rows = slice_bytes::<u32>(self.entries) + 3 * slice_bytes::<u32>(self.words());
        let ranks = slice_bytes::<u32>(self.ranks) + slice_bytes::<u64>(self.inbox()) + slice_bytes::<u64>(SUMS);
        let pairs = 2 * slice_bytes::<u64>(self.piece) + slice_bytes::<u32>(self.counts());
        vertices + rows + ranks + pairs + slice_bytes::<u32>(self.scratch())
    }
}

/// Returns the minimum GPU memory in bytes for a rank that owns `own` vertices with `entries` entries in their rows.
pub fn least_bytes(own: u64, entries: u64, ranks: usize) -> u64 {
    TraverseBufferSizes::of(own, entries, ranks).bytes()
}

/// Returns the maximum and the minimum host memory in bytes of a rank, for row offsets, for parents, and for pairs (a
/// vertex and its proposed parent) that other ranks send. Links between ranks are not included. The rank has
/// `gpu_memory` bytes of GPU memory and owns `own` vertices with `entries` entries in their rows.
pub fn host_bytes(own: u64, entries: u64, ranks: usize, gpu_memory: u64) -> [u64; 2] {
    let most = TraverseBufferSizes::of(own, entries, ranks).within(gpu_memory).piece;
    [most, LEAST_PIECE].map(|piece| 8 * own + 4 + if ranks == 1 { 0 } else { 8 * piece })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fill_the_memory_that_is_left() {
        for (own, entries) in [(1 << 21, 1 << 26), (1000, 18_000), (0, 0)] {
            for ranks in [1, 2] {
                let least = least_bytes(own, entries, ranks);
                for more in [0, 1 << 20, 100 << 20, 40 << 30] {
                    let sizes = TraverseBufferSizes::of(own, entries, ranks).within(least + more);
                    assert!(sizes.bytes() <= least + more, "{own} {more}: {sizes:?}");
                    let left = least + more - sizes.bytes();
                    assert!(left < more / 16 + (1 << 16) || sizes.piece >= entries, "{own} {more}: {left} left");
                }
            }
        }
        // The minimum host memory does not depend on GPU memory, because pieces can be small.
        let [most, fewest] = host_bytes(1 << 21, 1 << 26, 2, 40 << 30);
        assert_eq!(most - fewest, 8 * ((1 << 26) - LEAST_PIECE));
        assert_eq!(host_bytes(1 << 21, 1 << 26, 1, 40 << 30), [8 * (1 << 21) + 4; 2]);
        assert!(least_bytes(1000, 18_000, 1) < 1 << 20, "small jobs have an arena of this size");
    }
}
