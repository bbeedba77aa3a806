//! The GPU memory in which a lane (GPU queue of one thread) sorts a bin.

use super::resident;
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice, Scan, slices_bytes};
use crate::prepare::partition::{LINE, line_words};

/// Number of 32-bit words of GPU memory for results. They must be enough for a summary of degrees.
const WORDS_OF_ROOM: u64 = 2 * resident::SUMS;

/// GPU memory in which one lane (GPU queue of one thread) sorts one bin at a time.
#[derive(Clone, Copy)]
pub(super) struct SortBuffers {
    pub(super) lines: DeviceSlice<u32>,
    /// Number of 32-bit words of a line (group of 64 edges).
    pub(super) line_words: usize,
    pub(super) targets: DeviceSlice<u32>,
    /// Sorted neighbours, followed by their weights if edges have weights.
    pub(super) out: DeviceSlice<u32>,
    /// End of each row. `ends` and the next four arrays have an element for each row and one more.
    pub(super) ends: DeviceSlice<u32>,
    pub(super) lengths: DeviceSlice<u32>,
    pub(super) starts: DeviceSlice<u32>,
    pub(super) warp_rows: DeviceSlice<u32>,
    pub(super) block_rows: DeviceSlice<u32>,
    pub(super) sums: DeviceSlice<u32>,
    pub(super) words: DeviceSlice<u32>,
}

impl SortBuffers {
    /// Returns the number of bytes of GPU memory that a lane (GPU queue) needs to sort bins of up to `lines` lines
    /// (groups of 64 edges) and `rows` rows.
    pub(super) fn bytes(lines: u64, rows: u64, weighted: bool) -> u64 {
        slices_bytes(lengths(lines, rows, weighted))
    }

    pub(super) fn take(arena: &mut Arena, lines: u64, rows: u64, weighted: bool) -> Result<SortBuffers> {
        let [lines, targets, out, sums, words, ends, lengths, starts, warp_rows, block_rows] =
            arena.take_all(lengths(lines, rows, weighted))?;
        let line_words = line_words(weighted);
        Ok(SortBuffers { lines, line_words, targets, out, ends, lengths, starts, warp_rows, block_rows, sums, words })
    }
}

/// Returns the number of 32-bit words of each array in a lane's GPU memory.
fn lengths(lines: u64, rows: u64, weighted: bool) -> [u64; 10] {
    let (entries, by_row) = (lines * LINE as u64 * entry_words(weighted), rows + 1);
    let (lines, sums) = (lines * line_words(weighted) as u64, Scan::scratch(by_row));
    [lines, entries, entries, sums, WORDS_OF_ROOM, by_row, by_row, by_row, by_row, by_row]
}

/// Returns the number of 32-bit words of an entry while it is sorted: one for the neighbour, and one for the weight if
/// edges have weights.
fn entry_words(weighted: bool) -> u64 {
    if weighted { 2 } else { 1 }
}
