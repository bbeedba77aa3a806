//! Rounds through messages of MPI, for ranks that share no memory.
//!
//! Each pair of ranks has a window of messages in each direction, with buffers that are allocated once. Receives are
//! posted in advance and separately for each sender, so that a sender that is a round ahead takes no room from others.
//! Sends are synchronous (`MPI_Issend`), as in `pump`. Words are gathered until a message is full or the round ends, so
//! that a short round is one message. A message begins with a header of two words: 1 if the round ends with it (else
//! 0), and its number of bytes.
#![allow(unsafe_code)] // calls MPI's C interface

use super::other_words;
use super::waiting::Waiting;
use crate::comm::mpi::Ranks;
use crate::comm::reduction::{Operation, fold};
use crate::comm::round_shape::RoundShape;
use crate::comm::rounds::{LINE, Line, TakeWords};
use crate::comm::share;
use crate::error::Result;
use crate::memory::{Number, bytes_of, bytes_of_mut};
use ::mpi::ffi;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Number of messages in flight between two ranks in each direction.
const WINDOW: usize = 2;
/// Number of words of the header.
const HEADER: usize = 2;
/// Tag of the first links; exchanges use the tags before.
const TAG: usize = 2;

/// The buffer of a message, and its MPI operation.
struct Slot {
    request: ffi::MPI_Request,
    /// Header and content.
    words: Vec<u64>,
}

// SAFETY: a request is a handle that any thread may poll while calls are serialised.
unsafe impl Send for Slot {}

/// The messages to one rank or from it, and the index of the next one.
#[derive(Default)]
struct Window {
    slots: Vec<Slot>,
    next: usize,
    /// Bytes that the next message to send has so far.
    filled: usize,
}

pub(super) struct MessageLinks {
    ranks: Arc<Ranks>,
    tag: c_int,
    /// Most bytes of content in a message.
    room: usize,
    /// Bytes of the buffers of a reduction.
    reduction: usize,
    sending: Vec<Window>,
    receiving: Vec<Window>,
    closed: bool,
}

impl MessageLinks {
    /// Opens the links: posts the first receives. Collective.
    pub(super) fn open(ranks: &Arc<Ranks>, shape: RoundShape) -> MessageLinks {
        // MPI allows tags up to 32,767 at least.
        let tag = (TAG + ranks.rounds.fetch_add(1, Ordering::SeqCst) % 30_000) as c_int;
        let room = (shape.link_bytes() / (2 * WINDOW)).next_multiple_of(8);
        let (rank, count) = (ranks.place.rank, ranks.place.ranks);
        let window = |peer: usize| {
            // SAFETY: a constant of the library.
            let slot = || Slot { request: unsafe { ffi::RSMPI_REQUEST_NULL }, words: vec![0; HEADER + room / 8] };
            let slots = if peer == rank { Vec::new() } else { (0..WINDOW).map(|_| slot()).collect() };
            Window { slots, ..Window::default() }
        };
        let windows = || (0..count).map(window).collect::<Vec<_>>();
        let (sending, receiving, ranks) = (windows(), windows(), ranks.clone());
        let reduction = shape.reduction_bytes() / 2;
        let mut links = MessageLinks { ranks, tag, room, reduction, sending, receiving, closed: false };
        for from in (0..count).filter(|&from| from != rank) {
            (0..WINDOW).for_each(|slot| links.post(from, slot));
        }
        links
    }

    fn post(&mut self, from: usize, slot: usize) {
        let (tag, comm) = (self.tag, self.ranks.messages);
        let slot = &mut self.receiving[from].slots[slot];
        let (at, count) = (slot.words.as_mut_ptr(), size_of_val(slot.words.as_slice()) as c_int);
        // SAFETY: the buffer stays in its slot until the operation is done.
        slot.request = self.ranks.begin("MPI_Irecv", |request| unsafe {
            ffi::MPI_Irecv(at.cast(), count, ffi::RSMPI_UINT8_T, from as c_int, tag, comm.0, request)
        });
    }

    /// Whether the next message to rank `to` may be written, because its previous content has left.
    fn free(&mut self, to: usize) -> bool {
        let window = &mut self.sending[to];
        self.ranks.test(&mut window.slots[window.next].request)
    }

