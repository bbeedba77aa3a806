//! Checks a depth-first tree. The checks have only the rows of the graph in common with the search.
//!
//! First, `nested` checks the preorder and postorder numbers, parents and depths against each other, in preorder. A
//! vertex must be reached before its parent is finished, and must be finished when its subtree ends. Then `row` checks
//! every row: each edge must lead to a vertex that was reached before, or to a descendant. So no vertex was finished
//! before its neighbours were reached, which makes the tree a depth-first tree. Each child of a vertex must be the
//! first vertex in the row that was not reached before that child. This makes the tree the lexicographic one.

use super::fault::DfsFault;
use super::record::{DfsTree, NONE};
use super::rows::SearchRows;
use crate::algo::team::first;
use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};
use crate::process::signals;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of vertices that a thread processes at a time.
const PART: usize = 2048;
/// Prefetch distance: how many row entries ahead of the current one data is prefetched.
const PREFETCH_DISTANCE: usize = 16;
/// Number of vertices that one thread processes between two cancellation checks.
const STRIDE: usize = 1 << 20;

/// Returns the memory in bytes that checking a tree of `vertices` vertices takes.
pub(super) fn bytes(vertices: u64) -> u64 {
    12 * vertices
}

/// The preorder of a depth-first tree, and where in it the subtree of every vertex ends.
pub(super) struct TreeNumbers {
    /// The preorder number of each vertex; [`NONE`] for a vertex that was not reached.
    pub pre: Buffer<u32>,
    /// The reached vertices in preorder, followed by [`NONE`].
    pub order: Buffer<u32>,
    /// For each vertex in preorder, the exclusive end of its subtree. It equals the number of vertices that were
    /// reached before the vertex was finished.
    pub end: Buffer<u32>,
}

/// Checks a depth-first tree from `source`, or a forest if `source` is `None`. Returns the number of trees, or the rule
/// that the tree violates.
///
/// # Errors
/// [`crate::Error::Limit`], [`crate::Error::Stopped`].
pub(super) fn validate(
    tree: &DfsTree,
    rows: &SearchRows<'_>,
    source: Option<u32>,
    threads: usize,
    budget: &Budget,
) -> Result<Result<u32, DfsFault>> {
    let (numbers, trees) = match nested(tree, source, budget)? {
        Ok(found) => found,
        Err(fault) => return Ok(Err(fault)),
    };
    let children = AtomicU64::new(0);
    let wrong = first(threads, tree.vertices() as usize, PART, |part| {
        let mut reached = part.map(|v| v as u32).filter(|&v| numbers.pre[v as usize] != NONE);
        let sum = reached.try_fold(0, |sum, v| Ok(sum + row(tree, rows, &numbers, v)?));
        sum.map(|sum| children.fetch_add(sum, Relaxed)).err()
    })?;
    if let Some(fault) = wrong {
        return Ok(Err(fault));
    }
    if children.into_inner() == u64::from(tree.reached - trees) {
        return Ok(Ok(trees));
    }
    let lacks = |&v: &u32| {
        let parent = tree.parent(v);
        parent != NONE && parent != v && rows.of(parent).0.iter().all(|half| half.binary_search(&v).is_err())
    };
    let vertex = (0..tree.vertices()).find(lacks).unwrap_or(0);
    Ok(Err(DfsFault::NoEdge { vertex, parent: tree.parent(vertex) }))
}

