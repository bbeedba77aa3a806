//! The arrays of a search, which all threads read and write.

use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bfs::cpu::own::Own;
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
    /// The vertices whose parents are found here: all, or those that this rank owns.
    pub own: Own,
    /// First neighbours of these.
    pub heads: Heads,
    /// Lengths of rows.
    pub degrees: &'a [u32],
    /// The vertices before this one have among them all whose rows threads and ranks share.
    pub hubs: u32,
}

/// Entries of a row beyond which threads and ranks share it.
pub const LONG: usize = 1 << 13;

/// Returns [`Graph::hubs`] for rows of these lengths.
pub fn hubs(degrees: &[u32], direction: Direction) -> u32 {
    let last = degrees.iter().rposition(|&degree| degree as usize > LONG);
    last.map_or(0, |row| direction.vertex(row as u32) + 1)
}

impl Graph<'_> {
    /// Returns the number of edges that leave a vertex.
    #[inline]
    pub fn degree(&self, v: u32) -> u64 {
        self.degrees[self.direction.row(v, Way::Out) as usize].into()
    }

    /// Returns true if threads and ranks share the row of a vertex.
    #[inline]
    pub fn is_long(&self, v: u32) -> bool {
        v < self.hubs && self.degree(v) as usize > LONG
    }

    /// Returns the smallest neighbour of the own vertex `v` in `known`, and how many entries were looked at.
    #[inline]
    pub fn first_known(&self, v: u32, known: &[AtomicU64]) -> (Option<u32>, u64) {
        let first = self.heads.first[self.own.place(v)];
        if is_set(known, first) { (Some(first), 1) } else { self.next_known(v, known, 1) }
    }

    /// Returns the smallest neighbour of the own vertex `v` in `known` behind the first, and `checked` with the entries that were looked at.
    #[inline]
    pub fn next_known(&self, v: u32, known: &[AtomicU64], mut checked: u64) -> (Option<u32>, u64) {
        let (more, skip) = self.heads.more(self.own.place(v));
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

/// The vertices that are reached, twice, and the own ones of the frontier as a list, twice.
pub struct Arrays {
    bits: [Buffer<AtomicU64>; 2],
    queues: [Queue; 2],
    /// The vertices of other ranks that are claimed here.
    pub away: Queue,
}

/// A list of vertices that threads append to. Those that it has no room for are counted.
pub struct Queue {
    vertices: Buffer<AtomicU32>,
    length: AtomicUsize,
}

/// Vertices of other ranks that are listed for each word that these have: as many as take the bytes of the word.
const LISTED: usize = 2;

/// Returns the bytes of the arrays of a rank.
pub fn bytes(own: Own) -> u64 {
    let words = own.vertices().div_ceil(64);
    (8 * 2 * words + 4 * (2 * own.len() + listed(own))) as u64
}

/// Returns how many vertices of other ranks are listed.
fn listed(own: Own) -> usize {
    LISTED * (own.vertices().div_ceil(64) - own.words())
}

impl Arrays {
    /// Makes them for a rank.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(own: Own, budget: &Budget) -> Result<Arrays> {
        let words = own.vertices().div_ceil(64);
        let bits = || budget.zeroed(words, "the vertices that are reached (a bit each)");
        let queue = |vertices: usize, purpose: &str| {
            let vertices = budget.zeroed(vertices, purpose)?;
            Ok::<_, crate::Error>(Queue { vertices, length: AtomicUsize::new(0) })
        };
        let frontier = || queue(own.len(), "the frontier (4 bytes a vertex)");
        let away = queue(listed(own), "vertices that other ranks own (a bit each)")?;
        Ok(Arrays { bits: [bits()?, bits()?], queues: [frontier()?, frontier()?], away })
    }

    /// Begins a search: nothing but the root is reached. Bits behind the last vertex count as reached.
    pub fn begin(&mut self, own: Own, root: u32) {
        let vertices = own.vertices();
        for bits in &mut self.bits {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
            if let Some(last) = bits.last_mut().filter(|_| !vertices.is_multiple_of(64)) {
                *last.get_mut() = u64::MAX << (vertices % 64);
            }
        }
        set(&self.bits[1], root);
        self.queues.iter().for_each(Queue::clear);
        match own.has(root) {
            true => self.queues[0].append(&[root]),
            // Vertices of other ranks are in both.
            false => _ = set(&self.bits[0], root),
        }
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
    /// Returns the list, as far as there was room.
    pub fn vertices(&self) -> &[AtomicU32] {
        &self.vertices[..self.length.load(Relaxed).min(self.vertices.len())]
    }

    /// Returns true if there was room for all that were appended.
    pub fn is_whole(&self) -> bool {
        self.length.load(Relaxed) <= self.vertices.len()
    }

    /// Forgets the list.
    pub fn clear(&self) {
        self.length.store(0, Relaxed);
    }

    /// Appends vertices, each of which is appended once in a level.
    pub fn append(&self, vertices: &[u32]) {
        let first = self.length.fetch_add(vertices.len(), Relaxed);
        let places = self.vertices.get(first..).unwrap_or_default();
        places.iter().zip(vertices).for_each(|(place, &v)| place.store(v, Relaxed));
    }
}
