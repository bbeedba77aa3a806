//! Sorts the edges of one bin into rows without duplicates.
//!
//! A counting sort by row comes first, and then each row is sorted by itself. Rows are short (tens of entries), and a
//! bin is sized to stay in the L2 cache. The row of vertex `v` has at most `v` distinct entries, because only `v`
//! vertices have smaller ids. A row with at least `v` entries, including duplicates, is a bitmap while it is filled. So
//! the memory of a bin never exceeds its upper bound, however many duplicates it contains.

pub mod gpu;
mod weighted;

use self::weighted::WeightedSorter;
use super::partition::BinReader;
use crate::error::Result;

/// Maximum length of a row that is sorted by insertion sort.
const SHORT: usize = 20;

/// The sorted rows of a bin.
#[derive(Debug, Default)]
pub struct SortedRows {
    /// Number of distinct neighbours of each row.
    pub lengths: Vec<u32>,
    /// Neighbours of all rows, row after row, each row ascending.
    pub targets: Vec<u32>,
    /// Weight of the edge to each neighbour, if edges have weights. For duplicate edges, this is the smallest weight.
    pub weights: Vec<u32>,
}

impl SortedRows {
    /// Returns the row lengths, the targets and the weights.
    pub fn slices(&self) -> [&[u32]; 3] {
        [&self.lengths, &self.targets, &self.weights]
    }
}

/// A sorter of bins, for one thread.
pub trait SortBin: Send {
    /// Sorts a bin with the rows `first_row .. first_row + rows`. Replaces the contents of `out` by the rows.
    ///
    /// # Errors
    /// Errors of reading spilled entries back, and [`crate::Error::Lost`].
    fn sort(&mut self, bin: &BinReader<'_, '_>, first_row: u32, rows: usize, out: &mut SortedRows) -> Result<Sorted>;
}

/// Summary of a sorted bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorted {
    /// Number of edges, including duplicates.
    pub edges: u64,
    /// Whether the sorter has already added the bin's distinct edges to the degrees.
    pub counted: bool,
}

/// Makes one sorter for each of `threads` threads on the CPU; `weighted` says whether edges have weights.
pub fn sorters<'s>(threads: usize, weighted: bool) -> Vec<Box<dyn SortBin + 's>> {
    let sorter = |_| match weighted {
        true => Box::new(WeightedSorter::default()) as Box<dyn SortBin>,
        false => Box::new(BinSorter::default()),
    };
    (0..threads).map(sorter).collect()
}

/// Returns the number of bytes of memory, including the result, that a thread needs to sort bins of at most `entries`
/// entries and `rows` rows. It reads spilled edges back in chunks of `chunk` bytes.
pub fn bytes(entries: u64, rows: u64, chunk: u64, weighted: bool) -> u64 {
    let entry = if weighted { WeightedSorter::ENTRY } else { BinSorter::ENTRY };
    entry * entries + 8 * (rows + 1) + chunk
}

/// Counts the edges of each row of the bin, and assigns each row a range of one array. Writes the start of each range
/// to `ends`, followed by the end of the last. The length of a row's range is the number of edges of the row, but at
/// most `most(row)`: the number of vertices with smaller ids than the row's vertex. Returns the total number of edges,
/// including duplicates.
fn start_rows(
    bin: &BinReader<'_, '_>,
    rows: usize,
    most: impl Fn(usize) -> u32,
    ends: &mut Vec<u32>,
    chunk: &mut Vec<u32>,
) -> Result<u64> {
    ends.clear();
    ends.resize(rows + 1, 0);
    let (ends, mut edges) = (&mut ends[..], 0);
    bin.for_each(chunk, |place, _| {
        let end = &mut ends[usize::from(place) + 1];
        *end = end.saturating_add(1);
        edges += 1;
    })?;
    for r in 0..rows {
        ends[r + 1] = ends[r] + ends[r + 1].min(most(r));
    }
    Ok(edges)
}

/// Sorter of bins on the CPU, for one thread. It reuses its buffers for each bin.
#[derive(Debug, Default)]
pub struct BinSorter {
    chunk: Vec<u32>,
    ends: Vec<u32>,
}

impl BinSorter {
    /// Size of an entry (neighbour) in bytes.
    const ENTRY: u64 = 4;
}

impl SortBin for BinSorter {
    fn sort(&mut self, bin: &BinReader<'_, '_>, first_row: u32, rows: usize, out: &mut SortedRows) -> Result<Sorted> {
        let direction = bin.direction();
        let most = |r: usize| direction.vertex(first_row + r as u32);
        let ends = &mut self.ends;
        let edges = start_rows(bin, rows, most, ends, &mut self.chunk)?;
        // At first `ends[r]` is the start of row `r`. It advances with each entry that is written, so in the end it is
        // the end of the row. A row whose range has space for every possible entry is a bitmap, and its `ends[r]` stays
        // the start.
        let room = ends[rows];
        out.targets.clear();
        out.targets.resize(room as usize, 0);
        // Until the row lengths are known, a length of 1 marks a row that is a bitmap.
        out.lengths.clear();
        let full = |ends: &[u32], r: usize| ends[r + 1] - ends[r] == most(r);
        out.lengths.extend((0..rows).map(|r| u32::from(full(ends, r))));
        let (targets, is_bitmap) = (&mut out.targets, &out.lengths);
        if is_bitmap.contains(&1) {
            bin.for_each(&mut self.chunk, |place, low| {
                let at = &mut ends[usize::from(place)];
                if is_bitmap[usize::from(place)] == 0 {
                    targets[*at as usize] = low;
                    *at += 1;
                } else {
                    targets[(*at + low / 32) as usize] |= 1 << (low % 32);
                }
            })?;
        } else {
            bin.for_each(&mut self.chunk, |place, low| {
                let at = &mut ends[usize::from(place)];
                targets[*at as usize] = low;
                *at += 1;
            })?;
        }
        let (mut start, mut kept) = (0, 0);
        for (r, length) in out.lengths.iter_mut().enumerate() {
            let before = kept;
            if *length == 0 {
                let end = ends[r] as usize;
                sort_row(&mut targets[start..end]);
                let mut last = None;
                for i in start..end {
                    let target = targets[i];
                    targets[kept] = target;
                    kept += usize::from(last != Some(target));
                    last = Some(target);
                }
                start = end;
            } else {
                let end = start + most(r) as usize;
                let set = expand_bitmap(&mut targets[start..end]);
                targets.copy_within(end - set..end, kept);
                kept += set;
                start = end;
            }
            *length = (kept - before) as u32;
        }
        out.targets.truncate(kept);
        Ok(Sorted { edges, counted: false })
    }
}

