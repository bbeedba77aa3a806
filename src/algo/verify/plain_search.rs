//! Breadth-first search along the edges of an input, for checks of results.

use crate::algo::verify::edge_list::EdgeList;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use crate::process::signals;

/// Number of vertices, edges or rows that a check processes between two checks for signals.
pub(in crate::algo) const STRIDE: usize = 1 << 16;
/// Distance of an unreached vertex.
const UNREACHED: u32 = u32::MAX;

/// Breadth-first search with a queue of vertices, on one thread.
pub(in crate::algo) struct PlainSearch<'e> {
    /// The edges in ascending order. An edge is a 64-bit word: the tail in the upper half, the head in the lower half.
    edges: &'e [u64],
    /// Index of the first edge of each vertex in the list of edges.
    starts: Buffer<u64>,
    /// Distance of each vertex from the source of the last search.
    pub distances: Buffer<u32>,
    queue: Buffer<u32>,
    reached: usize,
}

impl<'e> PlainSearch<'e> {
    /// Prepares searches along the edges of a list that [`EdgeList::of_rows`] returned. `purpose` describes, for error
    /// messages, what the memory of the searches (8 bytes per vertex) is for.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(list: &'e EdgeList, vertices: usize, budget: &Budget, purpose: &str) -> Result<PlainSearch<'e>> {
        let (edges, starts) = (list.edges(), list.starts(vertices, budget)?);
        let (mut distances, queue): (Buffer<u32>, _) =
            (budget.zeroed(vertices, purpose)?, budget.zeroed(vertices, purpose)?);
        distances.fill(UNREACHED);
        Ok(PlainSearch { edges, starts, distances, queue, reached: 0 })
    }

    /// Searches breadth-first from `source`. Calls `visit(v, w, is_first)` for each edge from a vertex `v` to a vertex
    /// `w` of the next level. `is_first` says whether it is the first such edge to `w`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn run(&mut self, source: u32, mut visit: impl FnMut(usize, usize, bool)) -> Result<()> {
        self.queue[..self.reached].iter().for_each(|&v| self.distances[v as usize] = UNREACHED);
        self.distances[source as usize] = 0;
        self.queue[0] = source;
        self.reached = 1;
        let mut at = 0;
        while at < self.reached {
            if at.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            let v = self.queue[at] as usize;
            let next = self.distances[v] + 1;
            for w in heads(self.edges, &self.starts, v) {
                let is_first = self.distances[w] == UNREACHED;
                if is_first {
                    (self.distances[w], self.queue[self.reached]) = (next, w as u32);
                    self.reached += 1;
                }
                if self.distances[w] == next {
                    visit(v, w, is_first);
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Returns the vertices that the last search reached, in the order of their distances.
    pub fn reached(&self) -> &[u32] {
        &self.queue[..self.reached]
    }

    /// Yields the out-neighbours of vertex `v` that are one level after `v` in the last search.
    pub fn successors(&self, v: usize) -> impl Iterator<Item = usize> {
        heads(self.edges, &self.starts, v).filter(move |&w| self.distances[w] == self.distances[v] + 1)
    }
}

/// Yields the heads of all edges whose tail is `v`.
fn heads<'e>(edges: &'e [u64], starts: &[u64], v: usize) -> impl Iterator<Item = usize> + use<'e> {
    edges[starts[v] as usize..starts[v + 1] as usize].iter().map(|&edge| edge as u32 as usize)
}
