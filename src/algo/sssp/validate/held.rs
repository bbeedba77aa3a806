//! Trees side by side, held against one edge after the other.

use super::steps::Steps;
use super::sum::Sum;
use crate::algo::sssp::fault::Fault;
use crate::algo::sssp::search::NONE;
use crate::algo::team::{Parts, team};
use crate::error::Result;
use crate::memory::{Budget, Buffer, prefetch};
use crate::process::signals;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Vertices that a thread takes at a time at the end.
const PART: usize = 1 << 14;

/// One tree of those that are held.
pub struct Lines<'a> {
    /// The vertex that was searched from.
    pub root: u32,
    /// The parent of every vertex.
    pub parents: &'a [u32],
    /// The steps of vertices, if some parent has the distance of its child.
    pub steps: Option<Steps>,
}

/// Up to `W` trees.
pub struct Held<'a, S, const W: usize> {
    /// The trees.
    pub trees: Vec<Lines<'a>>,
    /// The distances of every vertex, side by side.
    lines: &'a [[S; W]],
    /// A bit for each tree: set where an edge from the parent adds up.
    met: Buffer<AtomicU32>,
}

/// The number of a tree, and a fault in it.
pub type Wrong = (usize, Fault);

impl<'a, S: Sum, const W: usize> Held<'a, S, W> {
    /// Begins with no edge seen.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(trees: Vec<Lines<'a>>, lines: &'a [[S; W]], budget: &Budget) -> Result<Self> {
        let met = budget.zeroed(lines.len(), "parents whose edges were seen (4 bytes a vertex)")?;
        Ok(Held { trees, lines, met })
    }

    /// Has the distances of a vertex fetched into the cache.
    #[inline]
    pub fn fetch(&self, v: u32) {
        prefetch(self.lines, v as usize);
    }

    /// Holds an edge `from` one vertex `to` another against all trees. Returns a bit for each tree in which it is that of the parent.
    ///
    /// # Errors
    /// The first tree in which it makes a path shorter, or should be that of the parent.
    #[inline(always)]
    pub fn edge(&self, from: u32, to: u32, weight: u32) -> Result<u32, Wrong> {
        let (shorter, even) = lead(&self.lines[from as usize], &self.lines[to as usize], weight);
        if shorter {
            return Err(self.shorter(from, to, weight));
        }
        if even == 0 { Ok(0) } else { self.even(from, to, even) }
    }

    /// Returns a bit for each tree that reaches a vertex.
    pub fn reached(&self, v: u32) -> u32 {
        let of = self.lines[v as usize].iter().take(self.trees.len()).enumerate();
        of.fold(0, |bits, (number, &distance)| bits | u32::from(distance != S::UNREACHED) << number)
    }

    /// Looks at the parents of `to` in those of the trees `even` in which an edge from `from` adds up. Returns those in which that is the parent.
    #[inline]
    fn even(&self, from: u32, to: u32, even: u32) -> Result<u32, Wrong> {
        let (mut met, mut even) = (0, even & ((1 << self.trees.len()) - 1));
        while even != 0 {
            let number = even.trailing_zeros() as usize;
            even &= even - 1;
            let tree = &self.trees[number];
            let parent = tree.parents[to as usize];
            // Of vertices that are not reached, all adds up.
            if parent == NONE || to == tree.root {
                continue;
            }
            if parent == from {
                met |= 1 << number;
            } else if self.comes_first(number, from, to, parent) {
                return Err((number, Fault::NotFirst { vertex: to, parent, first: from }));
            }
        }
        Ok(met)
    }

    /// Returns true if `from`, from which an edge adds up, should be the parent of `to` rather than `parent`.
    #[inline]
    fn comes_first(&self, number: usize, from: u32, to: u32, parent: u32) -> bool {
        let distance = |v: u32| self.lines[v as usize][number];
        match &self.trees[number].steps {
            // All parents are nearer.
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

    /// Takes note of the trees in which the parent of a vertex is met.
    #[inline]
    pub fn note(&self, v: u32, bits: u32) {
        let word = &self.met[v as usize];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }

    /// Returns the fault of an edge that makes a path shorter in some tree.
    #[cold]
    fn shorter(&self, from: u32, to: u32, weight: u32) -> Wrong {
        let (above, heads) = (&self.lines[from as usize], &self.lines[to as usize]);
        let number = (0..W).find(|&place| above[place].plus(weight) < heads[place]).unwrap_or(0);
        let (above, distance) = (above[number], heads[number]);
        let fault = match distance == S::UNREACHED {
            true => Fault::NotReached { from, to },
            false => {
                let (above, distance) = (above.distance(), distance.distance());
                Fault::Shorter { from, above, weight: S::weight(weight), to, distance }
            }
        };
        (number, fault)
    }

    /// Checks that every parent was met, after all edges.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] without threads.
    pub fn all_met(&self, threads: usize) -> Result<Result<(), Wrong>> {
        let wrong: Mutex<Option<(u32, usize)>> = Mutex::default();
        let parts = Parts::new(self.lines.len(), PART);
        team(threads, &|_| {
            parts.each(|part| {
                signals::check()?;
                let lacking = part.filter_map(|v| {
                    let is_lacking = |&(number, tree): &(usize, &Lines<'_>)| {
                        let is_met = self.met[v].load(Relaxed) >> number & 1 == 1;
                        !is_met && v as u32 != tree.root && tree.parents[v] != NONE
                    };
                    self.trees.iter().enumerate().find(is_lacking).map(|(number, _)| (v as u32, number))
                });
                if let Some(found) = lacking.min() {
                    let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    *wrong = Some(wrong.map_or(found, |first| first.min(found)));
                }
                Ok(())
            })
        })?;
        let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(wrong.map_or(Ok(()), |(vertex, number)| {
            let parent = self.trees[number].parents[vertex as usize];
            let [distance, above] = [vertex, parent].map(|v| self.lines[v as usize][number].distance());
            Err((number, Fault::NotTight { vertex, distance, parent, above }))
        }))
    }
}

/// Returns true if an edge makes a path shorter in some tree, and a bit for each tree in which it adds up.
#[inline(always)]
fn lead<S: Sum, const W: usize>(from: &[S; W], to: &[S; W], weight: u32) -> (bool, u32) {
    let (mut shorter, mut even) = (false, 0);
    for place in 0..W {
        let sum = from[place].plus(weight);
        shorter |= sum < to[place];
        even |= u32::from(sum == to[place]) << place;
    }
    (shorter, even)
}
