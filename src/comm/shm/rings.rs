//! Ring buffers in shared memory, one from every rank to every other rank of a machine. A ring is a circular array of
//! slots. A slot is a buffer for one message.
//!
//! Messages of a ring are numbered from 0. Message n uses slot `n % slots` in lap `n / slots`. Each slot has a
//! sequence number, its *turn*. The turn is `2 * lap` while the slot is free for the message of that lap, and
//! `2 * lap + 1` while it contains the message. A writer or reader increments the turn when it has finished with the
//! slot. The threads of a rank share a counter, from which each thread draws the number of its next message. Shared
//! memory contains only turns, lengths and messages, but no locks, so a process that dies never holds a lock that
//! others need.
#![allow(unsafe_code)] // views of shared memory; the turn determines who may use a slot

use super::segment::{self, SharedSegment};
use crate::comm::carrier::{Carrier, Delivery, TakeMessage};
use crate::comm::link_slots::NUMBERS;
use crate::comm::mpi::Ranks;
use crate::error::Result;
use crate::memory::bytes_of;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Size of a cache line in bytes. Each slot of a ring begins with one cache line, its header.
const CACHE_LINE: usize = 64;
/// Size, in bytes, of the area at the start of a rank's partition of the shared memory, before its rings. The area has
/// two cache lines of numbers that all ranks can read.
const HEAD: usize = 2 * CACHE_LINE;
/// Index of the turn in a slot's header. The turn is the sequence number that determines who may use the slot.
const TURN: usize = 0;
/// Index of the message length in a slot's header.
const LENGTH: usize = 1;
/// Flag bit in the message length that marks the last message of a round.
const LAST: u64 = 1 << 63;
/// Index of the shared word that counts the ranks that have sent their last message. The barrier of the segment uses
/// words 0 and 1.
const DONE: usize = 2;

/// Dimensions of a ring buffer: the number of slots (message buffers), and the size of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::comm) struct RingSize {
    slots: u64,
    /// Size of a slot (message buffer) in bytes, including its header.
    stride: u64,
}

impl RingSize {
    /// Returns the dimensions of a ring of `slots` slots, each with space for a message of at least `capacity` bytes.
    pub(in crate::comm) fn new(slots: usize, capacity: usize) -> RingSize {
        RingSize { slots: slots.max(1) as u64, stride: (CACHE_LINE + capacity).next_multiple_of(CACHE_LINE) as u64 }
    }

    /// Returns the maximum size, in bytes, of the shared memory that one of `ranks` ranks touches: its rings to and
    /// from the other ranks, rounded up to pages, the head of the segment, and the beginning of each rank's partition.
    pub(in crate::comm) fn rank_bytes(&self, ranks: usize) -> u64 {
        let ranks = ranks as u64;
        2 * (ranks - 1) * self.slots * self.stride + segment::HEAD as u64 + 3 * ranks * segment::PAGE as u64
    }

    /// Returns the size, in bytes, of one rank's partition of the shared memory: its rings to the `ranks` - 1 other
    /// ranks, and the area before the rings. Returns `None` if the size overflows.
    fn part(&self, ranks: usize) -> Option<usize> {
        let rings = self.slots.checked_mul(self.stride)?.checked_mul(ranks as u64 - 1)?;
        usize::try_from(rings).ok()?.checked_add(HEAD)
    }
}

/// Ring buffers of one rank: one to each other rank, and one from each other rank.
pub(in crate::comm) struct Rings {
    segment: SharedSegment,
    rank: usize,
    ranks: usize,
    size: RingSize,
    /// For each rank, the number of messages sent to it.
    sent: Vec<AtomicU64>,
    /// For each rank, the number of messages received from it.
    taken: Vec<AtomicU64>,
    /// Rank from which the last message was received.
    last: AtomicUsize,
}

/// Exclusive access to a slot (message buffer) of a ring.
pub(super) struct RingSlot {
    /// The rank that writes messages to the ring.
    from: usize,
    /// Byte offset of the slot in the partition of the shared memory that belongs to rank `from`.
    at: usize,
    turn: u64,
}

