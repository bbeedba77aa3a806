//! The pass over all edges of the input or of a prepared graph. It checks each edge against several trees.

use super::columns::TreeColumns;
use super::reader::UNREACHED;
use crate::algo::row_parts::{RowPart, check_rows};
use crate::algo::searches::places::{EdgeCheck, Places};
use crate::algo::searches::tree::fault::{NumberedFault, TreeFault};
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::direction::Direction;
use crate::memory::{Buffer, prefetch};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Prefetch distance, in entries of an adjacency row.
const AHEAD: usize = 8;
/// Number of 32-bit values in a cache line.
const LINE: usize = 16;

/// Results of the pass over all edges.
pub(super) struct PassResult {
    /// For each vertex, one bit per tree. The bit is set once the pass has seen an edge from the vertex's parent to the
    /// vertex.
    parents: Buffer<AtomicU32>,
    /// The fault that comes first in the order of trees, and then of rules.
    pub wrong: Option<NumberedFault>,
    /// For each tree, the number of edges that leave reached vertices. They are counted only if the graph is directed.
    pub edges: Vec<u64>,
    /// Upper bound on the number of repeated edges among all edges of the pass.
    pub repeats: u64,
}

impl PassResult {
    /// Returns true if the pass saw an edge to `vertex` from its parent in the tree with index `tree`.
    pub fn parent(&self, vertex: u32, tree: usize) -> bool {
        let bit = vertex as usize * self.edges.len() + tree;
        self.parents[bit / 32].load(Relaxed) >> (bit % 32) & 1 == 1
    }
}

/// Checks all edges against the trees of `columns`.
///
/// # Errors
/// Read errors; [`Error::Limit`]; [`Error::Stopped`].
pub(super) fn pass(
    edges: &EdgeSource<'_>,
    places: &Places,
    columns: &TreeColumns<'_>,
    results: &Results<'_>,
) -> Result<PassResult> {
    let bits = places.vertices() as usize * columns.sources.len();
    let parents = results.budget.zeroed(bits / 32 + 1, "parents whose edges were seen (a bit a vertex and source)")?;
    let new = || TreeEdgeChecker::new(columns, &parents, results.info.direction);
    let (checkers, repeats) = match edges {
        EdgeSource::Input(input) => {
            let checkers = (0..results.threads.max(1)).map(|_| new()).collect();
            let repeats = (results.info.edges - results.info.loops).saturating_sub(results.stored.edges);
            (places.each_edge(input, checkers)?, repeats)
        }
        EdgeSource::Blocks(graph) => {
            let check = |part: &RowPart<'_>, checker: &mut TreeEdgeChecker<'_>| {
                checker.rows(part);
                Ok::<(), Error>(())
            };
            (check_rows(&graph.block_store, results.threads, new, check)??, 0)
        }
    };
    let wrong = checkers.iter().filter_map(|checker| checker.wrong).min();
    let sum = |tree: usize| checkers.iter().map(|checker| checker.edges[tree]).sum();
    let edges = (0..columns.sources.len()).map(sum).collect();
    drop(checkers);
    Ok(PassResult { parents, wrong, edges, repeats })
}

/// Checks edges against trees. Each thread has its own checker.
struct TreeEdgeChecker<'a> {
    columns: &'a TreeColumns<'a>,
    parents: &'a [AtomicU32],
    direction: Direction,
    wrong: Option<NumberedFault>,
    edges: Vec<u64>,
}

impl<'a> TreeEdgeChecker<'a> {
    fn new(columns: &'a TreeColumns<'a>, parents: &'a [AtomicU32], direction: Direction) -> TreeEdgeChecker<'a> {
        TreeEdgeChecker { columns, parents, direction, wrong: None, edges: vec![0; columns.sources.len()] }
    }

    /// Checks the edges in a range of adjacency rows of a prepared graph.
    fn rows(&mut self, part: &RowPart<'_>) {
        for (v, enters, neighbours) in part.each_row(self.direction) {
            for (entry, &w) in neighbours.iter().enumerate() {
                neighbours.get(entry + AHEAD).iter().for_each(|&&ahead| self.fetch(ahead));
                self.edge(if enters { [w, v] } else { [v, w] }, 1);
            }
        }
    }

    /// Checks an edge, in the direction from `from` to `to`, against all trees.
    #[inline]
    fn check_direction(&mut self, from: u32, to: u32) {
        let (levels, heads, parents) = (self.columns.levels(from), self.columns.levels(to), self.columns.parents(to));
        let (mut is_wrong, mut is_parent) = (false, false);
        for ((&level, &head), &parent) in levels.iter().zip(heads).zip(parents) {
            let next = level + 1;
            is_wrong |= (head > next) | ((head == next) & (from < parent));
            is_parent |= (head == next) & (from == parent);
        }
        if is_parent {
            let trees = levels.iter().zip(heads).zip(parents).zip(to as usize * levels.len()..);
            for (_, bit) in trees.filter(|(((level, head), parent), _)| **head == **level + 1 && **parent == from) {
                let (word, bit) = (&self.parents[bit / 32], 1 << (bit % 32));
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            }
        }
        if is_wrong {
            self.note(from, to);
        }
    }

    /// Records the fault that the edge from `from` to `to` proves, unless an earlier fault is recorded. Faults are
    /// ordered by tree, and then by rule.
    #[cold]
    fn note(&mut self, from: u32, to: u32) {
        let (levels, heads, parents) = (self.columns.levels(from), self.columns.levels(to), self.columns.parents(to));
        for (tree, ((&level, &head), &parent)) in levels.iter().zip(heads).zip(parents).enumerate() {
            let fault = match head {
                UNREACHED if level != UNREACHED => TreeFault::NotReached { from, to },
                _ if head > level + 1 => TreeFault::Apart { from, level, to, other: head },
                _ if head == level + 1 && from < parent => TreeFault::NotFirst { vertex: to, parent, first: from },
                _ => continue,
            };
            self.wrong = Some(self.wrong.map_or((tree, fault), |wrong| wrong.min((tree, fault))));
        }
    }
}

impl EdgeCheck for TreeEdgeChecker<'_> {
    #[inline]
    fn fetch(&self, place: u32) {
        let (levels, parents) = (self.columns.levels(place), self.columns.parents(place));
        for at in (0..levels.len()).step_by(LINE) {
            prefetch(levels, at);
            prefetch(parents, at);
        }
    }

    #[inline]
    fn edge(&mut self, [from, to]: [u32; 2], _: u64) {
        self.check_direction(from, to);
        match self.direction {
            Direction::Undirected => self.check_direction(to, from),
            Direction::Directed => {
                for (edges, &level) in self.edges.iter_mut().zip(self.columns.levels(from)) {
                    *edges += u64::from(level < UNREACHED);
                }
            }
        }
    }
}
