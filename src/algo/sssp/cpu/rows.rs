//! Rows sorted by weight, with neighbours and weights side by side: who looks for a shorter way along them can stop where no edge behind makes one.

use crate::algo::sssp::ranks::exchange::Exchange;
use crate::error::Result;
use crate::memory::{Buffer, prefetch_near, random_access, will_need};
use crate::store::words::Words;
use std::ops::Range;

/// Entries of a row that are asked of the disk before they are looked at: mostly nobody looks farther.
const ASKED: u64 = 1 << 9;
/// Most entries that are asked of the disk at once.
const MOST_ASKED: u64 = 1 << 17;
/// Entries between those that are asked for which are read as well.
const GAP: u64 = 1 << 9;

/// The parts of one that sums of decimals are told in.
const POINT: f64 = 1e9;

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

    /// Returns the figures of those of all ranks. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn of_all(self, exchange: &mut Exchange) -> Result<Weights> {
        let largest = u32::MAX - exchange.least(u64::from(u32::MAX - self.largest))? as u32;
        // In fixed point, so that all ranks have the same.
        let mut sums = [self.sum as u64, (self.sum.fract() * POINT) as u64];
        exchange.add(&mut sums)?;
        Ok(Weights { largest, sum: sums[0] as f64 + sums[1] as f64 / POINT })
    }
}

/// The place of entries.
pub(super) enum Entries {
    /// In memory.
    Here(Buffer<u64>),
    /// In a file.
    OnDisk(Words),
}

impl Entries {
    #[inline(always)]
    pub(super) fn all(&self) -> &[u64] {
        match self {
            Entries::Here(entries) => entries,
            Entries::OnDisk(entries) => entries,
        }
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

impl Rows {
    /// Returns the row of a vertex.
    #[inline(always)]
    pub fn row(&self, v: u32) -> &[u64] {
        &self.entries.all()[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
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

    /// Tells the system that entries are read here and there.
    pub(super) fn expect_random_access(&self) {
        if self.is_on_disk() {
            random_access(self.entries.all());
        }
    }

    /// Asks the disk, where entries are there, for the first ones of these vertices' rows, as far as they are `needed`: all of them before any is
    /// waited for.
    pub fn ask(&self, vertices: Range<u32>, needed: impl Fn(u32) -> bool) {
        if !self.is_on_disk() {
            return;
        }
        let entries = self.entries.all();
        let mut asked = 0..0;
        for v in vertices.filter(|&v| needed(v)) {
            let start = self.starts[v as usize];
            let end = start + self.degree(v).min(ASKED);
            if start > asked.end + GAP || end > asked.start + MOST_ASKED {
                will_need(&entries[asked.start as usize..asked.end as usize]);
                asked = start..end;
            }
            asked.end = end;
        }
        will_need(&entries[asked.start as usize..asked.end as usize]);
    }

    /// Asks memory for the place of a row ahead of its use.
    #[inline(always)]
    pub fn expect(&self, v: u32) {
        prefetch_near(&self.starts, v as usize);
    }

    /// Asks memory for the first entries of a row whose place is known.
    #[inline(always)]
    pub fn expect_row(&self, v: u32) {
        prefetch_near(self.entries.all(), self.starts[v as usize] as usize);
    }
}