impl Rings {
    /// Opens ring buffers between all ranks. Returns `None` on all ranks if the ranks can't share memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, size: RingSize) -> Option<Rings> {
        let (rank, count) = (ranks.position().rank, ranks.position().ranks);
        let segment = SharedSegment::open(ranks, size.part(count)?)?;
        let counters = || (0..count).map(|_| AtomicU64::new(0)).collect();
        Some(Rings { segment, rank, ranks: count, size, sent: counters(), taken: counters(), last: rank.into() })
    }

    /// Returns the maximum number of bytes in a message.
    pub(super) fn capacity(&self) -> usize {
        self.size.stride as usize - CACHE_LINE
    }

    /// Claims the slot (message buffer) for the next message to rank `to`. Returns `None` if the ring is full.
    pub(super) fn free_slot(&self, to: usize) -> Option<RingSlot> {
        self.claim(&self.sent[to], self.rank, to, 0)
    }

    /// Claims the slot (message buffer) with the next message from rank `from`. Returns `None` if no message has
    /// arrived.
    pub(super) fn full_slot(&self, from: usize) -> Option<RingSlot> {
        self.claim(&self.taken[from], from, self.rank, 1)
    }

    /// Claims the slot of message number `next` in the ring from rank `from` to rank `to`, and increments `next`. If
    /// `full` is 0, the slot must be free, and is claimed for writing. If `full` is 1, the slot must contain that
    /// message, and is claimed for reading. Returns `None` if the slot is not in the required state.
    fn claim(&self, next: &AtomicU64, from: usize, to: usize, full: u64) -> Option<RingSlot> {
        let RingSize { slots, stride } = self.size;
        let ring = (to + self.ranks - from - 1) % self.ranks;
        let mut number = next.load(Ordering::Relaxed);
        loop {
            let (lap, place) = (number / slots, number % slots);
            let at = HEAD + ((ring as u64 * slots + place) * stride) as usize;
            let slot = RingSlot { from, at, turn: 2 * lap + full };
            // Another thread may have claimed this message number meanwhile, and may already have released the slot.
            let now = match self.header(&slot)[TURN].load(Ordering::Acquire) == slot.turn {
                true => match next.compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Some(slot),
                    Err(now) => now,
                },
                false => match next.load(Ordering::Relaxed) {
                    now if now == number => return None,
                    now => now,
                },
            };
            number = now;
        }
    }

    fn header(&self, slot: &RingSlot) -> &[AtomicU64] {
        // SAFETY: headers are only used as atomics.
        unsafe { self.segment.view(slot.from, slot.at, CACHE_LINE / 8) }
    }

    /// Returns the message buffer of a free slot that was claimed for writing.
    pub(super) fn slot_mut<'a>(&'a self, slot: &'a mut RingSlot) -> &'a mut [u8] {
        // SAFETY: the turn of a claimed slot grants exclusive access to its owner.
        unsafe { self.segment.view_mut(slot.from, slot.at + CACHE_LINE, self.capacity()) }
    }

    /// Returns the first `len` words of the message in a claimed slot.
    fn message<'a, T: crate::memory::Number>(&'a self, slot: &'a RingSlot, len: usize) -> &'a [T] {
        // SAFETY: as above; the sender wrote the message before it incremented the turn.
        unsafe { self.segment.view(slot.from, slot.at + CACHE_LINE, len) }
    }

    /// Returns (words, length, last) for a slot that contains a message: the whole message buffer, the length of the
    /// message in bytes, and whether it is the last message of a round.
    pub(super) fn content<'a>(&'a self, slot: &'a RingSlot) -> (&'a [u64], usize, bool) {
        let length = self.header(slot)[LENGTH].load(Ordering::Relaxed);
        (self.message(slot, self.capacity() / 8), (length & !LAST) as usize, length & LAST != 0)
    }

    /// Sends the message in the first `bytes` bytes of a slot, by passing the slot to the reader of the ring. `last`
    /// marks the last message of a round.
    pub(super) fn publish(&self, slot: RingSlot, bytes: usize, last: bool) {
        self.header(&slot)[LENGTH].store(bytes as u64 | if last { LAST } else { 0 }, Ordering::Relaxed);
        self.release_slot(slot);
    }

    /// Ends the use of a slot. The writer of a ring thereby passes the slot to the reader, or the reader back to the
    /// writer.
    pub(super) fn release_slot(&self, slot: RingSlot) {
        self.header(&slot)[TURN].store(slot.turn + 1, Ordering::Release);
    }

    /// Returns cache line `which` (0 or 1) of the numbers that `rank` shares with all ranks.
    pub(super) fn line(&self, rank: usize, which: usize) -> &[AtomicU64] {
        const { assert!((NUMBERS + 1) * 8 == CACHE_LINE) };
        // SAFETY: these lines are only used as atomics.
        unsafe { self.segment.view(rank, which * CACHE_LINE, CACHE_LINE / 8) }
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }
}

