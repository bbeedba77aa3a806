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

/// Sorts the rows of all vertices of one way, with weights up to `largest`. They go to a file where one is given.
///
/// # Errors
/// [`Error::Limit`] where [`bytes`] do not fit; those of the disk; a stop.
pub fn sorted(
    (edges, largest): (&Edges<'_>, u32),
    way: Way,
    lengths: impl Iterator<Item = u32>,
    file: Option<RowFile<'_>>,
    budget: &Budget,
) -> Result<Rows> {
    let lengths: Vec<u32> = lengths.collect();
    let sum = lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
    let mut lightest: Buffer<u32> = budget.zeroed(lengths.len(), "the lightest edge of each vertex (4 bytes)")?;
    let all = 0..lengths.len() as u32;
    let mut weights = Weights::default();
    let entries = match file {
        None => match short_bits(lengths.len() as u64, sum, largest) {
            Some(bits) => Entries::Short(in_memory(edges, way, (&lengths, bits), &mut lightest, &mut weights, budget)?),
            None => Entries::Long(in_memory(edges, way, (&lengths, u32::BITS), &mut lightest, &mut weights, budget)?),
        },
        Some(RowFile { units, rank, spare, ways }) => {
            let starts: Buffer<u64> = slices::starts(&lengths, budget)?;
            let longest = u64::from(lengths.iter().max().copied().unwrap_or(0));
            let packing = Packing::of(lengths.len() as u64, largest);
            let mut bounds = Bounds::new(lengths.len(), edges.kind(), largest, budget)?;
            let name = if way == Way::Out { "out" } else { "in" };
            let path = units.files()?.join(format!("{name}.{rank}"));
            let placed = Placed::create(path.clone(), disk::bytes(packing, sum))?;
            let room = (WINDOW + longest).min(sum) as usize;
            let mut window: Buffer<u64> = budget.zeroed(room + 1, "rows that are sorted by weight for a file")?;
            let mut first = 0;
            while first < all.end {
                // As many rows as fit.
                let begin = starts[first as usize];
                let fit = starts[first as usize + 1..].partition_point(|&end| end - begin <= room as u64);
                let vertices = first..first + fit as u32;
                let some = &mut window[..(starts[vertices.end as usize] - begin) as usize];
                let light = &mut lightest[first as usize..vertices.end as usize];
                weights = weights.and(sort(edges, way, (&starts, u32::BITS), vertices.clone(), some, light)?);
                bounds.add(vertices.clone(), &starts[first as usize..=vertices.end as usize], some);
                placed.write(packing.pack(bytes_of_mut(some)), begin * packing.bytes() as u64)?;
                first = vertices.end;
            }
            let (places, later) = near::bytes(lengths.len() as u64);
            let room = budget.free().saturating_sub(spare.saturating_sub(later) + places) / ways;
            let entries = bounds.rows(&placed, &starts, packing, room, &mut window, budget)?;
            // It has a name only while it is written: nobody goes on with it.
            placed::remove(&path)?;
            Entries::OnDisk(starts, entries)
        }
    };
    if weights.largest > largest {
        return Err(Error::internal("sort rows by weight", "a weight that is larger than the largest"));
    }
    let rows = Rows { entries, lightest, weights };
    rows.expect_random_access();
    Ok(rows)
}

/// Sorts all rows of these lengths into memory, in words whose neighbours have so many bits.
fn in_memory<W: Word>(
    edges: &Edges<'_>,
    way: Way,
    (lengths, bits): (&[u32], u32),
    lightest: &mut [u32],
    weights: &mut Weights,
    budget: &Budget,
) -> Result<Words<W>> {
    let mut words = Words::new(lengths, bits, budget)?;
    let (starts, entries) = words.parts();
    *weights = sort(edges, way, (starts, bits), 0..lengths.len() as u32, entries, lightest)?;
    Ok(words)
}

/// Sorts the rows of these vertices into `entries`, whose neighbours have so many bits, and notes the lightest edge of each; returns figures of the weights.
fn sort<W: Word>(
    edges: &Edges<'_>,
    way: Way,
    (starts, bits): (&[W], u32),
    vertices: Range<u32>,
    entries: &mut [W],
    lightest: &mut [u32],
) -> Result<Weights> {
    let kind = edges.kind();
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
