//! Groups the entries of a tile (a range of rows) by id, in two steps. The id in an entry is the middle corner `b` of
//! wedges `a < b < c`. First all threads distribute the entries to up to 4096 buckets, each of which covers a range of
//! ids. Then one thread sorts each bucket.
//!
//! A bucket fits in the caches of the thread that reads it, so neither step accesses memory at random. Rows of front
//! blocks that have no entry in the tile cost nothing.

use crate::algo::triangle::cpu::tile::{Tile, TileEntry};
use rayon::prelude::*;
use std::ops::Range;

/// Maximum number of buckets. One cache line per bucket fits in the second-level cache while the buckets are filled.
const MAX_BUCKETS: usize = 1 << 12;

/// Target number of entries per bucket. With fewer entries, handling a bucket costs more than sorting it.
const BUCKET_ENTRIES: usize = 1 << 9;

/// Maximum number of ids in a range that is sorted by counting sort. Wider ranges are sorted by comparison.
const MAX_COUNTED: usize = 1 << 16;

/// A division of the vertex ids into buckets, with 2^`mantissa` buckets for every doubling of the id. Low ids get more
/// buckets, because most entries and wedges have low ids.
#[derive(Debug, Clone, Copy, Default)]
struct BucketCut {
    mantissa: u32,
    first: usize,
    buckets: usize,
}

impl BucketCut {
    /// Returns the finest division of `ids` that has at most `buckets` buckets. If every division has more, returns the
    /// coarsest.
    fn new(ids: &Range<u32>, buckets: usize) -> BucketCut {
        let with = |mantissa| {
            let first = BucketCut { mantissa, ..BucketCut::default() }.of(ids.start);
            let last = BucketCut { mantissa, ..BucketCut::default() }.of(ids.end - 1);
            BucketCut { mantissa, first, buckets: last - first + 1 }
        };
        (0..u32::BITS).rev().map(with).find(|cut| cut.buckets <= buckets).unwrap_or(with(0))
    }

    #[inline]
    fn of(self, id: u32) -> usize {
        let shift = (id | (1 << self.mantissa)).ilog2() - self.mantissa;
        ((shift as usize) << self.mantissa) + (id >> shift) as usize - self.first
    }
}

/// The entries of a tile, distributed to buckets by id. All threads share the buckets.
#[derive(Debug)]
pub struct Groups {
    cut: BucketCut,
    /// The entries of the tile. They are ordered by the part of the tile (one per thread), then by bucket.
    entries: Vec<TileEntry>,
    parts: Vec<TilePart>,
}

#[derive(Debug)]
struct TilePart {
    /// Index in the tile of the first entry of this part.
    at: usize,
    /// For each bucket, the end of its entries in this part, relative to `at`.
    ends: Vec<u32>,
}

impl Groups {
    /// Returns the memory in bytes for grouping tiles of `entries` entries with `threads` threads.
    pub fn bytes(entries: u64, threads: usize) -> u64 {
        entries * size_of::<TileEntry>() as u64 + (threads * MAX_BUCKETS * size_of::<u32>()) as u64
    }

    /// Reserves memory for grouping tiles of `entries` entries with `threads` threads.
    pub fn new(entries: usize, threads: usize) -> Groups {
        let part = || TilePart { at: 0, ends: Vec::with_capacity(MAX_BUCKETS) };
        Groups {
            cut: BucketCut::default(),
            entries: Vec::with_capacity(entries),
            parts: (0..threads).map(|_| part()).collect(),
        }
    }

    /// Distributes the entries of `tile` whose ids are in `ids` to buckets. `ids` contains at least one range, in
    /// ascending order.
    pub fn fill(&mut self, tile: Tile<'_>, ids: &[Range<u32>]) {
        let buckets = (tile.entries() / BUCKET_ENTRIES).clamp(1, MAX_BUCKETS);
        let cut = BucketCut::new(&(ids[0].start..ids[ids.len() - 1].end), buckets);
        self.cut = cut;
        let parts = self.parts.len();
        // Memory is allocated on first use, because a graph with few wedges has no tiles.
        self.entries.resize(self.entries.len().max(tile.entries()), TileEntry::default());
        let (mut rest, mut at) = (self.entries.as_mut_slice(), 0);
        let pieces = self.parts.iter_mut().enumerate().map(|(number, part)| {
            let rows = tile.part(number, parts);
            let (entries, later) = std::mem::take(&mut rest).split_at_mut(rows.entries());
            part.at = at;
            (rest, at) = (later, at + entries.len());
            (rows, part, entries)
        });
        pieces.collect::<Vec<_>>().into_par_iter().with_max_len(1).for_each(
            |(rows, TilePart { ends, .. }, entries)| {
                ends.clear();
                ends.resize(cut.buckets, 0);
                rows.each(ids, |entry| ends[cut.of(entry.middle)] += 1);
                let mut start = 0;
                for end in ends.iter_mut() {
                    start += std::mem::replace(end, start);
                }
                rows.each(ids, |entry| {
                    let next = &mut ends[cut.of(entry.middle)];
                    entries[*next as usize] = entry;
                    *next += 1;
                });
            },
        );
    }

