//! A list of the distinct edges of an input, for a check of results. The endpoints of an edge are identified by their
//! rows in result columns.

use super::reread::Ids;
use super::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::{self, In, Out};
use crate::memory::{Budget, Buffer};
use crate::results::read::READING;
use parking_lot::Mutex;
use rayon::slice::ParallelSliceMut;

/// Number of edges that a thread collects before it locks the list of edges.
const BATCH: usize = 1 << 10;
/// Size of an edge in the list of edges, in bytes.
const EDGE: u64 = 8;
/// Minimum capacity of a list of edges, in edges.
const LEAST: u64 = 1 << 10;
/// Inverse of the smallest fraction of all edges for which a list of edges must have capacity. If a list is too small
/// for all edges, the input is read several times, and each pass collects one partition of the edges. With the smallest
/// list, there are 2 · `LEAST_SHARE` partitions.
const LEAST_SHARE: u64 = 64;

/// Edges as 64-bit words, in ascending order and without repeats. Each check defines what the upper and the lower 32
/// bits contain.
pub(in crate::algo) struct EdgeList {
    words: Buffer<u64>,
    len: usize,
}

impl EdgeList {
    /// Returns the size, in bytes, of a list of edges with capacity for `edges` distinct edges, which `threads` threads
    /// collect.
    pub(in crate::algo) fn bytes(edges: u64, threads: usize) -> u64 {
        EDGE * (edges + LEAST + (BATCH * threads.max(1)) as u64)
    }

    /// Returns the minimum size, in bytes, of a list of edges, if it contains one partition of `edges` distinct edges
    /// at a time.
    pub(in crate::algo) fn least_bytes(edges: u64, threads: usize) -> u64 {
        EdgeList::bytes(edges / LEAST_SHARE, threads)
    }

    /// Returns the size, in bytes, of a list for all edges of a graph, with `words` 64-bit words per edge. The list has
    /// 25 % more capacity, for repeated edges.
    pub(in crate::algo) fn bytes_of_graph(results: &Results<'_>, words: u64) -> u64 {
        EdgeList::bytes(words * (results.stored.edges + results.stored.edges / 4), results.threads)
    }

    /// Returns the size, in bytes, of a list with a 64-bit word for each endpoint of every edge of a graph. In a
    /// directed graph, each edge has only one word.
    pub(in crate::algo) fn bytes_of_rows(results: &Results<'_>) -> u64 {
        EdgeList::bytes_of_graph(results, if results.info.direction == Direction::Undirected { 2 } else { 1 })
    }

    /// Returns the total size, in bytes, of the edges that `threads` threads collect before they lock the list of
    /// edges.
    pub(in crate::algo) fn batch_bytes(threads: usize) -> u64 {
        EDGE * (BATCH * threads.max(1)) as u64
    }

