//! Sends the messages of rounds among ranks of one machine, through rings of buffers in shared memory.
//!
//! To gather numbers from all ranks, each rank has two cache lines that all ranks can read. It writes its numbers to
//! these lines alternately. Before it writes a line again, it has read the numbers of all ranks from the gathering in
//! between. Each rank wrote these numbers after it had read the earlier ones. So no number is overwritten before all
//! ranks have read it.

use super::rings::{RingSize, RingSlot, Rings};
use super::store_policy::StorePolicy;
use crate::comm::link_slots::{Arrived, LinkSlots, RankNumbers};
use crate::comm::mpi::Ranks;
use crate::comm::round_backoff::RoundBackoff;
use std::sync::atomic::Ordering;

/// Size in bytes of a buffer in a long ring. The writer and the reader move whole buffers, so a ring is nearly empty
/// and its content is in cache. With 32 KiB a long round takes a twentieth longer.
const SLOT_BYTES: usize = 128 << 10;

pub(in crate::comm) struct RingLinks {
    rings: Rings,
    /// For each rank, the buffer that is being filled with the next message to that rank.
    filling: Vec<Option<RingSlot>>,
    /// For each rank, the buffer of the message from that rank that is being read.
    taking: Vec<Option<RingSlot>>,
    /// For each rank, how words for that rank are written to shared memory.
    stores: Vec<StorePolicy>,
    /// Number of times that the ranks have gathered numbers.
    gathered: u64,
}

impl RingLinks {
    /// Returns the size of a ring for a link of `link` bytes. The ring has at least two buffers, so that one can be
    /// read while another is filled.
    pub(in crate::comm) fn size(link: usize) -> RingSize {
        let slots = (link / SLOT_BYTES).max(2);
        RingSize::new(slots, (link / slots / 64 * 64).saturating_sub(64).max(64))
    }

    /// Opens links of `link` bytes between all ranks. Returns `None` on all ranks if they share no memory. Collective.
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

    /// Claims a free buffer for the next message to rank `to`, if none is being filled.
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
