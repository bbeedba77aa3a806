//! Exchanges among ranks of one machine. The sending thread copies a message into a slab of shared memory, and the
//! taking thread reads it there.
//!
//! Every rank has one slab for each message of its shape, a queue of its free slabs, and a queue of messages to it. The
//! queues have room for all slabs. So only senders wait, for a free slab of their own rank.
#![allow(unsafe_code)] // views of shared memory; the queues settle who uses a slab

use super::Ranks;
use super::queue::Queue;
use super::segment::Segment;
use crate::comm::exchange::{Exchanged, Outbox, Shape, Take, refused};
use crate::error::{Error, Result};
use crate::process::backoff::Backoff;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Word of the segment that counts the ranks whose work is done; the barrier uses the first two words.
const DONE: usize = 2;

struct ShmExchange {
    segment: Segment,
    rank: usize,
    ranks: usize,
    words: usize,
    slabs: usize,
    /// Bytes of a rank's part before the slabs.
    head: usize,
}

impl ShmExchange {
    fn open(ranks: &Ranks, shape: Shape) -> Option<ShmExchange> {
        let (rank, count) = (ranks.place().rank, ranks.place().ranks);
        let (slabs, head, part) = sizes(shape, count)?;
        let segment = Segment::open(ranks, part)?;
        let opened = ShmExchange { segment, rank, ranks: count, words: shape.words, slabs, head };
        for slab in 0..slabs as u64 {
            put(&opened.free(rank), [slab, 0]);
        }
        Some(opened)
    }

    /// Returns the queue of a rank's free slabs.
    fn free(&self, rank: usize) -> Queue<'_> {
        // SAFETY: these words are only used as atomics.
        Queue::new(unsafe { self.segment.view(rank, 0, Queue::words(self.slabs)) })
    }

    /// Returns the queue of messages to a rank. An item is the sender with its slab, and the number of words.
    fn inbox(&self, rank: usize) -> Queue<'_> {
        let at = Queue::words(self.slabs) * 8;
        // SAFETY: these words are only used as atomics.
        Queue::new(unsafe { self.segment.view(rank, at, Queue::words(self.slabs * self.ranks)) })
    }

    fn slab(&self, number: u64) -> usize {
        self.head + number as usize * self.words * 4
    }

    /// Copies a message into a slab, waiting for a free one, and queues it. Returns `None` once `failed` is set.
    fn send(&self, to: usize, message: &[u32], failed: &AtomicBool) -> Option<()> {
        let (free, mut backoff) = (self.free(self.rank), Backoff::default());
        let slab = loop {
            if failed.load(Ordering::SeqCst) {
                return None;
            }
            match free.take() {
                Some([slab, _]) => break slab,
                None => backoff.take(),
            }
        };
        // SAFETY: only the thread that took the free slab from the queue uses it, until that thread puts it into
        // another queue.
        unsafe { self.segment.view_mut(self.rank, self.slab(slab), message.len()) }.copy_from_slice(message);
        put(&self.inbox(to), [(self.rank as u64) << 32 | slab, message.len() as u64]);
        Some(())
    }

    /// Takes messages to this rank until every rank's work is done and no message is left. Returns the number of bytes
    /// taken.
    fn take_all(&self, take: Take<'_>, failed: &AtomicBool) -> Result<u64> {
        let (inbox, mut backoff, mut bytes) = (self.inbox(self.rank), Backoff::default(), 0);
        while !failed.load(Ordering::SeqCst) {
            // Read the counter before the queue. If all work is done, the queue then has all messages.
            let done = self.segment.word(DONE).load(Ordering::SeqCst) == self.ranks as u64;
            match inbox.take() {
                Some([slab, words]) => {
                    let (from, slab) = ((slab >> 32) as usize, slab & u64::from(u32::MAX));
                    // SAFETY: the sender filled the slab before it queued it, and nobody else uses it until it is returned.
                    take(from, unsafe { self.segment.view(from, self.slab(slab), words as usize) })?;
                    put(&self.free(from), [slab, 0]);
                    bytes += words * 4;
                    backoff.reset();
                }
                None if done => break,
                None => backoff.take(),
            }
        }
        Ok(bytes)
    }
}

