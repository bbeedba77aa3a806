//! The pass over all adjacency rows that checks breadth-first trees. It checks every edge against the levels of its
//! ends, and every parent against the row of its child.

use super::level_vector::{EdgeOrientation, LevelVector, above, any, any_equal, equal_trees, too_wide, widen};
use super::sums::TreeSums;
use super::{Tree, TreeFigures};
use crate::algo::row_parts::{RowPart, check_rows};
use crate::algo::searches::tree::fault::{NumberedFault, TreeFault};
use crate::algo::searches::tree::levels::Mark;
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::prefetch;
use crate::prepare::prepared::Graph;
use std::ops::Range;

/// Prefetch distance in row entries.
const AHEAD: usize = 16;
/// Number of parents (32-bit numbers) in a cache line.
const PARENTS: u32 = 16;

/// A pass over the adjacency rows of a graph that checks several trees.
pub(super) struct TreePass<'a, M, const W: usize> {
    direction: Direction,
    lower: &'a BlockStore,
    upper: &'a BlockStore,
    trees: &'a [Tree<'a>],
    lines: &'a [LevelVector<M, W>],
}

/// State of the check of one row: the vertex of the row, with its levels in all trees.
struct RowVertex<'l, M, const W: usize> {
    v: u32,
    row: u32,
    edges: EdgeOrientation,
    own: &'l LevelVector<M, W>,
    /// For each tree, the level of the vertex's parent plus 1. It becomes 0 once the parent has been found in the row.
    wanted: LevelVector<M, W>,
    gap: LevelVector<M, W>,
}

