//! Articulation points and bridges of an undirected graph, from its depth-first forest (Hopcroft and Tarjan: Efficient
//! algorithms for graph manipulation, CACM 1973).
//!
//! The low point of a vertex is the smallest preorder number of all vertices in its subtree and of their neighbours. A
//! vertex's own parent does not count as its neighbour. First, all threads find the smallest preorder number in the row
//! of each vertex. Then one thread propagates low points up the tree, from the last vertex in preorder to the first.

use crate::algo::dfs::record::{DfsTree, NONE};
use crate::algo::dfs::rows::SearchRows;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::memory::{Budget, Buffer, cells, prefetch};
use crate::process::signals;
use std::sync::atomic::Ordering::Relaxed;

/// Number of vertices that a thread processes at a time.
const PART: usize = 2048;
/// Prefetch distance: how many row entries ahead of the current one data is prefetched.
const PREFETCH_DISTANCE: usize = 16;
/// Number of vertices that one thread processes between two cancellation checks.
const STRIDE: usize = 1 << 20;

/// Mark bit of an articulation point: a vertex whose removal splits its connected component.
const POINT: u32 = 1;
/// Mark bit of a vertex whose edge to its parent is a bridge: an edge whose removal splits its connected component.
const BRIDGE: u32 = 2;

/// The articulation points and bridges of a graph.
pub(in crate::algo::dfs) struct Articulation {
    marks: Buffer<u32>,
    /// Number of articulation points.
    pub points: u64,
    /// Number of bridges.
    pub bridges: u64,
}

impl Articulation {
    /// Returns the memory in bytes for finding the articulation points and bridges of a graph with `vertices` vertices.
    pub fn bytes(vertices: u64) -> u64 {
        16 * vertices
    }

    /// Computes articulation points and bridges from a depth-first tree or forest.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Stopped`].
    pub fn new(tree: &DfsTree, rows: &SearchRows<'_>, threads: usize, budget: &Budget) -> Result<Articulation> {
        let vertices = tree.vertices() as usize;
        let mut pre: Buffer<u32> = budget.zeroed(vertices, "preorder for low points (4 bytes a vertex)")?;
        let mut order: Buffer<u32> = budget.zeroed(tree.reached as usize, "vertices by preorder (4 bytes each)")?;
        let mut low: Buffer<u32> = budget.zeroed(vertices, "low points (4 bytes a vertex)")?;
        let mut marks: Buffer<u32> = budget.zeroed(vertices, "articulation points (4 bytes a vertex)")?;
        for v in 0..tree.vertices() {
            pre[v as usize] = tree.pre(v);
            if let Some(place) = order.get_mut(tree.pre(v) as usize) {
                *place = v;
            }
        }
        let (lows, parts) = (cells(&mut low), Parts::new(vertices, PART));
        team(threads, &|_| {
            parts.each(|part| {
                signals::check()?;
                for v in part.map(|v| v as u32).filter(|&v| pre[v as usize] != NONE) {
                    lows[v as usize].store(own_low(tree, rows, &pre, v), Relaxed);
                }
                Ok(())
            })
        })?;
        let (mut points, mut bridges) = (0, 0);
        for (number, &v) in order.iter().rev().enumerate() {
            if number.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            let (parent, lowest) = (tree.parent(v), low[v as usize]);
            if parent == v {
                continue;
            }
            low[parent as usize] = low[parent as usize].min(lowest);
            if lowest > pre[parent as usize] {
                marks[v as usize] |= BRIDGE;
                bridges += 1;
            }
            let is_root = tree.parent(parent) == parent;
            // A root is an articulation point if it has a second child. The first child is the vertex that was reached
            // right after the root.
            let parts =
                if is_root { pre[v as usize] != pre[parent as usize] + 1 } else { lowest >= pre[parent as usize] };
            if parts && marks[parent as usize] & POINT == 0 {
                marks[parent as usize] |= POINT;
                points += 1;
            }
        }
        Ok(Articulation { marks, points, bridges })
    }

    /// Records that the input repeats the edge between vertex `v` and its parent, so that this edge is not a bridge.
    pub fn is_repeated(&mut self, v: u32) {
        self.bridges -= u64::from(self.is_bridge(v));
        self.marks[v as usize] &= !BRIDGE;
    }

    /// Returns true if vertex `v` is an articulation point.
    pub fn is_point(&self, v: u32) -> bool {
        self.marks[v as usize] & POINT != 0
    }

    /// Returns true if the edge between vertex `v` and its parent is a bridge.
    pub fn is_bridge(&self, v: u32) -> bool {
        self.marks[v as usize] & BRIDGE != 0
    }
}

/// Returns the smallest preorder number of vertex `v` and its neighbours, without the parent of `v`.
fn own_low(tree: &DfsTree, rows: &SearchRows<'_>, pre: &[u32], v: u32) -> u32 {
    let parent = tree.parent(v);
    let mut low = pre[v as usize];
    for half in rows.of(v).0 {
        for (entry, &w) in half.iter().enumerate() {
            prefetch(pre, half.get(entry + PREFETCH_DISTANCE).map_or(0, |&ahead| ahead as usize));
            if w != parent {
                low = low.min(pre[w as usize]);
            }
        }
    }
    low
}
