//! Chooses the entries of adjacency rows that are also stored in memory, if sorted rows are in a file.
//!
//! After a search has passed the hubs, it follows an edge only if the edge is no longer than the path from the hubs to
//! the edge's head. So this module finds an upper bound on the length of that path for each vertex, while rows are
//! sorted. The bound is the length of the shortest path that starts at the first vertex (a hub) and visits vertices in
//! the order of descending degree. The *excess* of an entry is its weight minus the bound of its row's vertex. Memory
//! stores the entries whose excess is below a threshold. It also stores the next entry of each row, which shows that
//! all later entries have larger weights. The module chooses the largest threshold with which the entries fit in
//! memory. The choice affects only how often the disk is read, never the answer.

use super::disk::{self, DiskEntries};
use super::packing::{EntryPacking, PADDING};
use super::rows::{neighbour, weight};
use crate::algo::sssp::weights::WeightScale;
use crate::error::Result;
use crate::memory::{Budget, Buffer, bytes_of_mut, random_access};
use crate::process::signals;
use crate::store::disk_array::DiskArray;
use rayon::prelude::*;
use std::ops::Range;

/// Number of equal intervals into which the range of excesses is divided. An excess is the weight of a row entry minus
/// the upper bound on the distance of the row's vertex from the hubs. So the range is from minus to plus the largest
/// weight.
const STEPS: usize = 1 << 10;
/// Number of rows whose entries a thread counts at a time.
const PART: usize = 1 << 12;
const PURPOSE: &str = "the first entries of rows in a file";

/// Upper bounds on the distances of vertices from the hubs, and the number of row entries by excess (the weight of an
/// entry minus the upper bound of the row's vertex).
pub struct Bounds<'a> {
    scale: WeightScale<'a>,
    largest: f64,
    of: Buffer<f32>,
    counts: ExcessCounts,
    is_begun: bool,
}

/// Number of row entries in each interval of excesses, and the number of nonempty rows. An excess is the weight of an
/// entry minus the upper bound on the distance of the row's vertex from the hubs. The last entry of each row is not
/// counted.
#[derive(Clone)]
pub(in crate::algo::sssp) struct ExcessCounts {
    pub entries: Vec<u64>,
    pub rows: u64,
}

impl ExcessCounts {
    fn new() -> ExcessCounts {
        ExcessCounts { entries: vec![0; STEPS + 1], rows: 0 }
    }

    fn and(mut self, other: &ExcessCounts) -> ExcessCounts {
        self.entries.iter_mut().zip(&other.entries).for_each(|(sum, more)| *sum += more);
        self.rows += other.rows;
        self
    }

    /// Chooses the largest excess below which all row entries fit in memory, if memory stores one more entry per row
    /// and at most `most` entries in total. An excess is the weight of an entry minus the upper bound on the distance
    /// of the row's vertex from the hubs. Returns the number of entries to store, and the index of the interval that
    /// contains this threshold. Returns `None` if not even the first entry of each row fits.
    pub fn fit(&self, most: u64) -> Option<(u64, usize)> {
        let kept_before = self.entries.iter().scan(self.rows, |kept, entries| {
            let before = *kept;
            *kept += entries;
            Some(before)
        });
        let all = self.rows + self.entries.iter().sum::<u64>();
        kept_before.chain([all]).take_while(|&kept| kept <= most).zip(0..).last()
    }
}

/// Returns the sizes, in bytes, of two arrays: the offsets of rows among the entries in memory, and the upper bounds on
/// distances from the hubs. The bounds are freed once all rows are sorted.
pub fn bytes(vertices: u64) -> (u64, u64) {
    (4 * (vertices + 1), 4 * vertices)
}

