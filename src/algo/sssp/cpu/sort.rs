//! Sorting the rows of a graph by weight, into memory or, where that is too small, into a file.

use super::disk;
use super::near::{self, Bounds};
use super::packing::Packing;
use super::rows::{Entries, Rows, Weights, number, weight};
use super::slices::{self, Word, Words, short_bits};
use crate::algo::run::Units;
use crate::algo::sssp::Edges;
use crate::error::{Error, Result};
use crate::graph::direction::Way;
use crate::memory::{Budget, Buffer, bytes_of_mut};
use crate::process::signals;
use crate::store::placed::{self, Placed};
use rayon::prelude::*;
use std::ops::Range;

/// Entries that a thread sorts at a time, about.
const PART: usize = 1 << 16;
/// Entries that are sorted before they are written to a file, at least; the longest row is, too.
const WINDOW: u64 = 1 << 21;
/// Bytes beside the longest row in a window, and of first entries where there is room for none.
const PADDING: u64 = 16;

/// A file for sorted rows.
pub struct RowFile<'a> {
    /// Its folder.
    pub units: &'a Units<'a>,
    /// The rank that it is of.
    pub rank: usize,
    /// Bytes of memory that may not go to first entries of rows.
    pub spare: u64,
    /// The ways whose rows share memory from now on.
    pub ways: u64,
}

/// Returns the bytes of the rows of `vertices` vertices with so many entries in all and weights up to `largest`, and the fewest that do with a file, if
/// no row has more entries than `longest`.
pub fn bytes(vertices: u64, entries: u64, longest: u64, largest: u32) -> [u64; 2] {
    let (starts, bounds) = near::bytes(vertices);
    let lightest = 4 * vertices;
    let most = lightest + slices::bytes(vertices, entries, largest);
    let window = 8 * (WINDOW + longest).min(entries) + PADDING;
    [most, most.min(lightest + 8 * (vertices + 1) + bounds + starts + window)]
}

/// Means to sort the rows of one way by weight.
pub struct Sorter<'e> {
    /// The edges, with weights up to `largest`.
    pub edges: &'e Edges<'e>,
    /// A weight that none is larger than.
    pub largest: u32,
    /// The way.
    pub way: Way,
    /// Host memory that is left.
    pub budget: &'e Budget,
}

impl Sorter<'_> {
    /// Sorts the rows of all vertices, which have these lengths. They go to a file where one is given.
    ///
    /// # Errors
    /// [`Error::Limit`] where [`bytes`] do not fit; those of the disk; a stop.
    pub fn rows(&self, lengths: impl ExactSizeIterator<Item = u32>, file: Option<RowFile<'_>>) -> Result<Rows> {
        let vertices = lengths.len();
        let mut lightest: Buffer<u32> = self.budget.zeroed(vertices, "the lightest edge of each vertex (4 bytes)")?;
        // Freed before searches take more than that for each vertex.
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
        let rows = Rows { entries, lightest, weights };
        rows.expect_random_access();
        Ok(rows)
    }

    /// Sorts rows of these lengths into memory, in words whose neighbours have so many bits.
    fn in_memory<W: Word>(&self, lengths: &[u32], bits: u32, lightest: &mut [u32]) -> Result<(Words<W>, Weights)> {
        let mut words = Words::new(lengths, bits, self.budget)?;
        let (starts, entries) = words.parts();
        let weights = self.sort((starts, bits), 0..lengths.len() as u32, entries, lightest)?;
        Ok((words, weights))
    }

    /// Sorts rows of these lengths into a file, as many at a time as fit a window.
    fn in_file(
        &self,
        lengths: Buffer<u32>,
        RowFile { units, rank, spare, ways }: RowFile<'_>,
        lightest: &mut [u32],
    ) -> Result<(Entries, Weights)> {
        let (vertices, budget) = (lengths.len(), self.budget);
        let starts: Buffer<u64> = slices::starts(&lengths, budget)?;
        let longest = u64::from(lengths.iter().max().copied().unwrap_or(0));
        drop(lengths);
        let packing = Packing::of(vertices as u64, self.largest);
        let mut bounds = Bounds::new(vertices, self.edges.kind(), self.largest, budget)?;
        let name = if self.way == Way::Out { "out" } else { "in" };
        let path = units.files()?.join(format!("{name}.{rank}"));
        let sum = starts[vertices];
        let placed = Placed::create(path.clone(), disk::bytes(packing, sum))?;
        let room = (WINDOW + longest).min(sum) as usize;
        let mut window: Buffer<u64> = budget.zeroed(room + 1, "rows that are sorted by weight for a file")?;
        let (mut weights, mut first) = (Weights::default(), 0);
        while first < vertices {
            let begin = starts[first];
            let end = first + starts[first + 1..].partition_point(|&end| end - begin <= room as u64);
            let some = &mut window[..(starts[end] - begin) as usize];
            let range = first as u32..end as u32;
            weights = weights.and(self.sort((&starts, u32::BITS), range.clone(), some, &mut lightest[first..end])?);
            bounds.add(range, &starts[first..=end], some);
            placed.write(packing.pack(bytes_of_mut(some)), begin * packing.bytes() as u64)?;
            first = end;
        }
        let (places, later) = near::bytes(vertices as u64);
        let room = budget.free().saturating_sub(spare.saturating_sub(later) + places) / ways;
        let entries = bounds.rows(&placed, &starts, packing, room, &mut window, budget)?;
        // It has a name only while it is written: nobody goes on with it.
        placed::remove(&path)?;
        Ok((Entries::OnDisk(starts, entries), weights))
    }

    /// Sorts the rows of these vertices into `entries`, whose neighbours have so many bits, and notes the lightest edge of each; returns figures of the weights.
    fn sort<W: Word>(
        &self,
        (starts, bits): (&[W], u32),
        vertices: Range<u32>,
        entries: &mut [W],
        lightest: &mut [u32],
    ) -> Result<Weights> {
        let parts = parts(starts, vertices, entries, lightest);
        let (edges, way, kind) = (self.edges, self.way, self.edges.kind());
        let of_parts = parts.into_par_iter().map(|(first, part, lightest)| {
            signals::check()?;
            let mut weights = Weights::default();
            let mut rest = part;
            for (v, lightest) in (first..).zip(lightest) {
                let length = starts[v as usize + 1].place() - starts[v as usize].place();
                // Rows of vertices that other ranks own are empty here.
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
                        weights.sum += number(kind, weight);
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
        of_parts.try_reduce(Weights::default, |some, others| Ok(some.and(others)))
    }
}

/// Cuts the rows of these vertices, and the places of their lightest edges, into parts that a thread sorts at a time; each with its first vertex.
fn parts<'r, W: Word>(
    starts: &[W],
    vertices: Range<u32>,
    entries: &'r mut [W],
    lightest: &'r mut [u32],
) -> Vec<(u32, &'r mut [W], &'r mut [u32])> {
    let mut parts = Vec::new();
    let (mut rest, mut light, mut first) = (entries, lightest, vertices.start);
    for v in vertices.clone() {
        let (begin, end) = (starts[first as usize].place(), starts[v as usize + 1].place());
        if end - begin >= PART || v + 1 == vertices.end {
            let (part, behind) = rest.split_at_mut(end - begin);
            let (lightest, light_behind) = light.split_at_mut((v + 1 - first) as usize);
            parts.push((first, part, lightest));
            (rest, light, first) = (behind, light_behind, v + 1);
        }
    }
    parts
}
