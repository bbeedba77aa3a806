//! Checks a shortest-path tree without reading any edge. Every vertex with a distance must have a parent whose distance
//! is no larger.

use super::PathFigures;
use super::sum::TreeSum;
use crate::algo::sssp::fault::PathFault;
use crate::algo::sssp::search::NONE;
use crate::algo::team::{Parts, WorkList, gathered, team};
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::process::signals;

/// Number of vertices that a thread claims at a time.
const PART: usize = 1 << 14;

/// A shortest-path tree whose distances have the type `S`.
#[derive(Clone, Copy)]
pub(super) struct TypedTree<'a, S> {
    pub root: Vertex,
    pub parents: &'a [u32],
    pub distances: &'a [S],
    /// Whether the distance of some vertex is equal to the distance of its parent.
    pub has_plateaus: bool,
}

/// Checks a tree without reading any edge. Returns its statistics, and whether the distance of some vertex is equal to
/// the distance of its parent. If vertices break a rule, returns the fault of the first such vertex.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn claims<S: TreeSum>(
    tree: TypedTree<'_, S>,
    threads: usize,
) -> Result<Result<(PathFigures, bool), PathFault>> {
    let (root, none) = (tree.root, S::default());
    let parent = tree.parents.get(root.index()).copied();
    if parent != Some(root.0) {
        return Ok(Err(PathFault::Root { parent: parent.filter(|&parent| parent != NONE) }));
    }
    let distance = tree.distances[root.index()];
    if distance != none {
        return Ok(Err(PathFault::RootDistance { distance: distance.distance() }));
    }
    let parts = Parts::new(tree.parents.len(), PART);
    let larger = |a: S, b: S| if b > a { b } else { a };
    let of_threads = gathered(threads, &|_| {
        let (mut reached, mut most, mut has_plateaus, mut wrong) = (0u64, none, false, None);
        parts.each(|part| {
            signals::check()?;
            for v in part {
                match tree.claim(v) {
                    Ok(false) => {}
                    Ok(true) => {
                        reached += 1;
                        has_plateaus |= tree.level_parent(v as u32).is_some();
                        most = larger(most, tree.distances[v]);
                    }
                    // A thread processes its parts in ascending order, so its first fault precedes all its others.
                    Err(fault) => {
                        wrong = wrong.or(Some((v, fault)));
                        break;
                    }
                }
            }
            Ok(())
        })?;
        Ok((reached, most, has_plateaus, wrong))
    })?;
    let wrong = of_threads.iter().filter_map(|&(.., wrong)| wrong).min_by_key(|&(v, _)| v);
    if let Some((_, fault)) = wrong {
        return Ok(Err(fault));
    }
    let reached = of_threads.iter().map(|&(reached, ..)| reached).sum();
    let max_distance = of_threads.iter().fold(none, |most, of| larger(most, of.1)).distance();
    Ok(Ok((PathFigures { reached, max_distance }, of_threads.iter().any(|of| of.2))))
}

impl<S: TreeSum> TypedTree<'_, S> {
    /// Returns whether vertex `v` is reached, or a fault if its distance or its parent breaks a rule.
    #[inline]
    fn claim(&self, v: usize) -> Result<bool, PathFault> {
        let (distance, parent, vertex) = (self.distances[v], self.parents[v], v as u32);
        match (distance == S::UNREACHED, parent == NONE) {
            (true, true) => return Ok(false),
            (true, false) => return Err(PathFault::NoDistance { vertex, parent }),
            (false, true) => return Err(PathFault::NoParent { vertex, distance: distance.distance() }),
            (false, false) => {}
        }
        match self.distances.get(parent as usize) {
            None => Err(PathFault::NoVertex { vertex, parent: parent.into() }),
            Some(&above) if above <= distance => Ok(true),
            Some(&above) if above == S::UNREACHED => Err(PathFault::LostParent { vertex, parent }),
            Some(&above) => {
                let (distance, above) = (distance.distance(), above.distance());
                Err(PathFault::Farther { vertex, distance, parent, above })
            }
        }
    }

    /// Returns the parent of vertex `v` if both are at the same distance, otherwise `None`. Also returns `None` for the
    /// root.
    #[inline]
    pub fn level_parent(&self, v: u32) -> Option<u32> {
        let parent = self.parents[v as usize];
        let is_level = v != self.root.0 && self.distances.get(parent as usize) == Some(&self.distances[v as usize]);
        is_level.then_some(parent)
    }
}

/// Copies the distances of up to `W` trees into `lines`, one line per vertex. A line contains the distances of its
/// vertex in all trees. `narrow` converts a distance. If there are fewer than `W` trees, the remaining elements of each
/// line are set to unreached.
///
/// # Errors
/// Errors of [`claims`].
pub(super) fn interleave<S: TreeSum, N: TreeSum, const W: usize>(
    lines: &mut [[N; W]],
    trees: &[&[S]],
    threads: usize,
    narrow: fn(S) -> N,
) -> Result<()> {
    let parts = WorkList::new(lines.chunks_mut(PART).zip((0..).step_by(PART)).collect());
    team(threads, &|_| {
        while let Some((lines, first)) = parts.take() {
            signals::check()?;
            for (v, line) in (first..).zip(lines) {
                *line = std::array::from_fn(|place| trees.get(place).map_or(N::UNREACHED, |of| narrow(of[v])));
            }
        }
        Ok(())
    })
}
