//! Adjacency rows sorted by weight. An entry of a row consists of a weight and a neighbour. Because weights ascend, a
//! search for shorter paths stops at the first entry whose weight is too large.

use super::disk::{DiskEntries, DiskRow};
use super::slices::{RowWords, Words};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::sssp::weights::WeightScale;
use crate::error::Result;
use crate::memory::Buffer;
use std::ops::Range;

/// Number of fixed-point units in the largest weight. Ranks add up weights in these units, so that a sum of 2^40
/// weights fits in 64 bits.
const PARTS: f64 = (1u64 << 23) as f64;

/// The adjacency rows of all vertices in one direction, sorted by weight.
pub struct SortedRows {
    /// The entries of all rows, one row after the other. An entry is a weight and a neighbour. The entries of a row are
    /// in ascending order.
    pub(super) entries: Entries,
    /// Smallest weight in each row, or `u32::MAX` if the row is empty. It often shows that a search need not read the
    /// row.
    pub(super) lightest: Buffer<u32>,
    /// Statistics of all weights.
    pub(super) weights: WeightStats,
}

/// Statistics of a set of edge weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WeightStats {
    /// The largest weight, in its stored encoding.
    pub largest: u32,
    /// Sum of all weights, as a number.
    pub sum: f64,
}

impl WeightStats {
    /// Combines the statistics of two sets of weights.
    pub fn and(self, other: WeightStats) -> WeightStats {
        WeightStats { largest: self.largest.max(other.largest), sum: self.sum + other.sum }
    }

    /// Combines the statistics of the weights of all ranks. `scale` is the encoding of the weights. Collective: all
    /// ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn of_all(self, scale: WeightScale<'_>, exchange: &mut RankExchange) -> Result<WeightStats> {
        let largest = u32::MAX - exchange.all_min(u64::from(u32::MAX - self.largest))? as u32;
        // Ranks add up integers, whose unit is a fraction of the largest weight. So all ranks get the same total, and
        // the precision does not depend on the magnitude of the weights. If all weights are 0, the quotient is NaN,
        // which the cast turns into 0. A sum beyond the largest f64 counts as one weight.
        let most = scale.number(largest);
        let sum = if self.sum.is_finite() { self.sum } else { most };
        let parts = exchange.sum((sum / most * PARTS) as u64)?;
        Ok(WeightStats { largest, sum: parts as f64 / PARTS * most })
    }
}

/// Storage of the entries of all rows.
pub(super) enum Entries {
    /// Row entries in memory, with 32 bits each.
    Short(Words<u32>),
    /// Row entries in memory, with 64 bits each.
    Long(Words<u64>),
    /// Row entries in a file. The buffer contains the index of each row's first entry, followed by the end of the last
    /// row.
    OnDisk(Buffer<u64>, DiskEntries),
}

/// The entries of one row.
#[derive(Clone, Copy)]
pub enum SortedRow<'r> {
    /// Row in memory, with 32 bits per entry.
    Short(RowWords<'r, u32>),
    /// Row in memory, with 64 bits per entry.
    Long(RowWords<'r, u64>),
    /// Row in a file.
    OnDisk(DiskRow<'r>),
}

impl SortedRow<'_> {
    /// Calls `each` with the entries of the row, in order, until `each` returns false. If `only_memory` is true, stops
    /// before the first entry that is not in memory, and returns false. Otherwise returns true.
    #[inline(always)]
    pub fn along(self, only_memory: bool, each: impl FnMut(u64) -> bool) -> bool {
        match self {
            SortedRow::Short(row) => {
                let _ = row.entries().all(each);
                true
            }
            SortedRow::Long(row) => {
                let _ = row.entries().all(each);
                true
            }
            SortedRow::OnDisk(row) => row.along(only_memory, each),
        }
    }

    /// Returns the first entry of the row, or 0 if the row is empty.
    #[inline]
    pub fn first(self) -> u64 {
        let mut first = 0;
        self.along(false, |entry| {
            first = entry;
            false
        });
        first
    }
}

/// Returns the neighbour in an entry.
#[inline(always)]
pub fn neighbour(entry: u64) -> u32 {
    entry as u32
}

/// Returns the weight in an entry, in its stored encoding.
#[inline(always)]
pub fn weight(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl SortedRows {
    /// Returns the row of vertex `v`.
    #[inline(always)]
    pub fn row(&self, v: u32) -> SortedRow<'_> {
        match &self.entries {
            Entries::Short(words) => SortedRow::Short(words.slices().row(v)),
            Entries::Long(words) => SortedRow::Long(words.slices().row(v)),
            Entries::OnDisk(starts, entries) => SortedRow::OnDisk(entries.row(v, places(starts, v))),
        }
    }

    /// Prefetches the first entries in the row of `v`, if rows are in memory.
    #[inline(always)]
    pub fn prefetch_row(&self, v: u32) {
        match &self.entries {
            Entries::Short(words) => words.slices().prefetch_row(v),
            Entries::Long(words) => words.slices().prefetch_row(v),
            Entries::OnDisk(..) => {}
        }
    }

    /// Returns the number of entries in the row of vertex `v`.
    #[inline(always)]
    pub fn degree(&self, v: u32) -> u64 {
        match &self.entries {
            Entries::Short(words) => words.slices().row(v).len() as u64,
            Entries::Long(words) => words.slices().row(v).len() as u64,
            Entries::OnDisk(starts, _) => starts[v as usize + 1] - starts[v as usize],
        }
    }

    /// Returns true if the rows are in a file from which searches read them as needed.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.entries, Entries::OnDisk(..))
    }

    /// Returns true if not even the first entry in the row of vertex `v` is in memory.
    #[inline]
    pub fn lacks_first(&self, v: u32) -> bool {
        matches!(self.row(v), SortedRow::OnDisk(row) if row.last_near().is_none())
    }

    /// Calls `each` with every item, in order. If rows are on a disk, works in batches: it first requests from the disk
    /// the entries that `wanted` returns for the items of a batch, and then calls `each` with these items.
    pub fn for_each_prefetched<T: Copy>(
        &self,
        items: impl Iterator<Item = T>,
        wanted: impl Fn(T) -> Option<RowRequest>,
        each: impl FnMut(T),
    ) {
        let Entries::OnDisk(starts, entries) = &self.entries else { return items.for_each(each) };
        let places = |item: T| match wanted(item) {
            None => 0..0,
            Some(RowRequest::All(v)) => entries.far(v, places(starts, v)),
            Some(RowRequest::First(v)) => entries.first_far(v, places(starts, v)),
        };
        entries.for_each_prefetched(items, places, each);
    }
}

/// Returns the index range of the entries of vertex `v`. `starts` contains the index of each row's first entry.
#[inline(always)]
fn places(starts: &[u64], v: u32) -> Range<u64> {
    starts[v as usize]..starts[v as usize + 1]
}

/// Request to read entries in the row of a vertex from the disk. Entries that are also in memory are not requested.
#[derive(Debug, Clone, Copy)]
pub enum RowRequest {
    /// Requests all entries in the row of the given vertex.
    All(u32),
    /// Requests only the first entries that are not in memory, in the row of the given vertex.
    First(u32),
}