    /// Creates an empty list of edges of at most `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub(in crate::algo) fn new(bytes: u64, budget: &Budget) -> Result<EdgeList> {
        let edges = (bytes / EDGE).max(LEAST) as usize;
        Ok(EdgeList { words: budget.zeroed(edges, "edges to verify by (8 bytes each)")?, len: 0 })
    }

    /// Returns the number of partitions into which `edges` distinct edges must be divided, so that one partition fills
    /// about half of the list.
    pub(in crate::algo) fn parts(&self, edges: u64) -> u64 {
        (2 * edges).div_ceil(self.words.len() as u64).max(1)
    }

    /// Returns an error if free memory is too small for a check. The check takes memory for `lists` lists of all edges,
    /// for reading the edges and `columns` result columns, and for `others` more bytes. The error says how much memory
    /// it takes.
    pub(in crate::algo) fn check_room(
        edges: &EdgeSource<'_>,
        results: &Results<'_>,
        (lists, columns, others): (u64, u64, u64),
    ) -> std::result::Result<(), String> {
        let reading = columns * READING + EdgeList::batch_bytes(results.threads) + edges.scratch_bytes(results.threads);
        results.check_room(lists * EdgeList::bytes_of_rows(results) + reading + others)
    }

    /// Collects the neighbours of all vertices in direction `way`. A 64-bit word has the row of the vertex in its upper
    /// half, and the row of a neighbour in its lower half.
    ///
    /// # Errors
    /// [`Error::Limit`]; errors of [`Self::collect`].
    pub(in crate::algo) fn of_rows(
        way: EdgeDirection,
        edges: &EdgeSource<'_>,
        ids: &Ids,
        results: &Results<'_>,
    ) -> Result<EdgeList> {
        let mut list = EdgeList::new(EdgeList::bytes_of_rows(results), results.budget)?;
        let is_undirected = results.info.direction == Direction::Undirected;
        list.collect(edges, ids, results, |[tail, head], words| {
            if is_undirected || way == Out {
                words.push(tail << 32 | head);
            }
            if is_undirected || way == In {
                words.push(head << 32 | tail);
            }
        })?;
        Ok(list)
    }

    /// Returns the index of the first neighbour of each of `rows` vertices in a list that [`Self::of_rows`] returned,
    /// followed by the length of the list.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`].
    pub(in crate::algo) fn starts(&self, rows: usize, budget: &Budget) -> Result<Buffer<u64>> {
        let mut starts: Buffer<u64> = budget.zeroed(rows + 1, "places of rows to verify by (8 bytes each)")?;
        self.edges().iter().for_each(|edge| starts[(edge >> 32) as usize + 1] += 1);
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        Ok(starts)
    }

    /// Returns the edges of the list as 64-bit words in ascending order.
    pub(in crate::algo) fn edges(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Moves the edges in `batch` to the list. Drops repeated edges if the list is full.
    fn add(&mut self, batch: &mut Vec<u64>) -> Result<()> {
        if self.len + batch.len() > self.words.len() {
            self.drop_repeats();
        }
        let place = self.words.get_mut(self.len..self.len + batch.len());
        let place = place.ok_or_else(|| Error::Validation("the input has more distinct edges than the job".into()))?;
        place.copy_from_slice(batch);
        self.len += batch.len();
        batch.clear();
        Ok(())
    }

    /// Replaces the contents of the list. Calls `words` for each edge of the input with the rows of its endpoints in
    /// result columns; in a directed graph, the tail comes first. `words` must append at most two words to a batch.
    ///
    /// # Errors
    /// [`Error::Validation`] if the input is not the job's input; errors of reading; [`Error::Stopped`].
    pub(in crate::algo) fn collect(
        &mut self,
        edges: &EdgeSource<'_>,
        ids: &Ids,
        results: &Results<'_>,
        words: impl Fn([u64; 2], &mut Vec<u64>) + Sync,
    ) -> Result<()> {
        self.len = 0;
        let shared = Mutex::new(&mut *self);
        let left = results.each_edge(edges, ids, Vec::with_capacity(BATCH), |batch, ends| {
            words(ends, batch);
            if batch.len() < BATCH - 1 {
                return Ok(());
            }
            shared.lock().add(batch)
        })?;
        for mut batch in left {
            self.add(&mut batch)?;
        }
        self.drop_repeats();
        Ok(())
    }

    /// Replaces the contents of the list by partition `part` of `parts` of the input's edges. A hash assigns each edge
    /// to a partition. A 64-bit word has the head's row in result columns in its upper half, and the tail's row in its
    /// lower half. In an undirected graph, the endpoint in the smaller row counts as the tail.
    ///
    /// # Errors
    /// Errors of [`Self::collect`].
    pub(in crate::algo) fn collect_part(
        &mut self,
        (edges, ids, results): (&EdgeSource<'_>, &Ids, &Results<'_>),
        (part, parts): (u64, u64),
        direction: Direction,
    ) -> Result<()> {
        self.collect(edges, ids, results, |[tail, head], batch| {
            let (tail, head) = match direction {
                Direction::Undirected => (tail.min(head), tail.max(head)),
                Direction::Directed => (tail, head),
            };
            let edge = head << 32 | tail;
            if parts == 1 || (edge.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % parts == part {
                batch.push(edge);
            }
        })
    }

    fn drop_repeats(&mut self) {
        let edges = &mut self.words[..self.len];
        edges.par_sort_unstable();
        let mut kept = 0;
        for at in 0..edges.len() {
            if at == 0 || edges[at] != edges[at - 1] {
                edges[kept] = edges[at];
                kept += 1;
            }
        }
        self.len = kept;
    }
}
