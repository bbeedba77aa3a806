//! The depth-first search, by one thread, of a graph in memory or in files.
//!
//! A bitmap marks the reached vertices. For 16 million vertices it fits the second-level cache. The search processes a
//! row in chunks of 64 neighbours. Vector instructions look up all neighbours of a chunk in the bitmap at once, and
//! compute a mask of the *new* neighbours, which are not reached yet. The stack stores this mask while the search is in
//! a subtree, so that only new neighbours are looked up twice. Most subtrees are small, so the search prefetches the
//! records and rows of the next few new neighbours. The row of a vertex with one edge is not read, because the search
//! came by that edge. A vertex without new neighbours is finished at once, without a stack entry. Rows begin with
//! vertices of high degree, which are reached early. A chunk whose vertices all precede the first unreached vertex is
//! skipped.

use super::record::{DfsTree, NONE};
use super::rows::{Neighbours, SearchRows};
use crate::algo::bits::{Lookup, is_set, ones, set_alone};
use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};
use std::sync::atomic::AtomicU64;

/// Prefetch distance: how many unreached neighbours ahead of the current one data is prefetched.
const PREFETCHED: usize = 3;
/// Maximum number of unreached neighbours whose rows are requested from disk together.
const ASKED: usize = 16;
/// Prefetch distance for backtracking: how many stack entries below the top data is prefetched.
const BELOW: usize = 6;
/// Number of 64-bit words of a stack entry. The first word contains a vertex in its lower half, and the index of a
/// chunk of the vertex's row in its upper half. The second word is the mask of the unreached neighbours in this chunk.
const WORDS: usize = 2;
/// Chunk index of a vertex whose row has not been searched yet, in its stack entry. Adding 1 wraps it to 0, the index
/// of the first chunk.
const BEFORE_FIRST: usize = u32::MAX as usize;

/// State of a depth-first search between two calls of [`DfsWalk::advance`].
pub(super) struct DfsWalk {
    pub tree: DfsTree,
    /// Bitmap of the reached vertices.
    seen: Buffer<AtomicU64>,
    lookup: Lookup,
    /// Stack entries of the vertices on the tree path from the root to the current vertex, which is the last entry.
    stack: Buffer<u64>,
    /// Number of vertices on the stack.
    height: usize,
    /// The first vertex with only one edge. All later vertices also have one edge, because vertices are in order of
    /// degree.
    leaves: u32,
    /// The first vertex that is not reached yet, in the order of vertices.
    whole: u32,
}

impl DfsWalk {
    /// Returns the memory in bytes that a search of a graph with `vertices` vertices takes.
    pub fn bytes(vertices: u64) -> u64 {
        DfsTree::bytes(vertices) + 8 * WORDS as u64 * vertices + vertices / 8 + 8
    }

