//! Verifies a depth-first tree, and the results computed from it, by all edges of the graph, which may come in any
//! order.

use super::blocks::BlockCheck;
use super::components::ComponentCheck;
use super::repeats::Repeats;
use crate::algo::EdgeSource;
use crate::algo::dfs::fault::DfsFault;
use crate::algo::dfs::record::{DfsTree, NONE};
use crate::algo::dfs::validate::TreeNumbers;
use crate::algo::row_parts::{RowPart, check_rows};
use crate::algo::searches::places::{EdgeCheck, Places};
use crate::algo::team::first;
use crate::error::Result;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of vertices that a thread processes at a time.
const PART: usize = 1 << 14;

/// A depth-first tree, and the data to check it against the edges of a graph.
pub(super) struct TreeCheck<'a> {
    tree: &'a DfsTree,
    numbers: &'a TreeNumbers,
    direction: Direction,
    /// For each vertex, the index of its first child in `children`. Then the number of all children.
    first: Buffer<u32>,
    /// The children of all vertices, in the order in which they were reached.
    children: Buffer<u32>,
    /// A bit per vertex, which is set once an edge from the parent of the vertex has been found.
    seen: Buffer<AtomicU32>,
    /// Check of articulation points and bridges; `None` if the results contain none.
    pub blocks: Option<BlockCheck>,
    /// Counts of tree edges in the input; `None` if repeated edges count as one edge.
    pub repeats: Option<Repeats>,
    /// Check of strongly connected components; `None` if the results contain none.
    pub components: Option<ComponentCheck>,
}

impl<'a> TreeCheck<'a> {
    /// Creates the check of `tree`, before any edge is known.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(
        tree: &'a DfsTree,
        numbers: &'a TreeNumbers,
        direction: Direction,
        budget: &Budget,
    ) -> Result<TreeCheck<'a>> {
        let vertices = tree.vertices() as usize;
        let mut first: Buffer<u32> = budget.zeroed(vertices + 1, "children of vertices (4 bytes each)")?;
        let mut children: Buffer<u32> = budget.zeroed(tree.reached as usize, "children (4 bytes each)")?;
        let order = &numbers.order[..tree.reached as usize];
        let is_child = |v: &&u32| tree.parent(**v) != **v;
        order.iter().filter(is_child).for_each(|&v| first[tree.parent(v) as usize + 1] += 1);
        for v in 0..vertices {
            first[v + 1] += first[v];
        }
        // Filling moves the start of each vertex to the start of the next vertex. So the starts are shifted back by one
        // afterwards.
        for &v in order.iter().filter(is_child) {
            let place = &mut first[tree.parent(v) as usize];
            children[*place as usize] = v;
            *place += 1;
        }
        first.copy_within(..vertices, 1);
        first[0] = 0;
        Ok(TreeCheck {
            tree,
            numbers,
            direction,
            first,
            children,
            seen: budget.zeroed(vertices / 32 + 1, "bits of parents")?,
            blocks: None,
            repeats: None,
            components: None,
        })
    }

    /// Checks the tree against all edges of the graph. Returns the first violation, which does not depend on the number
    /// of threads.
    ///
    /// # Errors
    /// Read errors; [`crate::Error::Stopped`].
    pub fn all(&self, edges: &EdgeSource<'_>, places: &Places, threads: usize) -> Result<Result<(), DfsFault>> {
        match edges {
            EdgeSource::Input(input) => {
                let new = |_| Checker { check: self, wrong: None };
                let checkers = places.each_edge(input, (0..threads.max(1)).map(new).collect())?;
                let first = checkers.iter().filter_map(|checker| checker.wrong).min_by_key(|&(ends, _)| ends);
                Ok(first.map_or(Ok(()), |(_, fault)| Err(fault)))
            }
            EdgeSource::Blocks(graph) => {
                let of_part = |part: &RowPart<'_>, (): &mut ()| {
                    part.each_row(self.direction).try_for_each(|(v, enters, neighbours)| {
                        neighbours.iter().try_for_each(|&w| self.edge(if enters { [w, v] } else { [v, w] }))
                    })
                };
                Ok(check_rows(&graph.block_store, threads, || (), of_part)?.map(drop))
            }
        }
    }

    fn edge(&self, [u, v]: [u32; 2]) -> Result<(), DfsFault> {
        if let Some(repeats) = &self.repeats {
            repeats.note(self.tree, u, v);
        }
        self.check_edge(u, v)?;
        if self.direction == Direction::Undirected { self.check_edge(v, u) } else { Ok(()) }
    }

    /// Checks the tree against the edge `from` → `to`.
    #[inline]
    fn check_edge(&self, from: u32, to: u32) -> Result<(), DfsFault> {
        let [own, pre] = [from, to].map(|v| self.tree.pre(v));
        if let Some(components) = self.components.as_ref().filter(|_| own != NONE && pre != NONE) {
            components.edge(self.tree, from, to)?;
        }
        if own == NONE || pre <= own {
            return Ok(());
        }
        if pre == NONE {
            return Err(DfsFault::NotReached { from, to });
        }
        if pre >= self.numbers.end[own as usize] {
            return Err(DfsFault::Cross { from, to });
        }
        let children = &self.children[self.first[from as usize] as usize..self.first[from as usize + 1] as usize];
        let above = children.partition_point(|&child| self.tree.pre(child) <= pre);
        let mut before = above.wrapping_sub(1);
        if self.tree.parent(to) == from {
            self.seen[to as usize / 32].fetch_or(1 << (to % 32), Relaxed);
            before = before.wrapping_sub(1);
        } else if let Some(blocks) = &self.blocks {
            blocks.join(self.tree, from, to);
        }
        match children.get(before) {
            Some(&child) if child > to => Err(DfsFault::NotFirst { vertex: from, to: child }),
            _ => Ok(()),
        }
    }

    /// Checks that an edge from the parent was found for every vertex.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if the operating system can't start a thread.
    pub fn check_all_seen(&self, threads: usize) -> Result<Result<(), DfsFault>> {
        let lacks = |&v: &u32| {
            let parent = self.tree.parent(v);
            let is_seen = self.seen[v as usize / 32].load(Relaxed) >> (v % 32) & 1 == 1;
            parent != NONE && parent != v && !is_seen
        };
        let find = |part: Range<usize>| part.map(|v| v as u32).find(lacks);
        let wrong = first(threads, self.tree.vertices() as usize, PART, find)?;
        Ok(wrong.map_or(Ok(()), |vertex| Err(DfsFault::NoEdge { vertex, parent: self.tree.parent(vertex) })))
    }
}

/// Checks the tree against the edges of the input that one thread reads, and stores the first violation.
struct Checker<'a> {
    check: &'a TreeCheck<'a>,
    wrong: Option<([u32; 2], DfsFault)>,
}

impl EdgeCheck for Checker<'_> {
    fn edge(&mut self, ends: [u32; 2], _: u64) {
        if let Err(fault) = self.check.edge(ends)
            && self.wrong.is_none_or(|(first, _)| ends < first)
        {
            self.wrong = Some((ends, fault));
        }
    }
}
