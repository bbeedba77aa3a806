//! Sums arrays over the ranks through MPI, for ranks that can't share memory. Each rank computes the sums of its share,
//! which is a range of the array. Every other rank sends it the elements of that range.
//!
//! Communication has one step per other rank. At step t, rank r sends to rank r + t and receives from rank r - t
//! (modulo the number of ranks), so each network link carries one stream. The data of a step is divided into chunks,
//! and several chunks are in flight at once. Sender and receiver process steps and chunks in the same order. So both
//! have posted the first chunk that is not transferred yet, and there is no deadlock.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::comm::share;
use crate::memory::Number;
use crate::process::backoff::Backoff;
use ::mpi::ffi;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ops::Range;

/// Number of chunks that are in flight at once in each direction (sending and receiving).
const WINDOW: usize = 4;

/// A chunk of an array: the range of elements that this rank sends to rank `peer` or receives from it.
#[derive(Clone)]
struct SharePiece {
    peer: usize,
    elements: Range<usize>,
}

impl Ranks {
    /// Adds the values of all other ranks to the elements of `values` that this rank owns (its share). Other elements
    /// are unchanged.
    pub(in crate::comm) fn add_shares<T: Number>(&self, values: &mut [T], add: impl Fn(T, T) -> T) {
        let (rank, len) = (self.place.rank, values.len());
        let sends = self.turns(true).flat_map(|peer| self.pieces::<T>(peer, self.share(peer, len)));
        let receives = self.turns(false).flat_map(|peer| self.pieces::<T>(peer, self.share(rank, len)));
        let capacity = self.piece_len::<T>().min(self.share(rank, len).len());
        self.flow(values, sends, receives, Some(vec![T::default(); capacity * WINDOW]), add);
    }

    /// Copies the share of every rank (the elements of the array that it owns) to each rank `r` for which `wants(r)` is
    /// true.
    pub(in crate::comm) fn gather_shares<T: Number>(&self, values: &mut [T], wants: impl Fn(usize) -> bool) {
        let (rank, len) = (self.place.rank, values.len());
        let sends = self.turns(true).filter(|&peer| wants(peer));
        let sends = sends.flat_map(|peer| self.pieces::<T>(peer, self.share(rank, len)));
        let receives = self.turns(false).filter(|_| wants(rank));
        let receives = receives.flat_map(|peer| self.pieces::<T>(peer, self.share(peer, len)));
        self.flow(values, sends, receives, None, |old, _| old);
    }

    fn share(&self, rank: usize, len: usize) -> Range<usize> {
        share::of(rank, self.place.ranks, len)
    }

    /// Returns the other ranks in the order in which this rank sends to them or, if `sending` is false, receives from
    /// them.
    fn turns(&self, sending: bool) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.place.rank, self.place.ranks);
        (1..ranks).map(move |turn| if sending { (rank + turn) % ranks } else { (rank + ranks - turn) % ranks })
    }

    fn piece_len<T>(&self) -> usize {
        (self.chunk() / size_of::<T>()).max(1)
    }

    fn pieces<T>(&self, peer: usize, share: Range<usize>) -> impl Iterator<Item = SharePiece> + use<T> {
        let length = self.piece_len::<T>();
        let end = share.end;
        share.step_by(length).map(move |at| SharePiece { peer, elements: at..end.min(at + length) })
    }

    /// Sends and receives chunks of `values`, with several chunks in flight in each direction. If `scratch` is given,
    /// received chunks are stored there and then added to the elements of `values`. Otherwise received chunks overwrite
    /// the elements. No element may be both sent and received.
    fn flow<T: Number>(
        &self,
        values: &mut [T],
        mut sends: impl Iterator<Item = SharePiece>,
        mut receives: impl Iterator<Item = SharePiece>,
        scratch: Option<Vec<T>>,
        add: impl Fn(T, T) -> T,
    ) {
        let mut scratch = scratch;
        let capacity = scratch.as_ref().map_or(0, |scratch| scratch.len() / WINDOW);
        // From here on, access the arrays only through these pointers, because MPI reads and writes them between
        // calls.
        let base = values.as_mut_ptr();
        let slots = scratch.as_mut().map(|scratch| scratch.as_mut_ptr());
        let (mut sending, mut receiving) = (VecDeque::new(), VecDeque::new());
        let (mut all_sent, mut all_received, mut posted) = (false, false, 0usize);
        let mut backoff = Backoff::default();
        loop {
            let mut moved = false;
            while !all_received && receiving.len() < WINDOW {
                let Some(piece) = receives.next() else {
                    all_received = true;
                    break;
                };
                let at = match slots {
                    // SAFETY: there are WINDOW slots of `capacity` elements; the chunk received WINDOW chunks before
                    // has been removed from this slot.
                    Some(slots) => unsafe { slots.add(posted % WINDOW * capacity) },
                    // SAFETY: the elements of a chunk are within `values`.
                    None => unsafe { base.add(piece.elements.start) },
                };
                posted += 1;
                let bytes = (piece.elements.len() * size_of::<T>()) as c_int;
                // SAFETY: the memory lives until `flow` returns, which is after the operation is complete; any bytes
                // are valid numbers.
                let request = self.begin("MPI_Irecv", |request| unsafe {
                    let (kind, comm) = (ffi::RSMPI_UINT8_T, self.collective.0);
                    ffi::MPI_Irecv(at.cast(), bytes, kind, piece.peer as c_int, 1, comm, request)
                });
                receiving.push_back((request, at, piece));
            }
            while !all_sent && sending.len() < WINDOW {
                let Some(piece) = sends.next() else {
                    all_sent = true;
                    break;
                };
                let bytes = (piece.elements.len() * size_of::<T>()) as c_int;
                // SAFETY: the chunk is within `values`, and nothing writes to it during the send, because received
                // chunks are stored elsewhere.
                let request = self.begin("MPI_Isend", |request| unsafe {
                    let (kind, comm) = (ffi::RSMPI_UINT8_T, self.collective.0);
                    let at = base.add(piece.elements.start);
                    ffi::MPI_Isend(at.cast(), bytes, kind, piece.peer as c_int, 1, comm, request)
                });
                sending.push_back(request);
            }
            while receiving.front_mut().is_some_and(|(request, ..)| self.test(request)) {
                moved = true;
                let Some((_, at, piece)) = receiving.pop_front() else { break };
                if slots.is_some() {
                    let length = piece.elements.len();
                    // SAFETY: the slot is complete and no longer MPI's; the elements are this rank's share, which is
                    // neither sent nor received into.
                    let (sums, more) = unsafe {
                        let sums = std::slice::from_raw_parts_mut(base.add(piece.elements.start), length);
                        (sums, std::slice::from_raw_parts(at.cast_const(), length))
                    };
                    sums.iter_mut().zip(more).for_each(|(sum, &more)| *sum = add(*sum, more));
                }
            }
            while sending.front_mut().is_some_and(|request| self.test(request)) {
                moved = true;
                sending.pop_front();
            }
            if all_sent && all_received && sending.is_empty() && receiving.is_empty() {
                return;
            }
            if moved { backoff.reset() } else { backoff.take() }
        }
    }
}
