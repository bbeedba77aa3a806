//! Divides the arena among the resident front, the partners that stream past it, and their heads.

use super::PAIR;
use crate::gpu::{Scan, constant, slice_bytes};
use crate::graph::catalogue::Catalogue;
use crate::stream::{ResidentRows, RowBatch};

/// Maximum number of heads in one task of a kernel.
pub const CHUNK: u64 = constant(PAIR, "CHUNK") as u64;
/// Number of heads below which a row is not worth a bitmap, unless it is too long for a hash table.
pub const FEW_HEADS: u64 = constant(PAIR, "FEW_HEADS") as u64;
/// Number of neighbours in the longest row that fits the hash table.
pub const LONGEST_HASHED: u64 = constant(PAIR, "LONGEST_HASHED") as u64;
/// Maximum number of partner blocks that are counted at once. Their counts are in shared memory, where six thread
/// blocks should fit.
pub const MOST_PARTNERS: usize = 64;

/// Upper bound of indices in kernels: they have 32 bits and may step beyond the end.
const MOST: u64 = 1 << 31;

/// Division of the arena while a front is resident.
#[derive(Clone, Copy)]
pub struct ArenaPlan {
    /// Bytes for the front and the data of its rows.
    pub front: u64,
    /// Bytes for each slot of a partner batch.
    pub slot: u64,
    /// Bytes for the heads of a partner, grouped by row of the front.
    heads: u64,
    /// Bytes for tasks and counts.
    rest: u64,
}

impl ArenaPlan {
    /// Divides `bytes` bytes for the blocks of `graph` from `first` on. If the blocks take at most half, they are the
    /// only front, and no partner is copied in addition. Otherwise a front gets half, because the partners stream past
    /// once for each front. (At scale 29, three eighths take as long and a quarter takes 3 % longer.) The heads get as
    /// much as both slots together, because a head takes 8 bytes and an entry in a slot takes 4.
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

    /// Returns the least bytes in which any single row fits, for a graph whose longest row has `row` entries.
    pub fn least_bytes(row: u64) -> u64 {
        // The slots get the smallest share: 15/128 each.
        ((4 * row + (64 << 10)) * 10).next_multiple_of(1 << 20)
    }

    /// Returns true if `batch` can be the resident front.
    pub fn fits_front(self, batch: &RowBatch) -> bool {
        let bytes = front_bytes(batch.rows, batch.entries, batch.segments.len() as u64);
        bytes <= self.front && batch.entries < MOST && batch.rows < MOST
    }

    /// Returns true if `batch` can stream past the front in a slot.
    pub fn fits_partner(self, front: &RowBatch, batch: &RowBatch) -> bool {
        self.fits_resident(front, batch) && ResidentRows::slot_bytes(batch) <= self.slot
    }

    /// Returns true if `batch`, which is in device memory as a part of the front, can be a partner of that front.
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

/// Returns the maximum number of tasks of a pair of batches. A row with many heads has at least [`FEW_HEADS`] of them;
/// a row too long for a hash table may have any number.
pub fn most_tasks(front: &RowBatch, partner: &RowBatch) -> u64 {
    let long = (front.entries / LONGEST_HASHED).min(partner.entries);
    partner.entries / FEW_HEADS + partner.entries / CHUNK + long + 1
}
