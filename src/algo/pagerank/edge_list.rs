//! The distinct edges of an input, in the order of the rows of columns, for a check.

use crate::algo::verify::reread::Ids;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use rayon::slice::ParallelSliceMut;
use std::sync::{Mutex, PoisonError};

/// Number of edges that a thread collects before it waits for the list.
const BATCH: usize = 1 << 10;
/// Bytes of an edge in the list.
const EDGE: u64 = 8;
/// Fewest edges for which there is room.
const LEAST: u64 = 1 << 10;

/// Edges as words: the row of the head, and in the lower 32 bits that of the tail. The edges of an undirected graph lead
/// from the smaller row to the larger one.
pub(super) struct EdgeList {
    words: Buffer<u64>,
    len: usize,
}

impl EdgeList {
    /// Returns the bytes of a list that has room for `edges` distinct edges, which `threads` threads collect.
    pub(super) fn bytes(edges: u64, threads: usize) -> u64 {
        EDGE * (edges + LEAST + (BATCH * threads.max(1)) as u64)
    }

    /// Returns the bytes that `threads` threads take before they wait for the list.
    pub(super) fn batch_bytes(threads: usize) -> u64 {
        EDGE * (BATCH * threads.max(1)) as u64
    }

    /// Makes an empty list of at most `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub(super) fn new(bytes: u64, budget: &Budget) -> Result<EdgeList> {
        let edges = (bytes / EDGE).max(LEAST) as usize;
        Ok(EdgeList { words: budget.zeroed(edges, "edges to verify by (8 bytes each)")?, len: 0 })
    }

    /// Returns into how many parts `edges` distinct edges must be divided, so that a part takes about half of the list.
    pub(super) fn parts(&self, edges: u64) -> u64 {
        (2 * edges).div_ceil(self.words.len() as u64).max(1)
    }

    /// Returns the edges, ascending.
    pub(super) fn edges(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Moves the edges of a batch to the list. Drops repeats if the list is full.
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

/// Reads the distinct edges of one part of `parts` parts of all edges, which are divided by a hash.
///
/// # Errors
/// [`Error::Validation`] if the input is not that of the job; errors of reading; [`Error::Stopped`].
pub(super) fn read_distinct(
    edges: &EdgeSource<'_>,
    ids: &Ids,
    results: &Results<'_>,
    (part, parts): (u64, u64),
    list: &mut EdgeList,
) -> Result<()> {
    list.len = 0;
    let is_undirected = results.info.direction == Direction::Undirected;
    let shared = Mutex::new(&mut *list);
    let left = results.each_edge(edges, ids, Vec::with_capacity(BATCH), |batch, [tail, head]| {
        let (tail, head) = if is_undirected { (tail.min(head), tail.max(head)) } else { (tail, head) };
        let edge = head << 32 | tail;
        if parts == 1 || (edge.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % parts == part {
            batch.push(edge);
        }
        if batch.len() < BATCH {
            return Ok(());
        }
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(batch)
    })?;
    for mut batch in left {
        list.add(&mut batch)?;
    }
    list.drop_repeats();
    Ok(())
}
