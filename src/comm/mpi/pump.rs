//! The messages of an exchange that are in flight: outgoing and incoming. It also finds out when no rank has any left.
//!
//! Sends are synchronous (`MPI_Issend`): a send is done when its receiver has begun to take it, so nothing accumulates
//! in MPI's own memory. Receives are posted in advance, from any rank. When its work is done, a rank sends every other
//! rank the number of messages that it has sent there (`MPI_Ialltoall`). So each rank knows when it has received all.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::comm::exchange::{Exchanged, Shape};
use crate::error::{Error, Result};
use ::mpi::ffi;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

pub(super) struct Pump<'a> {
    ranks: &'a Ranks,
    words: usize,
    /// Tag that distinguishes the messages of this exchange from those of the next one, which another rank may have
    /// begun.
    tag: c_int,
    leaving: Operations,
    arriving: Operations,
    /// Number of messages sent to each rank and, once all ranks have reported it, the number that come from each rank.
    sent: Vec<u64>,
    coming: Vec<u64>,
    counting: Option<ffi::MPI_Request>,
    received: u64,
    figures: Exchanged,
    finished: bool,
}

/// Operations in progress with their buffers, and arrays in which MPI reports which are done.
#[derive(Default)]
struct Operations {
    requests: Vec<ffi::MPI_Request>,
    buffers: Vec<Vec<u32>>,
    done: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
}

impl Operations {
    fn push(&mut self, request: ffi::MPI_Request, buffer: Vec<u32>) {
        self.requests.push(request);
        self.buffers.push(buffer);
        self.done.push(0);
        // SAFETY: a struct of numbers.
        self.statuses.push(unsafe { std::mem::zeroed() });
    }

    /// Calls `done` with the buffer and the status of each operation that is done.
    fn poll(&mut self, ranks: &Ranks, mut done: impl FnMut(Vec<u32>, &ffi::MPI_Status)) {
        if self.requests.is_empty() {
            return;
        }
        let mut count: c_int = 0;
        let (requests, indices) = (self.requests.as_mut_ptr(), self.done.as_mut_ptr());
        let (statuses, all) = (self.statuses.as_mut_ptr(), self.requests.len() as c_int);
        // SAFETY: the three arrays have one element for each request.
        ranks.call("MPI_Testsome", || unsafe { ffi::MPI_Testsome(all, requests, &raw mut count, indices, statuses) });
        // The count is MPI_UNDEFINED, which is negative, if there is nothing to poll.
        let count = count.max(0) as usize;
        let mut finished: Vec<(usize, ffi::MPI_Status)> =
            self.done[..count].iter().map(|&at| at as usize).zip(self.statuses[..count].iter().copied()).collect();
        // MPI may return operations in any order. Remove the last one first, so that indices stay valid.
        finished.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, status) in finished {
            self.requests.swap_remove(at);
            done(self.buffers.swap_remove(at), &status);
        }
        self.done.truncate(self.requests.len());
        self.statuses.truncate(self.requests.len());
    }
}

impl<'a> Pump<'a> {
    pub(super) fn new(ranks: &'a Ranks, shape: Shape) -> Result<Self> {
        if ranks.broken.load(Ordering::SeqCst) {
            return Err(Error::internal("exchange messages between ranks", "the exchange before failed"));
        }
        let number = ranks.exchanges.fetch_add(1, Ordering::SeqCst);
        let count = ranks.place.ranks;
        Ok(Pump {
            ranks,
            words: shape.words,
            // Two tags are enough. No rank is two exchanges ahead, because each exchange ends with counts from all
            // ranks.
            tag: (number % 2) as c_int,
            leaving: Operations::default(),
            arriving: Operations::default(),
            sent: vec![0; count],
            coming: vec![0; count],
            counting: None,
            received: 0,
            figures: Exchanged::default(),
            finished: false,
        })
    }