impl<'a> Bounds<'a> {
    /// Creates upper bounds on the distances of `vertices` vertices from the hubs, with weights up to `largest`.
    /// `scale` is the encoding of the weights.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, scale: WeightScale<'a>, largest: u32, budget: &Budget) -> Result<Bounds<'a>> {
        let of = budget.zeroed(vertices, "bounds of ways, by which the first entries of rows are kept")?;
        Ok(Bounds { scale, largest: scale.number(largest), of, counts: ExcessCounts::new(), is_begun: false })
    }

    /// Finds upper bounds on the distances of the next vertices from the hubs, and counts the entries of their rows by
    /// excess (the weight of an entry minus the bound). `starts` contains the index of the first entry of each of these
    /// rows, followed by the end of the last row.
    pub fn add(&mut self, vertices: Range<u32>, starts: &[u64], entries: &[u64]) {
        let begin = starts[0];
        let row = |nth: usize| &entries[(starts[nth] - begin) as usize..(starts[nth + 1] - begin) as usize];
        for (nth, v) in vertices.clone().enumerate() {
            let mut bound = f32::INFINITY;
            for &entry in row(nth) {
                let weight = self.scale.number(weight(entry)) as f32;
                if weight >= bound {
                    break;
                }
                if neighbour(entry) < v {
                    bound = bound.min(self.of[neighbour(entry) as usize] + weight);
                }
            }
            if bound == f32::INFINITY && !row(nth).is_empty() {
                // This is the first vertex, or it has no edge to an earlier vertex.
                bound = if self.is_begun { self.largest as f32 } else { 0.0 };
                self.is_begun = true;
            }
            self.of[v as usize] = bound;
        }
        let (bounds, this) = (&self.of[vertices.start as usize..vertices.end as usize], &*self);
        let count = |(part, bounds): (usize, &[f32])| {
            let mut counts = ExcessCounts::new();
            for (nth, &bound) in (part * PART..).zip(bounds) {
                if let Some((_, others)) = row(nth).split_last() {
                    others.iter().for_each(|&entry| counts.entries[this.step(weight(entry), bound)] += 1);
                    counts.rows += 1;
                }
            }
            counts
        };
        let parts = bounds.par_chunks(PART).enumerate().map(count);
        let counts = parts.reduce(ExcessCounts::new, |some, others| some.and(&others));
        self.counts = counts.and(&self.counts);
    }

    /// Returns the index of the interval that contains the excess `weight` minus `bound`. `bound` is the upper bound on
    /// the distance of the row's vertex from the hubs. The index never decreases if the weight increases.
    #[inline]
    fn step(&self, weight: u32, bound: f32) -> usize {
        let excess = (self.scale.number(weight) - f64::from(bound)) / self.largest.max(f64::MIN_POSITIVE);
        // A cast to an integer clamps values outside its range, and turns NaN into zero.
        (((excess + 1.0) * (STEPS / 2) as f64) as usize).min(STEPS)
    }

    /// Opens a complete file of sorted rows for searches. `starts` contains the index of each row's first entry in the
    /// file. Copies the first entries of rows to memory, as many as fit in `room` bytes. Reads rows into `window`,
    /// which must be large enough for the longest row.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; disk errors; [`crate::Error::Stopped`].
    pub fn rows(
        self,
        file: &DiskArray,
        starts: &[u64],
        packing: EntryPacking,
        room: u64,
        window: &mut Buffer<u64>,
        budget: &Budget,
    ) -> Result<DiskEntries> {
        let size = packing.bytes;
        let most = (room.saturating_sub(PADDING as u64) / size as u64).min(u32::MAX.into());
        let (kept, steps) = self.counts.fit(most).unwrap_or_default();
        let vertices = starts.len() - 1;
        let mut near: Buffer<u8> = budget.zeroed(disk::bytes(packing, kept) as usize, PURPOSE)?;
        let mut near_starts: Buffer<u32> = budget.zeroed(if kept > 0 { vertices + 1 } else { 0 }, PURPOSE)?;
        let window = bytes_of_mut(window);
        let (mut first, mut end) = (0, 0usize);
        while kept > 0 && first < vertices {
            signals::check()?;
            let begin = starts[first];
            let fits = |&place: &u64| disk::bytes(packing, place - begin) <= window.len() as u64;
            let fit = starts[first + 1..].partition_point(fits);
            let bytes = disk::bytes(packing, starts[first + fit] - begin);
            file.read(&mut window[..bytes as usize], begin * size as u64)?;
            for v in first..first + fit {
                let row = &window[(starts[v] - begin) as usize * size..];
                let length = (starts[v + 1] - starts[v]) as usize;
                let is_near = |at: usize| self.step(weight(packing.entry(row, at)), self.of[v]) < steps;
                let count = (first_not(length, is_near) + 1).min(length);
                near[end * size..(end + count) * size].copy_from_slice(&row[..count * size]);
                end += count;
                near_starts[v + 1] = end as u32;
            }
            first += fit;
        }
        tracing::info!("memory keeps {kept} of {} entries of rows in a file", starts[vertices]);
        let file = file.map()?;
        random_access(&file);
        Ok(DiskEntries { packing, file, near_starts, near })
    }
}