    /// Returns the number of buckets of the current tile.
    pub fn buckets(&self) -> usize {
        self.cut.buckets
    }

    /// Returns the entries of bucket `bucket`, as one slice per part of the tile.
    pub fn bucket(&self, bucket: usize) -> impl Iterator<Item = &[TileEntry]> {
        self.parts.iter().map(move |part| {
            let start = if bucket == 0 { 0 } else { part.ends[bucket - 1] };
            &self.entries[part.at..][start as usize..part.ends[bucket] as usize]
        })
    }
}

/// Memory in which one thread sorts the entries of a bucket, at most `most` at a time.
#[derive(Debug)]
pub struct EntrySorter {
    most: usize,
    entries: Vec<TileEntry>,
    sorted: Vec<TileEntry>,
    counts: Vec<u32>,
}

impl EntrySorter {
    /// Returns the memory in bytes that sorting `most` entries at a time takes.
    pub fn bytes(most: usize) -> u64 {
        (2 * most * size_of::<TileEntry>() + MAX_COUNTED.min(2 * most) * size_of::<u32>()) as u64
    }

    /// Allocates memory to sort `most` entries at a time. `most` is at least 1.
    pub fn new(most: usize) -> EntrySorter {
        let entries = || Vec::with_capacity(most);
        let counts = Vec::with_capacity(MAX_COUNTED.min(2 * most));
        EntrySorter { most, entries: entries(), sorted: entries(), counts }
    }

    /// Sorts the entries of all `pieces` by id, at most `most` at a time, and calls `take` with each sorted run. Stops
    /// and returns `None` as soon as `take` returns `None`.
    pub fn sorted<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a [TileEntry]>,
        mut take: impl FnMut(&[TileEntry]) -> Option<()>,
    ) -> Option<()> {
        self.entries.clear();
        for mut piece in pieces {
            while !piece.is_empty() {
                let (now, later) = piece.split_at(piece.len().min(self.most - self.entries.len()));
                self.entries.extend_from_slice(now);
                piece = later;
                if self.entries.len() == self.most {
                    take(self.sort())?;
                    self.entries.clear();
                }
            }
        }
        if self.entries.is_empty() { Some(()) } else { take(self.sort()) }
    }

    fn sort(&mut self) -> &[TileEntry] {
        let EntrySorter { entries, sorted, counts, .. } = self;
        let (mut first, mut last) = (u32::MAX, 0);
        for entry in &*entries {
            (first, last) = (first.min(entry.middle), last.max(entry.middle));
        }
        let middles = (last - first) as usize + 1;
        if middles > MAX_COUNTED.min(2 * entries.len()) {
            entries.sort_unstable_by_key(|entry| u64::from(entry.middle) << 32 | u64::from(entry.start));
            return entries;
        }
        counts.clear();
        counts.resize(middles, 0);
        for entry in &*entries {
            counts[(entry.middle - first) as usize] += 1;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        sorted.resize(entries.len(), TileEntry::default());
        for &entry in &*entries {
            let next = &mut counts[(entry.middle - first) as usize];
            sorted[*next as usize] = entry;
            *next += 1;
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_in_the_order_of_ids(start in 0u32.., len in 1u32.., most in 1usize..5000, at in any::<u32>()) {
            let ids = start..start.saturating_add(len).max(start.saturating_add(1));
            prop_assume!(!ids.is_empty());
            let cut = BucketCut::new(&ids, most);
            // The coarsest division has a bucket for id 0 and one for each of the 32 powers of two.
            prop_assert!(cut.buckets <= most.max(33));
            prop_assert_eq!((cut.of(ids.start), cut.of(ids.end - 1)), (0, cut.buckets - 1));
            let id = ids.start + at % (ids.end - ids.start);
            prop_assert!(cut.of(id) <= cut.of((id + 1).min(ids.end - 1)));
            prop_assert!(cut.of(id) < cut.buckets);
        }
    }

    #[test]
    fn entries_come_once_and_sorted() {
        let middles = [7, 3, 900, 3, 8, 7, 7, 3, 70_000, 3];
        let entries: Vec<TileEntry> =
            (0..10).map(|i| TileEntry { middle: middles[i], start: 10 * i as u32, len: 2 }).collect();
        for most in [1, 2, 3, 10, 64] {
            let mut sorted = Vec::new();
            let taken = EntrySorter::new(most).sorted(entries.chunks(4), |some| {
                assert!(some.len() <= most && some.is_sorted_by_key(|entry| (entry.middle, entry.start)));
                sorted.extend_from_slice(some);
                Some(())
            });
            assert_eq!((taken, sorted.len()), (Some(()), 10));
            sorted.sort_by_key(|entry| entry.start);
            assert_eq!(sorted, entries);
        }
    }
}
