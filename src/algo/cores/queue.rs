//! The vertices of a rank in the order in which threads remove them.

use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Number of vertices that a thread collects before it appends them to the queue.
const BATCH: usize = 1 << 9;

/// A queue with room for every vertex of a rank. Threads append to it at the same time.
pub(super) struct Queue {
    /// Places of the queued vertices among the vertices of the rank.
    places: Buffer<AtomicU32>,
    len: AtomicUsize,
    /// Number of entries in the rows of the vertices that were appended since [`Self::take`].
    entries: AtomicU64,
    /// Number of vertices that [`Self::take`] has returned.
    taken: usize,
}

/// Vertices that one thread will append to the queue together.
pub(super) struct Batch<'q> {
    queue: &'q Queue,
    places: Vec<u32>,
    entries: u64,
}

impl Queue {
    /// Makes an empty queue for up to `vertices` vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(super) fn new(vertices: usize, budget: &Budget) -> Result<Queue> {
        let places = budget.zeroed(vertices, "vertices in the order of their removal (4 bytes each)")?;
        Ok(Queue { places, len: AtomicUsize::new(0), entries: AtomicU64::new(0), taken: 0 })
    }

    /// Returns the number of vertices that were appended.
    pub(super) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Returns the number of vertices that were appended since the last call of [`Self::take`].
    pub(super) fn waiting(&self) -> usize {
        self.len() - self.taken
    }

    /// Takes the vertices that were appended since the last call. Returns their range in the queue, and the number of
    /// entries in their rows.
    pub(super) fn take(&mut self) -> (Range<usize>, u64) {
        let end = self.len();
        (std::mem::replace(&mut self.taken, end)..end, std::mem::take(self.entries.get_mut()))
    }

    /// Returns the places of the vertices in a range of the queue.
    pub(super) fn at(&self, range: Range<usize>) -> &[AtomicU32] {
        &self.places[range]
    }

    /// Appends vertices: the place and the number of row entries of each.
    pub(super) fn append(&self, vertices: impl Iterator<Item = (usize, u32)>) {
        let mut batch = self.batch();
        vertices.for_each(|(place, entries)| batch.push(place, entries));
    }

    /// Returns an empty batch.
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch { queue: self, places: Vec::with_capacity(BATCH), entries: 0 }
    }
}

impl Batch<'_> {
    /// Adds the vertex at `place`, whose row has `entries` entries.
    #[inline]
    pub(super) fn push(&mut self, place: usize, entries: u32) {
        self.places.push(place as u32);
        self.entries += u64::from(entries);
        if self.places.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let first = self.queue.len.fetch_add(self.places.len(), Relaxed);
        let slots = &self.queue.places[first..first + self.places.len()];
        slots.iter().zip(&self.places).for_each(|(slot, &place)| slot.store(place, Relaxed));
        self.queue.entries.fetch_add(std::mem::take(&mut self.entries), Relaxed);
        self.places.clear();
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
