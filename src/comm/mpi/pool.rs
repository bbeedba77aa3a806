//! Exchanges messages through MPI, with a pool of receive buffers for messages from any rank. Also detects when all
//! messages have arrived.
//!
//! Sends are synchronous (`MPI_Issend`): a send completes only after its receiver has begun to receive it, so messages
//! do not accumulate in MPI's own memory. Receives are posted in advance, from any source. After its last message, a
//! rank tells every other rank how many messages it has sent to that rank (`MPI_Ialltoall`). So each rank knows when
//! it has received all messages. MPI makes progress only while a thread sends or polls.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::comm::MessageLimits;
use crate::comm::carrier::{Carrier, Delivery, TakeMessage};
use crate::error::{Error, Result};
use ::mpi::ffi;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

struct MessagePool<'a> {
    ranks: &'a Ranks,
    limits: MessageLimits,
    /// MPI tag of the messages of this exchange. Another rank may already have begun the next exchange, which has
    /// another tag.
    tag: c_int,
    messages: Mutex<Messages>,
}

/// Messages that this rank is sending and receiving in an exchange, and counts of messages.
struct Messages {
    leaving: Operations,
    arriving: Operations,
    /// Messages that have arrived, as (sender, buffer, number of words).
    arrived: Vec<(usize, Vec<u32>, usize)>,
    /// Buffers of sent messages, for reuse.
    free: Vec<Vec<u32>>,
    /// Number of messages that this rank has sent to each rank.
    sent: Vec<u64>,
    /// Number of messages that each rank sends to this rank in the exchange. Valid once the request `counting` is
    /// complete.
    coming: Vec<u64>,
    counting: Option<ffi::MPI_Request>,
    received: u64,
    /// Whether all messages to this rank have arrived and all messages from this rank have been sent.
    complete: bool,
}

// SAFETY: requests are handles that any thread may poll while calls are serialised.
unsafe impl Send for Messages {}

/// MPI operations in progress with their buffers, and the output arrays in which MPI reports which operations are
/// complete.
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

    /// Removes all completed MPI operations. Calls `done` with the buffer and the status of each of them.
    fn poll(&mut self, ranks: &Ranks, mut done: impl FnMut(Vec<u32>, &ffi::MPI_Status)) {
        if self.requests.is_empty() {
            return;
        }
        let mut count: c_int = 0;
        let (requests, indices) = (self.requests.as_mut_ptr(), self.done.as_mut_ptr());
        let (statuses, all) = (self.statuses.as_mut_ptr(), self.requests.len() as c_int);
        // SAFETY: the three arrays have one element for each request.
        ranks.call("MPI_Testsome", || unsafe { ffi::MPI_Testsome(all, requests, &raw mut count, indices, statuses) });
        // If no request is active, the count is MPI_UNDEFINED, which is negative.
        let count = count.max(0) as usize;
        let mut finished: Vec<(usize, ffi::MPI_Status)> =
            self.done[..count].iter().map(|&at| at as usize).zip(self.statuses[..count].iter().copied()).collect();
        // MPI may return the indices in any order. Remove the largest first, so that smaller indices stay valid.
        finished.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, status) in finished {
            self.requests.swap_remove(at);
            done(self.buffers.swap_remove(at), &status);
        }
        self.done.truncate(self.requests.len());
        self.statuses.truncate(self.requests.len());
    }
}

impl Ranks {
    /// Begins an exchange of messages through MPI, and posts its first receives. Collective.
    pub(in crate::comm) fn pool(&self, limits: MessageLimits) -> Result<Box<dyn Carrier + '_>> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(Error::internal("exchange messages between ranks", "the exchange before failed"));
        }
        let number = self.exchanges.fetch_add(1, Ordering::SeqCst);
        let count = self.place.ranks;
        let messages = Messages {
            leaving: Operations::default(),
            arriving: Operations::default(),
            arrived: Vec::new(),
            free: Vec::new(),
            sent: vec![0; count],
            coming: vec![0; count],
            counting: None,
            received: 0,
            complete: false,
        };
        // Two tags are enough: no rank can be two exchanges ahead, because each exchange ends only after all ranks
        // have sent their message counts.
        let pool = MessagePool { ranks: self, limits, tag: (number % 2) as c_int, messages: Mutex::new(messages) };
        // Zeroed pages take no physical memory until a message is written to them.
        (0..limits.incoming).for_each(|_| pool.accept(&mut pool.messages.lock(), vec![0; limits.words]));
        Ok(Box::new(pool))
    }
}