impl Carrier for Rings {
    fn send(&self, to: usize, message: Vec<u32>) -> Result<Vec<u32>, Vec<u32>> {
        let Some(mut slot) = self.free_slot(to) else { return Err(message) };
        let bytes = bytes_of(&message);
        self.slot_mut(&mut slot)[..bytes.len()].copy_from_slice(bytes);
        self.publish(slot, bytes.len(), false);
        Ok(message)
    }

    fn end(&self) {
        self.segment.word(DONE).fetch_add(1, Ordering::SeqCst);
    }

    fn take(&self, take: TakeMessage<'_>) -> Result<Delivery> {
        // Read the counter of finished ranks before the rings: if all ranks have finished, the rings contain all
        // remaining messages.
        let over = self.segment.word(DONE).load(Ordering::SeqCst) == self.ranks as u64;
        let last = self.last.load(Ordering::Relaxed);
        // Begin with the rank after the sender of the last message (round-robin), so that no sender starves.
        let others = (1..=self.ranks).map(|turn| (last + turn) % self.ranks).filter(|&from| from != self.rank);
        for from in others {
            if let Some(slot) = self.full_slot(from) {
                self.last.store(from, Ordering::Relaxed);
                let words = self.content(&slot).1 / 4;
                take(from, self.message(&slot, words))?;
                self.release_slot(slot);
                return Ok(Delivery::Message(words));
            }
        }
        Ok(if over { Delivery::Over } else { Delivery::Nothing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    /// Creates the ring buffers of two simulated ranks within this process.
    fn rings(slots: usize, capacity: usize) -> [Rings; 2] {
        let size = RingSize::new(slots, capacity);
        SharedSegment::within(size.part(2).expect("few bytes")).map(|(rank, segment)| {
            let counters = || (0..2).map(|_| AtomicU64::new(0)).collect();
            Rings { segment, rank, ranks: 2, size, sent: counters(), taken: counters(), last: rank.into() }
        })
    }

    #[test]
    fn messages_come_out_in_order_and_a_full_ring_says_so() {
        for slots in [1, 2, 3, 8] {
            let [a, b] = rings(slots, 8);
            for round in 0..5 {
                assert!(b.full_slot(0).is_none());
                assert!((0..slots as u32).all(|n| a.send(1, vec![n, round]).is_ok()));
                assert_eq!(a.send(1, vec![99]), Err(vec![99]));
                for n in 0..slots as u32 {
                    let want = |from: usize, words: &[u32]| {
                        assert_eq!((from, words), (0, &[n, round][..]));
                        Ok(())
                    };
                    assert!(matches!(b.take(&want), Ok(Delivery::Message(2))));
                }
            }
            a.end();
            assert!(matches!(b.take(&|_, _| Ok(())), Ok(Delivery::Nothing)));
            b.end();
            assert!(matches!(b.take(&|_, _| Ok(())), Ok(Delivery::Over)));
        }
    }

    #[test]
    fn many_threads_get_every_message_once() {
        let [a, b] = rings(3, 8);
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..3u32 {
                let (a, b, taken) = (&a, &b, &taken);
                scope.spawn(move || {
                    for n in 0..5000 {
                        let mut message = vec![thread, n];
                        while let Err(back) = a.send(1, message) {
                            message = back;
                            std::thread::yield_now();
                        }
                    }
                });
                scope.spawn(move || {
                    let keep = |_: usize, words: &[u32]| {
                        taken.lock().push(words.to_vec());
                        Ok(())
                    };
                    let mut mine = 0;
                    while mine < 5000 {
                        match b.take(&keep) {
                            Ok(Delivery::Message(_)) => mine += 1,
                            _ => std::thread::yield_now(),
                        }
                    }
                });
            }
        });
        let mut taken = taken.into_inner();
        taken.sort();
        assert_eq!(taken, (0..15_000).map(|n| vec![n / 5000, n % 5000]).collect::<Vec<_>>());
    }

    #[test]
    fn a_part_is_within_what_a_rank_touches() {
        for ranks in [2, 3, 8, 100] {
            for (slots, capacity) in [(1, 4), (4, 400), (46, 1 << 18), (65, 20_000)] {
                let size = RingSize::new(slots, capacity);
                let part = size.part(ranks).expect("no overflow") as u64;
                assert!(2 * part < size.rank_bytes(ranks) && size.rank_bytes(ranks) < 2 * part + ranks as u64 * 16384);
            }
        }
        assert_eq!(RingSize::new(usize::MAX / 64, 1 << 20).part(3), None);
    }
}
