//! How the arena is shared out between the front in hand, the partners that pass, and their heads.

use super::super::parcels::Parcel;
use super::pair::{CHUNK, FEW_HEADS, LONGEST_HASHED, MOST_PARTNERS};
use crate::gpu::{Scan, slice_bytes};
use crate::graph::catalogue::Catalogue;

/// Indices in kernels have 32 bits and take steps beyond the end.
const MOST: u64 = 1 << 31;

/// Bytes for each purpose while a front parcel is in hand.
#[derive(Clone, Copy)]
pub struct Shares {
    /// For the front and what goes with its rows.
    pub front: u64,
    /// For each slot of a partner parcel.
    pub slot: u64,
    /// For heads.
    heads: u64,
    /// For tasks and counts.
    rest: u64,
}

impl Shares {
    /// Of `bytes` bytes, for the blocks of `graph` from `first` on. If they take half or less they are the one front, and no
    /// partner comes from outside. Else a front gets half, for the partners pass once for each front. (With three eighths scale 29
    /// takes as long, with a quarter 3 % longer.) Heads take 8 bytes where entries take 4, twice.
    pub fn of(bytes: u64, graph: &Catalogue, first: usize) -> Shares {
        let sizes = (first..graph.len()).map(|b| graph.size(b));
        let (rows, entries) = sizes.fold((0, 0), |(rows, entries), size| (rows + size.rows, entries + size.entries));
        let all = front_bytes(rows, entries, (graph.len() - first) as u64);
        let is_one = all <= bytes / 2 && entries < MOST && rows < MOST;
        let front = if is_one { all } else { bytes / 2 };
        let rest = (bytes - front) / 16;
        let other = bytes - front - rest;
        let slot = if is_one { 0 } else { other / 4 };
        Shares { front, slot, heads: other - 2 * slot, rest }
    }

    /// Fewest bytes that hold any single row of a graph whose longest row has `row` entries.
    pub fn least_bytes(row: u64) -> u64 {
        // The slots take the least: 15/128 each.
        ((4 * row + (64 << 10)) * 10).next_multiple_of(1 << 20)
    }

    pub fn fits_front(self, parcel: &Parcel) -> bool {
        let bytes = front_bytes(parcel.rows, parcel.entries, parcel.pieces.len() as u64);
        bytes <= self.front && parcel.entries < MOST && parcel.rows < MOST
    }

    pub fn fits_partner(self, front: &Parcel, parcel: &Parcel) -> bool {
        self.fits_resident(front, parcel)
            && slice_bytes::<u32>(parcel.rows + 1) + slice_bytes::<u32>(parcel.entries) <= self.slot
    }

    /// The same for one that is in device memory as part of the front.
    pub fn fits_resident(self, front: &Parcel, parcel: &Parcel) -> bool {
        let counts = slice_bytes::<u64>(2 * (front.pieces.len() * parcel.pieces.len()) as u64);
        slice_bytes::<u64>(parcel.entries) <= self.heads
            && slice_bytes::<u64>(most_tasks(front, parcel)) + counts <= self.rest
            && parcel.pieces.len() <= MOST_PARTNERS
            && parcel.entries < MOST
            && parcel.rows < MOST
    }
}

fn front_bytes(rows: u64, entries: u64, pieces: u64) -> u64 {
    let by_row = slice_bytes::<u32>(rows + 1) + slice_bytes::<u32>(rows) + slice_bytes::<u32>(Scan::scratch(rows));
    by_row + slice_bytes::<u32>(entries) + slice_bytes::<u32>(pieces) + slice_bytes::<u32>(4)
}

/// Rows with many heads have at least [`FEW_HEADS`]; those too long for a hash table may have any number.
pub fn most_tasks(front: &Parcel, partner: &Parcel) -> u64 {
    let long = (front.entries / LONGEST_HASHED).min(partner.entries);
    partner.entries / FEW_HEADS + partner.entries / CHUNK + long + 1
}
