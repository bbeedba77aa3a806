//! Adjacency rows in a file. The first entries (neighbours and weights) of each row are also in memory, and most
//! searches need only these.

use super::packing::{EntryPacking, PADDING};
use crate::memory::{Buffer, will_need};
use crate::store::disk_array::Mmap;
use std::ops::Range;

/// Maximum number of entries of a row that a search requests from the disk at a time. A search rarely needs more of
/// them.
const ASKED: u64 = 1 << 9;
/// Maximum number of bytes in one request to the disk.
const MOST_ASKED: u64 = 2 << 20;
/// Maximum number of rows that one request to the disk covers.
const MOST_ROWS: usize = 1 << 10;
/// Maximum gap, in bytes, between two ranges of a file that are requested from the disk together.
const GAP: u64 = 1 << 12;

/// The packed entries of all adjacency rows in a file. The first entries of each row are in memory as well.
pub struct DiskEntries {
    pub(super) packing: EntryPacking,
    pub(super) file: Mmap,
    /// For each row, the index in `near` of its first entry, followed by the end of the last row. Empty if no entries
    /// are in memory.
    pub(super) near_starts: Buffer<u32>,
    pub(super) near: Buffer<u8>,
}

/// One adjacency row whose entries are in a file.
#[derive(Clone, Copy)]
pub struct DiskRow<'r> {
    packing: EntryPacking,
    /// The first entries of the row, which are in memory.
    near: &'r [u8],
    in_memory: usize,
    /// All entries of the row, in the file.
    file: &'r [u8],
    len: usize,
}

impl DiskEntries {
    /// Returns the adjacency row of vertex `v`. `places` is the index range of its entries in the file.
    #[inline(always)]
    pub fn row(&self, v: u32, places: Range<u64>) -> DiskRow<'_> {
        let size = self.packing.bytes;
        let near = self.near(v);
        DiskRow {
            packing: self.packing,
            near: &self.near[near.start * size..],
            in_memory: near.len(),
            file: &self.file[places.start as usize * size..],
            len: (places.end - places.start) as usize,
        }
    }

    /// Returns the index range in `near` of the entries in the row of vertex `v` that are in memory.
    #[inline(always)]
    fn near(&self, v: u32) -> Range<usize> {
        match self.near_starts.get(v as usize..v as usize + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => 0..0,
        }
    }

    /// Advises the operating system to read the file's entries with indices `places` from the disk soon.
    fn read_ahead(&self, places: &Range<u64>) {
        let size = self.packing.bytes as u64;
        will_need(&self.file[(places.start * size) as usize..(places.end * size) as usize]);
    }

    /// Calls `each` with every item, in order. Works in batches: it first requests the entries of all items of a batch
    /// from the disk, and then calls `each` with these items. So the disk reads entries that are close to each other
    /// together. `wanted(item)` must return the index range of the item's entries in the file. If these ranges ascend,
    /// requests ascend too.
    pub fn for_each_prefetched<T: Copy>(
        &self,
        items: impl Iterator<Item = T>,
        wanted: impl Fn(T) -> Range<u64>,
        mut each: impl FnMut(T),
    ) {
        let size = self.packing.bytes as u64;
        let (most, gap) = (MOST_ASKED / size, GAP / size);
        let mut together = Vec::with_capacity(MOST_ROWS);
        let (mut requested, mut sum) = (0..0, 0);
        for item in items {
            let places = wanted(item);
            together.push(item);
            if !places.is_empty() {
                sum += places.end - places.start;
                if places.start < requested.start || places.start > requested.end + gap {
                    self.read_ahead(&requested);
                    requested = places.clone();
                }
                requested.end = requested.end.max(places.end);
            }
            if sum >= most || together.len() == MOST_ROWS {
                self.read_ahead(&requested);
                together.drain(..).for_each(&mut each);
                (requested, sum) = (0..0, 0);
            }
        }
        self.read_ahead(&requested);
        together.into_iter().for_each(each);
    }

    /// Returns the index range in the file of the entries in the row of `v` that are not in memory. `places` is the
    /// index range of all its entries.
    pub fn far(&self, v: u32, places: Range<u64>) -> Range<u64> {
        (places.start + self.near(v).len() as u64).min(places.end)..places.end
    }

    /// Returns the index range in the file of the entries in the row of `v` that a search reads first from the disk:
    /// the first `ASKED` entries that are not in memory, or all of them if there are fewer.
    pub fn first_far(&self, v: u32, places: Range<u64>) -> Range<u64> {
        let far = self.far(v, places);
        far.start..far.end.min(far.start + ASKED)
    }
}

impl DiskRow<'_> {
    /// Calls `each` with the entries of the row, in order, until `each` returns false. If `only_memory` is true, stops
    /// before the first entry that is not in memory, and returns false. Otherwise returns true.
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

    /// Returns the last entry of the row that is in memory, or `None` if no entry is in memory.
    #[inline]
    pub fn last_near(self) -> Option<u64> {
        (self.in_memory > 0).then(|| self.packing.entry(self.near, self.in_memory - 1))
    }
}

/// Returns the size, in bytes, of `entries` packed row entries with padding, in memory or in a file.
pub fn bytes(packing: EntryPacking, entries: u64) -> u64 {
    packing.bytes as u64 * entries + PADDING as u64
}
