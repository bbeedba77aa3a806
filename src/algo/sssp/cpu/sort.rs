//! Sorts the adjacency rows of a graph by weight: in memory or, if memory is too small, in a file.

use super::disk;
use super::near::{self, Bounds};
use super::packing::EntryPacking;
use super::rows::{Entries, SortedRows, WeightStats, weight};
use super::slices::{self, Word, Words, short_bits};
use crate::algo::run::Units;
use crate::algo::sssp::WeightedEdges;
use crate::error::{Error, Result};
use crate::graph::direction::EdgeDirection;
use crate::memory::{Budget, Buffer, bytes_of_mut};
use crate::process::signals;
use crate::store::disk_array::DiskArray;
use crate::store::replace::remove_file;
use rayon::prelude::*;
use std::ops::Range;

/// Minimum number of row entries that one thread sorts at a time. The last part of the rows may have fewer.
const PART: usize = 1 << 16;
/// Minimum number of row entries that are sorted in memory at a time before they are written to a file. Memory must
/// also have room for the longest row.
const WINDOW: u64 = 1 << 21;
/// Size of the padding, in bytes, at the end of the buffer in which rows are sorted, and at the end of the buffer for
/// the first entries of rows. An empty buffer has padding too.
const PADDING: u64 = 16;

/// File to which sorted rows are written, and limits on the memory for their first entries.
pub struct RowFile<'a> {
    /// Folder in which the file is created.
    pub units: &'a Units<'a>,
    /// Rank that writes the file.
    pub rank: usize,
    /// Host memory, in bytes, that must stay free after the rows are sorted.
    pub spare: u64,
    /// Number of edge directions whose rows still have to be sorted, including the current one. The first entries of
    /// their rows share the free memory.
    pub ways: u64,
}

/// Returns the host memory, in bytes, for sorted rows with weights up to `largest`, as two numbers: for rows in memory,
/// and for rows in a file. The second number is the minimum with which rows can be sorted. `longest` is the length of
/// the longest row.
pub fn bytes(vertices: u64, entries: u64, longest: u64, largest: u32) -> [u64; 2] {
    let (starts, bounds) = near::bytes(vertices);
    let lightest = 4 * vertices;
    let most = lightest + slices::bytes(vertices, entries, largest);
    let window = 8 * (WINDOW + longest).min(entries) + PADDING;
    [most, most.min(lightest + 8 * (vertices + 1) + bounds + starts + window)]
}

/// Sorts the adjacency rows of one edge direction by weight.
pub struct RowSorter<'e> {
    /// The edges of the graph.
    pub edges: &'e WeightedEdges<'e>,
    /// Upper bound on all weights, in their stored encoding.
    pub largest: u32,
    /// Direction of the edges in the rows.
    pub way: EdgeDirection,
    /// Budget of host memory.
    pub budget: &'e Budget,
}

