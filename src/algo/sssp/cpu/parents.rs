//! Finds the parents of vertices when distances are known. The parent of a vertex is the smallest vertex that is nearer
//! and from which a tight edge leads to it. An edge is tight if it lies on a shortest path.

use super::arithmetic::Arithmetic;
use super::rows::{Entries, Row, Wanted, neighbour, weight};
use super::search::{ThreadState, Walk};
use super::slices::{RowSlices, RowWords, Word};
use crate::algo::searches::ranks::RankExchange;
use crate::algo::sssp::search::{NONE, Phase};
use crate::error::Result;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// How many vertices ahead a row is prefetched.
const AHEAD: u32 = 12;
/// Maximum length of a row that is scanned to its end.
const SHORT: usize = 8;

/// What a thread found among its vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached<S> {
    /// Number of reached vertices.
    pub vertices: u64,
    /// Largest distance of a reached vertex.
    pub farthest: Option<S>,
    /// Reached vertices without a parent so far, because all tight edges to them add nothing.
    pub without: Vec<u32>,
}

impl<S> Default for Reached<S> {
    fn default() -> Reached<S> {
        Reached { vertices: 0, farthest: None, without: Vec::new() }
    }
}

impl<S: Ord> Reached<S> {
    /// Counts a vertex at distance `sum`.
    #[inline]
    pub fn note(&mut self, sum: S) {
        self.vertices += 1;
        if self.farthest.as_ref().is_none_or(|farthest| *farthest < sum) {
            self.farthest = Some(sum);
        }
    }

    /// Adds the counts of other ranks, and the edges that they relaxed in each phase. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn of_all<A: Arithmetic<Sum = S>>(&mut self, exchange: &mut RankExchange, phases: &mut [Phase]) -> Result<()>
    where
        S: Copy,
    {
        self.vertices = exchange.sum(self.vertices)?;
        let nearer = u64::MAX - A::to_word(self.farthest.unwrap_or(A::ZERO));
        self.farthest = Some(A::of_word(u64::MAX - exchange.least(nearer)?));
        phases.iter_mut().try_for_each(|phase| {
            phase.relaxations = exchange.sum(phase.relaxations)?;
            Ok(())
        })
    }

    /// Adds what another thread found.
    pub fn add(&mut self, other: Reached<S>) {
        self.vertices += other.vertices;
        if other.farthest > self.farthest {
            self.farthest = other.farthest;
        }
        self.without.extend(other.without);
    }
}

/// Finds the parents of all vertices with more than one edge, except those whose tight in-edges all add nothing.
/// Returns false if threads stop. Collective.
pub fn find<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
    if A::KEEPS_PARENTS {
        return copy_kept(walk, here, parents);
    }
    let (graph, sums) = (walk.graph, walk.sums);
    let into = graph.into();
    // The vertices nearer than this are few, so they claim their children.
    let nearest = match A::load(&walk.least) {
        // With several ranks only the owner of a vertex knows its edges.
        sum if sum == A::UNREACHED || walk.is_shared() => A::ZERO,
        sum => sum,
    };
    let mut reached = Reached::default();
    let claimed = if nearest > A::ZERO { claim_all(walk, here, nearest, parents) } else { Some(0) };
    let Some(mut relaxed) = claimed else { return false };
    // Vertices of which memory has too few entries.
    let mut far = Vec::new();
    let done = walk.round(here, 0..graph.tails, |part| {
        let whole = match &into.entries {
            _ if nearest > A::ZERO => None,
            Entries::Short(words) => Some(by_whole_rows(walk, words.slices(), part.clone(), parents, &mut reached)),
            Entries::Long(words) => Some(by_whole_rows(walk, words.slices(), part.clone(), parents, &mut reached)),
            Entries::OnDisk(..) => None,
        };
        if let Some(looked) = whole {
            relaxed += looked;
            return 0;
        }
        let is_in_memory = !into.is_on_disk();
        let needs_row = |v: u32| {
            let sum = A::load(&sums[v as usize]);
            sum != A::UNREACHED && A::add(nearest, into.lightest(v)) <= sum
        };
        let end = part.end;
        let mut look = |v: u32, only_memory: bool| {
            let sum = A::load(&sums[v as usize]);
            let parent = &parents[v as usize];
            let mut first = if nearest > A::ZERO { parent.load(Relaxed) } else { NONE };
            if sum == A::UNREACHED {
                first = NONE;
            } else if v == walk.root {
                first = v;
            } else if A::add(nearest, into.lightest(v)) <= sum {
                let Some((tight, looked)) = first_of_row::<A>(sums, into.row(v), nearest, sum, only_memory) else {
                    return false;
                };
                relaxed += looked;
                first = first.min(tight);
            }
            if sum != A::UNREACHED {
                reached.note(sum);
                if first == NONE {
                    reached.without.push(v);
                }
            }
            parent.store(first, Relaxed);
            true
        };
        for v in part.filter(|&v| graph.own.has(v)) {
            if is_in_memory && v + AHEAD < end && needs_row(v + AHEAD) {
                into.prefetch_row(v + AHEAD);
            }
            if !look(v, true) {
                far.push(v);
            }
        }
        into.for_each_prefetched(far.drain(..), |v| Some(Wanted::First(v)), |v| _ = look(v, false));
        0
    });
    walk.add(reached);
    done.is_some() && walk.end_phase(here, "parents", 1, relaxed)
}

