//! Computes the steps of vertices within plateaus. A plateau consists of vertices at the same distance that are joined
//! by edges that add nothing to the distance.
//!
//! The root is at step 0, and so is a vertex whose parent is nearer to the root. Any other vertex has the same distance
//! as its parent. Its step is one more than the parent's step. Every chain of parents ends at the root if and only if
//! every vertex has a step.

use super::claims::TypedTree;
use super::sum::TreeSum;
use crate::algo::sssp::fault::PathFault;
use crate::algo::team::first;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of vertices that a thread claims at a time.
const PART: usize = 1 << 14;

/// The step of every vertex within its plateau, plus 1. A plateau consists of vertices at the same distance, joined by
/// edges that add nothing to it. The step is the number of parents that lead, within the plateau, from the vertex to
/// the root or to a vertex with a nearer parent.
pub struct PlateauSteps(Buffer<AtomicU32>);

/// Computes the step of every vertex of `tree` within its plateau. No parent may have a larger distance than its child.
/// If parents form a cycle, returns a fault with a vertex whose chain of parents ends in the cycle.
///
/// # Errors
/// [`crate::Error::Limit`]; [`crate::Error::Stopped`].
pub(super) fn steps<S: TreeSum>(
    tree: TypedTree<'_, S>,
    threads: usize,
    budget: &Budget,
) -> Result<Result<PlateauSteps, PathFault>> {
    let purpose = "steps of vertices at one distance (4 bytes each)";
    let steps: Buffer<AtomicU32> = budget.zeroed(tree.parents.len(), purpose)?;
    let find = |part: Range<usize>| part.map(|v| v as u32).find(|&v| !step(tree, v, &steps));
    Ok(match first(threads, tree.parents.len(), PART, find)? {
        Some(vertex) => Err(PathFault::Cycle { vertex }),
        None => Ok(PlateauSteps(steps)),
    })
}

/// Follows the chain of parents at the same distance from `v` to the first vertex whose step is known or 0. Sets the
/// steps of all vertices on this chain. Returns false if the parents form a cycle.
fn step<S: TreeSum>(tree: TypedTree<'_, S>, v: u32, steps: &[AtomicU32]) -> bool {
    let known = |v: u32| steps[v as usize].load(Relaxed);
    let (mut at, mut behind) = (v, 0u32);
    // Brent's cycle detection (1980): `waiting` stays at a vertex for 1, 2, 4, ... moves of `at`. Once it stays at a
    // vertex of a cycle for at least the length of the cycle, `at` returns to it.
    let (mut waiting, mut until) = (v, 1u32);
    let first = loop {
        if known(at) != 0 {
            break known(at);
        }
        let Some(parent) = tree.level_parent(at) else { break 1 };
        at = parent;
        behind += 1;
        if at == waiting {
            return false;
        }
        if behind == until {
            (waiting, until) = (at, until.saturating_mul(2));
        }
    };
    let mut at = v;
    for behind in (0..=behind).rev() {
        steps[at as usize].store(first + behind, Relaxed);
        at = tree.parents.get(at as usize).copied().unwrap_or(at);
    }
    true
}

impl PlateauSteps {
    /// Returns the step of vertex `v` within its plateau. It is 0 if `v` is the root or its parent is nearer to the
    /// root.
    pub fn of(&self, v: u32) -> u32 {
        self.0[v as usize].load(Relaxed) - 1
    }
}
