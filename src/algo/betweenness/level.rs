//! Work on the vertices of one level of a betweenness search: how threads divide it, and how ranks exchange the
//! results.
//!
//! The vertices of a level are in ascending order, so a contiguous slice of a level corresponds to a contiguous slice
//! of every per-vertex array. Each thread processes such slices.

use super::arithmetic::{Count, PIECE};
use crate::algo::round;
use crate::algo::rows::{Neighbours, any_value_of, slices, span};
use crate::algo::team::{WorkList, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::csr::Block;
use crate::graph::direction::EdgeDirection::{self, In, Out};
use crate::memory::prefetch_near;
use crate::process::signals;
use std::ops::Range;

/// Number of vertices whose values a thread updates at a time.
const UPDATED: usize = 1 << 13;
/// Prefetch distance, in neighbours of a row.
const AHEAD: usize = 32;

/// The threads and ranks that work together on one level of a search.
#[derive(Clone, Copy)]
pub(super) struct Workers<'c> {
    pub comm: &'c Comm,
    pub threads: usize,
}

/// Returns the sum of the `values` of the neighbours of `v` in direction `way`. The values of vertices before `from`
/// are 0. Adds in the same order as `kernels/betweenness.cu`: each half of a row is divided into pieces of [`PIECE`]
/// neighbours, each piece is added up from its first neighbour to its last, and the sums of the pieces are added in
/// order. Also prefetches the values for the rows after `v`, unless `is_scattered` says that other rows are read next.
#[inline(always)]
fn sum<C: Count>(
    rows: &Neighbours<'_>,
    (v, way): (u32, EdgeDirection),
    (values, from): (&[C], u32),
    unpacked: &mut Unpacked,
    is_scattered: bool,
) -> C {
    let mut total = C::default();
    let skipped = usize::from(v <= from);
    for Block { offsets, targets, .. } in rows.row(rows.direction.row(v, way), unpacked).into_iter().skip(skipped) {
        let (mut at, end) = (offsets[0] as usize, offsets[1] as usize);
        while at < end {
            let (piece, mut sum) = (at..end.min(at + PIECE), C::default());
            at = piece.end;
            if targets[at - 1] < from {
                continue;
            }
            if is_scattered {
                targets[piece].iter().for_each(|&w| sum = sum.plus(values[w as usize]));
            } else {
                any_value_of(targets, piece, values, |value| {
                    sum = sum.plus(value);
                    false
                });
            }
            total = total.plus(sum);
        }
    }
    total
}

/// Buffers for the two unpacked halves of a row.
pub(super) type Unpacked = [crate::graph::block_store::Unpacked; 2];

/// For each vertex in `list`, computes the sum of the `values` of its neighbours in direction `way`, and writes it to
/// the vertex's element of `sums`. The values of vertices before `from` are 0.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn pull<C: Count>(
    rows: &Neighbours<'_>,
    (list, way): (&[u32], EdgeDirection),
    (values, from): (&[C], u32),
    sums: &mut [C],
    workers: Workers<'_>,
) -> Result<()> {
    let parts = rows.divide(list, way);
    let threads = if parts.len() > 1 { workers.threads } else { 1 };
    let ranges: Vec<Range<usize>> = parts.iter().map(|part| span(part)).collect();
    let left = rows.releases.then(|| rows.parts_of_blocks(&ranges));
    let work = WorkList::new(parts.iter().copied().zip(slices(ranges.into_iter(), sums)).enumerate().collect());
    team(threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some((at, (part, (vertices, sums)))) = work.take() {
            round::check(workers.comm)?;
            rows.read_ahead((listed(&parts, rows.ahead(at, parts.len())), way), from);
            let (expect, is_scattered) = (|w: u32| prefetch_near(values, w as usize), rows.are_scattered(part));
            rows.each_of((part, way), expect, |v| {
                sums[v as usize - vertices.start] = sum(rows, (v, way), (values, from), &mut unpacked, is_scattered);
            });
            left.iter().for_each(|left| rows.release(&vertices, left));
        }
        Ok(())
    })
}

