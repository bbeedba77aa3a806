//! Lists of vertices to which several threads append at the same time.

use crate::error::Result;
use crate::memory::{Budget, Buffer, plain};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Number of vertices that a thread collects before it appends them to a list.
const BATCH: usize = 1 << 9;

/// A list with capacity for all vertices of a graph or of a rank. Threads append vertices concurrently, and each vertex
/// at most once.
pub(in crate::algo) struct VertexList {
    vertices: Buffer<AtomicU32>,
    len: AtomicUsize,
    /// Number of neighbours of the vertices that were appended since the last call of [`Self::take_entries`].
    entries: AtomicU64,
}

/// Buffer of vertices that one thread collects and then appends to a list together.
pub(in crate::algo) struct Batch<'l> {
    list: &'l VertexList,
    vertices: Vec<u32>,
    entries: u64,
}

impl VertexList {
    /// Creates an empty list for up to `vertices` vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub(in crate::algo) fn new(vertices: usize, purpose: &'static str, budget: &Budget) -> Result<VertexList> {
        let vertices = budget.zeroed(vertices, purpose)?;
        Ok(VertexList { vertices, len: AtomicUsize::new(0), entries: AtomicU64::new(0) })
    }

    /// Returns the number of vertices in the list.
    pub(in crate::algo) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Returns the vertices in the list.
    pub(in crate::algo) fn vertices(&mut self) -> &mut [u32] {
        &mut plain(&mut self.vertices)[..*self.len.get_mut()]
    }

    /// Returns the space for vertices, which a caller may use for other values while the list is empty.
    pub(in crate::algo) fn space(&mut self) -> &mut [u32] {
        plain(&mut self.vertices)
    }

    /// Returns the vertices in an index range of the list, while other threads may append more.
    pub(in crate::algo) fn at(&self, range: Range<usize>) -> &[AtomicU32] {
        &self.vertices[range]
    }

    /// Returns the number of neighbours of the vertices that were appended since the last call of
    /// [`Self::take_entries`].
    pub(in crate::algo) fn entries(&self) -> u64 {
        self.entries.load(Relaxed)
    }

    /// Returns the number of neighbours of the vertices that were appended since the last call of this function.
    pub(in crate::algo) fn take_entries(&mut self) -> u64 {
        std::mem::take(self.entries.get_mut())
    }

    /// Removes all vertices from the list.
    pub(in crate::algo) fn clear(&mut self) {
        (*self.len.get_mut(), *self.entries.get_mut()) = (0, 0);
    }

    /// Appends vertices to the list, each with its number of neighbours.
    pub(in crate::algo) fn append(&self, vertices: impl Iterator<Item = (u32, u64)>) {
        let mut batch = self.batch();
        vertices.for_each(|(v, entries)| batch.push(v, entries));
    }

    /// Returns an empty buffer of vertices that one thread will append to the list.
    pub(in crate::algo) fn batch(&self) -> Batch<'_> {
        Batch { list: self, vertices: Vec::new(), entries: 0 }
    }
}

impl Batch<'_> {
    /// Adds vertex `v`, which has `entries` neighbours, to the buffer.
    #[inline]
    pub(in crate::algo) fn push(&mut self, v: u32, entries: u64) {
        self.vertices.push(v);
        self.entries += entries;
        if self.vertices.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let first = self.list.len.fetch_add(self.vertices.len(), Relaxed);
        let slots = &self.list.vertices[first..first + self.vertices.len()];
        slots.iter().zip(&self.vertices).for_each(|(slot, &v)| slot.store(v, Relaxed));
        self.list.entries.fetch_add(std::mem::take(&mut self.entries), Relaxed);
        self.vertices.clear();
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
