//! Strongly connected components and a cycle of a directed graph, from its depth-first forest (Tarjan: Depth-first
//! search and linear graph algorithms, SIAM Journal on Computing 1972). Adjacency rows contain no self-loops;
//! `derived/cycle.rs` finds these.
//!
//! Vertices are processed in postorder. Each edge of a vertex leads to a vertex that was reached before this one was
//! finished. The low point of a vertex is the smallest of its own preorder number, the preorder numbers of its
//! out-neighbours that are in no component yet, and the low points of its children. If the low point equals the
//! vertex's own preorder number, a component is complete: the vertex and those of its descendants that are in no
//! component yet. The postorder is known, so the rows of later vertices are prefetched.

use crate::algo::dfs::record::{DfsTree, NONE};
use crate::algo::dfs::rows::SearchRows;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use crate::process::signals;

/// Prefetch distance of rows: how many vertices ahead of the current one a row is prefetched.
const ROWS_AHEAD: usize = 4;
/// Prefetch distance of row offsets: how many vertices ahead of the current one the offset of a row is prefetched.
const LOCATIONS_AHEAD: usize = 8;
/// Number of vertices that are processed between two cancellation checks.
const STRIDE: usize = 1 << 16;

/// The strongly connected components of a graph.
pub(in crate::algo::dfs) struct Strong {
    /// For each vertex, the representative of its component, which is the vertex of the component that was reached
    /// first. [`NONE`] for a vertex that was not reached.
    component: Buffer<u32>,
    /// Number of components.
    pub components: u64,
    /// Number of vertices in the largest component.
    pub largest: u64,
    /// An edge from a vertex to one of its ancestors, as the pair (vertex, ancestor). `None` if there is no such edge.
    back: Option<[u32; 2]>,
}

impl Strong {
    /// Returns the memory in bytes for finding the components of a graph with `vertices` vertices.
    pub fn bytes(vertices: u64) -> u64 {
        16 * vertices
    }

    /// Computes strongly connected components from a depth-first tree or forest.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Stopped`].
    pub fn new(tree: &DfsTree, rows: &SearchRows<'_>, budget: &Budget) -> Result<Strong> {
        let vertices = tree.vertices() as usize;
        let mut component: Buffer<u32> = budget.zeroed(vertices, "components (4 bytes a vertex)")?;
        let mut low: Buffer<u32> = budget.zeroed(vertices, "low points (4 bytes a vertex)")?;
        let mut order: Buffer<u32> = budget.zeroed(tree.left as usize, "vertices by postorder (4 bytes each)")?;
        let mut open: Buffer<u32> = budget.zeroed(tree.left as usize, "vertices of no component yet (4 bytes each)")?;
        component.fill(NONE);
        for v in 0..tree.vertices() {
            if let Some(place) = order.get_mut(tree.post(v) as usize) {
                *place = v;
            }
        }
        let (mut components, mut largest, mut back, mut height) = (0, 0, None, 0);
        for (number, &v) in order.iter().enumerate() {
            if number % STRIDE == 0 {
                signals::check()?;
            }
            order.get(number + LOCATIONS_AHEAD).iter().for_each(|&&ahead| rows.prefetch_offset(ahead));
            order.get(number + ROWS_AHEAD).iter().for_each(|&&ahead| rows.fetch(ahead));
            let mut lowest = tree.pre(v);
            for &w in rows.of(v).0.into_iter().flatten().filter(|&&w| component[w as usize] == NONE) {
                if tree.parent(w) == v {
                    lowest = lowest.min(low[w as usize]);
                } else {
                    lowest = lowest.min(tree.pre(w));
                    if back.is_none() && tree.pre(w) < tree.pre(v) && tree.post(w) > tree.post(v) {
                        back = Some([v, w]);
                    }
                }
            }
            low[v as usize] = lowest;
            open[height] = v;
            height += 1;
            if lowest == tree.pre(v) {
                let below = open[..height].iter().rev().take_while(|&&w| tree.pre(w) >= tree.pre(v)).count();
                open[height - below..height].iter().for_each(|&w| component[w as usize] = v);
                height -= below;
                components += 1;
                largest = largest.max(below as u64);
            }
        }
        Ok(Strong { component, components, largest, back })
    }

    /// Returns the representative of the component of vertex `v`: the vertex of the component that was reached first.
    pub fn of(&self, v: u32) -> u32 {
        self.component[v as usize]
    }

    /// Returns the vertices of a cycle of at least two vertices, in the direction of its edges, or `None` if there is
    /// no such cycle. The last vertex has an edge to the first.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn cycle(&self, tree: &DfsTree, budget: &Budget) -> Result<Option<Buffer<u32>>> {
        let Some([from, to]) = self.back else { return Ok(None) };
        let length = tree.depth(from) - tree.depth(to) + 1;
        let mut cycle: Buffer<u32> = budget.zeroed(length as usize, "vertices of a cycle (4 bytes each)")?;
        let mut v = from;
        for place in cycle.iter_mut().rev() {
            *place = v;
            v = tree.parent(v);
        }
        Ok(Some(cycle))
    }
}
