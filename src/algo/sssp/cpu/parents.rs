//! Finds the parents of vertices once all distances are known. An edge is *tight* if the distance of its tail plus its
//! weight equals the distance of its head. The parent of a vertex is the smallest vertex that is nearer to the root and
//! from which a tight edge leads to it.

use super::arithmetic::Arithmetic;
use super::rows::{Entries, RowRequest, SortedRow, neighbour, weight};
use super::slices::{RowSlices, RowWords, Word};
use super::walk::{PathWalk, ReachedVertices, ThreadState};
use crate::algo::sssp::search::NONE;
use crate::error::Result;
use crate::graph::direction::EdgeDirection;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Prefetch distance, in adjacency rows.
const AHEAD: u32 = 12;
/// Maximum length of a row that is read completely. In a longer row, the search for a parent stops at the first edge
/// that is too long.
const SHORT: usize = 8;

/// Finds the parents of all vertices with more than one edge. Skips vertices that are reached only by edges that add
/// nothing to the distance, because [`on_plateaus`] finds their parents. Returns false if an error or a POSIX signal
/// ends the search. All threads must call it.
pub fn find<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
    if A::KEEPS_PARENTS {
        return copy_kept(walk, here, parents);
    }
    let (graph, sums, values) = (walk.graph, walk.sums, walk.values);
    let into = graph.into();
    // Few vertices are nearer than `nearest`. They claim their children, so that the rows of the children need not be
    // searched.
    let nearest = match walk.least() {
        // With several ranks only the owner of a vertex knows its edges.
        sum if sum == A::UNREACHED || walk.is_shared() => A::ZERO,
        sum => sum,
    };
    let mut reached = ReachedVertices::default();
    let claimed = if nearest > A::ZERO { claim_all(walk, here, nearest, parents) } else { Some(0) };
    let Some(mut relaxed) = claimed else { return false };
    // Vertices for which too few entries are in memory, so that the disk must be read.
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
            sum != A::UNREACHED && A::add(nearest, into.lightest[v as usize], values) <= sum
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
            } else if A::add(nearest, into.lightest[v as usize], values) <= sum {
                let near = (nearest, sum);
                let Some((tight, looked)) = first_of_row::<A>((sums, values), into.row(v), near, only_memory) else {
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
        into.for_each_prefetched(far.drain(..), |v| Some(RowRequest::First(v)), |v| _ = look(v, false));
        0
    });
    walk.add(reached);
    done.is_some() && walk.end_phase(here, "parents", 1, relaxed)
}

/// Copies the parents from the cells in which the search stored them to `parents`. Returns false if an error or a POSIX
/// signal ends the search. All threads must call it.
fn copy_kept<A: Arithmetic>(walk: &PathWalk<'_, A>, here: &mut ThreadState, parents: &[AtomicU32]) -> bool {
    let (sums, root) = (walk.sums, walk.root);
    let mut reached = ReachedVertices::default();
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

/// Finds the parent of each vertex in `part` among the neighbours in its row. Rows must be in memory. Returns the
/// number of row entries read.
fn by_whole_rows<A: Arithmetic, W: Word>(
    walk: &PathWalk<'_, A>,
    rows: RowSlices<'_, W>,
    part: Range<u32>,
    parents: &[AtomicU32],
    reached: &mut ReachedVertices<A::Sum>,
) -> u64 {
    let (graph, sums, values) = (walk.graph, walk.sums, walk.values);
    // Deep graphs have only a few entries per vertex, so loading these values for each vertex would take noticeable
    // time.
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
            // For a short row, stopping early saves less than the branch costs.
            let row = if row.len() <= SHORT { row } else { short_enough::<A, W>(row, A::ZERO, sum, values) };
            relaxed += row.len() as u64;
            first = if v == root { v } else { first_tight::<A>((sums, values), row.entries(), sum) };
            if first == NONE {
                found.without.push(v);
            }
        }
        parents[v as usize].store(first, Relaxed);
    }
    *reached = found;
    relaxed
}

