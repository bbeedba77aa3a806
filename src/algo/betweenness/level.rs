//! The work of threads on the vertices of a level, and the exchange of their values between ranks.
//!
//! The vertices of a level ascend, so a part of a level uses a contiguous part of every array. Each thread takes such
//! parts.

use super::arithmetic::{Count, PIECE};
use crate::algo::round;
use crate::algo::rows::{Neighbours, any_value_of, slices, span};
use crate::algo::team::{WorkList, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::csr::Block;
use crate::graph::direction::EdgeDirection;
use crate::memory::prefetch_near;
use crate::process::signals;
use std::ops::Range;

/// Number of vertices that a thread updates at a time.
const UPDATED: usize = 1 << 13;
/// Number of row entries of a level below which one thread of every rank computes the level. Starting threads and
/// sending messages would take longer.
pub(super) const FEW: u64 = 1 << 14;

/// The threads and ranks that work on a level.
#[derive(Clone, Copy)]
pub(super) struct Workers<'c> {
    pub comm: &'c Comm,
    pub threads: usize,
}

/// Returns the sum of the `values` of the neighbours in `row`. Each half of the row is added up in pieces of [`PIECE`]
/// entries, from the first to the last, and the sums of the pieces are added in order, as `kernels/betweenness.cu`
/// does. Values of later rows are prefetched, unless `is_scattered` says that the next rows are elsewhere.
#[inline(always)]
fn sum<C: Count>(rows: &Neighbours<'_>, row: u32, values: &[C], unpacked: &mut Unpacked, is_scattered: bool) -> C {
    let mut total = C::default();
    for Block { offsets, targets, .. } in rows.row(row, unpacked) {
        let (mut at, end) = (offsets[0] as usize, offsets[1] as usize);
        while at < end {
            let (piece, mut sum) = (at..end.min(at + PIECE), C::default());
            at = piece.end;
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

/// Buffers into which both halves of a row are unpacked.
pub(super) type Unpacked = [crate::graph::block_store::Unpacked; 2];

/// Sets the element of `sums` of each vertex in `list` to the sum of the `values` of its neighbours in direction `way`.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn pull<C: Count>(
    rows: &Neighbours<'_>,
    (list, way): (&[u32], EdgeDirection),
    values: &[C],
    sums: &mut [C],
    workers: Workers<'_>,
) -> Result<()> {
    let parts = rows.divide(list, way);
    let threads = if parts.len() > 1 { workers.threads } else { 1 };
    let ranges: Vec<Range<usize>> = parts.iter().map(|part| span(part)).collect();
    let left = rows.releases.then(|| rows.parts_of_blocks(&ranges));
    let work = WorkList::new(parts.iter().copied().zip(slices(ranges.into_iter(), sums)).collect());
    team(threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some((part, (vertices, sums))) = work.take() {
            round::check(workers.comm)?;
            let (expect, is_scattered) = (|w: u32| prefetch_near(values, w as usize), rows.are_scattered(part));
            rows.each_of((part, way), expect, |v| {
                let row = rows.direction.row(v, way);
                sums[v as usize - vertices.start] = sum(rows, row, values, &mut unpacked, is_scattered);
            });
            left.iter().for_each(|left| rows.release(&vertices, left));
        }
        Ok(())
    })
}

/// Sets the element of `sums` of every own vertex that `is_wanted` to the sum of the `values` of its in-neighbours, and
/// calls `found` if the sum is not 0.
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
    let work = rows.work(sums);
    team(threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some((part, sums)) = work.take() {
            signals::check()?;
            for (v, place) in (part.start as u32..).zip(sums).filter(|(v, _)| is_wanted(*v)) {
                let row = rows.direction.row(v, EdgeDirection::In);
                let sum = sum(rows, row, values, &mut unpacked, false);
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

/// Calls `visit` with each out-neighbour of the vertices in `list`.
///
/// # Errors
/// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn push(
    rows: &Neighbours<'_>,
    list: &[u32],
    workers: Workers<'_>,
    visit: impl Fn(u32) + Sync,
) -> Result<()> {
    let work = WorkList::new(rows.divide(list, EdgeDirection::Out));
    team(workers.threads, &|_| {
        let mut unpacked = Unpacked::default();
        while let Some(part) = work.take() {
            round::check(workers.comm)?;
            let expect_nothing = |_| ();
            rows.each_of((part, EdgeDirection::Out), expect_nothing, |v| {
                rows.each(v, EdgeDirection::Out, &mut unpacked, &visit)
            });
        }
        Ok(())
    })
}

/// Sets the element of `values` of each vertex in `list` to what `update` returns for the vertex and the element.
/// Returns whether `update` returned true for some vertex.
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

/// Sends the `values` of the vertices in `list` that each rank owns to all ranks. Collective.
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