impl RowSorter<'_> {
    /// Sorts the rows of all vertices by weight. `lengths` yields the length of each row. If `file` is given, writes
    /// the rows to it.
    ///
    /// # Errors
    /// [`Error::Limit`] if memory is too small for [`bytes`]; disk errors; [`Error::Stopped`].
    pub fn rows(&self, lengths: impl ExactSizeIterator<Item = u32>, file: Option<RowFile<'_>>) -> Result<SortedRows> {
        let vertices = lengths.len();
        let mut lightest: Buffer<u32> = self.budget.zeroed(vertices, "the lightest edge of each vertex (4 bytes)")?;
        // This buffer is freed before searches allocate their memory.
        let mut all: Buffer<u32> = self.budget.zeroed(vertices, "the lengths of rows (4 bytes a vertex)")?;
        all.iter_mut().zip(lengths).for_each(|(place, length)| *place = length);
        let lengths = all;
        let sum = lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        let (entries, weights) = match (file, short_bits(vertices as u64, sum, self.largest)) {
            (Some(file), _) => self.in_file(lengths, file, &mut lightest)?,
            (None, Some(bits)) => {
                let (words, weights) = self.in_memory(&lengths, bits, &mut lightest)?;
                (Entries::Short(words), weights)
            }
            (None, None) => {
                let (words, weights) = self.in_memory(&lengths, u32::BITS, &mut lightest)?;
                (Entries::Long(words), weights)
            }
        };
        if weights.largest > self.largest {
            return Err(Error::internal("sort rows by weight", "a weight that is larger than the largest"));
        }
        Ok(SortedRows { entries, lightest, weights })
    }

    /// Sorts the rows by weight and stores them in memory. A neighbour takes `bits` bits of a word.
    fn in_memory<W: Word>(&self, lengths: &[u32], bits: u32, lightest: &mut [u32]) -> Result<(Words<W>, WeightStats)> {
        let mut words = Words::new(lengths, bits, self.budget)?;
        let (starts, entries) = words.parts();
        let weights = self.sort((starts, bits), 0..lengths.len() as u32, entries, lightest)?;
        Ok((words, weights))
    }

    /// Sorts the rows by weight and stores them in a file. Sorts as many rows at a time as fit in a buffer in memory.
    fn in_file(
        &self,
        lengths: Buffer<u32>,
        RowFile { units, rank, spare, ways }: RowFile<'_>,
        lightest: &mut [u32],
    ) -> Result<(Entries, WeightStats)> {
        let (vertices, budget) = (lengths.len(), self.budget);
        let starts: Buffer<u64> = slices::starts(&lengths, budget)?;
        let longest = u64::from(lengths.iter().max().copied().unwrap_or(0));
        drop(lengths);
        let packing = EntryPacking::of(vertices as u64, self.largest);
        let mut bounds = Bounds::new(vertices, self.edges.weights.scale(), self.largest, budget)?;
        let name = if self.way == EdgeDirection::Out { "out" } else { "in" };
        let path = units.files()?.join(format!("{name}.{rank}"));
        let sum = starts[vertices];
        let placed = DiskArray::create(path.clone(), disk::bytes(packing, sum))?;
        let room = (WINDOW + longest).min(sum) as usize;
        let mut window: Buffer<u64> = budget.zeroed(room + 1, "rows that are sorted by weight for a file")?;
        let (mut weights, mut first) = (WeightStats::default(), 0);
        while first < vertices {
            let begin = starts[first];
            let end = first + starts[first + 1..].partition_point(|&end| end - begin <= room as u64);
            let some = &mut window[..(starts[end] - begin) as usize];
            let range = first as u32..end as u32;
            weights = weights.and(self.sort((&starts, u32::BITS), range.clone(), some, &mut lightest[first..end])?);
            bounds.add(range, &starts[first..=end], some);
            placed.write(packing.pack(bytes_of_mut(some)), begin * packing.bytes as u64)?;
            first = end;
        }
        let (places, later) = near::bytes(vertices as u64);
        let room = budget.free().saturating_sub(spare.saturating_sub(later) + places) / ways;
        let entries = bounds.rows(&placed, &starts, packing, room, &mut window, budget)?;
        // The file is unlinked once it is written, because no later run uses it.
        remove_file(&path)?;
        Ok((Entries::OnDisk(starts, entries), weights))
    }

    /// Sorts the rows of `vertices` by weight into `entries`, and writes the smallest weight of each row to `lightest`.
    /// A neighbour takes `bits` bits of a word. Returns statistics of the weights.
    fn sort<W: Word>(
        &self,
        (starts, bits): (&[W], u32),
        vertices: Range<u32>,
        entries: &mut [W],
        lightest: &mut [u32],
    ) -> Result<WeightStats> {
        let parts = parts(starts, vertices, entries, lightest);
        let (edges, way, scale) = (self.edges, self.way, self.edges.weights.scale());
        let of_parts = parts.into_par_iter().map(|(first, part, lightest)| {
            signals::check()?;
            let mut weights = WeightStats::default();
            let mut rest = part;
            for (v, lightest) in (first..).zip(lightest) {
                let length = starts[v as usize + 1].position() - starts[v as usize].position();
                // The rows of vertices that other ranks own are empty.
                if length == 0 {
                    *lightest = u32::MAX;
                    continue;
                }
                let (row, behind) = rest.split_at_mut(length);
                let mut places = row.iter_mut();
                let (mut missing, mut heaviest) = (false, 0);
                edges.each(v, way, |u, weight| match places.next() {
                    Some(place) => {
                        *place = W::of(weight, u, bits);
                        weights.sum += scale.number(weight);
                        heaviest = heaviest.max(weight);
                    }
                    None => missing = true,
                });
                if missing || places.next().is_some() {
                    return Err(Error::internal("sort rows by weight", "rows of other lengths than degrees say"));
                }
                row.sort_unstable();
                *lightest = weight(row[0].entry(bits));
                weights.largest = weights.largest.max(heaviest);
                rest = behind;
            }
            Ok(weights)
        });
        of_parts.try_reduce(WeightStats::default, |some, others| Ok(some.and(others)))
    }
}

/// Divides the rows, and the array of their smallest weights, into parts that are sorted in parallel. Returns, for each
/// part, its first vertex, its entries, and its smallest weights.
fn parts<'r, W: Word>(
    starts: &[W],
    vertices: Range<u32>,
    entries: &'r mut [W],
    lightest: &'r mut [u32],
) -> Vec<(u32, &'r mut [W], &'r mut [u32])> {
    let mut parts = Vec::new();
    let (mut rest, mut light, mut first) = (entries, lightest, vertices.start);
    for v in vertices.clone() {
        let (begin, end) = (starts[first as usize].position(), starts[v as usize + 1].position());
        if end - begin >= PART || v + 1 == vertices.end {
            let (part, behind) = rest.split_at_mut(end - begin);
            let (lightest, light_behind) = light.split_at_mut((v + 1 - first) as usize);
            parts.push((first, part, lightest));
            (rest, light, first) = (behind, light_behind, v + 1);
        }
    }
    parts
}
