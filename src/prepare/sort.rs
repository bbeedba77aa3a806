//! One bin of edges into rows: sorted, without repeats.
//!
//! A counting sort by row, then each row by itself: rows are short (tens of entries), a bin is sized to stay in L2.

use super::partition::{EDGE_BYTES, LINE, PartReader};
use crate::error::Result;

/// Rows of this many entries or fewer are sorted by insertion.
const SHORT: usize = 20;

/// A bin as rows.
#[derive(Debug, Default)]
pub struct Rows {
    /// Number of distinct neighbours of each row.
    pub lengths: Vec<u32>,
    /// Neighbours of all rows, one after the other, each row ascending.
    pub targets: Vec<u32>,
}

/// What a thread needs to sort bins, used again for each.
#[derive(Debug, Default)]
pub struct Sorter {
    chunk: Vec<u32>,
    ends: Vec<u32>,
}

impl Sorter {
    /// Bytes for bins of at most `entries` entries over `rows` rows in chunks of `lines` lines, the result included.
    pub fn bytes(entries: u64, rows: u64, lines: usize) -> u64 {
        4 * entries + 8 * (rows + 1) + (lines * LINE) as u64 * EDGE_BYTES
    }

    /// Sorts a bin of `rows` rows into `out`, whose room is used again. Returns the number of edges, repeats included.
    ///
    /// # Errors
    /// Those of reading spilled entries back.
    pub fn sort(&mut self, bin: &PartReader<'_, '_>, rows: usize, out: &mut Rows) -> Result<u64> {
        let ends = &mut self.ends;
        ends.clear();
        ends.resize(rows + 1, 0);
        bin.for_each(&mut self.chunk, |place, _| ends[usize::from(place) + 1] += 1)?;
        for r in 0..rows {
            ends[r + 1] += ends[r];
        }
        // `ends[r]` is the start of row r here, and its end once all its entries are placed.
        let edges = ends[rows];
        out.targets.clear();
        out.targets.resize(edges as usize, 0);
        let targets = &mut out.targets;
        bin.for_each(&mut self.chunk, |place, low| {
            let at = &mut ends[usize::from(place)];
            targets[*at as usize] = low;
            *at += 1;
        })?;
        out.lengths.clear();
        let (mut start, mut kept) = (0, 0);
        for &end in &ends[..rows] {
            let end = end as usize;
            sort_row(&mut targets[start..end]);
            let before = kept;
            let mut last = None;
            for i in start..end {
                let target = targets[i];
                targets[kept] = target;
                kept += usize::from(last != Some(target));
                last = Some(target);
            }
            out.lengths.push((kept - before) as u32);
            start = end;
        }
        out.targets.truncate(kept);
        Ok(u64::from(edges))
    }
}

fn sort_row(row: &mut [u32]) {
    if row.len() > SHORT {
        row.sort_unstable();
        return;
    }
    for i in 1..row.len() {
        let x = row[i];
        let mut j = i;
        while j > 0 && row[j - 1] > x {
            row[j] = row[j - 1];
            j -= 1;
        }
        row[j] = x;
    }
}
