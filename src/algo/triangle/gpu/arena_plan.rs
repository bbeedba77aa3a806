//! ArenaPlan the arena out between the resident front, the partners that pass it, and their heads.

use super::pair::{CHUNK, FEW_HEADS, LONGEST_HASHED, MOST_PARTNERS};
use crate::gpu::{Scan, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::stream::{ResidentRows, RowBatch};

/// Indices in kernels have 32 bits and take steps beyond the end.
const MOST: u64 = 1 << 31;

/// The bytes for each purpose while a front is resident.
#[derive(Clone, Copy)]
pub struct ArenaPlan {
    /// For the front and what goes with its rows.
    pub front: u64,
    /// For each slot of a partner batch.
    pub slot: u64,
    /// For heads.
    heads: u64,
    /// For tasks and counts.
    rest: u64,
}

impl ArenaPlan {
    /// Shares out `bytes` bytes for the blocks of `graph` from `first` on. If these take half or less they are the one front, and no
    /// partner comes from outside. Else a front gets half, for the partners pass once for each front. (With three eighths scale 29
    /// takes as long, with a quarter 3 % longer.) Heads take 8 bytes where entries take 4, twice.
    pub fn of(bytes: u64, graph: &Catalogue, first: usize) -> ArenaPlan {
        let sizes = (first..graph.len()).map(|b| graph.size(b));
        let (rows, entries) = sizes.fold((0, 0), |(rows, entries), size| (rows + size.rows, entries + size.entries));
        let all = front_bytes(rows, entries, (graph.len() - first) as u64);
        let is_one = all <= bytes / 2 && entries < MOST && rows < MOST;
        let front = if is_one { all } else { bytes / 2 };
        let rest = (bytes - front) / 16;
        let other = bytes - front - rest;
        let slot = if is_one { 0 } else { other / 4 };
        ArenaPlan { front, slot, heads: other - 2 * slot, rest }
    }

    /// Returns the fewest bytes that hold any single row of a graph whose longest row has `row` entries.
    pub fn least_bytes(row: u64) -> u64 {
        // The slots take the least: 15/128 each.
        ((4 * row + (64 << 10)) * 10).next_multiple_of(1 << 20)
    }

    /// Returns true if this batch can be the resident front.
    pub fn fits_front(self, batch: &RowBatch) -> bool {
        let bytes = front_bytes(batch.rows, batch.entries, batch.segments.len() as u64);
        bytes <= self.front && batch.entries < MOST && batch.rows < MOST
    }

    /// Returns true if this batch can pass the front in a slot.
    pub fn fits_partner(self, front: &RowBatch, batch: &RowBatch) -> bool {
        self.fits_resident(front, batch) && ResidentRows::slot_bytes(batch) <= self.slot
    }

    /// Returns true if this batch, which is in device memory as a part of the front, can be its partner.
    pub fn fits_resident(self, front: &RowBatch, batch: &RowBatch) -> bool {
        let counts = slice_bytes::<u64>(2 * (front.segments.len() * batch.segments.len()) as u64);
        slice_bytes::<u64>(batch.entries) <= self.heads
            && slice_bytes::<u64>(most_tasks(front, batch)) + counts <= self.rest
            && batch.segments.len() <= MOST_PARTNERS
            && batch.entries < MOST
            && batch.rows < MOST
    }
}

fn front_bytes(rows: u64, entries: u64, segments: u64) -> u64 {
    let by_row = slice_bytes::<u32>(rows + 1) + slice_bytes::<u32>(rows) + slice_bytes::<u32>(Scan::scratch(rows));
    by_row + slice_bytes::<u32>(entries) + slice_bytes::<u32>(segments) + slice_bytes::<u32>(4)
}

/// Returns the most tasks that a pair of batches can have: rows with many heads have at least [`FEW_HEADS`], those too long for a
/// hash table any number.
pub fn most_tasks(front: &RowBatch, partner: &RowBatch) -> u64 {
    let long = (front.entries / LONGEST_HASHED).min(partner.entries);
    partner.entries / FEW_HEADS + partner.entries / CHUNK + long + 1
}