    /// Creates a search that has not started, for a graph of `vertices` vertices. Vertices from `leaves` on have one
    /// edge.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, leaves: u32, budget: &Budget) -> Result<DfsWalk> {
        Ok(DfsWalk {
            tree: DfsTree::new(vertices, budget)?,
            seen: budget.zeroed(vertices / 64 + 1, "bits of vertices")?,
            lookup: Lookup::detect(),
            stack: budget.zeroed(WORDS * vertices, "the vertices on the way (16 bytes each)")?,
            height: 0,
            leaves,
            whole: 0,
        })
    }

    /// Returns the depth-first tree, and frees the other memory of the search.
    pub fn into_tree(self) -> DfsTree {
        self.tree
    }

    /// Returns true if vertex `v` was reached.
    #[inline]
    pub fn is_seen(&self, v: u32) -> bool {
        is_set(&self.seen, v)
    }

    /// Returns the stack entries of the vertices on the path from the root to the current vertex.
    pub fn stack(&self) -> &[u64] {
        &self.stack[..WORDS * self.height]
    }

    /// Resumes a search. `self.tree` contains the records of vertices, and `stack` is the saved stack, whose chunk
    /// indices and masks are ignored. Returns false if `stack` is invalid.
    pub fn resume(&mut self, stack: &[u64]) -> bool {
        let vertices = self.tree.vertices();
        let (places, rest) = stack.as_chunks::<WORDS>();
        if stack.len() > self.stack.len() || !rest.is_empty() || places.iter().any(|place| place[0] as u32 >= vertices)
        {
            return false;
        }
        self.stack[..stack.len()].copy_from_slice(stack);
        self.height = places.len();
        self.forget_chunks();
        for v in 0..vertices {
            if self.tree.parent(v) != NONE {
                self.mark_reached(v);
            }
        }
        true
    }

    /// Copies rows to memory, or copies them again, if [`SearchRows::copies_are_due`] returns true.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn copy_rows(&mut self, rows: &mut SearchRows<'_>) -> Result<()> {
        if rows.copies_are_due(self.tree.reached) {
            rows.copy_last((&self.seen, self.lookup), |v| self.tree.post(v) != NONE)?;
            self.forget_chunks();
        }
        Ok(())
    }

    /// Resets the chunk indices and masks on the stack, so that the row of every vertex on the stack is searched again
    /// from its first chunk.
    fn forget_chunks(&mut self) {
        for place in self.stack[..WORDS * self.height].as_chunks_mut::<WORDS>().0 {
            *place = entry(place[0] as u32, BEFORE_FIRST, 0);
        }
    }

    /// Starts a tree at `root`, which was not reached before.
    pub fn begin(&mut self, rows: &SearchRows<'_>, root: u32) {
        self.mark_reached(root);
        self.tree.reach(root, root, 0);
        let first = self.next_new(rows, rows.of(root), 0);
        let Some((chunk, new)) = first else { return self.tree.leave(root) };
        self.height = 1;
        self.put(root, chunk, new);
    }

    /// Continues the search until about `steps` more vertices were reached or finished, or until the tree is complete.
    /// Returns true if the tree is complete.
    pub fn advance(&mut self, rows: &SearchRows<'_>, steps: u32) -> bool {
        // Finishing a vertex counts as a step, too, because backtracking looks for unreached neighbours in the rest of
        // a row.
        let until = self.steps() + u64::from(steps);
        if self.height == 0 {
            return true;
        }
        let (mut u, mut number, mut new) = self.top();
        let mut row = rows.of(u);
        loop {
            let chunk = if new != 0 { row.chunk(number) } else { &[] };
            while new != 0 {
                let v = chunk[new.trailing_zeros() as usize];
                new &= new - 1;
                if self.is_seen(v) {
                    continue;
                }
                self.mark_reached(v);
                self.tree.reach(v, u, self.height as u32);
                self.prefetch_next(rows, chunk, new);
                let of_v = if v < self.leaves { rows.of(v) } else { Neighbours::default() };
                let Some((first, of_first)) = self.next_new(rows, of_v, 0) else {
                    self.tree.leave(v);
                    continue;
                };
                self.put(u, number, new);
                self.height += 1;
                (u, number, new, row) = (v, first, of_first, of_v);
                break;
            }
            if self.steps() >= until {
                self.put(u, number, new);
                return false;
            }
            if new != 0 {
                continue;
            }
            if let Some((next, of_next)) = self.next_new(rows, row, (number as u32).wrapping_add(1) as usize) {
                (number, new) = (next, of_next);
                continue;
            }
            self.tree.leave(u);
            self.height -= 1;
            if self.height == 0 {
                return true;
            }
            self.prefetch_below(rows);
            (u, number, new) = self.top();
            row = rows.of(u);
        }
    }

    /// Returns the number of vertices that the search has reached, plus the number that it has finished.
    #[inline]
    fn steps(&self) -> u64 {
        u64::from(self.tree.reached) + u64::from(self.tree.left)
    }

    /// Prefetches data for backtracking: the record and row offset of a vertex some entries below the top of the stack,
    /// and the next chunk of neighbours of a vertex nearer to the top.
    #[inline]
    fn prefetch_below(&self, rows: &SearchRows<'_>) {
        let place = |below: usize| self.stack[..WORDS * self.height].as_chunks::<WORDS>().0.iter().nth_back(below);
        if let Some(&[place, _]) = place(BELOW) {
            self.tree.fetch(place as u32);
            rows.prefetch_offset(place as u32);
        }
        if let Some(&[place, _]) = place(BELOW / 2) {
            let (row, next) = (rows.of(place as u32), (place >> 32) as usize + 1);
            if next < row.chunks() {
                let chunk = row.chunk(next);
                prefetch(chunk, 0);
                prefetch(chunk, chunk.len().saturating_sub(1));
            }
        }
    }

    /// Returns the top entry of the stack: the vertex, the index of a chunk of its row, and the mask of the unreached
    /// neighbours in the chunk.
    #[inline]
    fn top(&self) -> (u32, usize, u64) {
        let place = &self.stack[WORDS * (self.height - 1)..][..WORDS];
        (place[0] as u32, (place[0] >> 32) as usize, place[1])
    }

    /// Replaces the top entry of the stack.
    #[inline]
    fn put(&mut self, v: u32, chunk: usize, new: u64) {
        self.stack[WORDS * (self.height - 1)..][..WORDS].copy_from_slice(&entry(v, chunk, new));
    }

    /// Finds the first chunk of `row`, from chunk `from` on, that contains unreached neighbours. Returns the index of
    /// the chunk and the mask of these neighbours.
    #[inline]
    fn next_new(&self, rows: &SearchRows<'_>, row: Neighbours<'_>, from: usize) -> Option<(usize, u64)> {
        let found = (from..row.chunks()).find_map(|number| {
            let chunk = row.chunk(number);
            // If even the last neighbour precedes the first unreached vertex, all neighbours in the chunk are reached.
            if chunk.last().is_some_and(|&last| last < self.whole) {
                return None;
            }
            let new = self.lookup.lacking(&self.seen, chunk);
            (new != 0).then_some((number, new))
        });
        if let Some((number, new)) = found {
            rows.read_ahead(each_new(row.chunk(number), new).take(ASKED).filter(|&v| v < self.leaves));
        }
        found
    }

    /// Prefetches data for the next unreached neighbours in a chunk: the row of the first neighbour, and the record and
    /// row offset of a later one.
    #[inline]
    fn prefetch_next(&self, rows: &SearchRows<'_>, chunk: &[u32], mut new: u64) {
        for ahead in 0..PREFETCHED {
            if new == 0 {
                return;
            }
            let v = chunk[new.trailing_zeros() as usize];
            new &= new - 1;
            if ahead == 0 && v < self.leaves {
                rows.fetch(v);
            }
            if ahead + 1 == PREFETCHED {
                self.tree.fetch(v);
                if v < self.leaves {
                    rows.prefetch_offset(v);
                }
            }
        }
    }

    /// Marks vertex `v` as reached. No other thread writes the bitmap.
    #[inline]
    fn mark_reached(&mut self, v: u32) {
        set_alone(&self.seen, v);
        if v == self.whole {
            // Bits after the last vertex stay unset, so the loop ends.
            while is_set(&self.seen, self.whole) {
                self.whole += 1;
            }
        }
    }
}

/// Encodes a stack entry: vertex `v`, the index of a chunk of its row, and the mask `new` of unreached neighbours in
/// the chunk.
#[inline]
fn entry(v: u32, chunk: usize, new: u64) -> [u64; WORDS] {
    [u64::from(v) | (chunk as u64) << 32, new]
}

/// Returns the neighbours in `chunk` whose bits are set in the mask `new`.
fn each_new(chunk: &[u32], new: u64) -> impl Iterator<Item = u32> {
    ones(new).filter_map(|place| chunk.get(place as usize).copied())
}
