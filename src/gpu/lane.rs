//! Lanes. A lane is a GPU queue that one thread uses, with several slots. A slot is a buffer of pinned memory. The
//! thread uses the slots in rotation.
#![allow(unsafe_code)] // copies that go on while the host does

use super::arena::DeviceSlice;
use super::queue::{Event, Queue};
use crate::error::Result;
use crate::process::threads::on_threads;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Fills the GPU slice `to`, with one thread per lane. `to` is divided into chunks whose lengths are multiples of
/// `step` words. `fill` is called once per chunk, with the index in `to` of the chunk's first word, and must write the
/// chunk's words to the buffer that it receives. After an error no thread begins another chunk.
///
/// # Errors
/// Errors of `fill`; [`crate::Error::Lost`].
pub fn fill_by_lanes(
    lanes: &mut [Lane<'_>],
    to: DeviceSlice<u32>,
    step: u64,
    fill: impl Fn(u64, &mut [u32]) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicU64::new(0);
    on_threads(lanes.iter_mut(), |lane| {
        let words = lane.slot_words() as u64 / step * step;
        loop {
            let first = next.fetch_add(words, Relaxed);
            let part = to.part(first..first + words);
            if part.is_empty() {
                return lane.finish();
            }
            let filled = lane.slot().and_then(|slot| fill(first, &mut slot[..part.len() as usize]));
            let sent = filled.and_then(|()| lane.send_slot(part)).and_then(|()| lane.pass());
            sent.inspect_err(|_| next.store(to.len(), Relaxed))?;
        }
    })
}

/// A GPU queue with several pinned buffers, called slots. The thread fills the current slot while the GPU copies from
/// another.
#[derive(Debug)]
pub struct Lane<'u> {
    queue: &'u Queue,
    slots: Vec<LaneSlot<'u>>,
    turn: usize,
    /// Number of words that are filled in the current pinned buffer.
    filled: usize,
    /// Whether a copy from or to the current pinned buffer is queued.
    open: bool,
    waited: Duration,
}

#[derive(Debug)]
struct LaneSlot<'u> {
    words: &'u mut [u32],
    /// Event that is complete when the GPU no longer uses the buffer. Valid only if `busy` is true.
    done: &'u Event,
    busy: bool,
}

impl<'u> Lane<'u> {
    /// Creates a lane from a queue and pinned buffers, each with an event.
    pub(super) fn new(queue: &'u Queue, slots: impl Iterator<Item = (&'u mut [u32], &'u Event)>) -> Lane<'u> {
        let slots = slots.map(|(words, done)| LaneSlot { words, done, busy: false }).collect();
        Lane { queue, slots, turn: 0, filled: 0, open: false, waited: Duration::ZERO }
    }

    /// Returns the GPU queue of this lane.
    pub fn queue(&self) -> &'u Queue {
        self.queue
    }

    /// Returns the total time that the thread has waited until the GPU no longer used a buffer.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns the index of the lane's current pinned buffer.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Returns the number of pinned buffers of the lane.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the capacity of one pinned buffer of the lane, in 32-bit words.
    pub fn slot_words(&self) -> usize {
        self.slots[0].words.len()
    }

    /// Waits until the GPU no longer uses the current pinned buffer, and returns the buffer.
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

    /// Returns the number of 32-bit words that are filled in the current pinned buffer.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// Moves words from the start of `words` to the current pinned buffer, until `words` is empty or the buffer
    /// contains `most` words. Returns true if the buffer contains `most` words.
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

    /// Queues a copy of the filled words of the current pinned buffer to the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn send(&mut self, to: DeviceSlice<u32>) -> Result<()> {
        self.open = true;
        let slot = &self.slots[self.turn];
        // SAFETY: the slot is not accessed until `slot` has waited for the GPU.
        unsafe { self.queue.upload(&slot.words[..self.filled], to) }
    }

    /// Queues a copy from the start of the current pinned buffer to all of `to`. The caller has filled the buffer
    /// through [`Self::slot`].
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn send_slot(&mut self, to: DeviceSlice<u32>) -> Result<()> {
        self.filled = to.len() as usize;
        self.send(to)
    }

    /// Queues a copy of the whole GPU slice `from` to the current pinned buffer, from word `at` of the buffer on.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn fetch(&mut self, from: DeviceSlice<u32>, at: usize) -> Result<()> {
        self.open = true;
        let slot = &mut self.slots[self.turn];
        // SAFETY: as in `send`.
        unsafe { self.queue.download(from, &mut slot.words[at..at + from.len() as usize]) }
    }

    /// Hands the current pinned buffer to the GPU until all work that is queued now is complete. The next buffer
    /// becomes current.
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

    /// Copies the GPU slice `from` to the host after all queued work, and passes the words to `take` in chunks. A chunk
    /// is as large as a pinned buffer allows, in multiples of `step` words.
    ///
    /// # Errors
    /// Errors of `take`, and [`crate::Error::Lost`].
    pub fn receive(
        &mut self,
        from: DeviceSlice<u32>,
        step: usize,
        mut take: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        self.receive_slices([from], step, |[words]| take(words))
    }

    /// Copies several GPU slices of the same length, like [`Self::receive`]. Each call of `take` receives the same
    /// range of every slice.
    ///
    /// # Errors
    /// Errors of [`Self::receive`].
    pub fn receive_slices<const N: usize>(
        &mut self,
        from: [DeviceSlice<u32>; N],
        step: usize,
        mut take: impl FnMut([&[u32]; N]) -> Result<()>,
    ) -> Result<()> {
        let piece = (self.slot_words() / N / step * step) as u64;
        let mut in_flight = VecDeque::new();
        for start in (0..from[0].len()).step_by(piece.max(1) as usize) {
            if in_flight.len() == self.slots.len()
                && let Some(slot) = in_flight.pop_front()
            {
                self.hand_over(slot, &mut take)?;
            }
            let parts = from.map(|from| from.part(start..start + piece));
            let words = parts[0].len() as usize;
            self.slot()?;
            for (number, part) in parts.into_iter().enumerate() {
                self.fetch(part, number * words)?;
            }
            in_flight.push_back((self.turn, words));
            self.pass()?;
        }
        in_flight.into_iter().try_for_each(|slot| self.hand_over(slot, &mut take))
    }

    fn hand_over<const N: usize>(
        &mut self,
        (turn, words): (usize, usize),
        take: impl FnOnce([&[u32]; N]) -> Result<()>,
    ) -> Result<()> {
        self.waited += self.slots[turn].wait()?;
        let slot = &*self.slots[turn].words;
        take(std::array::from_fn(|number| &slot[number * words..(number + 1) * words]))
    }

    /// Waits until all queued work of the lane is complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`] if anything failed on the device.
    pub fn finish(&mut self) -> Result<()> {
        self.queue.finish()?;
        self.open = false;
        self.slots.iter_mut().for_each(|slot| slot.busy = false);
        Ok(())
    }
}

impl LaneSlot<'_> {
    /// Waits until the GPU no longer uses the pinned buffer. Returns how long it waited.
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
        // Wait, because the pinned buffers may be freed after the drop. If the device has failed, the next call reports
        // it.
        let _ = self.queue.finish();
    }
}