impl MessagePool<'_> {
    /// Posts a receive of one message, from any rank, into `buffer`, which has the size of the longest message.
    fn accept(&self, messages: &mut Messages, mut buffer: Vec<u32>) {
        let (at, count) = (buffer.as_mut_ptr().cast(), self.limits.words as c_int);
        // SAFETY: the buffer has that many words, which stay in place, in `arriving`, until the operation is complete.
        let request = self.ranks.begin("MPI_Irecv", |request| unsafe {
            let (kind, comm) = (ffi::RSMPI_UINT32_T, self.ranks.messages.0);
            ffi::MPI_Irecv(at, count, kind, ffi::RSMPI_ANY_SOURCE, self.tag, comm, request)
        });
        messages.arriving.push(request, buffer);
    }

    /// Moves the buffers of completed sends to the list `free`, for reuse.
    fn poll_left(&self, messages: &mut Messages) {
        let Messages { leaving, free, .. } = messages;
        leaving.poll(self.ranks, |buffer, _| free.push(buffer));
    }

    /// Moves messages that have been received to the list `arrived`, and updates the flag `complete`.
    fn poll(&self, messages: &mut Messages) {
        self.poll_left(messages);
        let Messages { arriving, arrived, received, .. } = messages;
        arriving.poll(self.ranks, |buffer, status| {
            let mut count: c_int = 0;
            // SAFETY: MPI has filled in the status.
            self.ranks.call("MPI_Get_count", || unsafe {
                ffi::MPI_Get_count(&raw const *status, ffi::RSMPI_UINT32_T, &raw mut count)
            });
            *received += 1;
            arrived.push((status.MPI_SOURCE as usize, buffer, count as usize));
        });
        messages.complete = messages.leaving.requests.is_empty()
            && messages.counting.as_mut().is_some_and(|request| self.ranks.test(request))
            && messages.coming.iter().sum::<u64>() == messages.received;
    }
}

impl Carrier for MessagePool<'_> {
    fn send(&self, to: usize, message: Vec<u32>) -> Result<Vec<u32>, Vec<u32>> {
        let mut messages = self.messages.lock();
        self.poll_left(&mut messages);
        if messages.leaving.requests.len() >= self.limits.outgoing {
            return Err(message);
        }
        messages.sent[to] += 1;
        let (at, count) = (message.as_ptr().cast(), message.len() as c_int);
        // SAFETY: the words stay in place, in `leaving`, until the operation is complete.
        let request = self.ranks.begin("MPI_Issend", |request| unsafe {
            let (kind, comm) = (ffi::RSMPI_UINT32_T, self.ranks.messages.0);
            ffi::MPI_Issend(at, count, kind, to as c_int, self.tag, comm, request)
        });
        messages.leaving.push(request, message);
        Ok(messages.free.pop().unwrap_or_default())
    }

    fn end(&self) {
        let mut messages = self.messages.lock();
        let (from, to) = (messages.sent.as_ptr().cast(), messages.coming.as_mut_ptr().cast());
        // SAFETY: both arrays have a number for each rank and stay in place: neither changes its length, and the pool
        // leaks them if it is dropped before the operation is complete.
        let request = self.ranks.begin("MPI_Ialltoall", |request| unsafe {
            let kind = ffi::RSMPI_UINT64_T;
            ffi::MPI_Ialltoall(from, 1, kind, to, 1, kind, self.ranks.messages.0, request)
        });
        messages.counting = Some(request);
    }

    fn take(&self, take: TakeMessage<'_>) -> Result<Delivery> {
        let mut messages = self.messages.lock();
        if messages.arrived.is_empty() && !messages.complete {
            self.poll(&mut messages);
        }
        let Some((from, buffer, words)) = messages.arrived.pop() else {
            return Ok(if messages.complete { Delivery::Over } else { Delivery::Nothing });
        };
        drop(messages);
        take(from, &buffer[..words])?;
        self.accept(&mut self.messages.lock(), buffer);
        Ok(Delivery::Message(words))
    }
}

impl Drop for MessagePool<'_> {
    /// Cancels the receives that are still posted, because no more messages will arrive. If the exchange has failed,
    /// leaks the buffers in flight instead, because MPI may use them until the job ends.
    fn drop(&mut self) {
        let messages = self.messages.get_mut();
        let Messages { leaving, arriving, sent, coming, complete, .. } = messages;
        if !*complete {
            self.ranks.broken.store(true, Ordering::SeqCst);
            std::mem::forget((std::mem::take(leaving), std::mem::take(arriving)));
            std::mem::forget((std::mem::take(sent), std::mem::take(coming)));
            return;
        }
        for mut request in std::mem::take(&mut arriving.requests) {
            // SAFETY: the receive is posted and not matched: all messages to this rank have arrived.
            self.ranks.call("MPI_Cancel", || unsafe { ffi::MPI_Cancel(&raw mut request) });
            self.ranks.wait(request);
        }
    }
}
