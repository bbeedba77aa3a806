//! Checks a shortest-path tree by itself, without any edge. Every vertex with a distance must have a parent whose
//! distance is no larger.

use super::PathFigures;
use super::sum::TreeSum;
use crate::algo::sssp::fault::PathFault;
use crate::algo::sssp::search::NONE;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::process::signals;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Number of vertices that a thread takes at a time.
const PART: usize = 1 << 14;

/// A shortest-path tree with distances of one type.
#[derive(Clone, Copy)]
pub(super) struct TypedTree<'a, S> {
    pub root: Vertex,
    pub parents: &'a [u32],
    pub distances: &'a [S],
    /// Whether some parent has the same distance as its child.
    pub has_plateaus: bool,
}

/// Checks a tree without any edge. Returns its figures, and whether some parent has the same distance as its child. If
/// vertices break a rule, returns the fault of the first one.
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
    let found = Mutex::new((0u64, none, None));
    let has_plateaus = AtomicBool::new(false);
    let parts = Parts::new(tree.parents.len(), PART);
    team(threads, &|_| {
        parts.each(|part| {
            signals::check()?;
            let (mut reached, mut most, mut wrong, mut is_level) = (0, none, None, false);
            for v in part {
                match tree.claim(v) {
                    Ok(false) => {}
                    Ok(true) => {
                        reached += 1;
                        is_level |= tree.level_parent(v as u32).is_some();
                        most = if tree.distances[v] > most { tree.distances[v] } else { most };
                    }
                    Err(fault) => {
                        wrong = Some((v, fault));
                        break;
                    }
                }
            }
            if is_level {
                has_plateaus.store(true, Relaxed);
            }
            let mut all = found.lock().unwrap_or_else(PoisonError::into_inner);
            all.0 += reached;
            all.1 = if most > all.1 { most } else { all.1 };
            all.2 = [all.2, wrong].into_iter().flatten().min_by_key(|&(v, _)| v);
            Ok(())
        })
    })?;
    Ok(match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        (.., Some((_, fault))) => Err(fault),
        (reached, most, None) => {
            Ok((PathFigures { reached, max_distance: most.distance() }, has_plateaus.into_inner()))
        }
    })
}

impl<S: TreeSum> TypedTree<'_, S> {
    /// Returns whether vertex `v` is reached, or the fault that it shows.
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

    /// Returns the parent of vertex `v` if both have the same distance. Returns `None` for the root.
    #[inline]
    pub fn level_parent(&self, v: u32) -> Option<u32> {
        let parent = self.parents[v as usize];
        let is_level = v != self.root.0 && self.distances.get(parent as usize) == Some(&self.distances[v as usize]);
        is_level.then_some(parent)
    }
}

/// Copies the distances of up to `W` trees into lines: one line per vertex, with its distances in all trees. `narrow`
/// converts a distance. If there are fewer than `W` trees, the rest of each line becomes unreached.
///
/// # Errors
/// Errors of [`claims`].
pub(super) fn interleave<S: TreeSum, N: TreeSum, const W: usize>(
    lines: &mut [[N; W]],
    trees: &[&[S]],
    threads: usize,
    narrow: fn(S) -> N,
) -> Result<()> {
    let parts: Vec<_> =
        lines.chunks_mut(PART).enumerate().map(|(number, part)| Mutex::new((number * PART, part))).collect();
    let next = Parts::new(parts.len(), 1);
    team(threads, &|_| {
        next.each(|part| {
            signals::check()?;
            let mut part = parts[part.start].lock().unwrap_or_else(PoisonError::into_inner);
            let (first, lines) = &mut *part;
            for (v, line) in (*first..).zip(lines.iter_mut()) {
                *line = std::array::from_fn(|place| trees.get(place).map_or(N::UNREACHED, |of| narrow(of[v])));
            }
            Ok(())
        })
    })
}