/// Checks parents, depths, preorder and postorder numbers against each other. Returns the preorder with the ends of
/// subtrees, and the number of trees.
///
/// # Errors
/// [`crate::Error::Limit`], [`crate::Error::Stopped`].
pub(super) fn nested(
    tree: &DfsTree,
    source: Option<u32>,
    budget: &Budget,
) -> Result<Result<(TreeNumbers, u32), DfsFault>> {
    let vertices = tree.vertices() as usize;
    let mut pre: Buffer<u32> = budget.zeroed(vertices, "preorder to validate (4 bytes a vertex)")?;
    let mut order: Buffer<u32> = budget.zeroed(vertices, "vertices by preorder (4 bytes each)")?;
    let mut end: Buffer<u32> = budget.zeroed(vertices, "ends of subtrees (4 bytes a vertex)")?;
    order.fill(NONE);
    let reached = tree.reached as usize;
    for v in 0..tree.vertices() {
        if (v as usize).is_multiple_of(STRIDE) {
            signals::check()?;
        }
        pre[v as usize] = tree.pre(v);
        if (tree.parent(v) == NONE) != (tree.pre(v) == NONE) {
            return Ok(Err(DfsFault::Parent { vertex: v }));
        }
        if tree.pre(v) == NONE {
            continue;
        }
        match order.get_mut(tree.pre(v) as usize) {
            Some(place) if *place == NONE && (tree.pre(v) as usize) < reached => *place = v,
            _ => return Ok(Err(DfsFault::Preorder { vertex: v })),
        }
    }
    if let Some(vertex) = order[..reached].iter().position(|&v| v == NONE) {
        return Ok(Err(DfsFault::Preorder { vertex: vertex as u32 }));
    }
    let (mut trees, mut left, mut at) = (0, 0, NONE);
    let mut leave = |v: u32, number: usize| {
        end[tree.pre(v) as usize] = number as u32;
        left += 1;
        if tree.post(v) == left - 1 { Ok(()) } else { Err(DfsFault::Postorder { vertex: v }) }
    };
    for (number, &v) in order[..reached].iter().enumerate() {
        if number.is_multiple_of(STRIDE) {
            signals::check()?;
        }
        let parent = tree.parent(v);
        // Vertices that are not ancestors of `v` were finished before `v` was reached.
        while at != NONE && at != parent {
            if let Err(fault) = leave(at, number) {
                return Ok(Err(fault));
            }
            at = if tree.parent(at) == at { NONE } else { tree.parent(at) };
        }
        let depth =
            if parent == v { Some(0) } else { Some(parent).filter(|_| at == parent).map(|p| tree.depth(p) + 1) };
        match depth {
            None if parent < tree.vertices() && tree.pre(parent) < tree.pre(v) => {
                return Ok(Err(DfsFault::NotNested { vertex: v, parent }));
            }
            None => return Ok(Err(DfsFault::Parent { vertex: v })),
            Some(depth) if depth != tree.depth(v) => return Ok(Err(DfsFault::Depth { vertex: v })),
            Some(_) => {}
        }
        trees += u32::from(parent == v);
        at = v;
    }
    while at != NONE {
        if let Err(fault) = leave(at, reached) {
            return Ok(Err(fault));
        }
        at = if tree.parent(at) == at { NONE } else { tree.parent(at) };
    }
    let numbers = TreeNumbers { pre, order, end };
    Ok(match wrong_root(tree, source, trees) {
        Some(vertex) => Err(DfsFault::Root { vertex }),
        None => Ok((numbers, trees)),
    })
}

/// Returns a vertex that is a root but should not be, or is not a root but should be. Returns `None` if there is none.
fn wrong_root(tree: &DfsTree, source: Option<u32>, trees: u32) -> Option<u32> {
    if let Some(source) = source {
        let is_root = tree.parent(source) == source && trees == 1;
        return (!is_root).then_some(source);
    }
    let mut latest = None;
    (0..tree.vertices()).find(|&v| {
        let pre = Some(tree.pre(v)).filter(|&pre| pre != NONE);
        // In a forest, all vertices before a root were reached before it.
        let is_wrong = pre.is_none() || tree.parent(v) == v && pre < latest;
        latest = latest.max(pre);
        is_wrong
    })
}

/// Checks the neighbours of the reached vertex `v` by their preorder numbers. Returns how many of them are children of
/// `v` in the tree.
fn row(tree: &DfsTree, rows: &SearchRows<'_>, numbers: &TreeNumbers, v: u32) -> Result<u64, DfsFault> {
    let own = numbers.pre[v as usize];
    let end = numbers.end[own as usize];
    let (mut latest, mut children) = (0, 0);
    for half in rows.of(v).0 {
        for (entry, &w) in half.iter().enumerate() {
            prefetch(&numbers.pre, half.get(entry + PREFETCH_DISTANCE).map_or(0, |&ahead| ahead as usize));
            let pre = numbers.pre[w as usize];
            if pre > own {
                if pre >= end {
                    let (from, to) = (v, w);
                    return Err(if pre == NONE {
                        DfsFault::NotReached { from, to }
                    } else {
                        DfsFault::Cross { from, to }
                    });
                }
                if tree.parent(w) == v {
                    children += 1;
                    if pre < latest {
                        return Err(DfsFault::NotFirst { vertex: v, to: w });
                    }
                }
            }
            latest = latest.max(pre);
        }
    }
    Ok(children)
}
