//! Collective operations on small data. The data is transferred in chunks, because MPI counts are 32-bit integers.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use super::call::Communicator;
use crate::comm::Combine;
use ::mpi::ffi;
use std::ffi::c_int;

impl Ranks {
    pub(in crate::comm) fn barrier(&self) {
        let request = self.begin_barrier(self.collective);
        self.wait(request);
    }

    pub(super) fn begin_barrier(&self, comm: Communicator) -> ffi::MPI_Request {
        // SAFETY: a valid communicator.
        self.begin("MPI_Ibarrier", |request| unsafe { ffi::MPI_Ibarrier(comm.0, request) })
    }

    pub(in crate::comm) fn broadcast(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let mut length = (bytes.len() as u64).to_ne_bytes();
        self.broadcast_piece(&mut length);
        bytes.resize(u64::from_ne_bytes(length) as usize, 0);
        for piece in bytes.chunks_mut(self.chunk()) {
            self.broadcast_piece(piece);
        }
        bytes
    }

    fn broadcast_piece(&self, piece: &mut [u8]) {
        let (at, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
        // SAFETY: `piece` is borrowed until the operation is complete, and has `count` bytes on every rank.
        let request = self.begin("MPI_Ibcast", |request| unsafe {
            ffi::MPI_Ibcast(at, count, ffi::RSMPI_UINT8_T, 0, self.collective.0, request)
        });
        self.wait(request);
    }

    /// All-gather: passes the bytes of all ranks to `take(rank, bytes)`, in chunks whose lengths in bytes are multiples
    /// of `size`. Collective.
    pub(in crate::comm) fn gather_pieces(&self, mine: &[u8], size: usize, take: &mut dyn FnMut(usize, &[u8])) {
        let ranks = self.place.ranks;
        let mut lengths = vec![0u64; ranks];
        let (from, to) = ([mine.len() as u64], lengths.as_mut_ptr());
        // SAFETY: every rank sends one number and receives `ranks`; both buffers live until the operation is complete.
        let request = self.begin("MPI_Iallgather", |request| unsafe {
            let kind = ffi::RSMPI_UINT64_T;
            ffi::MPI_Iallgather(from.as_ptr().cast(), 1, kind, to.cast(), 1, kind, self.collective.0, request)
        });
        self.wait(request);

        let piece = (self.chunk() / ranks / size * size).max(size);
        let longest = lengths.iter().max().copied().unwrap_or(0) as usize;
        let mut scratch = vec![0u8; piece.min(longest) * ranks];
        let places: Vec<c_int> = (0..ranks).map(|rank| (rank * piece.min(longest)) as c_int).collect();
        for at in (0..longest).step_by(piece) {
            let counts: Vec<c_int> =
                lengths.iter().map(|&length| (length as usize).saturating_sub(at).min(piece) as c_int).collect();
            let mine = &mine[at.min(mine.len())..];
            let (to, count) = (scratch.as_mut_ptr(), counts[self.place.rank]);
            // SAFETY: rank r sends `counts[r]` bytes, at most `piece`, which fit at offset `places[r]`; all buffers
            // live until the operation is complete.
            let request = self.begin("MPI_Iallgatherv", |request| unsafe {
                let kind = ffi::RSMPI_UINT8_T;
                ffi::MPI_Iallgatherv(
                    mine.as_ptr().cast(),
                    count,
                    kind,
                    to.cast(),
                    counts.as_ptr(),
                    places.as_ptr(),
                    kind,
                    self.collective.0,
                    request,
                )
            });
            self.wait(request);
            for (rank, (&count, &place)) in counts.iter().zip(&places).enumerate().filter(|(_, (count, _))| **count > 0)
            {
                take(rank, &scratch[place as usize..][..count as usize]);
            }
        }
    }

    pub(in crate::comm) fn combine(&self, operation: Combine, values: &mut [u64]) {
        // SAFETY: constants of the library.
        let (kind, operation) = unsafe {
            let operation = match operation {
                Combine::Sum => ffi::RSMPI_SUM,
                Combine::Max => ffi::RSMPI_MAX,
                Combine::Min => ffi::RSMPI_MIN,
            };
            (ffi::RSMPI_UINT64_T, operation)
        };
        for piece in values.chunks_mut((self.chunk() / 8).max(1)) {
            let mine = piece.to_vec();
            let (to, count) = (piece.as_mut_ptr(), piece.len() as c_int);
            // SAFETY: `mine` and `piece` have `count` elements on every rank and live until the operation is complete.
            let request = self.begin("MPI_Iallreduce", |request| unsafe {
                ffi::MPI_Iallreduce(mine.as_ptr().cast(), to.cast(), count, kind, operation, self.collective.0, request)
            });
            self.wait(request);
        }
    }
}
