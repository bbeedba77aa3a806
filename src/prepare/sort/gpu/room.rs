//! The device memory in which a lane sorts a bin.

use super::resident;
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice, Scan, slice_bytes};
use crate::prepare::partition::{LINE, line_words};

/// Words for results; a summary of degrees must fit in them.
const WORDS_OF_ROOM: u64 = 2 * resident::SUMS;

/// Device memory of one lane.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) lines: DeviceSlice<u32>,
    /// Words of a line.
    pub(super) line_words: usize,
    pub(super) targets: DeviceSlice<u32>,
    /// The sorted neighbours, and then their weights if edges have some.
    pub(super) out: DeviceSlice<u32>,
    /// End of each row. `ends` and the next four arrays have one element for each row.
    pub(super) ends: DeviceSlice<u32>,
    pub(super) lengths: DeviceSlice<u32>,
    pub(super) starts: DeviceSlice<u32>,
    pub(super) warp_rows: DeviceSlice<u32>,
    pub(super) block_rows: DeviceSlice<u32>,
    pub(super) sums: DeviceSlice<u32>,
    pub(super) words: DeviceSlice<u32>,
}

impl Room {
    pub(super) fn bytes(lines: u64, rows: u64, weighted: bool) -> u64 {
        let entries = 2 * slice_bytes::<u32>(lines * LINE as u64 * entry_words(weighted));
        let by_row = 5 * slice_bytes::<u32>(rows + 1) + slice_bytes::<u32>(Scan::scratch(rows + 1));
        slice_bytes::<u32>(lines * line_words(weighted) as u64) + entries + by_row + slice_bytes::<u32>(WORDS_OF_ROOM)
    }

    pub(super) fn take(arena: &mut Arena, lines: u64, rows: u64, weighted: bool) -> Result<Room> {
        let mut take = |len| arena.take_planned(len);
        let (line_words, entries) = (line_words(weighted), lines * LINE as u64 * entry_words(weighted));
        Ok(Room {
            lines: take(lines * line_words as u64)?,
            line_words,
            targets: take(entries)?,
            out: take(entries)?,
            ends: take(rows + 1)?,
            lengths: take(rows + 1)?,
            starts: take(rows + 1)?,
            warp_rows: take(rows + 1)?,
            block_rows: take(rows + 1)?,
            sums: take(Scan::scratch(rows + 1))?,
            words: take(WORDS_OF_ROOM)?,
        })
    }
}

/// Returns the words of an entry while it is sorted: a neighbour, and a weight if edges have weights.
fn entry_words(weighted: bool) -> u64 {
    if weighted { 2 } else { 1 }
}