/// For each vertex that this rank owns and for which `is_wanted` returns true, computes the sum of the `values` of the
/// in-neighbours. If the sum is not 0, writes it to the vertex's element of `sums`, and calls `found` with the vertex.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn pull_all<C: Count>(
    rows: &Neighbours<'_>,
    values: &[C],
    sums: &mut [C],
    threads: usize,
    (is_wanted, found): (impl Fn(u32) -> bool + Sync, impl Fn(u32) + Sync),
) -> Result<()> {
    let left = rows.parts_of_blocks(&rows.parts);
    let work = WorkList::new(slices(rows.parts.iter().cloned(), sums).into_iter().enumerate().collect());
    team(threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some((at, (part, sums))) = work.take() {
            signals::check()?;
            let ahead = rows.parts[rows.ahead(at, rows.parts.len())].iter().cloned().flatten();
            rows.read_ahead((ahead.map(|v| v as u32).filter(|&v| is_wanted(v)), In), 0);
            for (v, place) in (part.start as u32..).zip(sums).filter(|(v, _)| is_wanted(*v)) {
                let sum = sum(rows, (v, In), (values, 0), &mut unpacked, false);
                if sum != C::default() {
                    *place = sum;
                    found(v);
                }
            }
            rows.release(&part, &left);
        }
        Ok(())
    })
}

/// Calls `visit` with each vertex in `list` and each of its out-neighbours. Calls `expect` with most out-neighbours
/// some time before `visit`, to prefetch the neighbour's data.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn push(
    rows: &Neighbours<'_>,
    list: &[u32],
    workers: Workers<'_>,
    (expect, visit): (impl Fn(u32) + Sync, impl Fn(u32, u32) + Sync),
) -> Result<()> {
    let parts = rows.divide(list, Out);
    let work = WorkList::new(parts.iter().copied().enumerate().collect());
    team(workers.threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some((at, part)) = work.take() {
            round::check(workers.comm)?;
            rows.read_ahead((listed(&parts, rows.ahead(at, parts.len())), Out), 0);
            rows.each_of((part, Out), &expect, |v| {
                for half in rows.row(rows.direction.row(v, Out), &mut unpacked) {
                    let row = half.row(0);
                    for (at, &w) in row.iter().enumerate() {
                        row.get(at + AHEAD).into_iter().for_each(|&later| expect(later));
                        visit(v, w);
                    }
                }
            });
        }
        Ok(())
    })
}

/// Yields the vertices in the slices `parts[some]`, slice by slice.
fn listed(parts: &[&[u32]], some: Range<usize>) -> impl Iterator<Item = u32> + Clone {
    parts[some].iter().copied().flatten().copied()
}

/// Replaces the element of `values` of each vertex in `list`. `update` is called with the vertex and the old element.
/// It returns the new element and a flag. Returns true if the flag was true for any vertex.
///
/// # Errors
/// [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn update<T: Copy + Send>(
    list: &[u32],
    values: &mut [T],
    threads: usize,
    update: impl Fn(u32, T) -> (T, bool) + Sync,
) -> Result<bool> {
    let parts: Vec<&[u32]> = list.chunks(UPDATED).collect();
    let threads = if parts.len() > 1 { threads } else { 1 };
    let spans = parts.iter().map(|part| span(part));
    let work = WorkList::new(parts.iter().copied().zip(slices(spans, values)).collect());
    let of_threads = gathered(threads, &|_| {
        let mut any = false;
        while let Some((part, (_, values))) = work.take() {
            for &v in part {
                let value = &mut values[(v - part[0]) as usize];
                let (new, is_so) = update(v, *value);
                *value = new;
                any |= is_so;
            }
        }
        Ok(any)
    })?;
    Ok(of_threads.contains(&true))
}

/// Sends the `values` of those vertices in `list` that this rank owns to all other ranks, and receives the values of
/// the other vertices in `list`. Collective.
pub(super) fn exchange<C: Count>(rows: &Neighbours<'_>, list: &[u32], values: &mut [C], comm: &Comm) {
    let mut next: Vec<usize> =
        rows.firsts.iter().map(|&first| list.partition_point(|&v| (v as usize) < first)).collect();
    let own = &list[next[comm.rank()]..next[comm.rank() + 1]];
    let longest = next.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
    for at in (0..longest).step_by(Comm::PIECE) {
        let piece = &own[at.min(own.len())..(at + Comm::PIECE).min(own.len())];
        let mine: Vec<C> = piece.iter().map(|&v| values[v as usize]).collect();
        comm.gather_each(&mine, |from, theirs: &[C]| {
            for &value in theirs {
                values[list[next[from]] as usize] = value;
                next[from] += 1;
            }
        });
    }
}
