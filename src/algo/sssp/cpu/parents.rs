//! The parents of vertices, from distances that are known: of a vertex the smallest one that is nearer and that a tight edge leads from.

use super::arithmetic::Arithmetic;
use super::rows::{neighbour, weight};
use super::search::{Here, Walk};
use crate::algo::sssp::search::NONE;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The findings of a thread among its vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached<S> {
    /// Vertices that are reached.
    pub vertices: u64,
    /// The largest distance of these.
    pub farthest: Option<S>,
    /// Those that only edges lead to which add nothing.
    pub without: Vec<u32>,
}

impl<S> Default for Reached<S> {
    fn default() -> Reached<S> {
        Reached { vertices: 0, farthest: None, without: Vec::new() }
    }
}

impl<S: Ord> Reached<S> {
    /// Adds the findings of another thread.
    pub fn add(&mut self, other: Reached<S>) {
        self.vertices += other.vertices;
        if other.farthest > self.farthest {
            self.farthest = other.farthest;
        }
        self.without.extend(other.without);
    }
}

/// Finds the parents of all vertices, but for those that only edges lead to which add nothing. Returns false where threads stop. Collective.
pub fn find<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut Here, parents: &[AtomicU32]) -> bool {
    let (graph, sums) = (walk.graph, walk.sums);
    let into = graph.into();
    let (mut reached, mut relaxed) = (Reached::default(), 0);
    let done = walk.round(here, 0..graph.vertices, |part| {
        for v in part {
            let sum = A::load(&sums[v as usize]);
            let parent = &parents[v as usize];
            if sum == A::UNREACHED {
                parent.store(NONE, Relaxed);
                continue;
            }
            reached.vertices += 1;
            reached.farthest = reached.farthest.max(Some(sum));
            if v == walk.root {
                parent.store(v, Relaxed);
                continue;
            }
            let mut first = NONE;
            for &entry in into.row(v) {
                // No edge behind is as short as the way to v.
                if A::add(A::ZERO, weight(entry)) > sum {
                    break;
                }
                relaxed += 1;
                let before = A::load(&sums[neighbour(entry) as usize]);
                if before < sum && A::add(before, weight(entry)) == sum {
                    first = first.min(neighbour(entry));
                }
            }
            parent.store(first, Relaxed);
            if first == NONE {
                reached.without.push(v);
            }
        }
        0
    });
    walk.add(reached);
    done.is_some() && walk.end_phase(here, "parents", 1, relaxed)
}
