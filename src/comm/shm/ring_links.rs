//! Links that transport the messages of [`crate::comm::Rounds`] between ranks of one machine, through ring buffers in
//! shared memory.
//!
//! For all-gathers of a few numbers, each rank has two cache lines that all ranks can read, and writes its numbers to
//! these lines alternately. Before a rank overwrites the line of gather n in gather n + 2, it has read the numbers of
//! all ranks in gather n + 1. Each rank wrote those numbers after it had read all numbers of gather n. So no number is
//! overwritten before all ranks have read it.

use super::rings::{RingSize, RingSlot, Rings};
use super::store_policy::StorePolicy;
use crate::comm::link_slots::{Arrived, LinkSlots, RankNumbers};
use crate::comm::mpi::Ranks;
use crate::comm::round_backoff::RoundBackoff;
use std::sync::atomic::Ordering;

/// Slot size in bytes, for links that are long enough for two such slots. Writer and reader transfer whole slots, so a
/// ring is nearly empty most of the time and its content is in cache. With slots of 32 KiB, a round with long messages
/// takes 5% longer.
const SLOT_BYTES: usize = 128 << 10;

pub(in crate::comm) struct RingLinks {
    rings: Rings,
    /// For each rank, the slot (message buffer) that is being filled with the next message to that rank.
    filling: Vec<Option<RingSlot>>,
    /// For each rank, the slot (message buffer) from which that rank's message is being read.
    taking: Vec<Option<RingSlot>>,
    /// For each rank, the choice of store instructions for messages to that rank.
    stores: Vec<StorePolicy>,
    /// Number of times that the ranks have all-gathered numbers so far.
    gathered: u64,
}

impl RingLinks {
    /// Returns the dimensions of a ring buffer for a link with up to `link` bytes in flight. The ring has at least two
    /// slots (message buffers), so that one can be read while another is filled.
    pub(in crate::comm) fn size(link: usize) -> RingSize {
        let slots = (link / SLOT_BYTES).max(2);
        RingSize::new(slots, (link / slots / 64 * 64).saturating_sub(64).max(64))
    }

    /// Opens links between all ranks. Each link can have up to `link` bytes in flight. Returns `None` on all ranks if
    /// the ranks can't share memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, link: usize) -> Option<RingLinks> {
        let (rings, count) = (Rings::open(ranks, RingLinks::size(link))?, ranks.position().ranks);
        let slots = || (0..count).map(|_| None).collect();
        Some(RingLinks {
            rings,
            filling: slots(),
            taking: slots(),
            stores: vec![StorePolicy::default(); count],
            gathered: 0,
        })
    }

    /// Returns the slot (message buffer) that is being filled with the next message to rank `to`. If there is none,
    /// claims a free slot. The result is `None` if the ring is full.
    fn slot(&mut self, to: usize) -> &mut Option<RingSlot> {
        let slot = &mut self.filling[to];
        if slot.is_none() {
            *slot = self.rings.free_slot(to);
        }
        slot
    }
}

impl LinkSlots for RingLinks {
    fn capacity(&self) -> usize {
        self.rings.capacity()
    }

    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool {
        if self.slot(to).is_none() {
            return false;
        }
        if let Some(slot) = &mut self.filling[to] {
            self.stores[to].copy(&mut self.rings.slot_mut(slot)[at..][..bytes.len()], bytes);
        }
        true
    }

    fn publish(&mut self, to: usize, bytes: usize, last: bool) -> bool {
        let Some(slot) = self.slot(to).take() else { return false };
        self.rings.publish(slot, bytes, last);
        true
    }

    fn arrived(&mut self, from: usize) -> Option<Arrived<'_>> {
        self.taking[from] = self.rings.full_slot(from);
        let (words, bytes, last) = self.rings.content(self.taking[from].as_ref()?);
        Some(Arrived { words, bytes, last })
    }

    fn release(&mut self, from: usize) {
        if let Some(slot) = self.taking[from].take() {
            self.rings.release_slot(slot);
        }
    }

    fn gather_numbers(&mut self, mine: RankNumbers, backoff: &mut RoundBackoff) -> Vec<RankNumbers> {
        self.gathered += 1;
        let which = (self.gathered % 2) as usize;
        let own = self.rings.line(self.rings.rank(), which);
        own[1..].iter().zip(mine).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        own[0].store(self.gathered, Ordering::Release);
        let mut lines = vec![mine; self.rings.ranks()];
        for (from, line) in lines.iter_mut().enumerate().filter(|&(from, _)| from != self.rings.rank()) {
            let words = self.rings.line(from, which);
            while words[0].load(Ordering::Acquire) != self.gathered {
                backoff.take();
            }
            *line = std::array::from_fn(|at| words[1 + at].load(Ordering::Relaxed));
        }
        lines
    }
}