    fn send(&mut self, to: usize, last: bool) {
        let (tag, comm, window) = (self.tag, self.ranks.messages, &mut self.sending[to]);
        let slot = &mut window.slots[window.next];
        slot.words[..HEADER].copy_from_slice(&[u64::from(last), window.filled as u64]);
        let (at, count) = (slot.words.as_ptr(), (HEADER * 8 + window.filled) as c_int);
        // SAFETY: the buffer stays in its slot until the operation is done.
        slot.request = self.ranks.begin("MPI_Issend", |request| unsafe {
            ffi::MPI_Issend(at.cast(), count, ffi::RSMPI_UINT8_T, to as c_int, tag, comm.0, request)
        });
        (window.next, window.filled) = ((window.next + 1) % WINDOW, 0);
    }

    /// Gathers words for rank `to`, as many as there is room for, and sends full messages. Returns the number of words
    /// gathered.
    pub(super) fn push<T: Number>(&mut self, to: usize, words: &[T]) -> usize {
        let mut pushed = 0;
        while pushed < words.len() && self.free(to) {
            let window = &mut self.sending[to];
            let count = ((self.room - window.filled) / size_of::<T>()).min(words.len() - pushed);
            let bytes = bytes_of(&words[pushed..pushed + count]);
            let content = bytes_of_mut(&mut window.slots[window.next].words[HEADER..]);
            content[window.filled..][..bytes.len()].copy_from_slice(bytes);
            window.filled += bytes.len();
            pushed += count;
            if window.filled + size_of::<T>() > self.room {
                self.send(to, false);
            }
        }
        pushed
    }

    /// Sends the gathered words to rank `to` as the last message of the round. Returns false if no message is free.
    pub(super) fn end(&mut self, to: usize) -> bool {
        let free = self.free(to);
        if free {
            self.send(to, true);
        }
        free
    }

    /// Returns true if all messages have left. A long message leaves only while its sender calls MPI.
    pub(super) fn settled(&mut self) -> bool {
        let ranks = &self.ranks;
        self.sending.iter_mut().flat_map(|window| &mut window.slots).all(|slot| ranks.test(&mut slot.request))
    }

    /// Passes the words that have arrived from rank `from` to `take`. Returns whether there was progress, and whether
    /// that rank has ended the round.
    pub(super) fn pull<T: Number>(&mut self, from: usize, take: TakeWords<'_, T>) -> Result<(bool, bool)> {
        let mut moved = false;
        loop {
            let number = self.receiving[from].next;
            let slot = &mut self.receiving[from].slots[number];
            if !self.ranks.test(&mut slot.request) {
                return Ok((moved, false));
            }
            let (ends, bytes) = (slot.words[0] == 1, slot.words[1] as usize);
            if bytes > self.room || !bytes.is_multiple_of(size_of::<T>()) {
                return Err(other_words(from, bytes));
            }
            if bytes > 0 {
                let content = slot.words[HEADER..].as_ptr().cast::<T>();
                // SAFETY: the message is complete, and so many bytes fit it; they begin at a multiple of 8, and any are valid numbers.
                take(from, unsafe { std::slice::from_raw_parts(content, bytes / size_of::<T>()) })?;
            }
            self.receiving[from].next = (number + 1) % WINDOW;
            self.post(from, number);
            moved = true;
            if ends {
                return Ok((true, true));
            }
        }
    }

    /// Waits until an operation is done.
    fn wait(&self, mut request: ffi::MPI_Request, waiting: &mut Waiting) {
        while !self.ranks.test(&mut request) {
            waiting.take();
        }
        waiting.reset();
    }

    /// Returns the values of every rank, indexed by rank. Collective.
    pub(super) fn gather_lines(&mut self, mine: Line, waiting: &mut Waiting) -> Vec<Line> {
        let mut lines = vec![Line::default(); self.ranks.place.ranks];
        let to = lines.as_mut_ptr();
        // SAFETY: every rank sends a line and receives one of each; both buffers live until the operation is done.
        let request = self.ranks.begin("MPI_Iallgather", |request| unsafe {
            let (kind, count, comm) = (ffi::RSMPI_UINT64_T, LINE as c_int, self.ranks.collective.0);
            ffi::MPI_Iallgather(mine.as_ptr().cast(), count, kind, to.cast(), count, kind, comm, request)
        });
        self.wait(request, waiting);
        lines
    }

