//! Sums of arrays as long as the graph has vertices. Where ranks share memory they go through it (`shm_reduce`), else by
//! messages: every rank sends each other that one's share and adds what it gets.
//!
//! Ranks go through the others in turns (at turn t, rank r sends to r + t and receives from r - t), so that each link
//! carries one stream. A turn is cut into pieces, of which some are under way at once. Both ends take turns and pieces in
//! the same order: of all pieces not yet moved, the first has both ends posted, so there is no deadlock.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use super::call::Nap;
use super::shm_reduce::ShmReduce;
use crate::comm::share_of;
use ::mpi::ffi;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ops::Range;

/// Pieces that a rank sends, and as many that it receives, at once.
const WINDOW: usize = 4;

/// A number to count with.
pub(super) trait Count: Copy + Default + Send + Sync {
    fn plus(self, other: Self) -> Self;
}

impl Count for u32 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Count for u64 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// Elements that go to or come from a rank.
#[derive(Clone)]
struct Piece {
    peer: usize,
    elements: Range<usize>,
}

impl Ranks {
    pub(in crate::comm) fn reduce_scatter(&self, values: &mut [u32]) {
        match ShmReduce::open(self, size_of_val(values)) {
            Some(mut shared) => shared.sum(values),
            None => self.add_shares(values),
        }
    }

    pub(in crate::comm) fn all_gather_shares(&self, values: &mut [u32]) {
        if let Some(mut shared) = ShmReduce::open(self, size_of_val(values)) {
            return shared.gather(values, |_| true);
        }
        let (rank, len) = (self.place.rank, values.len());
        let sends = self.turns(true).flat_map(|peer| self.pieces::<u32>(peer, self.share(rank, len)));
        let receives = self.turns(false).flat_map(|peer| self.pieces::<u32>(peer, self.share(peer, len)));
        self.flow(values, sends, receives, None);
    }

    pub(in crate::comm) fn reduce_to_root(&self, values: &mut [u64]) {
        if let Some(mut shared) = ShmReduce::open(self, size_of_val(values)) {
            shared.sum(values);
            return shared.gather(values, |rank| rank == 0);
        }
        self.add_shares(values);
        let (rank, len) = (self.place.rank, values.len());
        let to = (rank != 0).then_some(0).into_iter();
        let from = 1..if rank == 0 { self.place.ranks } else { 1 };
        let sends = to.flat_map(|leader| self.pieces::<u64>(leader, self.share(rank, len)));
        let receives = from.flat_map(|peer| self.pieces::<u64>(peer, self.share(peer, len)));
        self.flow(values, sends, receives, None);
    }

    fn add_shares<T: Count>(&self, values: &mut [T]) {
        let (rank, len) = (self.place.rank, values.len());
        let sends = self.turns(true).flat_map(|peer| self.pieces::<T>(peer, self.share(peer, len)));
        let receives = self.turns(false).flat_map(|peer| self.pieces::<T>(peer, self.share(rank, len)));
        let room = self.piece_len::<T>().min(self.share(rank, len).len());
        self.flow(values, sends, receives, Some(vec![T::default(); room * WINDOW]));
    }

    fn share(&self, rank: usize, len: usize) -> Range<usize> {
        share_of(rank, self.place.ranks, len)
    }

    /// The others, in the order in which this rank sends to them, or receives from them.
    fn turns(&self, sending: bool) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.place.rank, self.place.ranks);
        (1..ranks).map(move |turn| if sending { (rank + turn) % ranks } else { (rank + ranks - turn) % ranks })
    }

    fn piece_len<T>(&self) -> usize {
        (self.chunk() / size_of::<T>()).max(1)
    }

    fn pieces<T>(&self, peer: usize, share: Range<usize>) -> impl Iterator<Item = Piece> + use<T> {
        let length = self.piece_len::<T>();
        let end = share.end;
        share.step_by(length).map(move |at| Piece { peer, elements: at..end.min(at + length) })
    }

    /// Moves pieces of `values`, a window of each direction at a time. What is received is put in its place, or through
    /// `scratch` (a window of pieces) added to what stands there. What is sent and what is received are apart.
    fn flow<T: Count>(
        &self,
        values: &mut [T],
        mut sends: impl Iterator<Item = Piece>,
        mut receives: impl Iterator<Item = Piece>,
        scratch: Option<Vec<T>>,
    ) {
        let mut scratch = scratch;
        let room = scratch.as_ref().map_or(0, |scratch| scratch.len() / WINDOW);
        // From here on all access is by these pointers, as MPI reads and writes between calls.
        let base = values.as_mut_ptr();
        let slots = scratch.as_mut().map(|scratch| scratch.as_mut_ptr());
        let (mut sending, mut receiving) = (VecDeque::new(), VecDeque::new());
        let (mut all_sent, mut all_received, mut posted) = (false, false, 0usize);
        let mut nap = Nap::default();
        loop {
            let mut moved = false;
            while !all_received && receiving.len() < WINDOW {
                let Some(piece) = receives.next() else {
                    all_received = true;
                    break;
                };
                let at = match slots {
                    // SAFETY: a window of slots of `room` elements; the piece a window before has left this one.
                    Some(slots) => unsafe { slots.add(posted % WINDOW * room) },
                    // SAFETY: the elements of a piece are within `values`.
                    None => unsafe { base.add(piece.elements.start) },
                };
                posted += 1;
                let bytes = (piece.elements.len() * size_of::<T>()) as c_int;
                // SAFETY: the memory is there until `flow` returns, which is after the operation is done; numbers have no
                // forbidden values.
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
                // SAFETY: within `values`, which nobody writes there meanwhile: what is received lies elsewhere.
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
                    sums.iter_mut().zip(more).for_each(|(sum, &more)| *sum = sum.plus(more));
                }
            }
            while sending.front_mut().is_some_and(|request| self.test(request)) {
                moved = true;
                sending.pop_front();
            }
            if all_sent && all_received && sending.is_empty() && receiving.is_empty() {
                return;
            }
            if moved { nap.reset() } else { nap.take() }
        }
    }
}
