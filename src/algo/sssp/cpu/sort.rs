//! Sorting the rows of a graph by weight, into memory or, where that is too small, into a file.

use super::disk;
use super::near::{self, Bounds};
use super::packing::Packing;
use super::rows::{Entries, Rows, Weights, number, weight};
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
const PART: u64 = 1 << 16;
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

/// Returns the bytes of the rows of `vertices` vertices with so many entries in all, and the fewest that do with a file, if no row has more entries than
/// `longest`.
pub fn bytes(vertices: u64, entries: u64, longest: u64) -> [u64; 2] {
    let (places, (starts, bounds)) = (12 * (vertices + 1), near::bytes(vertices));
    [places + 8 * entries, places + bounds + starts + 8 * (WINDOW + longest).min(entries) + PADDING]
}

/// Sorts the rows of all vertices of one way. They go to a file where one is given.
///
/// # Errors
/// [`Error::Limit`] where [`bytes`] do not fit; those of the disk; a stop.
pub fn sorted(
    edges: &Edges<'_>,
    way: Way,
    lengths: impl Iterator<Item = u32>,
    file: Option<RowFile<'_>>,
    budget: &Budget,
) -> Result<Rows> {
    let lengths: Vec<u32> = lengths.collect();
    let mut starts: Buffer<u64> = budget.zeroed(lengths.len() + 1, "places of rows (8 bytes a vertex)")?;
    let (mut sum, mut longest) = (0, 0);
    for (start, &length) in starts.iter_mut().zip(&lengths) {
        *start = sum;
        sum += u64::from(length);
        longest = longest.max(u64::from(length));
    }
    starts[lengths.len()] = sum;
    let mut lightest: Buffer<u32> = budget.zeroed(lengths.len(), "the lightest edge of each vertex (4 bytes)")?;
    let all = 0..lengths.len() as u32;
    let mut weights = Weights::default();
    let entries = match file {
        None => {
            let mut entries: Buffer<u64> = budget.zeroed(sum as usize, "rows sorted by weight (8 bytes an entry)")?;
            weights = sort(edges, way, &starts, all, &mut entries, &mut lightest)?;
            Entries::Here(entries)
        }
        Some(RowFile { units, rank, spare, ways }) => {
            let largest = edges.largest();
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
                weights = weights.and(sort(edges, way, &starts, vertices.clone(), some, light)?);
                if weights.largest > largest {
                    return Err(Error::internal("sort rows by weight", "a weight that is larger than the largest"));
                }
                bounds.add(vertices.clone(), &starts[first as usize..=vertices.end as usize], some);
                placed.write(packing.pack(bytes_of_mut(some)), begin * packing.bytes() as u64)?;
                first = vertices.end;
            }
            let (places, later) = near::bytes(lengths.len() as u64);
            let room = budget.free().saturating_sub(spare.saturating_sub(later) + places) / ways;
            let entries = bounds.rows(&placed, &starts, packing, room, &mut window, budget)?;
            // It has a name only while it is written: nobody goes on with it.
            placed::remove(&path)?;
            Entries::OnDisk(entries)
        }
    };
    let rows = Rows { starts, entries, lightest, weights };
    rows.expect_random_access();
    Ok(rows)
}

/// Sorts the rows of these vertices into `entries`, and notes the lightest edge of each; returns figures of the weights.
fn sort(
    edges: &Edges<'_>,
    way: Way,
    starts: &[u64],
    vertices: Range<u32>,
    entries: &mut [u64],
    lightest: &mut [u32],
) -> Result<Weights> {
    let kind = edges.kind();
    let mut parts = Vec::new();
    let (mut rest, mut light, mut first) = (entries, lightest, vertices.start);
    for v in vertices.clone() {
        let (begin, end) = (starts[first as usize], starts[v as usize + 1]);
        if end - begin >= PART || v + 1 == vertices.end {
            let (part, behind) = rest.split_at_mut((end - begin) as usize);
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
            let length = starts[v as usize + 1] - starts[v as usize];
            // Rows of vertices that other ranks own are empty here.
            if length == 0 {
                *lightest = u32::MAX;
                continue;
            }
            let (row, behind) = rest.split_at_mut(length as usize);
            let mut places = row.iter_mut();
            let mut missing = false;
            edges.each(v, way, |u, weight| match places.next() {
                Some(place) => {
                    *place = u64::from(weight) << 32 | u64::from(u);
                    weights.sum += number(kind, weight);
                }
                None => missing = true,
            });
            if missing || places.next().is_some() {
                return Err(Error::internal("sort rows by weight", "rows of other lengths than degrees say"));
            }
            row.sort_unstable();
            *lightest = weight(row[0]);
            weights.largest = weights.largest.max(weight(row[row.len() - 1]));
            rest = behind;
        }
        Ok(weights)
    });
    of_parts.try_reduce(Weights::default, |some, others| Ok(some.and(others)))
}
