//! The entries of a tile grouped by middle: a counting sort, shared by all threads.

use super::wedges::Tile;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows of the front that are grouped at a time: bounds the cursors however short the rows are.
pub const WINDOW_ROWS: usize = 1 << 20;

/// The order in which the wedges of a tile are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// There are none.
    Empty,
    /// By middle.
    Middle,
    /// By row.
    Row,
}

/// The entries of a tile grouped by middle, for all threads.
#[derive(Debug)]
pub struct Groups {
    /// The head of each entry, packed: where its row starts in the partner's targets, and its length.
    /// Atomic only because threads write here and there; each is written by one and read after all are done.
    heads: Vec<AtomicU64>,
    /// For each part of the tile's rows (one a thread) and each middle, where its next head goes.
    cursors: Vec<Vec<u32>>,
}

impl Groups {
    /// Bytes for tiles of `entries` entries, fronts of `front_rows` rows and `threads` threads.
    pub fn bytes(entries: u64, front_rows: u64, threads: usize) -> u64 {
        entries * size_of::<AtomicU64>() as u64 + threads as u64 * front_rows.min(WINDOW_ROWS as u64) * 4
    }

    /// Room for tiles of `entries` entries, fronts of `front_rows` rows and `threads` threads.
    pub fn new(entries: usize, front_rows: usize, threads: usize) -> Groups {
        let cursors = || Vec::with_capacity(front_rows.min(WINDOW_ROWS));
        Groups {
            heads: (0..entries).map(|_| AtomicU64::new(0)).collect(),
            cursors: (0..threads).map(|_| cursors()).collect(),
        }
    }

    /// The heads of the `local`-th middle of the window.
    pub fn of(&self, local: usize) -> &[AtomicU64] {
        // After the scatter each cursor of the last part stands where the next middle's heads start.
        let Some(ends) = self.cursors.last() else { return &[] };
        let start = if local == 0 { 0 } else { ends[local - 1] };
        &self.heads[start as usize..ends[local] as usize]
    }
}

impl Tile<'_> {
    /// Groups the entries that are in `window`, rows of the front, unless another order is cheaper.
    pub fn group(self, window: Range<u32>, groups: &mut Groups) -> Order {
        let rows = window.len();
        let Groups { heads, cursors } = groups;
        let parts = cursors.len();
        let entries_of = |part| self.part(part, parts).entries(window.clone());
        let found: usize =
            (0..parts).into_par_iter().map(|part| entries_of(part).map(|(_, at)| at.len()).sum::<usize>()).sum();
        if found == 0 {
            return Order::Empty;
        }
        if found < rows / 2 && self.by_row_is_cheaper(window.clone()) {
            return Order::Row;
        }
        cursors.par_iter_mut().enumerate().for_each(|(part, cursors)| {
            cursors.clear();
            cursors.resize(rows, 0);
            for (local, at) in entries_of(part) {
                for &b in &self.partner.row(local)[at] {
                    cursors[(b - window.start) as usize] += 1;
                }
            }
        });
        place(cursors, rows);
        let heads = &*heads;
        cursors.par_iter_mut().enumerate().for_each(|(part, cursors)| {
            for (local, at) in entries_of(part) {
                let start = self.partner.offsets[local];
                for (len, &b) in at.clone().zip(&self.partner.row(local)[at]) {
                    let cursor = &mut cursors[(b - window.start) as usize];
                    heads[*cursor as usize].store(u64::from(start) | (len as u64) << 32, Relaxed);
                    *cursor += 1;
                }
            }
        });
        Order::Middle
    }

    /// Whether marking rows `c` and streaming whole rows `b` tests less than grouping by `b` costs in all.
    fn by_row_is_cheaper(self, window: Range<u32>) -> bool {
        let (mut streams, mut heads, mut marks) = (0, 0, 0);
        for (local, at) in self.entries(window.clone()) {
            marks += at.end;
            for (len, &b) in at.clone().zip(&self.partner.row(local)[at]) {
                heads += len;
                streams += self.front.row((b - self.front.first_row) as usize).len();
            }
        }
        streams + 2 * marks < heads + 2 * streams + window.len()
    }
}

/// From how many heads each part has of each middle to where the first of them goes: middle after middle, and part after
/// part within one.
fn place(cursors: &mut [Vec<u32>], rows: usize) {
    // Some middles of all parts at a time: with many threads these are too many numbers for one of them.
    let width = rows.div_ceil(4 * cursors.len()).max(1 << 10);
    let mut columns: Vec<Vec<&mut [u32]>> = Vec::new();
    columns.resize_with(rows.div_ceil(width), Vec::new);
    for cursors in cursors {
        columns.iter_mut().zip(cursors.chunks_mut(width)).for_each(|(column, piece)| column.push(piece));
    }
    let sum = |column: &Vec<&mut [u32]>| column.iter().map(|piece| piece.iter().sum::<u32>()).sum();
    let mut starts: Vec<u32> = columns.par_iter().map(sum).collect();
    let mut total = 0;
    for start in &mut starts {
        total += std::mem::replace(start, total);
    }
    columns.par_iter_mut().zip(starts).for_each(|(column, mut next)| {
        for at in 0..column[0].len() {
            for piece in column.iter_mut() {
                next += std::mem::replace(&mut piece[at], next);
            }
        }
    });
}
