//! Small messages between any two ranks, independent of all other operations. Senders never wait, because this module
//! stores each message until MPI has sent it.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::process::backoff::Backoff;
use ::mpi::ffi;
use std::ffi::c_int;

/// Small messages in flight, outgoing and incoming.
#[derive(Default)]
pub(super) struct PointToPoint {
    leaving: Vec<(Request, Box<[u8]>)>,
    /// The message that this rank is receiving, if any: (request, sender, buffer). Messages are received one at a time,
    /// so that messages from the same rank stay in order.
    arriving: Option<(Request, usize, Vec<u8>)>,
}

/// Handle of an MPI operation in progress.
struct Request(ffi::MPI_Request);

// SAFETY: a request is a handle that any thread may poll while calls are serialised.
unsafe impl Send for Request {}

impl Ranks {
    pub(in crate::comm) fn send(&self, to: usize, message: &[u8]) {
        let message: Box<[u8]> = message.into();
        let (at, count) = (message.as_ptr().cast(), message.len() as c_int);
        let mut messages = self.small.lock();
        // SAFETY: the bytes stay in place, in `leaving`, until the operation is complete.
        let request = self.begin("MPI_Isend", |request| unsafe {
            ffi::MPI_Isend(at, count, ffi::RSMPI_UINT8_T, to as c_int, 0, self.point_to_point.0, request)
        });
        messages.leaving.push((Request(request), message));
        self.drop_sent(&mut messages);
    }

    /// Frees the messages that have been sent.
    fn drop_sent(&self, messages: &mut PointToPoint) {
        messages.leaving.retain_mut(|(request, _)| !self.test(&mut request.0));
    }

    pub(in crate::comm) fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let mut messages = self.small.lock();
        self.drop_sent(&mut messages);
        if messages.arriving.is_none() {
            messages.arriving = self.match_message();
        }
        let (request, ..) = messages.arriving.as_mut()?;
        if !self.test(&mut request.0) {
            return None;
        }
        messages.arriving.take().map(|(_, from, message)| (from, message))
    }

    fn match_message(&self) -> Option<(Request, usize, Vec<u8>)> {
        let mut found: c_int = 0;
        // SAFETY: a constant of the library, and a struct of numbers.
        let (mut matched, mut status): (_, ffi::MPI_Status) = unsafe { (ffi::RSMPI_MESSAGE_NULL, std::mem::zeroed()) };
        // SAFETY: the communicator is valid; the results are written to the three addresses given.
        self.call("MPI_Improbe", || unsafe {
            let (any, matched) = (ffi::RSMPI_ANY_SOURCE, &raw mut matched);
            ffi::MPI_Improbe(any, 0, self.point_to_point.0, &raw mut found, matched, &raw mut status)
        });
        if found == 0 {
            return None;
        }
        let mut count: c_int = 0;
        // SAFETY: MPI has filled in the status.
        self.call("MPI_Get_count", || unsafe {
            ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut count)
        });
        let mut message = vec![0u8; count as usize];
        let at = message.as_mut_ptr().cast();
        // SAFETY: the message was matched and has `count` bytes; they stay in place until the operation is complete.
        let request = self.begin("MPI_Imrecv", |request| unsafe {
            ffi::MPI_Imrecv(at, count, ffi::RSMPI_UINT8_T, &raw mut matched, request)
        });
        Some((Request(request), status.MPI_SOURCE as usize, message))
    }

    /// Waits until no rank has small messages in flight. Messages that arrive at this rank meanwhile are dropped.
    pub(super) fn drain(&self) {
        let mut backoff = Backoff::default();
        let mut barrier = None;
        loop {
            let came = self.receive().is_some();
            if self.small.lock().leaving.is_empty() && barrier.is_none() {
                barrier = Some(self.begin_barrier(self.ending));
            }
            if barrier.as_mut().is_some_and(|request| self.test(request)) && !came {
                return;
            }
            if came { backoff.reset() } else { backoff.take() }
        }
    }
}
