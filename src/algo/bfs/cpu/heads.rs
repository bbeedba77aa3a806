//! The heads of every vertex: its first neighbours, which are stored in separate arrays. Most vertices find their
//! parent among them, so their adjacency rows are never read.

use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer, prefetch_near};
use rayon::prelude::*;

/// Number of neighbours of a vertex that are stored in addition to the first.
pub const MORE: usize = 4;
/// Number of vertices that a thread processes at a time; a multiple of 64.
const PART: usize = 1 << 14;

/// The first neighbours of each vertex that this rank owns, in ascending order: the first one, and [`MORE`] further
/// ones if memory allows. In a directed graph they are the tails of the vertex's in-edges. If a vertex has fewer
/// neighbours, the remaining elements contain the vertex itself. This is harmless, because a vertex that looks for a
/// parent is unreached and so never becomes its own parent.
pub struct Heads {
    /// The first neighbour of each vertex that this rank owns. The length is rounded up to a multiple of 64.
    pub first: Buffer<u32>,
    /// The next [`MORE`] neighbours of each vertex that this rank owns; empty if they do not fit in memory.
    pub more: Buffer<u32>,
}

/// Returns the sizes, in bytes, of two arrays for `own` vertices: of the first neighbours, and of the neighbours that
/// are stored after the first.
pub fn bytes(own: u64) -> [u64; 2] {
    [4 * own.next_multiple_of(64), 4 * MORE as u64 * own]
}

impl Heads {
    /// Collects the first neighbours of the vertices that this rank owns. Omits all but the first if less than `spare`
    /// bytes of `budget` would remain free.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if not even the first neighbours fit.
    pub fn of(
        rows: &Adjacency<'_>,
        direction: Direction,
        own: VertexOwnership,
        spare: u64,
        budget: &Budget,
    ) -> Result<Heads> {
        let mut first: Buffer<u32> =
            budget.zeroed(own.len().next_multiple_of(64), "the first neighbour of each vertex (4 bytes)")?;
        let fits = bytes(own.len() as u64)[1].saturating_add(spare) <= budget.free();
        let mut more: Buffer<u32> = budget.zeroed(if fits { MORE * own.len() } else { 0 }, "first neighbours")?;
        let row_of = |v: u32| rows.halves(direction.row(v, EdgeDirection::In));
        let fill = |part: usize, first: &mut [u32], more: &mut [u32]| {
            let begin = part * PART;
            for (local_index, first) in first.iter_mut().enumerate() {
                let v = own.vertex((begin + local_index) as u32);
                // Elements after the last vertex, up to a multiple of 64, contain their own index.
                let [lower, upper] = if (v as usize) < own.vertices { row_of(v) } else { [[].as_slice(); 2] };
                let mut row = lower.iter().chain(upper).copied();
                *first = row.next().unwrap_or(v);
                if let Some(more) = more.get_mut(MORE * local_index..).filter(|more| more.len() >= MORE) {
                    more[..MORE].iter_mut().for_each(|next| *next = row.next().unwrap_or(v));
                }
            }
        };
        match fits {
            true => {
                let parts = first.par_chunks_mut(PART).zip(more.par_chunks_mut(MORE * PART)).enumerate();
                parts.for_each(|(part, (first, more))| fill(part, first, more));
            }
            false => first.par_chunks_mut(PART).enumerate().for_each(|(part, first)| fill(part, first, &mut [])),
        }
        Ok(Heads { first, more })
    }

    /// Returns all neighbours of vertex `v`, which has `degree` neighbours, as two slices; `None` unless all of them
    /// are stored. Call it only in a single process, which owns all vertices.
    #[inline]
    pub fn row(&self, v: u32, degree: u64) -> Option<[&[u32]; 2]> {
        let (more, all) = self.more(v as usize);
        let row = (1..=all as u64).contains(&degree);
        row.then(|| [std::slice::from_ref(&self.first[v as usize]), &more[..degree as usize - 1]])
    }

    /// Prefetches the neighbours of `v` that [`Self::row`] returns.
    #[inline]
    pub fn prefetch(&self, v: u32) {
        prefetch_near(&self.first, v as usize);
        prefetch_near(&self.more, MORE * v as usize);
    }

    /// Returns the neighbours that are stored after the first, for the vertex with index `local_index` on this rank.
    /// Also returns the number of stored neighbours per vertex, including the first.
    #[inline]
    pub fn more(&self, local_index: usize) -> (&[u32], usize) {
        match self.more.get(MORE * local_index..MORE * local_index + MORE) {
            Some(more) => (more, 1 + MORE),
            None => (&[], 1),
        }
    }
}
