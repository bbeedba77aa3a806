//! Multithreaded operations on one level of the searches: pull, push, and the update of sums. A word is a mask with one
//! bit per source of the pass.

use super::counts::BitCounts;
use crate::algo::round;
use crate::algo::rows::{FEW, Neighbours, any_value};
use crate::algo::team::{Parts, WorkList, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::direction::EdgeDirection::{In, Out};
use crate::memory::{Budget, Buffer, prefetch_near};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Inverse of the capacity of vertex lists: in a large graph, a list has capacity for 1/`LISTED` of all vertices.
const LISTED: usize = 8;
/// Number of found vertices that a thread collects before it locks the shared list.
const BATCH: usize = 1 << 10;
/// Number of vertices whose sums of distances a thread updates at a time.
const UPDATED: usize = 1 << 12;

/// A list of distinct vertices in any order, with fixed capacity. If more vertices are appended, only their number is
/// known.
pub(super) struct BoundedList {
    vertices: Buffer<u32>,
    pub len: usize,
}

impl BoundedList {
    /// Returns the capacity of a list, in vertices, in a graph of `vertices` vertices.
    pub(super) fn room(vertices: usize) -> usize {
        // A level that one thread finds always fits.
        (vertices / LISTED).max(FEW as usize).min(vertices)
    }

    /// Creates an empty list.
    pub(super) fn new(vertices: usize, budget: &Budget) -> Result<BoundedList> {
        Ok(BoundedList { vertices: budget.zeroed(Self::room(vertices), "lists of vertices (4 bytes each)")?, len: 0 })
    }

    /// Returns the vertices of the list, or `None` if there were more than its capacity.
    pub(super) fn known(&self) -> Option<&[u32]> {
        self.vertices.get(..self.len)
    }

    #[inline]
    pub(super) fn push(&mut self, v: u32) {
        if let Some(place) = self.vertices.get_mut(self.len) {
            *place = v;
        }
        self.len += 1;
    }

    /// Replaces the list by the vertices whose elements of `words` are not zero.
    pub(super) fn fill(&mut self, words: &[u64]) {
        self.len = 0;
        (0..).zip(words).filter(|&(_, &word)| word != 0).for_each(|(v, _)| self.push(v));
    }
}

/// Totals of one level of a pass, which searches from several sources at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Number of vertices that at least one source reaches in the level.
    pub vertices: usize,
    /// Number of neighbours in the out-rows of the vertices that the level reaches.
    pub leaving: u64,
    /// Number of neighbours in the in-rows of those vertices in the level that all active sources have reached.
    pub full: u64,
    /// For each source, the number of vertices that it reaches in the level.
    pub counts: Vec<u64>,
}

/// For each vertex `v` that this rank owns, sets `next[v]` to the mask of the sources that reached an in-neighbour in
/// the last level and have not reached `v`. Considers only the sources in the mask `active`.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn pull(
    rows: &Neighbours<'_>,
    (frontier, seen): (&[u64], &[u64]),
    next: &mut [u64],
    active: u64,
    threads: usize,
) -> Result<()> {
    rows.each_own(next, threads, Default::default, |v, next, unpacked| {
        let (wanted, mut found) = (active & !seen[v as usize], 0);
        if wanted != 0 {
            let row = rows.row(rows.direction.row(v, In), unpacked);
            // Hubs come first in a row, so the first few entries often contribute all sources.
            any_value(row, frontier, |word| {
                found |= word;
                found & wanted == wanted
            });
        }
        *next = found & wanted;
    })
}

/// For each vertex `v` in `list`, adds the sources in the mask `frontier[v]` to `next[w]` of each out-neighbour `w`,
/// except sources that have reached `w` before. Appends the out-neighbours that receive a source to `found`. All
/// elements of `next` must be zero before the call.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn push(
    rows: &Neighbours<'_>,
    list: &[u32],
    (frontier, seen): (&[u64], &[u64]),
    (next, found): (&[AtomicU64], &mut BoundedList),
    (comm, threads): (&Comm, usize),
) -> Result<()> {
    let (work, found) = (WorkList::new(rows.divide(list, Out)), Mutex::new(found));
    let append = |batch: &mut Vec<u32>| {
        let mut found = found.lock();
        batch.drain(..).for_each(|v| found.push(v));
    };
    team(threads, &|_| {
        let (mut unpacked, mut batch) = (Default::default(), Vec::with_capacity(BATCH));
        while let Some(part) = work.take() {
            round::check(comm)?;
            let expect = |w: u32| prefetch_near(seen, w as usize);
            rows.each_of((part, Out), expect, |v| {
                let word = frontier[v as usize];
                rows.each(v, Out, &mut unpacked, |w| {
                    let new = word & !seen[w as usize];
                    if new != 0 && next[w as usize].fetch_or(new, Relaxed) == 0 {
                        batch.push(w);
                        if batch.len() == BATCH {
                            append(&mut batch);
                        }
                    }
                });
            });
        }
        append(&mut batch);
        Ok(())
    })
}

