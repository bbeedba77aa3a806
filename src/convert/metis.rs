//! Writes METIS files, which contain one line with the neighbours of each vertex, in bounded memory.
//!
//! The format requires a simple, symmetric graph with dense ids. So each edge is written to the lists of both ends,
//! self-loops and repeats are dropped, and every id up to the largest gets a line. Of the weights of repeated edges,
//! the smallest is kept, in both lists.
//!
//! One pass finds the largest id, and one counts the neighbours of every vertex (4 bytes per vertex). Then the
//! vertices are processed in ranges whose lists fit in memory, with one pass per range. The header contains the number
//! of edges without repeats. So if there are several ranges, each is read twice, the first time only to count.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::counts::HeaderCounts;
use super::encode;
use super::output::OutputFile;
use super::writing::Writing;
use crate::error::{At, Error, Result};
use crate::formats::weights::bits_of;
use crate::formats::{Edges, Format, Input, Visitor, WeightType, Weights, each_edge};

/// Number of bytes of adjacency lists that are compressed and written at a time.
const PIECE: usize = 4 << 20;

/// Writes the header and the adjacency lists of all vertices. Returns the number of edges read and the number of edges
/// written.
pub(super) fn write(writing: &Writing<'_>, counts: HeaderCounts, memory: u64) -> Result<(u64, u64)> {
    match writing.weights {
        None => write_as::<u32>(writing, counts, memory),
        Some(kind) if kind.is_wide() => write_as::<[u64; 2]>(writing, counts, memory),
        Some(_) => write_as::<u64>(writing, counts, memory),
    }
}

fn write_as<E: NeighbourEntry>(writing: &Writing<'_>, counts: HeaderCounts, memory: u64) -> Result<(u64, u64)> {
    let Writing { input, output, weights, .. } = *writing;
    if counts.vertices > 1 << 32 {
        let found = format!("{} vertices", counts.vertices);
        let remedy = "metis lists every id up to the largest: choose another format";
        return Err(Error::input(input.name(), At::File, "at most 2^32 vertices for metis", found, remedy));
    }
    let degrees = degrees(writing, counts.vertices as u64)?;
    let ranges = ranges(&degrees, size_of::<E>() as u64, memory);
    let header = |entries: usize| {
        let counts = HeaderCounts { edges: entries as u64 / 2, ..counts };
        output.push(encode::header(Format::Metis, counts, weights).as_bytes())
    };
    let mut entries = 0;
    if let [range] = ranges.as_slice() {
        let lists = NeighbourLists::<E>::read(writing, range.clone(), &degrees)?;
        entries = lists.entries.len();
        header(entries)?;
        lists.write(weights, output)?;
    } else {
        for range in &ranges {
            entries += NeighbourLists::<E>::read(writing, range.clone(), &degrees)?.entries.len();
        }
        header(entries)?;
        for range in ranges {
            NeighbourLists::<E>::read(writing, range, &degrees)?.write(weights, output)?;
        }
    }
    Ok((counts.edges, entries as u64 / 2))
}

/// An entry of an adjacency list: a neighbour, and the weight of the edge if edges have weights. Entries are ordered by
/// neighbour and then by weight, so the smallest weight of a neighbour comes first.
trait NeighbourEntry: Copy + Ord + Send {
    /// Atomic form of an entry, so that several threads can write entries.
    type Slot: Default + Send + Sync;

    fn store(slot: &Self::Slot, neighbour: u64, weight: u64);
    fn stored(slot: Self::Slot) -> Self;
    fn neighbour(self) -> u64;
    fn weight(self) -> u64;
}

impl NeighbourEntry for u32 {
    type Slot = AtomicU32;

    fn store(slot: &AtomicU32, neighbour: u64, _: u64) {
        slot.store(neighbour as u32, Relaxed);
    }

    fn stored(slot: AtomicU32) -> u32 {
        slot.into_inner()
    }

    fn neighbour(self) -> u64 {
        self.into()
    }

    fn weight(self) -> u64 {
        0
    }
}

/// An entry with a 32-bit weight: the upper 32 bits are the neighbour, the lower 32 bits the weight.
impl NeighbourEntry for u64 {
    type Slot = AtomicU64;

    fn store(slot: &AtomicU64, neighbour: u64, weight: u64) {
        slot.store(neighbour << 32 | weight, Relaxed);
    }

    fn stored(slot: AtomicU64) -> u64 {
        slot.into_inner()
    }

    fn neighbour(self) -> u64 {
        self >> 32
    }

    fn weight(self) -> u64 {
        self & u64::from(u32::MAX)
    }
}

/// An entry with a 64-bit weight: first the neighbour, then the weight.
impl NeighbourEntry for [u64; 2] {
    type Slot = [AtomicU64; 2];

    // Each slot is written by only one thread.
    fn store(slot: &[AtomicU64; 2], neighbour: u64, weight: u64) {
        slot[0].store(neighbour, Relaxed);
        slot[1].store(weight, Relaxed);
    }

    fn stored(slot: [AtomicU64; 2]) -> [u64; 2] {
        slot.map(AtomicU64::into_inner)
    }

    fn neighbour(self) -> u64 {
        self[0]
    }

    fn weight(self) -> u64 {
        self[1]
    }
}