/// Copies the parents that cells keep. Returns false if threads stop. Collective.
fn copy_kept<A: Arithmetic>(walk: &Walk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
    let (sums, root) = (walk.sums, walk.root);
    let mut reached = Reached::default();
    let done = walk.round(here, 0..walk.graph.tails, |part| {
        let mut found = std::mem::take(&mut reached);
        for v in part {
            let (sum, mut parent) = (A::load(&sums[v as usize]), A::parent(&sums[v as usize]));
            if sum == A::UNREACHED {
                parent = NONE;
            } else {
                found.note(sum);
                if v == root {
                    parent = v;
                } else if parent == NONE {
                    found.without.push(v);
                }
            }
            parents[v as usize].store(parent, Relaxed);
        }
        reached = found;
        0
    });
    walk.add(reached);
    done.is_some() && walk.end_phase(here, "parents", 1, 0)
}

/// Finds the parents of a part of the vertices from their rows only. Returns the number of entries that it read.
fn by_whole_rows<A: Arithmetic, W: Word>(
    walk: &Walk<'_, A>,
    rows: RowSlices<'_, W>,
    part: Range<u32>,
    parents: &[AtomicU32],
    reached: &mut Reached<A::Sum>,
) -> u64 {
    let (graph, sums) = (walk.graph, walk.sums);
    // These values are kept in locals because deep graphs have only a few entries per vertex.
    let (is_shared, root) = (walk.is_shared(), walk.root);
    let (mut found, mut relaxed) = (std::mem::take(reached), 0);
    for (v, row) in rows.rows(part) {
        if is_shared && !graph.own.has(v) {
            continue;
        }
        let sum = A::load(&sums[v as usize]);
        let mut first = NONE;
        if sum != A::UNREACHED {
            found.note(sum);
            // For a short row, stopping early is not worth a branch.
            let row = if row.len() <= SHORT { row } else { short_enough::<A, W>(row, A::ZERO, sum) };
            relaxed += row.len() as u64;
            first = if v == root { v } else { first_tight::<A>(sums, row.entries(), sum) };
            if first == NONE {
                found.without.push(v);
            }
        }
        parents[v as usize].store(first, Relaxed);
    }
    *reached = found;
    relaxed
}

