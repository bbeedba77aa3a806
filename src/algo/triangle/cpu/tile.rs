//! Tiles: ranges of rows of a partner block. Triangles are counted one tile at a time.

use crate::graph::csr::Block;
use rayon::prelude::*;
use std::ops::Range;

/// An entry `b` of a row `c`. It forms a wedge `a < b < c` with each entry `a` before it in the row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TileEntry {
    /// Id of vertex `b`.
    pub middle: u32,
    /// Index of the first entry of row `c` in the block's array of entries.
    pub start: u32,
    /// Number of entries before `b` in row `c`.
    pub len: u32,
}

/// A range of rows of a partner block.
#[derive(Debug, Clone, Copy)]
pub struct Tile<'a> {
    /// The block that contains these rows.
    pub partner: Block<'a>,
    /// Index in the block of the first row of the tile.
    pub first: usize,
    /// Index in the block of the first row after the tile.
    pub end: usize,
}

impl<'a> Tile<'a> {
    /// Returns the tile of all rows of `partner`.
    pub fn whole(partner: Block<'a>) -> Tile<'a> {
        Tile { partner, first: 0, end: partner.rows() }
    }

    /// Returns the number of entries in the tile.
    pub fn entries(self) -> usize {
        (self.partner.offsets[self.end] - self.partner.offsets[self.first]) as usize
    }

    /// Returns the number of wedges `a < b < c` of all rows `c` in the tile. Each pair of entries of a row is a wedge.
    pub fn wedges(self) -> u64 {
        let pairs = |row: &[u32]| u64::from(row[1] - row[0]) * u64::from(row[1] - row[0]).saturating_sub(1) / 2;
        self.partner.offsets[self.first..=self.end].par_windows(2).with_min_len(1 << 16).map(pairs).sum()
    }

    /// Returns part number `part` of this tile, if it is divided into `parts` tiles with about the same number of
    /// entries.
    pub fn part(self, part: usize, parts: usize) -> Tile<'a> {
        let offsets = &self.partner.offsets[self.first..=self.end];
        let start = offsets[0] as usize;
        let cut = |part: usize| {
            let entry = start + self.entries() * part / parts;
            self.first + offsets.partition_point(|&offset| (offset as usize) < entry)
        };
        let end = if part + 1 == parts { self.end } else { cut(part + 1) };
        Tile { first: cut(part), end, ..self }
    }

    /// Calls `take` with each entry whose id is in `ids` (ascending ranges), unless it is the first entry of its row.
    #[inline]
    pub fn each(self, ids: &[Range<u32>], mut take: impl FnMut(TileEntry)) {
        for local in self.first..self.end {
            let (start, row) = (self.partner.offsets[local], self.partner.row(local));
            if row.len() < 2 || row[row.len() - 1] < ids[0].start {
                continue;
            }
            for ids in ids {
                let (low, high) = (position(row, ids.start).max(1), position(row, ids.end));
                for (len, &middle) in row.iter().enumerate().take(high).skip(low) {
                    take(TileEntry { middle, start, len: len as u32 });
                }
            }
        }
    }
}

/// Returns the index of `id` in the ascending `row`, or the index at which inserting it would keep the order.
#[inline]
pub fn position(row: &[u32], id: u32) -> usize {
    match (row.first(), row.last()) {
        (Some(&first), _) if first >= id => 0,
        (_, Some(&last)) if last < id => row.len(),
        _ => row.partition_point(|&entry| entry < id),
    }
}
