//! A batch of shortest-path trees that are checked together. Each edge that is read is checked against all of them.

use super::steps::PlateauSteps;
use super::sum::TreeSum;
use crate::algo::sssp::fault::PathFault;
use crate::algo::sssp::search::NONE;
use crate::algo::team::first;
use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of vertices that a thread claims at a time, when parents are checked after the pass over all edges.
const PART: usize = 1 << 14;

/// One of the shortest-path trees to check.
pub struct CheckedTree<'a> {
    /// Root of the search.
    pub root: u32,
    /// Parent of every vertex in the tree.
    pub parents: &'a [u32],
    /// Step of every vertex within its plateau. A plateau consists of vertices at the same distance that are joined by
    /// edges that add nothing to it. `None` if every parent is nearer to the root than its child.
    pub steps: Option<PlateauSteps>,
}

/// A batch of up to `W` shortest-path trees that are checked together.
pub struct TreeBatch<'a, S, const W: usize> {
    /// The trees in the batch.
    pub trees: Vec<CheckedTree<'a>>,
    /// For each vertex, its distances in all trees side by side.
    lines: &'a [[S; W]],
    /// For each vertex, a bitmap of trees. The bit of a tree is set once the check has seen a tight edge from the
    /// vertex's parent: the parent's distance plus the weight is the distance of the vertex.
    seen: Buffer<AtomicU32>,
}

/// The index of a tree in its batch, and a fault in that tree.
pub type NumberedFault = (usize, PathFault);

impl<'a, S: TreeSum, const W: usize> TreeBatch<'a, S, W> {
    /// Creates a batch of trees. `lines` contains, for each vertex, its distances in all trees side by side.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(trees: Vec<CheckedTree<'a>>, lines: &'a [[S; W]], budget: &Budget) -> Result<Self> {
        let seen = budget.zeroed(lines.len(), "parents whose edges were seen (4 bytes a vertex)")?;
        Ok(TreeBatch { trees, lines, seen })
    }

    /// Prefetches the distances of vertex `v` in all trees.
    #[inline]
    pub fn fetch(&self, v: u32) {
        prefetch(self.lines, v as usize);
    }

    /// Checks an edge of the graph, from `from` to `to`, against all trees. `weight` is the bit pattern of its weight.
    /// Returns a bitmap of the trees in which `from` is the parent of `to` and the edge is tight: the distance of
    /// `from` plus the weight is the distance of `to`.
    ///
    /// # Errors
    /// The fault in the first tree in which the edge gives a shorter path, or in which `from` should be the parent of
    /// `to`.
    #[inline(always)]
    pub fn edge(&self, from: u32, to: u32, weight: u64) -> Result<u32, NumberedFault> {
        let (shorter, even) = compare(&self.lines[from as usize], &self.lines[to as usize], weight);
        if shorter {
            return Err(self.shorter(from, to, weight));
        }
        if even == 0 { Ok(0) } else { self.even(from, to, even) }
    }

    /// Returns a bitmap of the trees that reach vertex `v`.
    pub fn reached(&self, v: u32) -> u32 {
        let of = self.lines[v as usize].iter().take(self.trees.len()).enumerate();
        of.fold(0, |bits, (number, &distance)| bits | u32::from(distance != S::UNREACHED) << number)
    }

    /// Compares `from` with the parent of `to` in the trees of the bitmap `even`. In these trees, the edge from `from`
    /// to `to` is tight: it gives exactly the distance of `to`. Returns a bitmap of the trees in which `from` is the
    /// parent.
    #[inline]
    fn even(&self, from: u32, to: u32, even: u32) -> Result<u32, NumberedFault> {
        let (mut seen, mut even) = (0, even & ((1 << self.trees.len()) - 1));
        while even != 0 {
            let number = even.trailing_zeros() as usize;
            even &= even - 1;
            let tree = &self.trees[number];
            let parent = tree.parents[to as usize];
            // Every edge between unreached vertices counts as tight.
            if parent == NONE || to == tree.root {
                continue;
            }
            if parent == from {
                seen |= 1 << number;
            } else if self.is_better_parent(number, from, to, parent) {
                return Err((number, PathFault::NotFirst { vertex: to, parent, first: from }));
            }
        }
        Ok(seen)
    }

    /// Returns true if `from` should be the parent of `to` instead of `parent`, in the tree with index `number`. The
    /// edge from `from` to `to` must be tight in this tree: it gives exactly the distance of `to`.
    #[inline]
    fn is_better_parent(&self, number: usize, from: u32, to: u32, parent: u32) -> bool {
        let distance = |v: u32| self.lines[v as usize][number];
        match &self.trees[number].steps {
            // Without plateaus, every parent is nearer than its child.
            None => from < parent && distance(from) < distance(to),
            Some(steps) => {
                let is_nearer = distance(from) < distance(to);
                match steps.of(to) {
                    0 => is_nearer && from < parent,
                    step => is_nearer || steps.of(from) + 1 < step || steps.of(from) + 1 == step && from < parent,
                }
            }
        }
    }

    /// Records that the check has seen a tight edge from the parent of `v`, in the trees of the bitmap `bits`.
    #[inline]
    pub fn note(&self, v: u32, bits: u32) {
        let word = &self.seen[v as usize];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }

    /// Returns the fault of an edge that gives a shorter path in some tree, with the index of the tree.
    #[cold]
    fn shorter(&self, from: u32, to: u32, weight: u64) -> NumberedFault {
        let (above, heads) = (&self.lines[from as usize], &self.lines[to as usize]);
        let number = (0..W).find(|&place| above[place].plus(weight) < heads[place]).unwrap_or(0);
        let (above, distance) = (above[number], heads[number]);
        let fault = match distance == S::UNREACHED {
            true => PathFault::NotReached { from, to },
            false => {
                // The weight of the edge alone fits in `S`, because the length of the longer path to `to` does.
                let weight = S::default().plus(weight);
                let [above, weight, distance] = [above, weight, distance].map(S::distance);
                PathFault::Shorter { from, above, weight, to, distance }
            }
        };
        (number, fault)
    }

    /// Checks that every vertex with a parent has a tight edge from this parent. Call it after the pass over all edges.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
    pub fn check_all_seen(&self, threads: usize) -> Result<Result<(), NumberedFault>> {
        let wrong = first(threads, self.lines.len(), PART, |mut part| {
            part.find_map(|v| {
                let is_lacking = |&(number, tree): &(usize, &CheckedTree<'_>)| {
                    let is_seen = self.seen[v].load(Relaxed) >> number & 1 == 1;
                    !is_seen && v as u32 != tree.root && tree.parents[v] != NONE
                };
                self.trees.iter().enumerate().find(is_lacking).map(|(number, _)| (v as u32, number))
            })
        })?;
        Ok(wrong.map_or(Ok(()), |(vertex, number)| {
            let parent = self.trees[number].parents[vertex as usize];
            let [distance, above] = [vertex, parent].map(|v| self.lines[v as usize][number].distance());
            Err((number, PathFault::NotTight { vertex, distance, parent, above }))
        }))
    }
}

/// Compares the distances at the ends of an edge in all trees. Returns whether the edge gives a shorter path in any
/// tree, and a bitmap of the trees in which it gives exactly the distance of its head.
#[inline(always)]
fn compare<S: TreeSum, const W: usize>(from: &[S; W], to: &[S; W], weight: u64) -> (bool, u32) {
    let (mut shorter, mut even) = (false, 0);
    for place in 0..W {
        let sum = from[place].plus(weight);
        shorter |= sum < to[place];
        even |= u32::from(sum == to[place]) << place;
    }
    (shorter, even)
}
