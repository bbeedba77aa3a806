//! Small messages between any two ranks, beside everything else. Nobody waits: a message lies here until it has left.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use super::call::Nap;
use ::mpi::ffi;
use std::ffi::c_int;
use std::sync::{MutexGuard, PoisonError};

/// Messages under way.
#[derive(Default)]
pub(super) struct PointToPoint {
    leaving: Vec<(Asked, Box<[u8]>)>,
    /// Matched first, taken first: messages of one rank stay in order.
    arriving: Option<(Asked, usize, Vec<u8>)>,
}

/// An operation that was started.
struct Asked(ffi::MPI_Request);

// SAFETY: a request is a handle, which MPI lets any thread ask about while calls are serialised.
unsafe impl Send for Asked {}

impl Ranks {
    fn small(&self) -> MutexGuard<'_, PointToPoint> {
        self.small.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::comm) fn send(&self, to: usize, message: &[u8]) {
        let message: Box<[u8]> = message.into();
        let (at, count) = (message.as_ptr().cast(), message.len() as c_int);
        let mut messages = self.small();
        // SAFETY: the bytes stay where they are, in `leaving`, until the operation is done.
        let request = self.begin("MPI_Isend", |request| unsafe {
            ffi::MPI_Isend(at, count, ffi::RSMPI_UINT8_T, to as c_int, 0, self.letters.0, request)
        });
        messages.leaving.push((Asked(request), message));
        self.forget_gone(&mut messages);
    }

    /// Lets go of messages that have left.
    fn forget_gone(&self, messages: &mut PointToPoint) {
        messages.leaving.retain_mut(|(request, _)| !self.test(&mut request.0));
    }

    pub(in crate::comm) fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let mut messages = self.small();
        self.forget_gone(&mut messages);
        if messages.arriving.is_none() {
            messages.arriving = self.match_message();
        }
        let (request, ..) = messages.arriving.as_mut()?;
        if !self.test(&mut request.0) {
            return None;
        }
        messages.arriving.take().map(|(_, from, message)| (from, message))
    }

    fn match_message(&self) -> Option<(Asked, usize, Vec<u8>)> {
        let mut found: c_int = 0;
        // SAFETY: a constant of the library, and a struct of numbers.
        let (mut letter, mut status): (_, ffi::MPI_Status) = unsafe { (ffi::RSMPI_MESSAGE_NULL, std::mem::zeroed()) };
        // SAFETY: a valid communicator; the results are written to the three places given.
        self.call("MPI_Improbe", || unsafe {
            let (any, letter) = (ffi::RSMPI_ANY_SOURCE, &raw mut letter);
            ffi::MPI_Improbe(any, 0, self.letters.0, &raw mut found, letter, &raw mut status)
        });
        if found == 0 {
            return None;
        }
        let mut count: c_int = 0;
        // SAFETY: the status is one that MPI filled in.
        self.call("MPI_Get_count", || unsafe {
            ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut count)
        });
        let mut message = vec![0u8; count as usize];
        let at = message.as_mut_ptr().cast();
        // SAFETY: the message was matched and has `count` bytes; they stay where they are until the operation is done.
        let request = self.begin("MPI_Imrecv", |request| unsafe {
            ffi::MPI_Imrecv(at, count, ffi::RSMPI_UINT8_T, &raw mut letter, request)
        });
        Some((Asked(request), status.MPI_SOURCE as usize, message))
    }

    /// Waits until no rank has messages under way, and drops those that come here.
    pub(super) fn drain(&self) {
        let mut nap = Nap::default();
        let mut barrier = None;
        loop {
            let came = self.receive().is_some();
            if self.small().leaving.is_empty() && barrier.is_none() {
                barrier = Some(self.begin_barrier(self.ending));
            }
            if barrier.as_mut().is_some_and(|request| self.test(request)) && !came {
                return;
            }
            if came { nap.reset() } else { nap.take() }
        }
    }
}
