//! Rows sorted by weight, with neighbours and weights side by side: who looks for a shorter way along them can stop where no edge behind makes one.

use crate::algo::sssp::Edges;
use crate::error::{Error, Result};
use crate::graph::direction::Way;
use crate::memory::{Budget, Buffer};
use crate::process::signals;
use rayon::prelude::*;
use std::ops::Range;

/// Entries that a thread sorts at a time, about.
const PART: u64 = 1 << 16;

/// The rows of all vertices of one way.
pub struct Rows {
    /// The place of the first entry of each row, and the end of the last.
    starts: Buffer<u64>,
    /// A weight in the upper 32 bits and a neighbour in the lower, row after row, each in ascending order.
    entries: Buffer<u64>,
    /// The smallest weight of each row, and the largest of all where a row is empty: most rows need not be looked at.
    lightest: Buffer<u32>,
}

/// Returns the neighbour of an entry.
#[inline(always)]
pub fn neighbour(entry: u64) -> u32 {
    entry as u32
}

/// Returns the weight of an entry: a whole number, or the bits of an f32.
#[inline(always)]
pub fn weight(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Returns the bytes of the rows of `vertices` vertices with so many entries in all.
pub fn bytes(vertices: u64, entries: u64) -> u64 {
    12 * (vertices + 1) + 8 * entries
}

impl Rows {
    /// Sorts the rows of all vertices, whose lengths are `lengths`.
    ///
    /// # Errors
    /// [`Error::Limit`] where [`bytes`] do not fit; a stop.
    pub fn of(edges: &Edges<'_>, way: Way, lengths: impl Iterator<Item = u32>, budget: &Budget) -> Result<Rows> {
        let lengths: Vec<u32> = lengths.collect();
        let mut starts: Buffer<u64> = budget.zeroed(lengths.len() + 1, "places of rows (8 bytes a vertex)")?;
        let mut sum = 0;
        for (start, &length) in starts.iter_mut().zip(&lengths) {
            *start = sum;
            sum += u64::from(length);
        }
        starts[lengths.len()] = sum;
        let mut entries: Buffer<u64> = budget.zeroed(sum as usize, "rows sorted by weight (8 bytes an entry)")?;
        let mut parts: Vec<(Range<u32>, &mut [u64])> = Vec::new();
        let (mut rest, mut first) = (&mut *entries, 0);
        for v in 0..lengths.len() {
            let (begin, end) = (starts[first], starts[v + 1]);
            if end - begin >= PART || v + 1 == lengths.len() {
                let (part, behind) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
                parts.push((first as u32..v as u32 + 1, part));
                (rest, first) = (behind, v + 1);
            }
        }
        let mut lightest: Buffer<u32> = budget.zeroed(lengths.len(), "the lightest edge of each vertex (4 bytes)")?;
        parts.into_par_iter().try_for_each(|(vertices, part)| {
            signals::check()?;
            let mut rest = part;
            for v in vertices {
                let (row, behind) = std::mem::take(&mut rest).split_at_mut(lengths[v as usize] as usize);
                let mut places = row.iter_mut();
                let mut missing = false;
                edges.each(v, way, |u, weight| match places.next() {
                    Some(place) => *place = u64::from(weight) << 32 | u64::from(u),
                    None => missing = true,
                });
                if missing || places.next().is_some() {
                    return Err(Error::internal("sort rows by weight", "rows of other lengths than degrees say"));
                }
                row.sort_unstable();
                rest = behind;
            }
            Ok(())
        })?;
        lightest.par_iter_mut().with_min_len(1 << 14).enumerate().for_each(|(v, lightest)| {
            let first = entries.get(starts[v] as usize).filter(|_| lengths[v] > 0);
            *lightest = first.map_or(u32::MAX, |&entry| weight(entry));
        });
        Ok(Rows { starts, entries, lightest })
    }

    /// Returns the row of a vertex.
    #[inline(always)]
    pub fn row(&self, v: u32) -> &[u64] {
        &self.entries[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }

    /// Returns the smallest weight in the row of a vertex.
    #[inline(always)]
    pub fn lightest(&self, v: u32) -> u32 {
        self.lightest[v as usize]
    }

    /// Returns the number of entries of a vertex.
    #[inline(always)]
    pub fn degree(&self, v: u32) -> u64 {
        self.starts[v as usize + 1] - self.starts[v as usize]
    }

    /// Returns the number of all entries.
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns the largest weight, and the mean of all as numbers.
    pub fn weights(&self, as_number: impl Fn(u32) -> f64 + Sync) -> (u32, f64) {
        let parts = self.entries.par_chunks(1 << 16);
        let (largest, sum) = parts
            .map(|part| {
                let largest = part.iter().map(|&entry| weight(entry)).max().unwrap_or(0);
                (largest, part.iter().map(|&entry| as_number(weight(entry))).sum::<f64>())
            })
            .reduce(|| (0, 0.0), |(a, b), (c, d)| (a.max(c), b + d));
        (largest, sum / (self.entries.len().max(1)) as f64)
    }

    /// Asks for the place and the sums of a row ahead of its use.
    #[inline(always)]
    pub fn expect(&self, v: u32) {
        crate::memory::prefetch(&self.starts, v as usize);
    }

    /// Asks for the first entries of a row whose place is known.
    #[inline(always)]
    pub fn expect_row(&self, v: u32) {
        crate::memory::prefetch(&self.entries, self.starts[v as usize] as usize);
    }
}
