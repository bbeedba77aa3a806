//! Sizes of what a traversal keeps in GPU memory. Plans and runs call the same functions.

use crate::gpu::{Scan, slice_bytes};

// These have the values of the kernels' constants.
/// Pairs that a block sorts.
pub(super) const TILE: u64 = 2048;
/// Values of a digit of a key.
pub(super) const DIGITS: u64 = 256;
/// Bits of a digit.
pub(super) const DIGIT: u32 = 8;

/// Words that kernels add to.
pub(super) const SUMS: u64 = 6;
/// Entries of own rows that kernels number.
pub(super) const MOST_ENTRIES: u64 = 1 << 31;
/// Fewest entries of a piece, and most.
pub(super) const LEAST_PIECE: u64 = 1 << 14;
const MOST_PIECE: u64 = 1 << 30;
/// Pairs of other ranks that are taken at a time.
pub(super) const BATCH: usize = 1 << 16;
/// Bytes of a pair in both arrays that a sort goes between, and a share of the counts.
const SLOT: u64 = 17;

/// Sizes of all that a rank needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    own: u64,
    /// Entries of own rows.
    pub entries: u64,
    ranks: u64,
    /// Entries of a piece.
    pub piece: u64,
}

impl Room {
    /// Returns the room for so many own vertices and entries of their rows, with pieces of the fewest entries.
    pub fn of(own: u64, entries: u64, ranks: usize) -> Room {
        Room { own, entries, ranks: ranks as u64, piece: LEAST_PIECE }
    }

    /// Returns the same with the largest pieces that are of use and fit `bytes` bytes with all else.
    pub fn within(self, bytes: u64) -> Room {
        let more = bytes.saturating_sub(self.bytes()) / SLOT / TILE * TILE;
        let useful = self.entries.next_multiple_of(TILE).clamp(LEAST_PIECE, MOST_PIECE);
        Room { piece: (self.piece + more).min(useful), ..self }
    }

    /// Returns the words of the bits of own vertices.
    pub fn words(&self) -> u64 {
        self.own.div_ceil(32)
    }

    /// Returns the pairs that come from other ranks at a time.
    pub fn inbox(&self) -> u64 {
        if self.ranks == 1 { 0 } else { BATCH as u64 }
    }

    /// Returns the counts of a sort.
    pub fn counts(&self) -> u64 {
        DIGITS * self.piece.div_ceil(TILE)
    }

    /// Returns the words that prefix sums need beside.
    pub fn scratch(&self) -> u64 {
        Scan::scratch(self.counts().max(self.own + 1))
    }

    /// Returns the bytes of all.
    pub fn bytes(&self) -> u64 {
        let vertices = 2 * slice_bytes::<u32>(self.own + 1) + 2 * slice_bytes::<u32>(self.own);
        let rows = slice_bytes::<u32>(self.entries) + 3 * slice_bytes::<u32>(self.words());
        let ranks = slice_bytes::<u32>(self.ranks) + slice_bytes::<u64>(self.inbox()) + slice_bytes::<u64>(SUMS);
        let pairs = 2 * slice_bytes::<u64>(self.piece) + slice_bytes::<u32>(self.counts());
        vertices + rows + ranks + pairs + slice_bytes::<u32>(self.scratch())
    }
}

/// Returns the fewest bytes of GPU memory of a rank that owns so many vertices and entries of their rows.
pub fn least_bytes(own: u64, entries: u64, ranks: usize) -> u64 {
    Room::of(own, entries, ranks).bytes()
}

/// Returns the most bytes of host memory that such a rank takes beside links, with so many bytes of GPU memory, and the fewest that do: starts of rows while
/// they are copied, parents, and pairs of other ranks.
pub fn host_bytes(own: u64, entries: u64, ranks: usize, gpu_memory: u64) -> [u64; 2] {
    let most = Room::of(own, entries, ranks).within(gpu_memory).piece;
    [most, LEAST_PIECE].map(|piece| 8 * own + 4 + if ranks == 1 { 0 } else { 8 * piece })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::traverse::gpu::PROGRAM;

    #[test]
    fn constants_are_those_of_the_kernels() {
        let names = ["TRAVERSE_THREADS", "TRAVERSE_EACH", "TRAVERSE_DIGIT"].map(|name| PROGRAM.constant(name));
        assert_eq!([names[0] * names[1], 1 << names[2], names[2]], [TILE, DIGITS, DIGIT.into()]);
    }

    #[test]
    fn pieces_fill_the_memory_that_is_left() {
        for (own, entries) in [(1 << 21, 1 << 26), (1000, 18_000), (0, 0)] {
            for ranks in [1, 2] {
                let least = least_bytes(own, entries, ranks);
                for more in [0, 1 << 20, 100 << 20, 40 << 30] {
                    let room = Room::of(own, entries, ranks).within(least + more);
                    assert!(room.bytes() <= least + more, "{own} {more}: {room:?}");
                    let left = least + more - room.bytes();
                    assert!(left < more / 16 + (1 << 16) || room.piece >= entries, "{own} {more}: {left} left");
                }
            }
        }
        // A GPU's memory says nothing of how much the host needs: pieces are as small as that has room for.
        let [most, fewest] = host_bytes(1 << 21, 1 << 26, 2, 40 << 30);
        assert_eq!(most - fewest, 8 * ((1 << 26) - LEAST_PIECE));
        assert_eq!(host_bytes(1 << 21, 1 << 26, 1, 40 << 30), [8 * (1 << 21) + 4; 2]);
        assert!(least_bytes(1000, 18_000, 1) < 1 << 20, "small jobs have an arena of this size");
    }
}
