//! Rows in a file, of which memory keeps the first entries: those that most searches look at.

use super::packing::{PADDING, Packing};
use crate::memory::{Buffer, will_need};
use crate::store::written::Written;
use std::ops::Range;

/// Entries of a row that are asked of the disk before they are looked at: mostly nobody looks farther.
const ASKED: u64 = 1 << 9;
/// Most bytes that are asked of the disk at once, and most rows of which some are.
const MOST_ASKED: u64 = 2 << 20;
const MOST_ROWS: usize = 1 << 10;
/// Bytes between those that are asked for which are read as well.
const GAP: u64 = 1 << 12;

/// Packed entries in a file, row after row, and the first ones of each row in memory as well.
pub struct DiskEntries {
    pub(super) packing: Packing,
    pub(super) file: Written,
    /// The place of the first entry of each row among those in memory, and the end of the last; nothing where there are none.
    pub(super) near_starts: Buffer<u32>,
    pub(super) near: Buffer<u8>,
}

/// One row in a file.
#[derive(Clone, Copy)]
pub struct DiskRow<'r> {
    packing: Packing,
    /// The first entries.
    near: &'r [u8],
    in_memory: usize,
    /// All entries.
    file: &'r [u8],
    len: usize,
}

impl DiskEntries {
    /// Returns the row of a vertex, whose entries have these places.
    #[inline(always)]
    pub fn row(&self, v: u32, places: Range<u64>) -> DiskRow<'_> {
        let size = self.packing.bytes();
        let near = self.near(v);
        DiskRow {
            packing: self.packing,
            near: &self.near[near.start * size..],
            in_memory: near.len(),
            file: &self.file[places.start as usize * size..],
            len: (places.end - places.start) as usize,
        }
    }

    /// Returns the places of a vertex's entries among those in memory.
    #[inline(always)]
    fn near(&self, v: u32) -> Range<usize> {
        match self.near_starts.get(v as usize..v as usize + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => 0..0,
        }
    }

    /// Asks the disk for entries with places that follow each other.
    fn ask(&self, places: &Range<u64>) {
        let size = self.packing.bytes() as u64;
        will_need(&self.file[(places.start * size) as usize..(places.end * size) as usize]);
    }

    /// Calls `each` with all items, once the entries that it is `wanted` to have of the rows' places are asked of the disk: those of many items are,
    /// before any is waited for. They are asked for in the order of their places if items come in it.
    pub fn ahead<T: Copy>(
        &self,
        items: impl Iterator<Item = T>,
        wanted: impl Fn(T) -> Range<u64>,
        mut each: impl FnMut(T),
    ) {
        let size = self.packing.bytes() as u64;
        let (most, gap) = (MOST_ASKED / size, GAP / size);
        let mut together = Vec::with_capacity(MOST_ROWS);
        let (mut asked, mut sum) = (0..0, 0);
        for item in items {
            let places = wanted(item);
            together.push(item);
            if !places.is_empty() {
                sum += places.end - places.start;
                if places.start < asked.start || places.start > asked.end + gap {
                    self.ask(&asked);
                    asked = places.clone();
                }
                asked.end = asked.end.max(places.end);
            }
            if sum >= most || together.len() == MOST_ROWS {
                self.ask(&asked);
                together.drain(..).for_each(&mut each);
                (asked, sum) = (0..0, 0);
            }
        }
        self.ask(&asked);
        together.into_iter().for_each(each);
    }

    /// Returns the places of a vertex's entries that are not in memory, of which all have these.
    pub fn far(&self, v: u32, places: Range<u64>) -> Range<u64> {
        (places.start + self.near(v).len() as u64).min(places.end)..places.end
    }

    /// Returns those of the first of them.
    pub fn first_far(&self, v: u32, places: Range<u64>) -> Range<u64> {
        let far = self.far(v, places);
        far.start..far.end.min(far.start + ASKED)
    }
}

impl DiskRow<'_> {
    /// Calls `each` with entries in their order until it returns false. Returns false where some would be next that are not in memory, if only those
    /// there are asked for.
    #[inline(always)]
    pub fn along(self, only_memory: bool, mut each: impl FnMut(u64) -> bool) -> bool {
        for at in 0..self.in_memory {
            if !each(self.packing.entry(self.near, at)) {
                return true;
            }
        }
        if only_memory {
            return self.in_memory == self.len;
        }
        for at in self.in_memory..self.len {
            if !each(self.packing.entry(self.file, at)) {
                break;
            }
        }
        true
    }

    /// Returns the last entry that is in memory.
    #[inline]
    pub fn last_near(self) -> Option<u64> {
        (self.in_memory > 0).then(|| self.packing.entry(self.near, self.in_memory - 1))
    }
}

/// Returns the bytes of so many entries in memory or in a file.
pub fn bytes(packing: Packing, entries: u64) -> u64 {
    packing.bytes() as u64 * entries + PADDING as u64
}
