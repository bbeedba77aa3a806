//! The arrays of a search, which all threads read and write.

use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bfs::cpu::top_down::{self, Claims};
use crate::algo::bits::is_set;
use crate::algo::own::Own;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, Way};
use crate::memory::{Budget, Buffer};
use std::ops::Range;
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
    /// The rows that ranks share.
    pub hubs: Hubs,
}

/// The rows that ranks share in steps top-down, those longer than [`LONG`]: without this, all would wait for who owns the largest hubs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hubs {
    /// All of their vertices are before this one.
    end: u32,
    /// Their number.
    count: usize,
}

/// Entries of a row beyond which ranks share it.
const LONG: u64 = 1 << 10;

impl Hubs {
    /// Returns those of a graph whose rows have these lengths, if there are several ranks.
    pub fn of(degrees: &[u32], direction: Direction, own: Own) -> Hubs {
        if own.ranks() == 1 {
            return Hubs::default();
        }
        let rows = (0..own.vertices() as u32).map(|v| (v, degrees[direction.row(v, Way::Out) as usize]));
        let long = rows.filter(|&(_, degree)| u64::from(degree) > LONG);
        long.fold(Hubs::default(), |Hubs { count, .. }, (v, _)| Hubs { end: v + 1, count: count + 1 })
    }

    /// Returns the most of them that a graph with so many entries in all rows has.
    pub fn most(entries: u64) -> u64 {
        entries / LONG
    }
}

impl Graph<'_> {
    /// Returns the number of edges that leave a vertex.
    #[inline]
    pub fn degree(&self, v: u32) -> u64 {
        self.degrees[self.direction.row(v, Way::Out) as usize].into()
    }

    /// Returns true if ranks share the row of a vertex.
    #[inline]
    pub fn is_shared(&self, v: u32) -> bool {
        v < self.hubs.end && self.degree(v) > LONG
    }

    /// Returns the places that this rank takes of a row that ranks share; `None` for another row, which one rank takes whole.
    #[inline]
    pub fn shared_part(&self, v: u32) -> Option<Range<u64>> {
        self.is_shared(v).then(|| {
            let (length, ranks) = (self.degree(v), self.own.ranks() as u64);
            let [from, to] = [0, 1].map(|next| length * (self.own.rank() as u64 + next) / ranks);
            from..to
        })
    }

    /// Returns the number of edges of a vertex of the list that this rank takes.
    #[inline]
    pub fn taken(&self, v: u32) -> u64 {
        self.shared_part(v).map_or_else(|| self.degree(v), |part| part.end - part.start)
    }

    /// Returns the edges of a vertex of the list that this rank takes.
    #[inline]
    pub fn taken_row(&self, v: u32) -> [&[u32]; 2] {
        let row = self.direction.row(v, Way::Out);
        match self.shared_part(v) {
            None => self.rows.halves(row),
            Some(part) => self.rows.part(row, part.start as usize..part.end as usize),
        }
    }

    /// Returns those of the vertices of a word whose rows this rank takes, or has a part of.
    #[inline]
    pub fn listed(&self, at: usize, bits: u64) -> u64 {
        if self.own.has_word(at) {
            return bits;
        }
        if at * 64 >= self.hubs.end as usize {
            return 0;
        }
        let is_shared = |&bit: &u32| self.is_shared(at as u32 * 64 + bit);
        ones(bits).filter(is_shared).fold(0, |some, bit| some | 1 << bit)
    }

    /// Looks for a neighbour of the own vertex `v` in `known` among the heads behind the first.
    #[inline]
    pub fn among_heads(&self, v: u32, known: &[AtomicU64]) -> Looked {
        let (more, _) = self.heads.more(self.own.place(v));
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

    /// Returns what is behind the heads in the row of the own vertex `v`.
    #[inline]
    pub fn behind_heads(&self, v: u32) -> [&[u32]; 2] {
        let (_, skip) = self.heads.more(self.own.place(v));
        self.rows.row_from(self.direction.row(v, Way::In), skip)
    }

    /// Looks for a neighbour of the own vertex `v` in `known` behind the heads.
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

/// Sets the bit of `v`; returns true if it was not set.
#[inline(always)]
pub fn set(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
}

/// Returns the places of the bits that are set.
#[inline]
pub fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Sets the bit of `v` while no other thread sets any; returns true if it was not set.
#[inline(always)]
pub fn set_alone(bits: &[AtomicU64], v: u32) -> bool {
    let (word, bit) = (&bits[(v >> 6) as usize], 1 << (v & 63));
    let before = word.load(Relaxed);
    word.store(before | bit, Relaxed);
    before & bit == 0
}

/// The vertices that are reached, twice, the frontier as a list, and the claims of each thread and of other ranks.
pub struct Arrays {
    bits: [Buffer<AtomicU64>; 2],
    list: Buffer<AtomicU32>,
    listed: AtomicUsize,
    /// By their places, the own vertices that other ranks claim in a step; of a process by itself it is empty.
    pub arrived: Buffer<AtomicU64>,
    /// The claims of each thread; without any where one is alone.
    pub claims: Vec<Claims>,
}

/// Returns the bytes of the arrays for searches by `threads` threads of a rank, of a graph with so many entries in all rows.
pub fn bytes(own: Own, entries: u64, threads: usize) -> u64 {
    let claims = if threads > 1 { threads as u64 * top_down::bytes(own.vertices() as u64) } else { 0 };
    let (hubs, arrived) = if own.ranks() > 1 { (Hubs::most(entries), own.words() as u64) } else { (0, 0) };
    2 * 8 * own.vertices().div_ceil(64) as u64 + 4 * (own.len() as u64 + hubs) + 8 * arrived + claims
}

impl Arrays {
    /// Makes them for a rank.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn new(own: Own, hubs: Hubs, threads: usize, budget: &Budget) -> Result<Arrays> {
        let bits = || budget.zeroed(own.vertices().div_ceil(64), "the vertices that are reached (a bit each)");
        let list = budget.zeroed(own.len() + hubs.count, "the frontier (4 bytes a vertex)")?;
        let arrived = if own.ranks() > 1 { own.words() } else { 0 };
        let arrived = budget.zeroed(arrived, "vertices that other ranks claim (a bit each)")?;
        let several = if threads > 1 { threads } else { 0 };
        let claims = (0..several).map(|_| Claims::new(own.vertices(), budget)).collect::<Result<_>>()?;
        Ok(Arrays { bits: [bits()?, bits()?], list, listed: AtomicUsize::new(0), arrived, claims })
    }

    /// Begins a search: nothing but the root is reached, which is the frontier. Bits behind the last vertex count as reached.
    pub fn begin(&mut self, graph: &Graph<'_>, root: u32) {
        let vertices = graph.own.vertices();
        for bits in &mut self.bits {
            bits.iter_mut().for_each(|word| *word.get_mut() = 0);
            if let Some(last) = bits.last_mut().filter(|_| !vertices.is_multiple_of(64)) {
                *last.get_mut() = u64::MAX << (vertices % 64);
            }
            set(bits, root);
        }
        let is_listed = graph.own.has(root) || graph.is_shared(root);
        self.write_list(&[root][..usize::from(is_listed)]);
    }

    /// Returns the bits number `which`.
    pub fn bits(&self, which: usize) -> &[AtomicU64] {
        &self.bits[which & 1]
    }

    /// Returns the list of the frontier, ascending: the vertices whose rows this rank takes, or has a part of.
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