    /// Starts to send `message` to rank `to`.
    pub(super) fn send(&mut self, to: usize, message: Vec<u32>) {
        self.sent[to] += 1;
        self.figures.sent_bytes += message.len() as u64 * 4;
        let (at, count) = (message.as_ptr().cast(), message.len() as c_int);
        // SAFETY: the words stay in place, in `leaving`, until the operation is done.
        let request = self.ranks.begin("MPI_Issend", |request| unsafe {
            let (kind, comm) = (ffi::RSMPI_UINT32_T, self.ranks.messages.0);
            ffi::MPI_Issend(at, count, kind, to as c_int, self.tag, comm, request)
        });
        self.leaving.push(request, message);
    }

    /// Starts to receive a message from any rank into `buffer`, which must have `words` words.
    pub(super) fn accept(&mut self, mut buffer: Vec<u32>) {
        let (at, count) = (buffer.as_mut_ptr().cast(), self.words as c_int);
        // SAFETY: the buffer has that many words, which stay in place, in `arriving`, until the operation is done.
        let request = self.ranks.begin("MPI_Irecv", |request| unsafe {
            let (kind, comm) = (ffi::RSMPI_UINT32_T, self.ranks.messages.0);
            ffi::MPI_Irecv(at, count, kind, ffi::RSMPI_ANY_SOURCE, self.tag, comm, request)
        });
        self.arriving.push(request, buffer);
    }

    /// Declares that this rank sends no more messages. Calls after the first do nothing.
    pub(super) fn end_sending(&mut self) {
        if self.counting.is_some() {
            return;
        }
        let (from, to) = (self.sent.as_ptr().cast(), self.coming.as_mut_ptr().cast());
        // SAFETY: both arrays have a number for each rank and stay in place: neither changes its length, and the pump lives until the
        // operation is done.
        let request = self.ranks.begin("MPI_Ialltoall", |request| unsafe {
            let kind = ffi::RSMPI_UINT64_T;
            ffi::MPI_Ialltoall(from, 1, kind, to, 1, kind, self.ranks.messages.0, request)
        });
        self.counting = Some(request);
    }

    /// Calls `sent` with the buffer of each message that has left.
    pub(super) fn poll_sent(&mut self, mut sent: impl FnMut(Vec<u32>)) {
        self.leaving.poll(self.ranks, |buffer, _| sent(buffer));
    }

    /// Calls `arrived` for each message that has arrived, with the sender, the buffer and the number of words.
    pub(super) fn poll_arrived(&mut self, mut arrived: impl FnMut(usize, Vec<u32>, usize)) {
        let (ranks, received, figures) = (self.ranks, &mut self.received, &mut self.figures);
        self.arriving.poll(ranks, |buffer, status| {
            let mut count: c_int = 0;
            // SAFETY: MPI has filled in the status.
            ranks.call("MPI_Get_count", || unsafe {
                ffi::MPI_Get_count(&raw const *status, ffi::RSMPI_UINT32_T, &raw mut count)
            });
            *received += 1;
            figures.received_bytes += count as u64 * 4;
            arrived(status.MPI_SOURCE as usize, buffer, count as usize);
        });
    }

    /// Returns true if all messages to this rank have arrived and all messages of this rank have left.
    pub(super) fn complete(&mut self) -> bool {
        let ranks = self.ranks;
        self.leaving.requests.is_empty()
            && self.counting.as_mut().is_some_and(|request| ranks.test(request))
            && self.coming.iter().sum::<u64>() == self.received
    }

    /// Cancels the receives that are still posted, since no message will come. Returns the traffic.
    pub(super) fn finish(mut self) -> Exchanged {
        for mut request in std::mem::take(&mut self.arriving.requests) {
            // SAFETY: the receive is posted and not matched: all messages to this rank have arrived.
            self.ranks.call("MPI_Cancel", || unsafe { ffi::MPI_Cancel(&raw mut request) });
            self.ranks.wait(request);
        }
        self.finished = true;
        self.figures
    }
}

impl Drop for Pump<'_> {
    /// After a failure, leaks the buffers in flight, because MPI may use them until the job ends.
    fn drop(&mut self) {
        if !self.finished {
            self.ranks.broken.store(true, Ordering::SeqCst);
            std::mem::forget(std::mem::take(&mut self.leaving));
            std::mem::forget(std::mem::take(&mut self.arriving));
            std::mem::forget((std::mem::take(&mut self.sent), std::mem::take(&mut self.coming)));
        }
    }
}