/// Expands the bitmap at the start of `row`: writes the ids whose bits are set to the end of `row`, in ascending order.
/// Returns the number of ids.
fn expand_bitmap(row: &mut [u32]) -> usize {
    let mut at = row.len();
    // The loop goes from the last word to the first. It never overwrites a word that is not read yet: ids from `word`
    // and later words are at least 32·`word`, so they fit in the elements from index 32·`word` on.
    for word in (0..row.len().div_ceil(32)).rev() {
        let mut bits = row[word];
        while bits != 0 {
            let bit = 31 - bits.leading_zeros();
            at -= 1;
            row[at] = word as u32 * 32 + bit;
            bits ^= 1 << bit;
        }
    }
    row.len() - at
}

fn sort_row<T: Copy + Ord>(row: &mut [T]) {
    if row.len() > SHORT {
        row.sort_unstable();
        return;
    }
    for i in 1..row.len() {
        let x = row[i];
        let mut j = i;
        while j > 0 && row[j - 1] > x {
            row[j] = row[j - 1];
            j -= 1;
        }
        row[j] = x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Comm, MessageLimits, Outbox};
    use crate::formats::Edges;
    use crate::graph::{DegreeRuns, Layout};
    use crate::prepare::partition::route::Route;
    use crate::prepare::partition::{LINE, Partition, WEIGHTED_WORDS, scatter};
    use std::collections::BTreeMap;

    /// Checks that duplicate edges need no memory beyond the upper bound, and that the smallest of their weights is
    /// kept. The input has few vertices and a million edges; all but one of its edges have many duplicates.
    #[test]
    fn repeats_take_no_memory_beyond_the_bound_and_of_their_weights_the_smallest_stays() {
        let (vertices, edges) = (70u32, 1_000_000u32);
        let pairs: Vec<[u32; 2]> = (0..edges).map(|i| [i % vertices, i / vertices * 31 % vertices]).collect();
        let pairs: Vec<[u32; 2]> = pairs.into_iter().filter(|[u, v]| u != v && u + v != 2 * vertices - 3).collect();
        let weights: Vec<u32> =
            (0..pairs.len() as u32).map(|i| u32::MAX - i.wrapping_mul(0x9e37_79b9) % 5000).collect();
        let mut least: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (&[u, v], &weight) in pairs.iter().zip(&weights) {
            let smallest = least.entry((u.max(v), u.min(v))).or_insert(weight);
            *smallest = weight.min(*smallest);
        }
        let runs = DegreeRuns::new(vec![(edges, vertices)]);
        let layout = Layout::with_target(&runs, u64::MAX);
        let bins = layout.bins(u64::MAX);
        assert_eq!(bins.spans.len(), 1);
        let folder = tempfile::tempdir().expect("a folder");
        let map: Vec<u32> = (0..vertices).collect();
        for weighted in [false, true] {
            let mut memory = vec![0; 2 * WEIGHTED_WORDS * (pairs.len() / LINE + 16)];
            let spill = folder.path().join("spill");
            let partition = Partition::new(&bins, &[true], weighted, &mut memory, 8, &spill, None).expect("made");
            let place = |outbox: &Outbox<'_>| {
                let route = Route::new(&partition, &[0], 0, 1, outbox, 1, 0);
                let mut placing = scatter::placing(&route, 1, &map, "a test");
                placing.visitors()[0].visit(Edges::Narrow(&pairs), if weighted { &weights } else { &[] })?;
                placing.finish()
            };
            let shape = MessageLimits { words: 1, outgoing: 1, incoming: 1, takers: 1 };
            Comm::Solo.exchange(shape, place, |_, _| Ok(())).expect("placed");
            let mut out = SortedRows::default();
            let mut sorter = sorters(1, weighted).remove(0);
            let sorted = sorter.sort(&partition.part(0), 0, vertices as usize, &mut out).expect("sorted");
            assert_eq!(sorted, Sorted { edges: pairs.len() as u64, counted: false });
            assert_eq!(out.targets, least.keys().map(|&(_, low)| low).collect::<Vec<_>>());
            let length = |v: u32| least.range((v, 0)..(v + 1, 0)).count() as u32;
            assert_eq!(out.lengths, (0..vertices).map(length).collect::<Vec<_>>());
            let known = least.values().copied().filter(|_| weighted);
            assert_eq!(out.weights, known.collect::<Vec<_>>());
            let most = [&out.targets, &out.weights].map(|of| of.capacity() as u64 <= layout.bound());
            assert_eq!(most, [true; 2], "{} entries of room", out.targets.capacity());
        }
    }
}
