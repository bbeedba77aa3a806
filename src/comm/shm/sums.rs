//! Sums arrays over the ranks of one machine through shared memory, with all threads of each rank.
//!
//! Each rank owns a double buffer of two halves. In each round, every rank fills one half of its own buffer, all ranks
//! wait at a barrier, and then read that half of the other ranks' buffers. The next round uses the other half. Before
//! a rank fills the same half again, it passes the barrier of the round in between, which all ranks reach only after
//! they have read the half. So one barrier per round is enough.
#![allow(unsafe_code)] // views of shared memory; the rounds determine who may access a half

use super::segment::SharedSegment;
use crate::comm::mpi::Ranks;
use crate::comm::share::{self, GRAIN};
use crate::memory::Number;
use rayon::prelude::*;
use std::ops::Range;

/// Chunk size: the number of elements that a thread copies or adds at a time.
const PIECE: usize = 32 << 10;

/// Shared memory in which ranks sum arrays, and the index of the current round.
pub(in crate::comm) struct SharedSums {
    segment: SharedSegment,
    rank: usize,
    ranks: usize,
    /// Size in bytes of one half of a rank's double buffer.
    half: usize,
    round: usize,
}

impl SharedSums {
    /// Creates shared memory for summing an array of `bytes` bytes. Returns `None` if the ranks can't share memory, or
    /// if the array is so short that MPI messages are faster.
    pub(in crate::comm) fn open(ranks: &Ranks, bytes: usize) -> Option<SharedSums> {
        let place = ranks.position();
        if bytes <= ranks.chunk() || place.nodes > 1 {
            return None;
        }
        // All double buffers together must fit in the scratch memory, because every rank touches all of them.
        let half = (4 * ranks.chunk() / place.ranks / 2).min(ranks.chunk()) / 64 * 64;
        // A half must be large enough for at least `GRAIN` values for each of the other ranks.
        let half = half.max((place.ranks - 1) * GRAIN * 8);
        let segment = SharedSegment::open(ranks, 2 * half)?;
        Some(SharedSums { segment, rank: place.rank, ranks: place.ranks, half, round: 0 })
    }

    /// Adds the values of all other ranks to the elements of `values` that this rank owns (its share). Passes the
    /// values of the other elements to the ranks that own them.
    pub(in crate::comm) fn add_shares<T: Number>(&mut self, values: &mut [T], add: impl Fn(T, T) -> T + Sync) {
        let (rank, ranks, len) = (self.rank, self.ranks, values.len());
        // A half is divided into one slot for each of the other ranks. A slot is a range of `slot` values.
        let slot = self.half / (ranks - 1) / size_of::<T>() / GRAIN * GRAIN;
        let rounds = self.longest(len).div_ceil(slot);
        for round in 0..rounds {
            let part = |owner: usize| part_of(share::of(owner, ranks, len), slot, round);
            let at = |from: usize, owner: usize| self.at() + (owner + ranks - from - 1) % ranks * slot * size_of::<T>();
            let mut copies = Vec::new();
            for owner in (0..ranks).filter(|&owner| owner != rank) {
                let source = &values[part(owner)];
                // SAFETY: a slot of this rank's own half, which no rank reads between the last barrier and the one
                // below.
                copies.push((unsafe { self.segment.view_mut(rank, at(rank, owner), source.len()) }, source));
            }
            copy(copies);
            self.segment.barrier();
            let mine = part(rank);
            // SAFETY: the other ranks filled these slots before the barrier, and do not write them until the next
            // barrier.
            let others = |from: usize| unsafe { self.segment.view::<T>(from, at(from, rank), mine.len()) };
            let others: Vec<&[T]> = (0..ranks).filter(|&from| from != rank).map(others).collect();
            let add_piece = |(number, sums): (usize, &mut [T])| {
                for other in &others {
                    sums.iter_mut().zip(&other[number * PIECE..]).for_each(|(sum, &more)| *sum = add(*sum, more));
                }
            };
            let sums: Vec<_> = values[mine.clone()].chunks_mut(PIECE).enumerate().collect();
            match sums.len() {
                0 | 1 => sums.into_iter().for_each(add_piece),
                _ => sums.into_par_iter().for_each(add_piece),
            }
            self.round += 1;
        }
    }

    /// Copies the share of every rank (the elements of the array that it owns) to each rank `r` for which `wants(r)` is
    /// true.
    pub(in crate::comm) fn gather_shares<T: Number>(&mut self, values: &mut [T], wants: impl Fn(usize) -> bool) {
        let (rank, ranks, len) = (self.rank, self.ranks, values.len());
        let slot = self.half / size_of::<T>() / GRAIN * GRAIN;
        for round in 0..self.longest(len).div_ceil(slot) {
            let part = |owner: usize| part_of(share::of(owner, ranks, len), slot, round);
            // A share is copied only if a rank other than its owner wants the array.
            if (0..ranks).any(|other| other != rank && wants(other)) {
                let mine = &values[part(rank)];
                // SAFETY: this rank's own half, which no rank reads between the last barrier and the one below.
                copy(vec![(unsafe { self.segment.view_mut(rank, self.at(), mine.len()) }, mine)]);
            }
            self.segment.barrier();
            if wants(rank) {
                let (mut copies, mut rest, mut passed) = (Vec::new(), &mut *values, 0);
                for owner in 0..ranks {
                    let part = part(owner);
                    let (_, after) = rest.split_at_mut(part.start - passed);
                    let (target, after) = after.split_at_mut(part.len());
                    (rest, passed) = (after, part.end);
                    if owner != rank {
                        // SAFETY: the owner filled this range before the barrier, and does not write it until the next
                        // barrier.
                        copies.push((target, unsafe { self.segment.view(owner, self.at(), part.len()) }));
                    }
                }
                copy(copies);
            }
            self.round += 1;
        }
    }

    /// Returns the byte offset of the half of a double buffer that the current round uses.
    fn at(&self) -> usize {
        self.round % 2 * self.half
    }

    /// Returns the length of the longest share that a rank owns in an array of `len` elements. It determines the number
    /// of rounds.
    fn longest(&self, len: usize) -> usize {
        (0..self.ranks).map(|rank| share::of(rank, self.ranks, len).len()).max().unwrap_or(0)
    }
}

/// Returns the elements of a rank's share of the array that round `round` (0-based) transfers: at most `slot` elements.
fn part_of(share: Range<usize>, slot: usize, round: usize) -> Range<usize> {
    let start = (share.start + round * slot).min(share.end);
    start..(start + slot).min(share.end)
}

fn copy<T: Number>(pairs: Vec<(&mut [T], &[T])>) {
    let mut all: Vec<(&mut [T], &[T])> = Vec::new();
    for (to, from) in pairs {
        all.extend(to.chunks_mut(PIECE).zip(from.chunks(PIECE)));
    }
    match all.len() {
        // For a single copy, waking other threads would take longer than the copy.
        0 | 1 => all.into_iter().for_each(|(to, from)| to.copy_from_slice(from)),
        _ => all.into_par_iter().for_each(|(to, from)| to.copy_from_slice(from)),
    }
}
