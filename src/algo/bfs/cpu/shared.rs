//! The arrays of a search, which all threads read and write.

use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bfs::cpu::top_down::{self, Claims};
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
    /// True if rows are read from a disk as they are looked at.
    pub on_disk: bool,
}

impl Graph<'_> {
    /// Returns the number of edges that leave a vertex.
    #[inline]
    pub fn degree(&self, v: u32) -> u64 {
        self.degrees[self.direction.row(v, Way::Out) as usize].into()
    }

    /// Looks for a neighbour of `v` in `known` among the heads behind the first.
    #[inline]
    pub fn among_heads(&self, v: u32, known: &[AtomicU64]) -> Looked {
        let (more, _) = self.heads.more(v);
        for (checked, &neighbour) in (0..).zip(more) {
            if neighbour == v {
                return Looked { parent: None, checked, goes_on: false };
            }
            if is_set(known, neighbour) {
                return Looked { parent: Some(neighbour), checked: checked + 1, goes_on: false };
            }
        }
        Looked { parent: None, checked: more.len() as u64, goes_on: true }
    }

    /// Returns what is behind the heads in the row of `v`.
    #[inline]
    pub fn behind_heads(&self, v: u32) -> [&[u32]; 2] {
        let (_, skip) = self.heads.more(v);
        self.rows.row_from(self.direction.row(v, Way::In), skip)
    }

    /// Looks for a neighbour of `v` in `known` behind the heads.
    #[inline]
    pub fn in_row(&self, v: u32, known: &[AtomicU64]) -> Looked {
        let mut checked = 0;
        for &neighbour in self.behind_heads(v).into_iter().flatten() {
            checked += 1;
            if is_set(known, neighbour) {
                return Looked { parent: Some(neighbour), checked, goes_on: false };
            }
        }
        Looked { parent: None, checked, goes_on: false }
    }
}

/// The outcome of a look for a parent.
pub struct Looked {
    /// The first neighbour that is known.
    pub parent: Option<u32>,
    /// Entries looked at.
    pub checked: u64,
    /// True if there may be more entries.
    pub goes_on: bool,
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

/// The vertices that are reached, twice, the frontier as a list, and the claims of each thread.
pub struct Arrays {
    bits: [Buffer<AtomicU64>; 2],
    list: Buffer<AtomicU32>,
    listed: AtomicUsize,
    /// The claims of each thread; without any where one is alone.
    pub claims: Vec<Claims>,
}

/// Returns the bytes of the arrays for searches by `threads` threads.
pub fn bytes(vertices: u64, threads: usize) -> u64 {
    let claims = if threads > 1 { threads as u64 * top_down::bytes(vertices) } else { 0 };
    2 * 8 * vertices.div_ceil(64) + 4 * vertices + claims
}

impl Arrays {
    /// Makes them for a rank.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(vertices: usize, threads: usize, budget: &Budget) -> Result<Arrays> {
        let bits = || budget.zeroed(vertices.div_ceil(64), "the vertices that are reached (a bit each)");
        let list = budget.zeroed(vertices, "the frontier (4 bytes a vertex)")?;
        let several = if threads > 1 { threads } else { 0 };
        let claims = (0..several).map(|_| Claims::new(vertices, budget)).collect::<Result<_>>()?;
        Ok(Arrays { bits: [bits()?, bits()?], list, listed: AtomicUsize::new(0), claims })
    }

    /// Begins a search: nothing but the root is reached, which is the frontier. Bits behind the last vertex count as reached.
    pub fn begin(&mut self, vertices: usize, root: u32) {
        for bits in &mut self.bits {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
            if let Some(last) = bits.last_mut().filter(|_| !vertices.is_multiple_of(64)) {
                *last.get_mut() = u64::MAX << (vertices % 64);
            }
            set(bits, root);
        }
        self.write_list(&[root]);
    }

    /// Returns the bits number `which`.
    pub fn bits(&self, which: usize) -> &[AtomicU64] {
        &self.bits[which & 1]
    }

    /// Returns the list of the frontier, ascending.
    pub fn list(&self) -> &[AtomicU32] {
        &self.list[..self.listed.load(Relaxed)]
    }

    /// Returns the room for a list of `length` vertices, which is the list from now on.
    pub fn new_list(&self, length: usize) -> &[AtomicU32] {
        self.listed.store(length, Relaxed);
        &self.list[..length]
    }

    /// Replaces the list.
    pub fn write_list(&self, vertices: &[u32]) {
        self.new_list(vertices.len()).iter().zip(vertices).for_each(|(place, &v)| place.store(v, Relaxed));
    }
}