/// Does the same as [`push`], on the calling thread alone.
pub(super) fn push_few(
    rows: &Neighbours<'_>,
    list: &[u32],
    (frontier, seen): (&[u64], &[u64]),
    (next, found): (&mut [u64], &mut BoundedList),
) {
    let mut unpacked = Default::default();
    let expect = |w: u32| prefetch_near(seen, w as usize);
    rows.each_of((list, Out), expect, |v| {
        let word = frontier[v as usize];
        rows.each(v, Out, &mut unpacked, |w| {
            let (new, next) = (word & !seen[w as usize], &mut next[w as usize]);
            if new != 0 {
                if *next == 0 {
                    found.push(w);
                }
                *next |= new;
            }
        });
    });
}

/// Arrays to which a level is added: for each vertex, the sources that have reached it, and the sums of distances.
pub(super) struct Words<'w> {
    /// For each vertex, the mask of the sources that have reached it.
    pub seen: &'w [AtomicU64],
    /// For each vertex, the mask of the sources that reach it in this level.
    pub next: &'w [u64],
    /// Sums of distances, in two words for each vertex. [`super::search::VertexSums`] describes the format.
    pub sums: &'w [AtomicU64],
    /// Mask of the sources that reached any vertex in the last level.
    pub active: u64,
    pub distance: u64,
}

impl Words<'_> {
    /// Adds the last level to the masks and the sums of the vertices in `list`, or of all vertices if there is no list.
    /// Returns the totals of the level.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn add(&self, rows: &Neighbours<'_>, list: Option<&[u32]>, threads: usize) -> Result<Found> {
        let parts = Parts::new(list.map_or(self.next.len(), <[u32]>::len), UPDATED);
        let threads = if list.is_some_and(|list| list.len() <= UPDATED) { 1 } else { threads };
        let of_threads = gathered(threads, &|_| {
            let (mut found, mut counts) = (Found::default(), BitCounts::new());
            parts.each(|part| {
                match list {
                    Some(list) => list[part].iter().for_each(|&v| self.add_vertex(v, rows, &mut found, &mut counts)),
                    None => part.for_each(|v| self.add_vertex(v as u32, rows, &mut found, &mut counts)),
                }
                Ok(())
            })?;
            Ok((found, counts.totals()))
        })?;
        let mut all = Found { counts: vec![0; 64], ..Found::default() };
        for (found, counts) in of_threads {
            all.vertices += found.vertices;
            all.leaving += found.leaving;
            all.full += found.full;
            all.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(all)
    }

    #[inline(always)]
    fn add_vertex(&self, v: u32, rows: &Neighbours<'_>, found: &mut Found, counts: &mut BitCounts) {
        let new = self.next[v as usize];
        if new == 0 {
            return;
        }
        // Only this thread writes the elements of the vertex.
        let seen = self.seen[v as usize].load(Relaxed) | new;
        self.seen[v as usize].store(seen, Relaxed);
        let [total, others] = [2 * v as usize, 2 * v as usize + 1].map(|place| &self.sums[place]);
        let reached = u64::from(new.count_ones());
        total.store(total.load(Relaxed) + self.distance * reached, Relaxed);
        let (sources, farthest) = (others.load(Relaxed) as u32, others.load(Relaxed) >> 32);
        others.store(self.distance.max(farthest) << 32 | (u64::from(sources) + reached), Relaxed);
        counts.add(new);
        found.vertices += 1;
        found.leaving += rows.degree_of(v, Out);
        if self.active & !seen == 0 {
            found.full += rows.degree_of(v, In);
        }
    }
}