/// Splits the vertices into ranges whose adjacency lists need at most `memory` bytes, with `entry` bytes per neighbour.
/// The list of a single vertex may need more.
fn ranges(degrees: &[AtomicU32], entry: u64, memory: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let (mut start, mut taken) = (0, 0);
    for (vertex, degree) in (0..).zip(degrees) {
        // A vertex needs 8 bytes for the end of its list, and `entry` bytes per neighbour.
        let bytes = 8 + entry * u64::from(degree.load(Relaxed));
        if taken + bytes > memory && vertex > start {
            ranges.push(start..vertex);
            (start, taken) = (vertex, 0);
        }
        taken += bytes;
    }
    if start < degrees.len() as u64 {
        ranges.push(start..degrees.len() as u64);
    }
    ranges
}

/// Returns the error for an input that changed between two passes.
fn changed(input: &Input) -> Error {
    let remedy = "leave the file alone while it is converted, and run again";
    Error::input(input.name(), At::File, "the same edges in every pass", "other ones", remedy)
}

/// Counts the neighbours of every vertex, including repeats.
fn degrees(writing: &Writing<'_>, vertices: u64) -> Result<Vec<AtomicU32>> {
    let degrees: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(0)).collect();
    let Writing { input, threads, watch, .. } = *writing;
    let count = |&u: &u64| {
        let degree = degrees.get(u as usize).ok_or_else(|| changed(input))?;
        if degree.fetch_add(1, Relaxed) == u32::MAX {
            let remedy = "choose another format than metis, or drop repeated edges first";
            let (expected, found) = ("at most 2^32 edges a vertex", format!("more at vertex {u}"));
            return Err(Error::input(input.name(), At::File, expected, found, remedy));
        }
        Ok(())
    };
    each_edge(&input.clone().with_weights(Weights::Skip), vec![(); threads], watch, |(), ends| match ends {
        [u, v] if u == v => Ok(()),
        ends => ends.iter().try_for_each(count),
    })?;
    Ok(degrees)
}

/// The sorted adjacency lists of a range of vertices.
struct NeighbourLists<E> {
    /// End of each vertex's list in `entries`, by the vertex's index in the range. Each list begins at the end of the
    /// previous list.
    ends: Vec<u64>,
    entries: Vec<E>,
}

impl<E: NeighbourEntry> NeighbourLists<E> {
    fn read(writing: &Writing<'_>, range: Range<u64>, degrees: &[AtomicU32]) -> Result<NeighbourLists<E>> {
        struct Fill<'a, E: NeighbourEntry> {
            input: &'a Input,
            range: Range<u64>,
            next: &'a [AtomicU64],
            lists: &'a [E::Slot],
        }
        impl<E: NeighbourEntry> Visitor for Fill<'_, E> {
            fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
                let mut weights = bits_of(weights, weights.len() / edges.len().max(1));
                edges.try_each(|u, v| {
                    let weight = weights.next().unwrap_or(0);
                    for (u, v) in [(u, v), (v, u)] {
                        if u != v && self.range.contains(&u) {
                            let place = self.next[(u - self.range.start) as usize].fetch_add(1, Relaxed);
                            let slot = self.lists.get(place as usize).ok_or_else(|| changed(self.input))?;
                            E::store(slot, v, weight);
                        }
                    }
                    Ok(())
                })
            }
        }
        let mut total = 0;
        let next: Vec<AtomicU64> = degrees[range.start as usize..range.end as usize]
            .iter()
            .map(|degree| {
                let start = AtomicU64::new(total);
                total += u64::from(degree.load(Relaxed));
                start
            })
            .collect();
        let lists: Vec<E::Slot> = (0..total).map(|_| E::Slot::default()).collect();
        let Writing { input, threads, watch, .. } = *writing;
        let mut visitors: Vec<Fill<'_, E>> =
            (0..threads).map(|_| Fill { input, range: range.clone(), next: &next, lists: &lists }).collect();
        input.scan(&mut visitors, watch)?;
        drop(visitors);
        // The element types have the same size and alignment, so the allocations are reused.
        let ends = next.into_iter().map(AtomicU64::into_inner).collect();
        let entries = lists.into_iter().map(E::stored).collect();
        let mut lists = NeighbourLists { ends, entries };
        lists.sort_and_dedup();
        Ok(lists)
    }

    /// Sorts every list, keeps only the entry with the smallest weight for each neighbour, and closes the gaps.
    fn sort_and_dedup(&mut self) {
        let (mut from, mut kept) = (0, 0);
        for end in &mut self.ends {
            let to = *end as usize;
            self.entries[from..to].sort_unstable();
            let start = kept;
            for index in from..to {
                let entry = self.entries[index];
                if kept == start || self.entries[kept - 1].neighbour() != entry.neighbour() {
                    self.entries[kept] = entry;
                    kept += 1;
                }
            }
            from = to;
            *end = kept as u64;
        }
        self.entries.truncate(kept);
    }

    fn write(&self, weights: Option<WeightType>, output: &OutputFile) -> Result<()> {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in &self.ends {
            let list = &self.entries[start..*end as usize];
            for entry in list {
                encode::number(&mut lines, u128::from(entry.neighbour()) + 1);
                if let Some(kind) = weights {
                    lines.push(b' ');
                    encode::append_weight(&mut lines, entry.weight(), kind);
                }
                // A blank follows the last number, too, because GAP's reader skips a number at the end of a line.
                lines.push(b' ');
                if lines.len() >= PIECE {
                    output.push(&lines)?;
                    lines.clear();
                }
            }
            lines.push(b'\n');
            start = *end as usize;
        }
        output.push(&lines)
    }
}