/// Returns the number of slabs of a rank, the bytes of its part before the slabs, and the bytes of the part.
fn sizes(shape: Shape, ranks: usize) -> Option<(usize, usize, usize)> {
    let slabs = shape.outgoing.checked_add(shape.incoming)?;
    let head = ((Queue::words(slabs) + Queue::words(slabs.checked_mul(ranks)?)) * 8).next_multiple_of(64);
    let part = shape.words.checked_mul(4)?.checked_mul(slabs)?.checked_add(head)?;
    Some((slabs, head, part))
}

/// Puts an item into a queue that has room for all items. The queue is full only while another thread is still taking
/// an item.
fn put(queue: &Queue<'_>, item: [u64; 2]) {
    let mut backoff = Backoff::default();
    while !queue.put(item) {
        backoff.take();
    }
}

impl Ranks {
    /// Runs an exchange through shared memory. Returns `work` as the error if the ranks share no memory.
    pub(super) fn exchange_by_shm<T: Send, W: FnOnce(&Outbox<'_>) -> Result<T> + Send>(
        &self,
        shape: Shape,
        work: W,
        take: Take<'_>,
    ) -> Result<Result<(T, Exchanged)>, W> {
        let started = Instant::now();
        let Some(slabs) = ShmExchange::open(self, shape) else { return Err(work) };
        let (failed, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        let transport = |to: usize, message: Vec<u32>| {
            slabs.send(to, &message, &failed).ok_or_else(refused)?;
            sent.fetch_add(message.len() as u64 * 4, Ordering::Relaxed);
            Ok(Some(message))
        };
        let outbox = Outbox {
            shape,
            rank: slabs.rank,
            ranks: slabs.ranks,
            take,
            spare: Mutex::default(),
            transport: &transport,
        };
        let (received, cause) = (AtomicU64::new(0), Mutex::new(None::<Error>));
        let done = std::thread::scope(|scope| {
            for _ in 0..shape.takers {
                scope.spawn(|| match slabs.take_all(take, &failed) {
                    Ok(bytes) => {
                        received.fetch_add(bytes, Ordering::Relaxed);
                    }
                    Err(e) => {
                        cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                        failed.store(true, Ordering::SeqCst);
                    }
                });
            }
            let done = scope.spawn(|| work(&outbox)).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match done {
                Ok(_) => drop(slabs.segment.word(DONE).fetch_add(1, Ordering::SeqCst)),
                Err(_) => failed.store(true, Ordering::SeqCst),
            }
            done
        });
        // Return the error of `take` first: `work` may have failed only because sends were refused after that.
        Ok(match cause.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(cause) => Err(cause),
            None => done.map(|done| {
                let (sent_bytes, received_bytes) = (sent.into_inner(), received.into_inner());
                (done, Exchanged { sent_bytes, received_bytes, seconds: started.elapsed().as_secs_f64() })
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::mpi::segment;

    #[test]
    fn the_bytes_of_a_shape_bound_its_segment() {
        for ranks in [2, 3, 8, 100] {
            for (words, messages) in [(1, 1), (100, 3), (1 << 16, 44), (5000, 63)] {
                let shape = Shape { words, outgoing: messages, incoming: 2, takers: 1 };
                let (_, _, part) = sizes(shape, ranks).expect("no overflow");
                let (takes, bound) = (segment::bytes(part, ranks).expect("no overflow") as u64, shape.bytes(ranks, 1));
                assert!(takes <= bound, "{takes} of {bound} by {ranks} ranks with {shape:?}");
                assert!(
                    bound <= 2 * takes + ranks as u64 * 16384,
                    "{takes} of {bound} by {ranks} ranks with {shape:?}"
                );
            }
        }
    }
}
