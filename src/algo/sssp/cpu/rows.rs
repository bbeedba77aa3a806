//! Rows sorted by weight, with neighbours and weights side by side. A search for shorter paths stops at the first entry
//! whose weight is too large.

use super::disk::{DiskEntries, DiskRow};
use super::slices::{RowWords, Words};
use crate::algo::searches::ranks::RankExchange;
use crate::error::Result;
use crate::formats::WeightType;
use crate::memory::{Buffer, random_access};
use std::ops::Range;

/// Number of fixed-point units in the largest weight. Ranks exchange sums of weights in these units, so that sums of
/// 2^40 entries fit 64 bits.
const PARTS: f64 = (1u64 << 23) as f64;

/// The rows of all vertices, for one direction.
pub struct SortedRows {
    /// Entries, which consist of a weight and a neighbour. Rows follow each other, and each is in ascending order.
    pub(super) entries: Entries,
    /// The smallest weight of each row, or the largest number if the row is empty. Most rows need not be read because
    /// of it.
    pub(super) lightest: Buffer<u32>,
    /// Statistics of all weights.
    pub(super) weights: WeightStats,
}

/// Statistics of weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WeightStats {
    /// The largest weight.
    pub largest: u32,
    /// Sum of the weights as numbers.
    pub sum: f64,
}

impl WeightStats {
    /// Combines the statistics of two sets of weights.
    pub fn and(self, other: WeightStats) -> WeightStats {
        WeightStats { largest: self.largest.max(other.largest), sum: self.sum + other.sum }
    }

    /// Combines the statistics of all ranks. `kind` is the type of the weights. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn of_all(self, kind: WeightType, exchange: &mut RankExchange) -> Result<WeightStats> {
        let largest = u32::MAX - exchange.least(u64::from(u32::MAX - self.largest))? as u32;
        // Ranks add up whole numbers of units of the largest weight, so that all agree on the total, and small weights
        // are as exact as large ones. If all weights are 0, the quotient is NaN, which the cast turns into 0.
        let parts = exchange.sum((self.sum / number(kind, largest) * PARTS) as u64)?;
        Ok(WeightStats { largest, sum: parts as f64 / PARTS * number(kind, largest) })
    }
}

/// Returns a weight as a number.
#[inline]
pub(super) fn number(kind: WeightType, weight: u32) -> f64 {
    match kind {
        WeightType::U32 => weight.into(),
        WeightType::F32 => f32::from_bits(weight).into(),
    }
}

/// Storage of the entries of all rows.
pub(super) enum Entries {
    /// In memory, in words of 32 bits.
    Short(Words<u32>),
    /// In memory, in words of 64 bits.
    Long(Words<u64>),
    /// In a file. The buffer holds the position of each row's first entry, followed by the end of the last row.
    OnDisk(Buffer<u64>, DiskEntries),
}

/// The entries of one row.
#[derive(Clone, Copy)]
pub enum SortedRow<'r> {
    /// In words of 32 bits.
    Short(RowWords<'r, u32>),
    /// In words of 64 bits.
    Long(RowWords<'r, u64>),
    /// In a file.
    OnDisk(DiskRow<'r>),
}

impl SortedRow<'_> {
    /// Calls `each` with the entries in order until it returns false. With `only_memory` it returns false if the next
    /// entry is not in memory.
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

    /// Returns the first entry, or 0 if the row is empty.
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

/// Returns the neighbour of an entry.
#[inline(always)]
pub fn neighbour(entry: u64) -> u32 {
    entry as u32
}

/// Returns the weight of an entry: a whole number, or the bits of an f32.
#[inline(always)]
pub fn weight(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl SortedRows {
    /// Returns the row of a vertex.
    #[inline(always)]
    pub fn row(&self, v: u32) -> SortedRow<'_> {
        match &self.entries {
            Entries::Short(words) => SortedRow::Short(words.slices().row(v)),
            Entries::Long(words) => SortedRow::Long(words.slices().row(v)),
            Entries::OnDisk(starts, entries) => SortedRow::OnDisk(entries.row(v, places(starts, v))),
        }
    }

    /// Prefetches the first entries of a row in memory.
    #[inline(always)]
    pub fn prefetch_row(&self, v: u32) {
        match &self.entries {
            Entries::Short(words) => words.slices().prefetch_row(v),
            Entries::Long(words) => words.slices().prefetch_row(v),
            Entries::OnDisk(..) => {}
        }
    }

    /// Returns the number of entries in the row of a vertex.
    #[inline(always)]
    pub fn degree(&self, v: u32) -> u64 {
        match &self.entries {
            Entries::Short(words) => words.slices().row(v).len() as u64,
            Entries::Long(words) => words.slices().row(v).len() as u64,
            Entries::OnDisk(starts, _) => starts[v as usize + 1] - starts[v as usize],
        }
    }

    /// Returns true if entries are read from a disk when they are used.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.entries, Entries::OnDisk(..))
    }

    /// Returns true if even the first entry of a vertex is only on the disk.
    #[inline]
    pub fn lacks_first(&self, v: u32) -> bool {
        matches!(self.row(v), SortedRow::OnDisk(row) if row.last_near().is_none())
    }

    /// Advises the system that entries are read in random order.
    pub(super) fn advise_random_access(&self) {
        if let Entries::OnDisk(_, entries) = &self.entries {
            random_access(&entries.file);
        }
    }

    /// Calls `each` with all items. If rows are on a disk, first requests the part of each row that `wanted` returns.
    pub fn for_each_prefetched<T: Copy>(
        &self,
        items: impl Iterator<Item = T>,
        wanted: impl Fn(T) -> Option<Wanted>,
        each: impl FnMut(T),
    ) {
        let Entries::OnDisk(starts, entries) = &self.entries else { return items.for_each(each) };
        let places = |item: T| match wanted(item) {
            None => 0..0,
            Some(Wanted::All(v)) => entries.far(v, places(starts, v)),
            Some(Wanted::First(v)) => entries.first_far(v, places(starts, v)),
        };
        entries.for_each_prefetched(items, places, each);
    }
}

/// Returns the positions of a vertex's entries, for rows that begin at `starts`.
#[inline(always)]
fn places(starts: &[u64], v: u32) -> Range<u64> {
    starts[v as usize]..starts[v as usize + 1]
}

/// The part of a vertex's row to request from the disk. Entries in memory are not requested.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// All entries of the vertex's row.
    All(u32),
    /// The first entries of the vertex's row.
    First(u32),
}
