//! Rows sorted by weight, with neighbours and weights side by side: who looks for a shorter way along them can stop where no edge behind makes one.

use super::disk::{DiskEntries, DiskRow};
use crate::algo::sssp::ranks::exchange::Exchange;
use crate::error::Result;
use crate::formats::WeightType;
use crate::memory::{Buffer, prefetch_near, random_access};
use std::ops::Range;

/// Parts of the largest weight in which ranks tell each other sums: those of 2^40 entries fit 64 bits.
const PARTS: f64 = (1u64 << 23) as f64;

/// The rows of all vertices of one way.
pub struct Rows {
    /// The place of the first entry of each row, and the end of the last.
    pub(super) starts: Buffer<u64>,
    /// A weight in the upper 32 bits and a neighbour in the lower, row after row, each in ascending order.
    pub(super) entries: Entries,
    /// The smallest weight of each row, and the largest of all where a row is empty: most rows need not be looked at.
    pub(super) lightest: Buffer<u32>,
    /// Figures of all weights.
    pub(super) weights: Weights,
}

/// Figures of weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Weights {
    /// The largest.
    pub largest: u32,
    /// Their sum, as numbers.
    pub sum: f64,
}

impl Weights {
    /// Returns the figures of these and others.
    pub fn and(self, other: Weights) -> Weights {
        Weights { largest: self.largest.max(other.largest), sum: self.sum + other.sum }
    }

    /// Returns the figures of those of all ranks, whose weights are of this type. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn of_all(self, kind: WeightType, exchange: &mut Exchange) -> Result<Weights> {
        let largest = u32::MAX - exchange.least(u64::from(u32::MAX - self.largest))? as u32;
        let sum = exchange.sum(self.in_parts_of(kind, largest))?;
        Ok(Weights { largest, sum: of_parts(kind, largest, sum) })
    }

    /// Returns the sum in parts of a weight that none is larger than: whole numbers, so that ranks that add them up all have the same, and as exact for
    /// small weights as for large ones.
    fn in_parts_of(self, kind: WeightType, largest: u32) -> u64 {
        // Where all weights are 0, this is no number, and becomes 0.
        (self.sum / number(kind, largest) * PARTS) as u64
    }
}

/// Returns the sum that is so many parts of the largest weight.
fn of_parts(kind: WeightType, largest: u32, parts: u64) -> f64 {
    parts as f64 / PARTS * number(kind, largest)
}

/// Returns a weight as a number.
#[inline]
pub(super) fn number(kind: WeightType, weight: u32) -> f64 {
    match kind {
        WeightType::U32 => weight.into(),
        WeightType::F32 => f32::from_bits(weight).into(),
    }
}

/// The place of entries.
pub(super) enum Entries {
    /// In memory.
    Here(Buffer<u64>),
    /// In a file.
    OnDisk(DiskEntries),
}

/// The entries of one row.
#[derive(Clone, Copy)]
pub enum Row<'r> {
    /// In memory.
    Here(&'r [u64]),
    /// In a file.
    OnDisk(DiskRow<'r>),
}

impl Row<'_> {
    /// Calls `each` with entries in their order until it returns false. Returns false where some would be next that are not in memory, if only those
    /// there are asked for.
    #[inline(always)]
    pub fn along(self, only_memory: bool, mut each: impl FnMut(u64) -> bool) -> bool {
        match self {
            Row::Here(entries) => {
                let _ = entries.iter().all(|&entry| each(entry));
                true
            }
            Row::OnDisk(row) => row.along(only_memory, each),
        }
    }

    /// Returns the first entry; 0 where there is none.
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

/// Rows in memory as slices, for loops that look at many.
#[derive(Clone, Copy)]
pub struct RowSlices<'r> {
    starts: &'r [u64],
    entries: &'r [u64],
}

impl<'r> RowSlices<'r> {
    /// Returns the row of a vertex.
    #[inline(always)]
    pub fn row(&self, v: u32) -> &'r [u64] {
        &self.entries[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// Returns the rows of some vertices, which follow each other.
    #[inline(always)]
    pub fn rows(self, vertices: Range<u32>) -> impl Iterator<Item = (u32, &'r [u64])> {
        let starts = &self.starts[vertices.start as usize..=vertices.end as usize];
        vertices.zip(starts.windows(2)).map(move |(v, ends)| (v, &self.entries[ends[0] as usize..ends[1] as usize]))
    }

    /// Asks memory for the place of a row ahead of its use.
    #[inline(always)]
    pub fn expect(&self, v: u32) {
        prefetch_near(self.starts, v as usize);
    }

    /// Asks memory for the first entries of a row whose place is known.
    #[inline(always)]
    pub fn expect_row(&self, v: u32) {
        prefetch_near(self.entries, self.starts[v as usize] as usize);
    }
}

impl Rows {
    /// Returns all rows as slices, if they are in memory.
    #[inline(always)]
    pub fn slices(&self) -> Option<RowSlices<'_>> {
        match &self.entries {
            Entries::Here(entries) => Some(RowSlices { starts: &self.starts, entries }),
            Entries::OnDisk(_) => None,
        }
    }

    /// Returns the row of a vertex.
    #[inline(always)]
    pub fn row(&self, v: u32) -> Row<'_> {
        let places = self.places(v);
        match &self.entries {
            Entries::Here(entries) => Row::Here(&entries[places.start as usize..places.end as usize]),
            Entries::OnDisk(entries) => Row::OnDisk(entries.row(v, places)),
        }
    }

    /// Returns the places of a vertex's entries.
    #[inline(always)]
    fn places(&self, v: u32) -> Range<u64> {
        self.starts[v as usize]..self.starts[v as usize + 1]
    }

    /// Returns the smallest weight in the row of a vertex.
    #[inline(always)]
    pub fn lightest(&self, v: u32) -> u32 {
        self.lightest[v as usize]
    }

    /// Returns the number of entries of a vertex.
    #[inline(always)]
    pub fn degree(&self, v: u32) -> u64 {
        self.starts[v as usize + 1] - self.starts[v as usize]
    }

    /// Returns the figures of all weights.
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// Returns true if entries are read from a disk as they are looked at.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.entries, Entries::OnDisk(_))
    }

    /// Returns true if the first entry of a vertex is on a disk alone.
    #[inline]
    pub fn lacks_first(&self, v: u32) -> bool {
        matches!(self.row(v), Row::OnDisk(row) if row.last_near().is_none())
    }

    /// Tells the system that entries are read here and there.
    pub(super) fn expect_random_access(&self) {
        if let Entries::OnDisk(entries) = &self.entries {
            random_access(&entries.file);
        }
    }

    /// Calls `each` with all items, once the disk, where entries are there, is asked for what is `wanted` of the rows of their vertices.
    pub fn ahead<T: Copy>(
        &self,
        items: impl Iterator<Item = T>,
        wanted: impl Fn(T) -> Option<Wanted>,
        each: impl FnMut(T),
    ) {
        let Entries::OnDisk(entries) = &self.entries else { return items.for_each(each) };
        let places = |item: T| match wanted(item) {
            None => 0..0,
            Some(Wanted::All(v)) => entries.far(v, self.places(v)),
            Some(Wanted::First(v)) => entries.first_far(v, self.places(v)),
        };
        entries.ahead(items, places, each);
    }
}

/// The part of the row of a vertex that is asked of a disk, of what memory does not have.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// All of it.
    All(u32),
    /// The first entries.
    First(u32),
}