    /// Combines this rank's share of an array over the ranks; with `everywhere`, all ranks get all shares. Collective.
    pub(super) fn reduce<T: Number, O: Operation<T>>(
        &mut self,
        how: O,
        values: &mut [T],
        everywhere: bool,
        waiting: &mut Waiting,
    ) {
        let (rank, ranks, len) = (self.ranks.place.rank, self.ranks.place.ranks, values.len());
        // Move at least a grain. One element at a time would take thousands of operations of MPI for a short array.
        let slot = (self.reduction / size_of::<T>() / ranks).max(share::GRAIN);
        let shares: Vec<_> = (0..ranks).map(|owner| share::of(owner, ranks, len)).collect();
        let longest = shares.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        let slot = slot.min(longest);
        let (mut from, mut to) = (vec![T::default(); slot * ranks], vec![T::default(); slot * ranks]);
        for begin in (0..longest).step_by(slot.max(1)) {
            let part = |owner: usize| {
                let share = &shares[owner];
                (share.start + begin).min(share.end)..(share.start + begin + slot).min(share.end)
            };
            let bytes = |of: usize| (of * size_of::<T>()) as c_int;
            let own = part(rank);
            // This rank sends nothing to itself.
            let length = |owner: usize, of: usize| if owner == rank { 0 } else { bytes(of) };
            let sent: Vec<c_int> = (0..ranks).map(|owner| length(owner, part(owner).len())).collect();
            let received: Vec<c_int> = (0..ranks).map(|peer| length(peer, own.len())).collect();
            let places: Vec<c_int> = (0..ranks).map(|peer| bytes(peer * slot)).collect();
            for owner in 0..ranks {
                from[owner * slot..][..part(owner).len()].copy_from_slice(&values[part(owner)]);
            }
            let (source, target) = (from.as_ptr(), to.as_mut_ptr());
            // SAFETY: both buffers have a slot for each rank, and the ranks' lengths agree; all buffers live until the
            // operation is done.
            let request = self.ranks.begin("MPI_Ialltoallv", |request| unsafe {
                let (kind, comm) = (ffi::RSMPI_UINT8_T, self.ranks.collective.0);
                ffi::MPI_Ialltoallv(
                    source.cast(),
                    sent.as_ptr(),
                    places.as_ptr(),
                    kind,
                    target.cast(),
                    received.as_ptr(),
                    places.as_ptr(),
                    kind,
                    comm,
                    request,
                )
            });
            self.wait(request, waiting);
            let others = (0..ranks).filter(|&peer| peer != rank).map(|peer| &to[peer * slot..][..own.len()]);
            fold(how, rank, &mut values[own.clone()], &others.collect::<Vec<_>>());
        }
        if everywhere {
            self.ranks.gather_by_messages(values);
        }
    }

    /// Closes the links: cancels the receives that are still posted. After a failure it leaks all buffers instead,
    /// because MPI may use them until the job ends.
    pub(super) fn close(&mut self, failed: bool) {
        if self.closed {
            return;
        }
        self.closed = true;
        if failed || self.ranks.closed.load(Ordering::SeqCst) {
            self.ranks.broken.store(true, Ordering::SeqCst);
            std::mem::forget((std::mem::take(&mut self.sending), std::mem::take(&mut self.receiving)));
            return;
        }
        for slot in self.sending.drain(..).flat_map(|window| window.slots) {
            // The wait ends, because the receiver has the message or needs it to end the round.
            self.ranks.wait(slot.request);
        }
        for mut slot in self.receiving.drain(..).flat_map(|window| window.slots) {
            // SAFETY: the receive is posted and not matched: every round has ended.
            self.ranks.call("MPI_Cancel", || unsafe { ffi::MPI_Cancel(&raw mut slot.request) });
            self.ranks.wait(slot.request);
        }
    }
}
