//! One thread's way to and from the GPU: a queue of its own and slots of pinned memory that take turns.
#![allow(unsafe_code)] // copies that go on while the host does

use super::arena::DeviceSlice;
use super::queue::{Event, Queue};
use crate::error::Result;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A queue and pinned slots. A slot is filled while another is copied from.
#[derive(Debug)]
pub struct Lane<'u> {
    queue: &'u Queue,
    slots: Vec<Slot<'u>>,
    turn: usize,
    /// Words put into the slot whose turn it is.
    filled: usize,
    /// Whether something was queued on the slot whose turn it is.
    open: bool,
    waited: Duration,
}

#[derive(Debug)]
struct Slot<'u> {
    words: &'u mut [u32],
    /// When the GPU is done with it, if it is `busy`.
    done: &'u Event,
    busy: bool,
}

impl<'u> Lane<'u> {
    /// `slots` must be memory that the GPU copies from and to by itself, each with an event of its own.
    pub(super) fn new(queue: &'u Queue, slots: impl Iterator<Item = (&'u mut [u32], &'u Event)>) -> Lane<'u> {
        let slots = slots.map(|(words, done)| Slot { words, done, busy: false }).collect();
        Lane { queue, slots, turn: 0, filled: 0, open: false, waited: Duration::ZERO }
    }

    /// Its queue.
    pub fn queue(&self) -> &'u Queue {
        self.queue
    }

    /// How long its thread has waited for slots so far.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Which slot's turn it is.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Words of a slot.
    pub fn slot_words(&self) -> usize {
        self.slots[0].words.len()
    }

    /// The slot whose turn it is, once the GPU is done with it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn slot(&mut self) -> Result<&mut [u32]> {
        if std::mem::take(&mut self.open) {
            self.queue.finish()?;
        }
        self.waited += self.slots[self.turn].wait()?;
        Ok(self.slots[self.turn].words)
    }

    /// Words that were put into the slot.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// Moves words from the start of `words` into the slot, behind those it has: all, or until it has `most`. Whether it
    /// has `most` now.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn put(&mut self, words: &mut &[u32], most: usize) -> Result<bool> {
        let filled = self.filled;
        let (now, later) = words.split_at(words.len().min(most - filled));
        self.slot()?[filled..][..now.len()].copy_from_slice(now);
        self.filled += now.len();
        *words = later;
        Ok(self.filled == most)
    }

    /// Queues a copy of the words that were put into the slot to the device.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn send(&mut self, to: DeviceSlice<u32>) -> Result<()> {
        self.open = true;
        let slot = &self.slots[self.turn];
        // SAFETY: the slot is not touched before `slot` found the GPU done with it.
        unsafe { self.queue.upload(&slot.words[..self.filled], to) }
    }

    /// Queues a copy of all of `from` into the slot, from word `at` on.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn fetch(&mut self, from: DeviceSlice<u32>, at: usize) -> Result<()> {
        self.open = true;
        let slot = &mut self.slots[self.turn];
        // SAFETY: as in `send`.
        unsafe { self.queue.download(from, &mut slot.words[at..at + from.len() as usize]) }
    }

    /// Leaves the slot to the GPU until all that is queued is done; the next slot has its turn.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn pass(&mut self) -> Result<()> {
        let slot = &mut self.slots[self.turn];
        self.queue.mark(slot.done)?;
        slot.busy = true;
        (self.open, self.filled) = (false, 0);
        self.turn = (self.turn + 1) % self.slots.len();
        Ok(())
    }

    /// Copies all of `from` to the host, behind what is queued, and hands it to `take` in pieces of as many times
    /// `step` words as a slot holds.
    ///
    /// # Errors
    /// What `take` returned, [`crate::Error::Lost`].
    pub fn receive(
        &mut self,
        from: DeviceSlice<u32>,
        step: usize,
        mut take: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        let piece = (self.slot_words() / step * step) as u64;
        let mut under_way = VecDeque::new();
        for start in (0..from.len()).step_by(piece.max(1) as usize) {
            if under_way.len() == self.slots.len() {
                self.hand_over(under_way.pop_front(), &mut take)?;
            }
            let part = from.part(start..start + piece);
            self.slot()?;
            self.fetch(part, 0)?;
            under_way.push_back((self.turn, part.len() as usize));
            self.pass()?;
        }
        while !under_way.is_empty() {
            self.hand_over(under_way.pop_front(), &mut take)?;
        }
        Ok(())
    }

    fn hand_over(&mut self, slot: Option<(usize, usize)>, take: impl FnOnce(&[u32]) -> Result<()>) -> Result<()> {
        let Some((turn, words)) = slot else { return Ok(()) };
        self.waited += self.slots[turn].wait()?;
        take(&self.slots[turn].words[..words])
    }

    /// Waits until all that is queued is done.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] for whatever went wrong on the device.
    pub fn finish(&mut self) -> Result<()> {
        self.queue.finish()?;
        self.open = false;
        self.slots.iter_mut().for_each(|slot| slot.busy = false);
        Ok(())
    }
}

impl Slot<'_> {
    /// Waits until the GPU is done with it; how long that took.
    fn wait(&mut self) -> Result<Duration> {
        if !std::mem::take(&mut self.busy) {
            return Ok(Duration::ZERO);
        }
        let started = Instant::now();
        self.done.wait().map(|()| started.elapsed())
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        // Nothing may still use the slots; what went wrong on the device, the next call says.
        let _ = self.queue.finish();
    }
}