impl<'a, M: Mark, const W: usize> TreePass<'a, M, W> {
    pub fn new(graph: &'a Graph, trees: &'a [Tree<'a>], lines: &'a [LevelVector<M, W>]) -> Result<Self> {
        let (direction, lower) = (graph.info.direction, &graph.block_store);
        Ok(TreePass { direction, lower, upper: graph.upper()?, trees, lines })
    }

    /// Checks all adjacency rows with `threads` threads. Returns the number of vertices and the depth of each tree, or
    /// a fault.
    pub fn run(self, threads: usize) -> Result<Result<Vec<TreeFigures>, NumberedFault>> {
        let found = check_rows(self.lower, threads, TreeSums::new, |part, sums| self.part(part, sums))?;
        Ok(found.map(|of_threads| {
            let mut all = TreeSums::<M, W>::new();
            of_threads.iter().for_each(|sums| all.add(sums));
            (0..self.trees.len()).map(|tree| all.of(tree)).collect()
        }))
    }

    fn part(&self, part: &RowPart<'_>, sums: &mut TreeSums<M, W>) -> Result<(), NumberedFault> {
        let mut fetched = 0;
        for local in part.rows.clone() {
            let v = self.direction.vertex(part.block.first_row + local as u32);
            // The hardware can't prefetch the parents in 64 trees, because these are too many streams.
            let ahead = v / PARENTS + 2;
            if ahead != fetched {
                fetched = ahead;
                self.trees.iter().for_each(|tree| prefetch(tree.parents, (ahead * PARENTS) as usize));
            }
            self.row(&part.block, local, sums)?;
        }
        Ok(())
    }

    fn row(&self, block: &Block<'_>, local: usize, sums: &mut TreeSums<M, W>) -> Result<(), NumberedFault> {
        let row = block.first_row + local as u32;
        let v = self.direction.vertex(row);
        let edges = match self.direction {
            Direction::Undirected => EdgeOrientation::Both,
            Direction::Directed if row == self.direction.row(v, EdgeDirection::Out) => EdgeOrientation::Leave,
            Direction::Directed => EdgeOrientation::Enter,
        };
        let own = &self.lines[v as usize];
        let wanted = if edges == EdgeOrientation::Leave { [M::default(); W] } else { above(own) };
        let mut vertex = RowVertex { v, row, edges, own, wanted, gap: [M::default(); W] };
        let entries = block.offsets[local] as usize..block.offsets[local + 1] as usize;
        if edges != EdgeOrientation::Enter {
            sums.count(own);
        }
        match edges {
            EdgeOrientation::Both => {
                self.lower_half(&mut vertex, EdgeOrientation::Both, block.targets, entries.clone())?
            }
            EdgeOrientation::Leave => {
                self.lower_half(&mut vertex, EdgeOrientation::Leave, block.targets, entries.clone())?
            }
            EdgeOrientation::Enter => {
                self.lower_half(&mut vertex, EdgeOrientation::Enter, block.targets, entries.clone())?
            }
        }
        if let Some(tree) = too_wide(&vertex.gap) {
            return Err((tree, self.level_fault(&vertex, tree, &block.targets[entries])));
        }
        if any(&vertex.wanted) { self.upper_half(&mut vertex) } else { Ok(()) }
    }

    /// Compares the levels of a vertex with the levels of its smaller neighbours, `targets[entries]`. Also looks for
    /// the parents of the vertex among them. `edges` has the value of `vertex.edges`, but as a constant that the
    /// compiler knows.
    #[inline(always)]
    fn lower_half(
        &self,
        vertex: &mut RowVertex<'_, M, W>,
        edges: EdgeOrientation,
        targets: &[u32],
        entries: Range<usize>,
    ) -> Result<(), NumberedFault> {
        let (mut gap, mut next) = (vertex.gap, entries.start);
        let line = |entry: usize| {
            prefetch(self.lines, targets.get(entry + AHEAD).map_or(0, |&ahead| ahead as usize));
            &self.lines[targets[entry] as usize]
        };
        if any(&vertex.wanted) {
            for entry in entries.clone() {
                let other = line(entry);
                widen(&mut gap, edges, vertex.own, other);
                if any_equal(other, &vertex.wanted) {
                    self.check_previous_level(vertex, targets[entry], other)?;
                    if !any(&vertex.wanted) {
                        next = entry + 1;
                        break;
                    }
                }
                next = entry + 1;
            }
        }
        for entry in next..entries.end {
            widen(&mut gap, edges, vertex.own, line(entry));
        }
        vertex.gap = gap;
        Ok(())
    }

    /// Looks for the remaining parents of a vertex among its larger neighbours. Levels need not be compared: each of
    /// these edges is also an entry in the row of its larger end, and the levels are compared there.
    #[cold]
    fn upper_half(&self, vertex: &mut RowVertex<'_, M, W>) -> Result<(), NumberedFault> {
        for (tree, of) in self.trees.iter().enumerate() {
            if vertex.wanted[tree] == M::default() {
                continue;
            }
            let parent = of.parents[vertex.v as usize];
            if parent < vertex.v || !self.upper.lists(vertex.row, parent) {
                return Err((tree, TreeFault::NoEdge { vertex: vertex.v, parent }));
            }
            // The root is the only vertex in its level.
            if parent == of.root.0 {
                vertex.wanted[tree] = M::default();
            }
        }
        let mut unpacked = Unpacked::default();
        let row = self.upper.unpacked_row(vertex.row, &mut unpacked);
        for (entry, &w) in row.iter().enumerate() {
            if !any(&vertex.wanted) {
                break;
            }
            prefetch(self.lines, row.get(entry + AHEAD).map_or(0, |&ahead| ahead as usize));
            let other = &self.lines[w as usize];
            if any_equal(other, &vertex.wanted) {
                self.check_previous_level(vertex, w, other)?;
            }
        }
        Ok(())
    }

    /// Checks that `w` is the parent of the vertex in all trees in which `w` is the first neighbour in the previous
    /// level.
    #[inline]
    fn check_previous_level(
        &self,
        vertex: &mut RowVertex<'_, M, W>,
        w: u32,
        other: &LevelVector<M, W>,
    ) -> Result<(), NumberedFault> {
        let mut trees = equal_trees(other, &vertex.wanted);
        while trees != 0 {
            let tree = trees.trailing_zeros() as usize;
            if self.trees[tree].parents[vertex.v as usize] != w {
                return Err((tree, self.not_first(vertex, tree, w)));
            }
            vertex.wanted[tree] = M::default();
            trees &= trees - 1;
        }
        Ok(())
    }

    #[cold]
    fn not_first(&self, vertex: &RowVertex<'_, M, W>, tree: usize, first: u32) -> TreeFault {
        let (v, parent) = (vertex.v, self.trees[tree].parents[vertex.v as usize]);
        let half = if parent < v { self.lower } else { self.upper };
        match half.lists(vertex.row, parent) {
            true => TreeFault::NotFirst { vertex: v, parent, first },
            false => TreeFault::NoEdge { vertex: v, parent },
        }
    }

    /// Returns the fault of the first edge in a row whose ends are too many levels apart in tree `tree`.
    #[cold]
    fn level_fault(&self, vertex: &RowVertex<'_, M, W>, tree: usize, targets: &[u32]) -> TreeFault {
        let own = (vertex.v, vertex.own[tree]);
        let mut faults = targets.iter().filter_map(|&w| {
            let other = (w, self.lines[w as usize][tree]);
            let goes_up = if vertex.edges == EdgeOrientation::Both {
                own.1 < other.1
            } else {
                vertex.edges == EdgeOrientation::Leave
            };
            let [(from, level), (to, other)] = if goes_up { [own, other] } else { [other, own] };
            let is_apart = other.less(level) > M::of_level(0);
            is_apart.then(|| match other == M::UNREACHED {
                true => TreeFault::NotReached { from, to },
                false => TreeFault::Apart { from, level: level.level(), to, other: other.level() },
            })
        });
        faults.next().unwrap_or(TreeFault::NotReached { from: vertex.v, to: vertex.v })
    }
}
