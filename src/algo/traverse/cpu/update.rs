//! State of the vertices that a rank owns: their parents, which of them are reached, and which of them the current step
//! reaches.

use crate::algo::bits::{is_set, ones};
use crate::algo::team::{Parts, gathered, share, team};
use crate::algo::traverse::search::NONE;
use crate::error::Result;
use crate::memory::{Budget, Buffer, cells, populate, prefetch};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Minimum number of pairs (a vertex and its proposed parent) that several threads process together. Fewer pairs are
/// left to one thread.
const SHARED: usize = 1 << 15;
/// Number of pairs (a vertex and its proposed parent) that a thread processes at a time.
const PART: usize = 1 << 12;
/// Prefetch distance, in pairs (a vertex and its proposed parent).
const PREFETCH_DISTANCE: usize = 16;

/// State of the vertices that a rank owns: their parents, and bitmaps of reached vertices.
pub(super) struct Update {
    parents: Buffer<u32>,
    /// Bitmap of the vertices reached before the current step.
    reached: Buffer<AtomicU64>,
    /// Bitmap of the vertices that the current step reaches.
    new: Buffer<AtomicU64>,
    /// Vertices that the current step reaches, as local indices among the vertices of this rank, if the step is narrow
    /// (a step on one thread).
    listed: Buffer<u32>,
    count: usize,
}

/// Returns the size in bytes of an [`Update`] for a rank that owns `own` vertices, if narrow steps (steps on one
/// thread) have at most `edges` edges.
pub(super) fn bytes(own: u64, edges: u64) -> u64 {
    4 * own + 2 * 8 * own.div_ceil(64) + 4 * edges
}

impl Update {
    pub fn new(own: usize, edges: u64, budget: &Budget) -> Result<Update> {
        let bits = || budget.zeroed(own.div_ceil(64), "the vertices that are reached (a bit each)");
        let mut parents = budget.zeroed(own, "the parents of a rank's vertices (4 bytes each)")?;
        populate(&mut parents);
        let listed = budget.zeroed(edges as usize, "vertices that a step reaches (4 bytes each)")?;
        Ok(Update { parents, reached: bits()?, new: bits()?, listed, count: 0 })
    }

    /// Resets all vertices of this rank to unreached.
    pub fn begin(&mut self) {
        self.parents.fill(NONE);
        self.reached.iter_mut().chain(self.new.iter_mut()).for_each(|word| *word.get_mut() = 0);
        self.count = 0;
    }

    /// Marks the vertex `root`, whose local index on this rank is `local_index`, as reached.
    pub fn root(&mut self, local_index: usize, root: u32) {
        self.parents[local_index] = root;
        *self.reached[local_index / 64].get_mut() |= 1 << (local_index % 64);
    }

