//! The adjacency rows of the vertices in a frontier: prefix sums of degrees, and access to ranges of entries.

use crate::algo::team::{gathered, share, team};
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Buffer, word_cells};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The vertices of the frontier that this rank owns, with access to their adjacency rows.
pub(super) struct Expansion<'a> {
    pub rows: Adjacency<'a>,
    pub direction: Direction,
    /// The vertices of the frontier that this rank owns, in ascending order.
    pub vertices: Buffer<u32>,
    /// Number of edges before each vertex of the frontier, followed by the number of all edges.
    pub offsets: Buffer<u64>,
    /// Number of vertices in the frontier.
    pub count: usize,
}

impl Expansion<'_> {
    pub fn offsets(&self) -> &[u64] {
        &self.offsets[..=self.count]
    }

    /// Calls `visit(neighbour, vertex)` for each edge in the range `entries` of the frontier's edges. `vertex` is the
    /// vertex of the frontier from which the edge leads. A binary search finds the first edge.
    #[inline(always)]
    pub fn each(&self, entries: Range<u64>, mut visit: impl FnMut(u32, u32)) {
        if entries.is_empty() {
            return;
        }
        let mut at = self.offsets().partition_point(|&before| before <= entries.start) - 1;
        let mut next = entries.start;
        while next < entries.end {
            let (v, skip) = (self.vertices[at], next - self.offsets[at]);
            let end = self.offsets[at + 1].min(entries.end);
            let places = skip as usize..(skip + end - next) as usize;
            for part in self.rows.part(self.direction.row(v, EdgeDirection::Out), places) {
                part.iter().for_each(|&neighbour| visit(neighbour, v));
            }
            next = end;
            at += 1;
        }
    }

    /// Returns the part of `range` for the thread with the index `thread`, if the range is divided evenly among
    /// `threads` threads.
    pub fn share(range: &Range<u64>, thread: usize, threads: usize) -> Range<u64> {
        let (length, threads) = (range.end - range.start, threads as u64);
        let at = |thread: u64| range.start + (u128::from(length) * u128::from(thread) / u128::from(threads)) as u64;
        at(thread as u64)..at(thread as u64 + 1)
    }
}

/// Writes the prefix sums of the degrees of `vertices` to `offsets`, followed by their total. Returns the total.
pub(super) fn prefix_sum(
    vertices: &[u32],
    degree: impl Fn(u32) -> u64 + Sync,
    offsets: &mut [u64],
    threads: usize,
) -> Result<u64> {
    let offsets = word_cells(offsets);
    let share = |thread: usize| share(vertices.len(), thread, threads);
    let sums = gathered(threads, &|thread| {
        let mut sum = 0;
        for at in share(thread) {
            offsets[at].store(sum, Relaxed);
            sum += degree(vertices[at]);
        }
        Ok(sum)
    })?;
    let all: u64 = sums.iter().sum();
    if threads > 1 {
        team(threads, &|thread| {
            let before: u64 = sums[..thread].iter().sum();
            share(thread).for_each(|at| offsets[at].store(offsets[at].load(Relaxed) + before, Relaxed));
            Ok(())
        })?;
    }
    offsets[vertices.len()].store(all, Relaxed);
    Ok(all)
}