/// Finds the smallest neighbour in a row that is nearer than `sum` and from which a tight edge leads to the row's
/// vertex. `sum` is the distance of this vertex, and an edge is tight if it gives exactly this distance. May miss
/// neighbours nearer than `nearest`. Returns the neighbour, or [`NONE`] if there is none, and the number of edges read.
/// With `only_memory`, returns `None` if it would have to read the disk.
#[inline(always)]
fn first_of_row<A: Arithmetic>(
    (sums, values): (&[A::Cell], &[u64]),
    row: SortedRow<'_>,
    (nearest, sum): (A::Sum, A::Sum),
    only_memory: bool,
) -> Option<(u32, u64)> {
    let row = match row {
        SortedRow::Short(row) => return Some(first_of_words::<A, _>((sums, values), row, nearest, sum)),
        SortedRow::Long(row) => return Some(first_of_words::<A, _>((sums, values), row, nearest, sum)),
        SortedRow::OnDisk(row) => row,
    };
    let (mut first, mut relaxed) = (NONE, 0);
    let is_complete = row.along(only_memory, |entry| {
        let is_short = A::add(nearest, weight(entry), values) <= sum;
        if is_short {
            relaxed += 1;
            first = first.min(first_tight::<A>((sums, values), [entry].into_iter(), sum));
        }
        is_short
    });
    is_complete.then_some((first, relaxed))
}

/// Like [`first_of_row`], but for a row in memory.
#[inline(always)]
fn first_of_words<A: Arithmetic, W: Word>(
    (sums, values): (&[A::Cell], &[u64]),
    row: RowWords<'_, W>,
    nearest: A::Sum,
    sum: A::Sum,
) -> (u32, u64) {
    let row = short_enough::<A, W>(row, nearest, sum, values);
    (first_tight::<A>((sums, values), row.entries(), sum), row.len() as u64)
}

/// Returns the leading entries of a row whose edges can give the distance `sum`, if all neighbours are at distance
/// `nearest` or farther. Later entries have larger weights, so their edges are too long.
#[inline(always)]
fn short_enough<'r, A: Arithmetic, W: Word>(
    row: RowWords<'r, W>,
    nearest: A::Sum,
    sum: A::Sum,
    values: &[u64],
) -> RowWords<'r, W> {
    row.take_while(|entry| A::add(nearest, weight(entry), values) <= sum)
}

/// Returns the smallest neighbour in `entries` that is nearer than `sum` and from which a tight edge leads to the row's
/// vertex, or [`NONE`] if there is none. An edge is tight if it gives exactly the distance `sum`.
#[inline(always)]
fn first_tight<A: Arithmetic>(
    (sums, values): (&[A::Cell], &[u64]),
    entries: impl Iterator<Item = u64>,
    sum: A::Sum,
) -> u32 {
    entries.fold(NONE, |first, entry| {
        let before = A::load(&sums[neighbour(entry) as usize]);
        let is_tight = (before < sum) & (A::add(before, weight(entry), values) == sum);
        first.min(if is_tight { neighbour(entry) } else { NONE })
    })
}

/// Finds parents by following the out-edges of all vertices nearer than `nearest`. Each of these vertices claims the
/// heads of its tight edges. An edge is tight if it gives exactly the distance of its head. Returns the number of edges
/// that this thread read, or `None` if an error or a POSIX signal ends the search. All threads must call it.
fn claim_all<A: Arithmetic>(
    walk: &PathWalk<'_, A>,
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
        walk.graph.out.for_each_prefetched(near, |v| Some(RowRequest::All(v)), |v| relaxed += claim(walk, v, parents));
        0
    });
    done.map(|_| relaxed)
}

