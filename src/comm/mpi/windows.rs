//! Links that transport the messages of [`crate::comm::Rounds`] through MPI, for ranks that can't share memory.
//!
//! Each pair of ranks has a few message buffers in each direction, which are allocated once. Receives are posted in
//! advance and separately for each sender, so that a sender that is a round ahead uses no buffers of other senders.
//! Sends are synchronous (`MPI_Issend`), as in `pool`. A short round is a single message. A message begins with a
//! header of two words: a flag that is 1 if the message ends the round (else 0), and the number of content bytes.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::comm::link_slots::{Arrived, LinkSlots, NUMBERS, RankNumbers};
use crate::comm::round_backoff::RoundBackoff;
use crate::memory::bytes_of_mut;
use ::mpi::ffi;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Number of message buffers per direction between two ranks.
const WINDOW: usize = 2;
/// Number of 64-bit words in the header of a message.
const HEADER: usize = 2;
/// Smallest MPI tag of messages on links. Exchanges of messages use the smaller tags.
const TAG: usize = 2;

/// A buffer for one message, with the MPI operation that sends or receives it.
struct MessageSlot {
    request: ffi::MPI_Request,
    /// Header and content of the message.
    words: Vec<u64>,
}

// SAFETY: a request is a handle that any thread may poll while calls are serialised.
unsafe impl Send for MessageSlot {}

/// Message buffers to one rank or from one rank, and the index of the next buffer to use.
struct MessageWindow {
    slots: Vec<MessageSlot>,
    next: usize,
}

struct Windows {
    ranks: Arc<Ranks>,
    tag: c_int,
    /// Maximum length of the content of a message, in bytes.
    capacity: usize,
    sending: Vec<MessageWindow>,
    receiving: Vec<MessageWindow>,
}

impl Ranks {
    /// Opens links between all ranks, with up to `link` bytes in flight on each, and posts the first receives.
    /// Collective.
    pub(in crate::comm) fn windows(self: &Arc<Self>, link: usize) -> Box<dyn LinkSlots> {
        let ranks = self;
        // MPI guarantees tags up to 32,767.
        let tag = (TAG + ranks.rounds.fetch_add(1, Ordering::SeqCst) % 30_000) as c_int;
        let capacity = (link / (2 * WINDOW)).next_multiple_of(8);
        let (rank, count) = (ranks.place.rank, ranks.place.ranks);
        let window = |peer: usize| {
            let slot = || {
                // SAFETY: a constant of the library.
                let request = unsafe { ffi::RSMPI_REQUEST_NULL };
                MessageSlot { request, words: vec![0; HEADER + capacity / 8] }
            };
            let slots = if peer == rank { Vec::new() } else { (0..WINDOW).map(|_| slot()).collect() };
            MessageWindow { slots, next: 0 }
        };
        let windows = || (0..count).map(window).collect::<Vec<_>>();
        let mut links = Windows { ranks: ranks.clone(), tag, capacity, sending: windows(), receiving: windows() };
        for from in (0..count).filter(|&from| from != rank) {
            (0..WINDOW).for_each(|slot| links.post(from, slot));
        }
        Box::new(links)
    }
}

impl Windows {
    fn post(&mut self, from: usize, slot: usize) {
        let (tag, comm) = (self.tag, self.ranks.messages);
        let slot = &mut self.receiving[from].slots[slot];
        let (at, count) = (slot.words.as_mut_ptr(), size_of_val(slot.words.as_slice()) as c_int);
        // SAFETY: the buffer stays in its slot until the operation is complete.
        slot.request = self.ranks.begin("MPI_Irecv", |request| unsafe {
            ffi::MPI_Irecv(at.cast(), count, ffi::RSMPI_UINT8_T, from as c_int, tag, comm.0, request)
        });
    }

    /// Returns true if the buffer for the next message to rank `to` is free, because the message that it contained has
    /// been sent.
    fn free(&mut self, to: usize) -> bool {
        let window = &mut self.sending[to];
        self.ranks.test(&mut window.slots[window.next].request)
    }
}

impl LinkSlots for Windows {
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool {
        let free = self.free(to);
        if free {
            let window = &mut self.sending[to];
            bytes_of_mut(&mut window.slots[window.next].words[HEADER..])[at..][..bytes.len()].copy_from_slice(bytes);
        }
        free
    }

    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool {
        if !self.free(to) {
            return false;
        }
        let (tag, comm, window) = (self.tag, self.ranks.messages, &mut self.sending[to]);
        let slot = &mut window.slots[window.next];
        slot.words[..HEADER].copy_from_slice(&[u64::from(last), bytes as u64]);
        let (at, count) = (slot.words.as_ptr(), (HEADER * 8 + bytes) as c_int);
        // SAFETY: the buffer stays in its slot until the operation is complete.
        slot.request = self.ranks.begin("MPI_Issend", |request| unsafe {
            ffi::MPI_Issend(at.cast(), count, ffi::RSMPI_UINT8_T, to as c_int, tag, comm.0, request)
        });
        window.next = (window.next + 1) % WINDOW;
        true
    }

    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>> {
        let window = &mut self.receiving[from];
        let slot = &mut window.slots[window.next];
        let done = self.ranks.test(&mut slot.request);
        let (header, words) = slot.words.split_at(HEADER);
        done.then(|| Arrived { words, bytes: header[1] as usize, last: header[0] == 1 })
    }

    fn release(&mut self, from: usize) {
        let slot = self.receiving[from].next;
        self.receiving[from].next = (slot + 1) % WINDOW;
        self.post(from, slot);
    }

    fn all_sent(&mut self) -> bool {
        // The sender of a long message must keep calling MPI until it is sent.
        let ranks = &self.ranks;
        self.sending.iter_mut().flat_map(|window| &mut window.slots).all(|slot| ranks.test(&mut slot.request))
    }

    fn gather_numbers(&mut self, mine: RankNumbers, backoff: &mut RoundBackoff) -> Vec<RankNumbers> {
        let mut lines = vec![RankNumbers::default(); self.ranks.place.ranks];
        let to = lines.as_mut_ptr();
        // SAFETY: every rank sends a line and receives one of each; both buffers live until the operation is complete.
        let mut request = self.ranks.begin("MPI_Iallgather", |request| unsafe {
            let (kind, count, comm) = (ffi::RSMPI_UINT64_T, NUMBERS as c_int, self.ranks.collective.0);
            ffi::MPI_Iallgather(mine.as_ptr().cast(), count, kind, to.cast(), count, kind, comm, request)
        });
        while !self.ranks.test(&mut request) {
            backoff.take();
        }
        backoff.reset();
        lines
    }

    /// Cancels the receives that are still posted. If a round has failed, leaks all buffers instead, because MPI may
    /// use them until the job ends.
    fn close(&mut self, failed: bool) {
        if failed || self.ranks.closed.load(Ordering::SeqCst) {
            self.ranks.broken.store(true, Ordering::SeqCst);
            std::mem::forget((std::mem::take(&mut self.sending), std::mem::take(&mut self.receiving)));
            return;
        }
        for slot in self.sending.drain(..).flat_map(|window| window.slots) {
            // This wait ends, because the receiver has the message already or needs it to end the round.
            self.ranks.wait(slot.request);
        }
        for mut slot in self.receiving.drain(..).flat_map(|window| window.slots) {
            // SAFETY: the receive is posted and not matched: every round has ended.
            self.ranks.call("MPI_Cancel", || unsafe { ffi::MPI_Cancel(&raw mut slot.request) });
            self.ranks.wait(slot.request);
        }
    }
}
