//! The search.
//!
//! A bit for each vertex says whether it was reached; of 16 million vertices they fit the second-level cache. A row is looked through 32
//! neighbours at a time: their bits are read at once and become a mask of those that are new, whose records and rows are fetched then, as most
//! of them come next: most subtrees are small. A vertex with one edge has no row to look at, as that edge led to it; a vertex without a new
//! neighbour is left at once, without a place on the stack.

use super::record::{NONE, Tree};
use super::rows::{Row, Rows};
use crate::error::Result;
use crate::memory::{Budget, Buffer};

/// Neighbours that are looked at together.
const CHUNK: usize = 32;

/// The state of a search between two steps.
pub(super) struct Walk<'a> {
    pub tree: Tree,
    rows: &'a Rows<'a>,
    /// Bits of vertices that were reached.
    seen: Buffer<u64>,
    /// The vertices from the root to the current one, which is the last, each with the number of the next neighbour to look at in its upper half.
    stack: Buffer<u64>,
    /// Vertices on the stack.
    height: usize,
    /// Vertices from this on have one edge.
    leaves: u32,
}

impl<'a> Walk<'a> {
    /// Returns the bytes for so many vertices.
    pub fn bytes(vertices: u64) -> u64 {
        Tree::bytes(vertices) + 8 * vertices + vertices / 8 + 8
    }

    /// Begins at no vertex. Those from `leaves` on have one edge.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(rows: &'a Rows<'a>, vertices: usize, leaves: u32, budget: &Budget) -> Result<Walk<'a>> {
        Ok(Walk {
            tree: Tree::new(vertices, budget)?,
            rows,
            seen: budget.zeroed(vertices / 64 + 1, "bits of vertices")?,
            stack: budget.zeroed(vertices, "the vertices on the way (8 bytes each)")?,
            height: 0,
            leaves,
        })
    }

    /// Returns true if a vertex was reached.
    #[inline]
    pub fn is_seen(&self, v: u32) -> bool {
        self.seen[v as usize / 64] >> (v % 64) & 1 == 1
    }

    /// Returns the vertices from the root to the current one, with their places.
    pub fn stack(&self) -> &[u64] {
        &self.stack[..self.height]
    }

    /// Takes up a search where it was: with records as they are now, and this stack. Returns false if that can't be one.
    pub fn resume(&mut self, stack: &[u64]) -> bool {
        let vertices = self.tree.vertices();
        if stack.len() > self.stack.len() || stack.iter().any(|&entry| entry as u32 >= vertices) {
            return false;
        }
        self.stack[..stack.len()].copy_from_slice(stack);
        self.height = stack.len();
        (0..vertices).filter(|&v| self.tree.parent(v) != NONE).for_each(|v| see(&mut self.seen, v));
        true
    }

    #[inline]
    fn see(&mut self, v: u32) {
        see(&mut self.seen, v);
    }

    /// Begins a tree at a vertex that was not reached.
    pub fn begin(&mut self, root: u32) {
        self.see(root);
        self.tree.reach(root, root, 0);
        self.stack[0] = root.into();
        self.height = 1;
    }

    /// Goes on until about `steps` vertices more were reached, or the tree is whole. Returns true if it is.
    pub fn go(&mut self, steps: u32) -> bool {
        let until = self.tree.reached.saturating_add(steps);
        while self.height > 0 {
            let top = self.height - 1;
            let u = self.stack[top] as u32;
            match self.scan(u, self.rows.of(u), (self.stack[top] >> 32) as usize) {
                Some((v, next)) => {
                    self.stack[top] = u64::from(u) | (next as u64) << 32;
                    self.stack[top + 1] = v.into();
                    self.height += 1;
                    if self.tree.reached >= until {
                        return false;
                    }
                }
                None => {
                    self.tree.leave(u);
                    self.height -= 1;
                }
            }
        }
        true
    }

    /// Reaches new neighbours of `u` from a place of its row on, those that lead nowhere at once. Returns the first that leads on, with the
    /// place behind it.
    #[inline]
    fn scan(&mut self, u: u32, row: Row<'_>, from: usize) -> Option<(u32, usize)> {
        let depth = self.height as u32;
        let mut before = 0;
        for half in row.0 {
            let mut at = from.saturating_sub(before);
            while at < half.len() {
                let chunk = &half[at..half.len().min(at + CHUNK)];
                let mut new = self.new_ones(chunk);
                self.fetch(chunk, new);
                while new != 0 {
                    let place = new.trailing_zeros() as usize;
                    new &= new - 1;
                    let v = chunk[place];
                    self.fetch_next(chunk, new);
                    self.see(v);
                    self.tree.reach(v, u, depth);
                    if v < self.leaves && self.leads_on(v) {
                        return Some((v, before + at + place + 1));
                    }
                    self.tree.leave(v);
                }
                at += chunk.len();
            }
            before += half.len();
        }
        None
    }

    /// Returns a bit for each vertex that was not reached.
    #[inline]
    fn new_ones(&self, chunk: &[u32]) -> u32 {
        let bit = |v: u32| !(self.seen[v as usize / 64] >> (v % 64)) & 1;
        chunk.iter().enumerate().fold(0, |new, (place, &v)| new | (bit(v) as u32) << place)
    }

    /// Has records and places of rows fetched.
    #[inline]
    fn fetch(&self, chunk: &[u32], mut new: u32) {
        while new != 0 {
            let v = chunk[new.trailing_zeros() as usize];
            self.tree.fetch(v);
            if v < self.leaves {
                self.rows.fetch_place(v);
            }
            new &= new - 1;
        }
    }

    /// Has the row of the next vertex fetched.
    #[inline]
    fn fetch_next(&self, chunk: &[u32], new: u32) {
        if new != 0 {
            let v = chunk[new.trailing_zeros() as usize];
            if v < self.leaves {
                self.rows.fetch(v);
            }
        }
    }

    /// Returns true if a vertex has a new neighbour.
    #[inline]
    fn leads_on(&self, v: u32) -> bool {
        let row = self.rows.of(v);
        row.0.iter().any(|half| half.chunks(CHUNK).any(|chunk| self.new_ones(chunk) != 0))
    }
}

#[inline]
fn see(seen: &mut [u64], v: u32) {
    seen[v as usize / 64] |= 1 << (v % 64);
}
