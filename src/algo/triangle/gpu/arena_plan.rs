//! Divides the arena (the GPU memory of a rank) among a front batch, the partner batches that stream past it, and their
//! heads. A batch is a range of rows. A head is the part of a partner's row before an entry whose own row is in the
//! front.

use super::programs::PAIR;
use crate::gpu::{Scan, constant, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::stream::{ResidentRows, RowBatch};

/// Maximum number of heads (parts of rows before an entry) that one task of a kernel tests.
pub const CHUNK: u64 = constant(PAIR, "CHUNK") as u64;
/// Minimum number of heads with which a row of the front is marked in a bitmap. With fewer heads the row goes into a
/// hash table, if it fits.
pub const FEW_HEADS: u64 = constant(PAIR, "FEW_HEADS") as u64;
/// Number of neighbours in the longest row that fits a kernel's hash table.
pub const LONGEST_HASHED: u64 = constant(PAIR, "LONGEST_HASHED") as u64;
/// Maximum number of partner blocks that a kernel counts at once. Each thread block stores their counts in shared
/// memory, in which six thread blocks should fit at a time.
pub const MOST_PARTNERS: usize = 64;

/// Upper bound on the lengths of arrays that kernels index. Indices have 32 bits, and may step beyond the end of an
/// array.
const MOST: u64 = 1 << 31;

/// Division of the arena (GPU memory) while a front batch is resident.
#[derive(Clone, Copy)]
pub struct ArenaPlan {
    /// Size in bytes of the front batch and of the arrays with one value per front row.
    pub front: u64,
    /// Size in bytes of each slot (a buffer for one partner batch).
    pub slot: u64,
    /// Size in bytes of the array for the heads of a partner batch, grouped by row of the front.
    heads: u64,
    /// Size in bytes of the kernels' task lists and counts.
    rest: u64,
}

impl ArenaPlan {
    /// Divides `bytes` bytes for the blocks of `graph` from `first` on. If these blocks take at most half, they are the
    /// only front batch, and no partner batch is copied. Otherwise the front batch gets half, because all partners
    /// stream past once per front batch. (At scale 29, three eighths take as long and a quarter takes 3 % longer.) The
    /// heads get as much as both slots together: a head takes 8 bytes, and an entry in a slot takes 4.
    pub fn of(bytes: u64, graph: &BlockStore, first: usize) -> ArenaPlan {
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

    /// Returns the minimum size in bytes of an arena whose every section can store a row of `row` entries.
    pub fn least_bytes(row: u64) -> u64 {
        // The smallest section is a slot: 15/128 of the arena.
        ((4 * row + (64 << 10)) * 10).next_multiple_of(1 << 20)
    }

    /// Returns true if `batch` fits in the arena's section for the front batch.
    pub fn fits_front(self, batch: &RowBatch) -> bool {
        let bytes = front_bytes(batch.rows, batch.entries, batch.segments.len() as u64);
        bytes <= self.front && batch.entries < MOST && batch.rows < MOST
    }

    /// Returns true if `batch` fits in a slot, so that it can be counted with `front`.
    pub fn fits_partner(self, front: &RowBatch, batch: &RowBatch) -> bool {
        self.fits_resident(front, batch) && ResidentRows::slot_bytes(batch) <= self.slot
    }

    /// Returns true if `batch`, which is in GPU memory as a part of `front`, can be counted with `front`.
    pub fn fits_resident(self, front: &RowBatch, batch: &RowBatch) -> bool {
        let counts = slice_bytes::<u64>(3 * (front.segments.len() * batch.segments.len()) as u64);
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

/// Returns an upper bound on the number of kernel tasks for a pair of batches. A row of the front has tasks if it has
/// [`FEW_HEADS`] heads or more, or if it is too long for a hash table.
pub fn most_tasks(front: &RowBatch, partner: &RowBatch) -> u64 {
    let long = (front.entries / LONGEST_HASHED).min(partner.entries);
    partner.entries / FEW_HEADS + partner.entries / CHUNK + long + 1
}