/// Finds, by binary search, the first index below `places` for which `is` returns false. Returns `places` if there is
/// none. `is` must return true for all smaller indices and false for all larger ones.
fn first_not(places: usize, is: impl Fn(usize) -> bool) -> usize {
    let (mut first, mut end) = (0, places);
    while first < end {
        let middle = first + (end - first) / 2;
        if is(middle) { first = middle + 1 } else { end = middle }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::WeightType;
    use crate::memory::bytes_of_mut;

    /// Returns the offsets and the entries of adjacency rows of increasing length, for a test. Each row contains
    /// neighbours smaller than its vertex, and some rows contain a larger one.
    fn rows() -> (Vec<u64>, Vec<u64>) {
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for v in 0..60u64 {
            let neighbours = (0..v).filter(|u| (u * 7 + v) % 3 == 0).chain((v % 5 == 1).then_some((v + 1) % 60));
            let mut row: Vec<u64> = neighbours.map(|u| (1 + (u * 31 + v * 17) % 255) << 32 | u).collect();
            row.sort_unstable();
            entries.extend(row);
            starts.push(entries.len() as u64);
        }
        (starts, entries)
    }

    #[test]
    fn rows_do_not_depend_on_the_part_in_memory() {
        let (starts, entries) = rows();
        let all = entries.len() as u64;
        let budget = Budget::new(1 << 30, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let packing = EntryPacking::of(60, 255);
        let scale = WeightScale { kind: WeightType::U32, values: &[] };
        let mut kept_before = 0;
        for room in [0, 60, 200, 300, 500, 700, 1 << 20] {
            let file = DiskArray::create(folder.path().join("rows"), disk::bytes(packing, all)).unwrap();
            let mut bounds = Bounds::new(60, scale, 255, &budget).unwrap();
            for part in [0..7, 7..60] {
                let ends = &starts[part.start as usize..=part.end as usize];
                bounds.add(part, ends, &entries[ends[0] as usize..ends[ends.len() - 1] as usize]);
            }
            let mut packed = entries.clone();
            file.write(packing.pack(bytes_of_mut(&mut packed)), 0).unwrap();
            let mut window = budget.zeroed(40, "a test").unwrap();
            let made = bounds.rows(&file, &starts, packing, room, &mut window, &budget).unwrap();
            let mut kept = 0;
            for v in 0..60 {
                let places = starts[v as usize]..starts[v as usize + 1];
                let row = made.row(v, places.clone());
                let known = &entries[places.start as usize..places.end as usize];
                let (mut found, mut near) = (Vec::new(), Vec::new());
                assert!(row.along(false, |entry| {
                    found.push(entry);
                    true
                }));
                let is_all = row.along(true, |entry| {
                    near.push(entry);
                    true
                });
                assert!(found == known && near == known[..near.len()] && is_all == (near.len() == known.len()));
                assert_eq!(made.far(v, places.clone()), places.start + near.len() as u64..places.end);
                assert_eq!(row.last_near(), near.last().copied());
                kept += near.len() as u64;
            }
            assert!(kept * packing.bytes as u64 <= room && kept >= kept_before, "{kept} in {room} bytes");
            kept_before = kept;
        }
        assert_eq!(kept_before, all);
    }
}