/// For each tight edge from `v`, makes `v` the parent of the edge's head, unless the head already has a smaller parent.
/// An edge is tight if it gives exactly the distance of its head. Returns the number of edges of `v`.
fn claim<A: Arithmetic>(walk: &PathWalk<'_, A>, v: u32, parents: &[AtomicU32]) -> u64 {
    let own = A::load(&walk.sums[v as usize]);
    walk.graph.out.row(v).along(false, |entry| {
        let to = neighbour(entry);
        if to < walk.graph.tails {
            let sum = A::load(&walk.sums[to as usize]);
            if own < sum && A::add(own, weight(entry), walk.values) == sum && parents[to as usize].load(Relaxed) > v {
                parents[to as usize].fetch_min(v, Relaxed);
            }
        }
        true
    });
    walk.graph.out.degree(v)
}

/// Number of vertices that a search for parents processes between two checks for POSIX signals.
const STRIDE: usize = 1 << 12;

/// Memory, in bytes, for each vertex whose parent is found on a plateau. A plateau consists of vertices at the same
/// distance that are joined by edges that add nothing to the distance.
const PLATEAU_BYTES: u64 = 24;

/// Finds the parents of the vertices in `without`, which are reached only by edges that add nothing to the distance.
/// Vertices at the same distance that such edges join form a plateau. Searches each plateau breadth-first, beginning at
/// the vertices that already have a parent.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Limit`] if memory is too small.
pub fn on_plateaus<A: Arithmetic>(walk: &PathWalk<'_, A>, without: &[u32], parents: &mut [u32]) -> Result<()> {
    walk.bins(0).reserve(PLATEAU_BYTES * without.len() as u64)?;
    let sum_of = |v: u32| A::load(&walk.sums[v as usize]);
    // The first level begins at vertices that already have a parent.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (number, &v) in without.iter().enumerate() {
        if number.is_multiple_of(STRIDE) {
            signals::check()?;
        }
        // A vertex with a single edge cannot be the parent of another vertex, unless it is the root.
        let leads = |u: u32| u < walk.graph.tails || parents[u as usize] == u;
        let mut first = NONE;
        flat(walk, v, EdgeDirection::In, |u| {
            if u < first && sum_of(u) == sum_of(v) && leads(u) && parents[u as usize] != NONE {
                first = u;
            }
        });
        found.extend((first != NONE).then_some((v, first)));
    }
    let mut step: Vec<u32> = found.iter().map(|&(v, _)| v).collect();
    found.into_iter().for_each(|(v, parent)| parents[v as usize] = parent);
    while !step.is_empty() {
        // Sorting makes the smallest candidate the parent.
        step.sort_unstable();
        let mut next = Vec::new();
        for (number, &u) in step.iter().enumerate() {
            if number.is_multiple_of(STRIDE) {
                signals::check()?;
            }
            flat(walk, u, EdgeDirection::Out, |v| {
                if sum_of(v) == sum_of(u) && parents[v as usize] == NONE {
                    parents[v as usize] = u;
                    next.push(v);
                }
            });
        }
        step = next;
    }
    Ok(())
}

/// Calls `each` with the other end of each edge of `v` in direction `way` whose weight adds nothing to the distance of
/// `v`.
fn flat<A: Arithmetic>(walk: &PathWalk<'_, A>, v: u32, way: EdgeDirection, mut each: impl FnMut(u32)) {
    let sum = A::load(&walk.sums[v as usize]);
    let mut note = |u: u32, weight: u32| {
        let is_flat = A::add(sum, weight, walk.values) == sum;
        if is_flat {
            each(u);
        }
        is_flat
    };
    match &walk.ranks {
        Some(ranks) => ranks.edges.each(v, way, |u, weight| _ = note(u, weight)),
        None => {
            // Edges that add nothing come first in a row.
            let rows = if way == EdgeDirection::Out { &walk.graph.out } else { walk.graph.into() };
            rows.row(v).along(false, |entry| note(neighbour(entry), weight(entry)));
        }
    }
}