/// Returns the smallest neighbour from which a tight edge leads to a vertex at distance `sum`, or [`NONE`], and the
/// number of edges that it looked along. Considers only neighbours at a distance of at least `nearest` and less than
/// `sum`. With `only_memory` it returns `None` if the entries in memory do not suffice.
#[inline(always)]
fn first_of_row<A: Arithmetic>(
    sums: &[A::Cell],
    row: Row<'_>,
    nearest: A::Sum,
    sum: A::Sum,
    only_memory: bool,
) -> Option<(u32, u64)> {
    let row = match row {
        Row::Short(row) => return Some(first_of_words::<A, _>(sums, row, nearest, sum)),
        Row::Long(row) => return Some(first_of_words::<A, _>(sums, row, nearest, sum)),
        Row::OnDisk(row) => row,
    };
    let (mut first, mut relaxed) = (NONE, 0);
    let is_complete = row.along(only_memory, |entry| {
        let is_short = A::add(nearest, weight(entry)) <= sum;
        if is_short {
            relaxed += 1;
            first = first.min(first_tight::<A>(sums, [entry].into_iter(), sum));
        }
        is_short
    });
    is_complete.then_some((first, relaxed))
}

/// Does what [`first_of_row`] does, for a row in memory.
#[inline(always)]
fn first_of_words<A: Arithmetic, W: Word>(
    sums: &[A::Cell],
    row: RowWords<'_, W>,
    nearest: A::Sum,
    sum: A::Sum,
) -> (u32, u64) {
    let row = short_enough::<A, W>(row, nearest, sum);
    (first_tight::<A>(sums, row.entries(), sum), row.len() as u64)
}

/// Returns the entries of a row whose edge may be tight if it comes from a vertex at distance `nearest` or farther.
/// Later entries have larger weights, so that their edges are too long.
#[inline(always)]
fn short_enough<A: Arithmetic, W: Word>(row: RowWords<'_, W>, nearest: A::Sum, sum: A::Sum) -> RowWords<'_, W> {
    row.take_while(|entry| A::add(nearest, weight(entry)) <= sum)
}

/// Returns the smallest neighbour among `entries` that is nearer than `sum` and from which a tight edge leads, or
/// [`NONE`].
#[inline(always)]
fn first_tight<A: Arithmetic>(sums: &[A::Cell], entries: impl Iterator<Item = u64>, sum: A::Sum) -> u32 {
    entries.fold(NONE, |first, entry| {
        let before = A::load(&sums[neighbour(entry) as usize]);
        let is_tight = (before < sum) & (A::add(before, weight(entry)) == sum);
        first.min(if is_tight { neighbour(entry) } else { NONE })
    })
}

/// Makes each vertex nearer than `nearest` the parent of the vertices to which a tight edge leads from it. Returns the
/// number of edges that this thread looked along, or `None` if threads stop. Collective.
fn claim_all<A: Arithmetic>(
    walk: &Walk<'_, A>,
    here: &mut ThreadState,
    nearest: A::Sum,
    parents: &[AtomicU32],
) -> Option<u64> {
    let all = walk.graph.tails as usize;
    let own = all * here.thread / walk.threads..all * (here.thread + 1) / walk.threads;
    parents[own].iter().for_each(|parent| parent.store(NONE, Relaxed));
    if !walk.wait(here) {
        return None;
    }
    let mut relaxed = 0;
    let done = walk.round(here, 0..walk.graph.vertices, |part| {
        let near = part.filter(|&v| A::load(&walk.sums[v as usize]) < nearest);
        walk.graph.out.for_each_prefetched(near, |v| Some(Wanted::All(v)), |v| relaxed += claim(walk, v, parents));
        0
    });
    done.map(|_| relaxed)
}

/// Makes `v` the parent of each vertex to which a tight edge leads from it, unless a smaller vertex already is. Returns
/// the number of edges of `v`.
fn claim<A: Arithmetic>(walk: &Walk<'_, A>, v: u32, parents: &[AtomicU32]) -> u64 {
    let own = A::load(&walk.sums[v as usize]);
    walk.graph.out.row(v).along(false, |entry| {
        let to = neighbour(entry);
        if to < walk.graph.tails {
            let sum = A::load(&walk.sums[to as usize]);
            if own < sum && A::add(own, weight(entry)) == sum && parents[to as usize].load(Relaxed) > v {
                parents[to as usize].fetch_min(v, Relaxed);
            }
        }
        true
    });
    walk.graph.out.degree(v)
}