    /// Returns the parents of the vertices that this rank owns.
    pub fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// Returns a view of the parents and bitmaps through which several threads can claim vertices.
    pub fn claims(&mut self) -> SharedClaims<'_> {
        SharedClaims { parents: cells(&mut self.parents), reached: &self.reached, new: &self.new }
    }

    /// Claims the vertices in `pairs`, all of which this rank owns. `first` is the key of the rank's first vertex.
    pub fn take(&mut self, pairs: &[u64], first: u32, is_narrow: bool, threads: usize) -> Result<()> {
        let local_index = |pair: u64| ((pair >> 32) as u32 - first) as usize;
        if is_narrow {
            for &pair in pairs {
                let (local_index, parent) = (local_index(pair), pair as u32);
                let known = self.parents[local_index];
                let (word, bit) = (local_index / 64, 1 << (local_index % 64));
                if known == NONE {
                    self.parents[local_index] = parent;
                    *self.new[word].get_mut() |= bit;
                    self.listed[self.count] = local_index as u32;
                    self.count += 1;
                } else if *self.new[word].get_mut() & bit != 0 {
                    self.parents[local_index] = known.min(parent);
                }
            }
            return Ok(());
        }
        let claims = self.claims();
        let work = |pairs: &[u64], is_alone: bool| {
            for (at, &pair) in pairs.iter().enumerate() {
                if let Some(&ahead) = pairs.get(at + PREFETCH_DISTANCE) {
                    prefetch(claims.parents, local_index(ahead));
                }
                match is_alone {
                    true => claims.claim_alone(local_index(pair), pair as u32),
                    false => claims.claim(local_index(pair), pair as u32),
                }
            }
        };
        if threads == 1 || pairs.len() < SHARED {
            work(pairs, true);
            return Ok(());
        }
        let parts = Parts::new(pairs.len(), PART);
        team(threads, &|_| {
            parts.each(|part| {
                work(&pairs[part], false);
                Ok(())
            })
        })
    }

    /// Marks the vertices that the step reached as reached before the next step, and writes them to `frontier` in
    /// ascending order. `vertex` converts a local index on this rank to a vertex. Returns the number of these vertices.
    pub fn advance(
        &mut self,
        frontier: &mut [u32],
        vertex: impl Fn(u32) -> u32 + Sync,
        is_narrow: bool,
        threads: usize,
    ) -> Result<usize> {
        if is_narrow {
            let listed = &mut self.listed[..std::mem::take(&mut self.count)];
            listed.sort_unstable();
            for (&local_index, slot) in listed.iter().zip(frontier) {
                let word = local_index as usize / 64;
                *self.reached[word].get_mut() |= 1 << (local_index % 64);
                *self.new[word].get_mut() = 0;
                *slot = vertex(local_index);
            }
            return Ok(listed.len());
        }
        let frontier = cells(frontier);
        let words = self.new.len();
        let share = |thread: usize| share(words, thread, threads);
        let (new, reached) = (&self.new, &self.reached);
        let counts = gathered(threads, &|thread| {
            Ok(new[share(thread)].iter().map(|word| word.load(Relaxed).count_ones() as usize).sum::<usize>())
        })?;
        let before = |thread: usize| counts[..thread].iter().sum::<usize>();
        team(threads, &|thread| {
            let mut slots = frontier[before(thread)..].iter();
            for at in share(thread) {
                let bits = new[at].load(Relaxed);
                if bits == 0 {
                    continue;
                }
                reached[at].store(reached[at].load(Relaxed) | bits, Relaxed);
                new[at].store(0, Relaxed);
                for (bit, slot) in ones(bits).zip(&mut slots) {
                    slot.store(vertex(at as u32 * 64 + bit), Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(before(threads))
    }
}

/// View of a rank's vertices through which several threads can claim vertices at the same time.
#[derive(Clone, Copy)]
pub(super) struct SharedClaims<'a> {
    parents: &'a [AtomicU32],
    reached: &'a [AtomicU64],
    new: &'a [AtomicU64],
}

impl SharedClaims<'_> {
    /// Claims the vertex with local index `local_index` on this rank for `parent`, unless the vertex was reached before
    /// the current step. If several threads claim the vertex, the smallest parent wins.
    #[inline(always)]
    pub fn claim(self, local_index: usize, parent: u32) {
        if is_set(self.reached, local_index as u32) {
            return;
        }
        if self.parents[local_index].fetch_min(parent, Relaxed) == NONE {
            self.new[local_index / 64].fetch_or(1 << (local_index % 64), Relaxed);
        }
    }

    /// Like [`Self::claim`], but faster. While it runs, no other thread may claim vertices.
    #[inline(always)]
    fn claim_alone(self, local_index: usize, parent: u32) {
        if is_set(self.reached, local_index as u32) {
            return;
        }
        let (cell, word) = (&self.parents[local_index], &self.new[local_index / 64]);
        let known = cell.load(Relaxed);
        cell.store(known.min(parent), Relaxed);
        if known == NONE {
            word.store(word.load(Relaxed) | 1 << (local_index % 64), Relaxed);
        }
    }
}
