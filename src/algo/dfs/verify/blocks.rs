//! Verifies articulation points and bridges by another method: joins edges that are on a common cycle.
//!
//! An edge from a vertex to an ancestor forms a cycle with the tree edges between the two. Cycles that share an edge
//! belong to the same *block* (biconnected component). A tree edge is identified by its lower end, and joined to the
//! tree edge above it if both are on a common cycle. An edge that is a block by itself is a bridge, and a vertex at
//! which two blocks meet is an articulation point. Edges may come in any order, several times, and from several
//! threads.

use super::columns::DfsColumns;
use super::repeats::Repeats;
use super::wrong;
use crate::algo::dfs::output::ArticulationPoints;
use crate::algo::dfs::record::{DfsTree, NONE};
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Mark bit of a vertex that the columns list as an articulation point.
const POINT: u8 = 1;
/// Mark bit of a vertex whose edge to its parent is a bridge according to the columns.
const BRIDGE: u8 = 2;
/// Mark bit of a vertex that is the top of at least one block (biconnected component).
const BLOCK: u8 = 4;
/// Mark bit of a vertex that is the top of two or more blocks (biconnected components).
const SECOND: u8 = 8;
/// Mark bit of a vertex whose edge to its parent is in the same block as its edge to one of its children.
const JOINED: u8 = 16;

/// The blocks (biconnected components) of a depth-first forest.
pub(super) struct BlockCheck {
    /// For each vertex, the vertex itself or one of its ancestors. The edges from the two to their parents are in the
    /// same block.
    up: Buffer<AtomicU32>,
    marks: Buffer<u8>,
}

impl BlockCheck {
    /// Reads the marks of vertices from the columns. Every tree edge is a block by itself at first.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] if a value in the columns is not a mark; [`crate::Error::Limit`]; read errors.
    pub fn read(columns: &DfsColumns<'_>, tree: &DfsTree, budget: &Budget) -> Result<BlockCheck> {
        let vertices = tree.vertices() as usize;
        let up: Buffer<AtomicU32> = budget.zeroed(vertices, "blocks of edges (4 bytes a vertex)")?;
        up.iter().zip(0..).for_each(|(up, v)| up.store(v, Relaxed));
        let mut marks: Buffer<u8> = budget.zeroed(vertices, "articulation points to verify (a byte a vertex)")?;
        for (name, mark) in [("articulation", POINT), ("bridge", BRIDGE)] {
            columns.each(name, 0, |v, value| {
                marks[v as usize] |= if value == 1 { mark } else { 0 };
                (value == -1) == (tree.parent(v) == NONE) && (-1..=1).contains(&value)
            })?;
        }
        Ok(BlockCheck { up, marks })
    }

    /// Merges the blocks (biconnected components) of all tree edges between `below` and its ancestor `above`, because
    /// an edge between the two closes a cycle.
    pub fn join(&self, tree: &DfsTree, above: u32, below: u32) {
        let mut v = self.top(below);
        while tree.depth(v) > tree.depth(above) + 1 {
            let parent = tree.parent(v);
            self.up[v as usize].store(parent, Relaxed);
            v = self.top(parent);
        }
    }

    /// Returns the lower end of the topmost tree edge in the block of the edge between `v` and its parent. Shortens the
    /// path to it for later calls.
    fn top(&self, mut v: u32) -> u32 {
        loop {
            let up = self.up[v as usize].load(Relaxed);
            if up == v {
                return v;
            }
            self.up[v as usize].store(self.up[up as usize].load(Relaxed), Relaxed);
            v = up;
        }
    }

    /// Compares the marks in the columns and the reported numbers with the blocks. Before, [`Self::join`] must have
    /// been called for every edge between a vertex and an ancestor.
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn compare(
        mut self,
        tree: &DfsTree,
        reported: &ArticulationPoints,
        repeats: Option<&Repeats>,
        name: &dyn Fn(u32) -> String,
    ) -> Result<String> {
        for v in 0..tree.vertices() {
            let (parent, up) = (tree.parent(v), self.up[v as usize].load(Relaxed));
            if parent != NONE && parent != v {
                let marks = &mut self.marks[parent as usize];
                *marks |= match (up == v, *marks & BLOCK) {
                    (false, _) => JOINED,
                    (true, 0) => BLOCK,
                    (true, _) => SECOND,
                };
            }
        }
        let (mut points, mut bridges) = (0, 0);
        for v in (0..tree.vertices()).filter(|&v| tree.parent(v) != NONE) {
            let (marks, is_root) = (self.marks[v as usize], tree.parent(v) == v);
            let is_point = marks & if is_root { SECOND } else { BLOCK } != 0;
            let is_repeated = repeats.is_some_and(|repeats| repeats.is_repeated(v));
            let is_alone = marks & JOINED == 0 && self.up[v as usize].load(Relaxed) == v;
            let is_bridge = !is_root && is_alone && !is_repeated;
            for (what, is_so, mark) in
                [("an articulation point", is_point, POINT), ("below a bridge", is_bridge, BRIDGE)]
            {
                if is_so != (marks & mark != 0) {
                    let not = if is_so { "" } else { "not " };
                    return Err(wrong(&format!("vertex {} is {not}{what}, its column says otherwise", name(v))));
                }
            }
            points += u64::from(is_point);
            bridges += u64::from(is_bridge);
        }
        if (points, bridges) != (reported.articulation_points, reported.bridges) {
            let what = format!(
                "{points} articulation points and {bridges} bridges by the edges, the job reports {reported:?}"
            );
            return Err(wrong(&what));
        }
        Ok(format!(", {points} articulation points, {bridges} bridges"))
    }
}
