//! The arrays of a search, which all threads read and write.

use crate::algo::bfs::cpu::heads::Heads;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, Way};
use crate::memory::{Budget, Buffer};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// A graph and what searches of it need beside parents.
pub struct Graph<'a> {
    /// Its rows.
    pub rows: Adjacency<'a>,
    /// Direction of its edges.
    pub direction: Direction,
    /// Its vertices.
    pub vertices: usize,
    /// First neighbours.
    pub heads: Heads,
    /// Lengths of rows.
    pub degrees: &'a [u32],
}

impl Graph<'_> {
    /// Returns the number of edges that leave a vertex.
    #[inline]
    pub fn degree(&self, v: u32) -> u64 {
        self.degrees[self.direction.row(v, Way::Out) as usize].into()
    }

    /// Returns the smallest neighbour of `v` in `known`, and how many entries were looked at.
    #[inline]
    pub fn first_known(&self, v: u32, known: &[AtomicU64]) -> (Option<u32>, u64) {
        let first = self.heads.first[v as usize];
        if is_set(known, first) { (Some(first), 1) } else { self.next_known(v, known, 1) }
    }

    /// Returns the smallest neighbour of `v` in `known` behind the first, and `checked` with the entries that were looked at.
    #[inline]
    pub fn next_known(&self, v: u32, known: &[AtomicU64], mut checked: u64) -> (Option<u32>, u64) {
        let (more, skip) = self.heads.more(v);
        for &neighbour in more {
            if neighbour == v {
                return (None, checked);
            }
            checked += 1;
            if is_set(known, neighbour) {
                return (Some(neighbour), checked);
            }
        }
        for part in self.rows.row_from(self.direction.row(v, Way::In), skip) {
            for &neighbour in part {
                checked += 1;
                if is_set(known, neighbour) {
                    return (Some(neighbour), checked);
                }
            }
        }
        (None, checked)
    }
}

/// Returns true if the bit of `v` is set.
#[inline(always)]
pub fn is_set(bits: &[AtomicU64], v: u32) -> bool {
    bits[(v >> 6) as usize].load(Relaxed) >> (v & 63) & 1 == 1
}

/// Sets the bit of `v`; returns true if it was not set.
#[inline(always)]
pub fn set(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
}

/// The vertices that are reached, twice, and the frontier as a list, twice.
pub struct Arrays {
    bits: [Buffer<AtomicU64>; 2],
    queues: [Queue; 2],
}

/// A list of vertices that threads append to.
pub struct Queue {
    vertices: Buffer<AtomicU32>,
    length: AtomicUsize,
}

/// Returns the bytes of the arrays.
pub fn bytes(vertices: u64) -> u64 {
    2 * (vertices.div_ceil(64) * 8 + 4 * vertices)
}

impl Arrays {
    /// Makes them for a graph of `vertices` vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, budget: &Budget) -> Result<Arrays> {
        let bits = || budget.zeroed(vertices.div_ceil(64), "the vertices that are reached (a bit each)");
        let queue = || {
            let vertices = budget.zeroed(vertices, "the frontier (4 bytes a vertex)")?;
            Ok::<_, crate::Error>(Queue { vertices, length: AtomicUsize::new(0) })
        };
        Ok(Arrays { bits: [bits()?, bits()?], queues: [queue()?, queue()?] })
    }

    /// Begins a search: nothing but the root is reached. Bits behind the last vertex count as reached.
    pub fn begin(&mut self, vertices: usize, root: u32) {
        for bits in &mut self.bits {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
            if let Some(last) = bits.last_mut().filter(|_| !vertices.is_multiple_of(64)) {
                *last.get_mut() = u64::MAX << (vertices % 64);
            }
        }
        set(&self.bits[1], root);
        self.queues.iter().for_each(Queue::clear);
        self.queues[0].append(&[root]);
    }

    /// Returns the bits and the list number `which`.
    pub fn bits(&self, which: usize) -> &[AtomicU64] {
        &self.bits[which & 1]
    }

    /// Returns the list number `which`.
    pub fn queue(&self, which: usize) -> &Queue {
        &self.queues[which & 1]
    }
}

impl Queue {
    /// Returns the list.
    pub fn vertices(&self) -> &[AtomicU32] {
        &self.vertices[..self.length.load(Relaxed)]
    }

    /// Forgets the list.
    pub fn clear(&self) {
        self.length.store(0, Relaxed);
    }

    /// Appends vertices, each of which is appended once in a level.
    pub fn append(&self, vertices: &[u32]) {
        let first = self.length.fetch_add(vertices.len(), Relaxed);
        self.vertices[first..].iter().zip(vertices).for_each(|(place, &v)| place.store(v, Relaxed));
    }
}
