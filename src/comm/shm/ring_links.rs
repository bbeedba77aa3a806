//! Transport of the messages of rounds among ranks of one machine, through rings in shared memory.
//!
//! Every rank also has two cache lines of numbers for all ranks, and uses the lines alternately. A rank that writes a
//! line again has seen all numbers of the gathering in between. Each rank published those numbers after it had read the
//! earlier ones. So no number is overwritten before it is read.

use super::rings::{RingSize, RingSlot, Rings};
use super::stores::Stores;
use crate::comm::link_slots::{Arrived, LinkSlots, RankNumbers};
use crate::comm::mpi::Ranks;
use crate::comm::waiting::Waiting;
use std::sync::atomic::Ordering;

/// Size in bytes of a slot of a long ring. The writer and the reader move slots of this size, so a ring is nearly empty
/// and its content is in cache. With 32 KiB a long round takes a twentieth longer.
const SLOT_BYTES: usize = 128 << 10;

pub(in crate::comm) struct RingLinks {
    rings: Rings,
    /// By rank, the slot that is being filled with the next message to it.
    filling: Vec<Option<RingSlot>>,
    /// By rank, the slot whose message from it is being taken.
    taking: Vec<Option<RingSlot>>,
    /// By rank, the way in which words are written for it.
    stores: Vec<Stores>,
    /// Number of times that numbers were gathered.
    gathered: u64,
}

impl RingLinks {
    /// Returns the size of the ring for a link of `link` bytes. It has at least two slots, so that one can be taken while
    /// another is filled.
    pub(in crate::comm) fn size(link: usize) -> RingSize {
        let slots = (link / SLOT_BYTES).max(2);
        RingSize::new(slots, (link / slots / 64 * 64).saturating_sub(64).max(64))
    }

    /// Opens links of `link` bytes between all ranks. Returns `None` on all ranks if they share no memory. Collective.
    pub(in crate::comm) fn open(ranks: &Ranks, link: usize) -> Option<RingLinks> {
        let (rings, count) = (Rings::open(ranks, RingLinks::size(link))?, ranks.place().ranks);
        let slots = || (0..count).map(|_| None).collect();
        Some(RingLinks {
            rings,
            filling: slots(),
            taking: slots(),
            stores: vec![Stores::default(); count],
            gathered: 0,
        })
    }

    /// Claims the next slot to rank `to`, if none is being filled.
    fn slot(&mut self, to: usize) -> &mut Option<RingSlot> {
        let slot = &mut self.filling[to];
        if slot.is_none() {
            *slot = self.rings.free_slot(to);
        }
        slot
    }
}

impl LinkSlots for RingLinks {
    fn room(&self) -> usize {
        self.rings.room()
    }

    fn write(&mut self, to: usize, at: usize, bytes: &[u8]) -> bool {
        if self.slot(to).is_none() {
            return false;
        }
        if let Some(slot) = &mut self.filling[to] {
            self.stores[to].copy(&mut self.rings.room_of(slot)[at..][..bytes.len()], bytes);
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
            self.rings.pass_on(slot);
        }
    }

    fn gather_numbers(&mut self, mine: RankNumbers, waiting: &mut Waiting) -> Vec<RankNumbers> {
        self.gathered += 1;
        let which = (self.gathered % 2) as usize;
        let own = self.rings.line(self.rings.rank(), which);
        own[1..].iter().zip(mine).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        own[0].store(self.gathered, Ordering::Release);
        let mut lines = vec![mine; self.rings.ranks()];
        for (from, line) in lines.iter_mut().enumerate().filter(|&(from, _)| from != self.rings.rank()) {
            let words = self.rings.line(from, which);
            while words[0].load(Ordering::Acquire) != self.gathered {
                waiting.take();
            }
            *line = std::array::from_fn(|at| words[1 + at].load(Ordering::Relaxed));
        }
        lines
    }
}
