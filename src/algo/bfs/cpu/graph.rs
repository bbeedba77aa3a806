//! A graph, with the additional data that breadth-first searches on CPUs need.

use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bits::{is_set, ones};
use crate::algo::searches::ranks::VertexOwnership;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, EdgeDirection};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// A graph, with the additional data that breadth-first searches on CPUs need.
pub struct CpuGraph<'a> {
    /// The adjacency rows of all vertices.
    pub rows: Adjacency<'a>,
    /// Whether edges are directed.
    pub direction: Direction,
    /// The vertices that this rank owns: the rank finds their parents. A single process owns all vertices.
    pub own: VertexOwnership,
    /// First neighbours of the vertices that this rank owns.
    pub heads: Heads,
    /// Length of each adjacency row.
    pub degrees: &'a [u32],
    /// Whether rows are in a mapped file, so that accesses read them from the disk.
    pub on_disk: bool,
    /// The rows that all ranks process together in top-down steps.
    pub hubs: Hubs,
}

/// The shared rows: the rows whose entries the ranks divide among themselves in top-down steps, because they are longer
/// than [`LONG`]. Otherwise all ranks would wait for the owner of the largest hubs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hubs {
    /// Exclusive end of the vertices whose rows the ranks divide among themselves: one past the last of them.
    end: u32,
    /// Number of rows that the ranks divide among themselves.
    pub count: usize,
}

/// Row length, in entries, above which the ranks divide a row among themselves.
const LONG: u64 = 1 << 10;

impl Hubs {
    /// Finds the rows that the ranks divide among themselves, in a graph whose row lengths are `degrees`. A single rank
    /// has no such rows.
    pub fn of(degrees: &[u32], direction: Direction, own: VertexOwnership) -> Hubs {
        if own.ranks == 1 {
            return Hubs::default();
        }
        let rows = (0..own.vertices as u32).map(|v| (v, degrees[direction.row(v, EdgeDirection::Out) as usize]));
        let long = rows.filter(|&(_, degree)| u64::from(degree) > LONG);
        long.fold(Hubs::default(), |Hubs { count, .. }, (v, _)| Hubs { end: v + 1, count: count + 1 })
    }

    /// Returns an upper bound on the number of rows that the ranks divide among themselves, in a graph with `entries`
    /// row entries in total.
    pub fn most(entries: u64) -> u64 {
        entries / LONG
    }
}

impl CpuGraph<'_> {
    /// Returns the number of edges that leave vertex `v`.
    #[inline]
    pub fn degree(&self, v: u32) -> u64 {
        self.degrees[self.direction.row(v, EdgeDirection::Out) as usize].into()
    }

    /// Returns true if the ranks divide the row of vertex `v` among themselves.
    #[inline]
    pub fn is_shared(&self, v: u32) -> bool {
        v < self.hubs.end && self.degree(v) > LONG
    }

    /// Returns the range of entries in the row of `v` that this rank processes, if the ranks divide this row among
    /// themselves. Returns `None` for any other row, because one rank processes it alone.
    #[inline]
    pub fn shared_part(&self, v: u32) -> Option<Range<u64>> {
        self.is_shared(v).then(|| {
            let (length, ranks) = (self.degree(v), self.own.ranks as u64);
            let [from, to] = [0, 1].map(|next| length * (self.own.rank as u64 + next) / ranks);
            from..to
        })
    }

    /// Returns the number of edges of `v`, a vertex of the frontier, that this rank processes.
    #[inline]
    pub fn taken(&self, v: u32) -> u64 {
        self.shared_part(v).map_or_else(|| self.degree(v), |part| part.end - part.start)
    }

    /// Returns the neighbours of `v`, a vertex of the frontier, that this rank processes. The two slices are from the
    /// lower half (smaller neighbours) and the upper half (larger neighbours) of the row. Either can be empty.
    #[inline]
    pub fn taken_row(&self, v: u32) -> [&[u32]; 2] {
        let row = self.direction.row(v, EdgeDirection::Out);
        match self.shared_part(v) {
            None => self.short_row(v).unwrap_or_else(|| self.rows.halves(row)),
            Some(part) => self.rows.part(row, part.start as usize..part.end as usize),
        }
    }

    /// Returns the neighbours of `v` if [`Heads`] stores all of them. This takes one memory access. Reading the row
    /// takes four.
    #[inline]
    pub fn short_row(&self, v: u32) -> Option<[&[u32]; 2]> {
        // In a directed graph, the stored neighbours are the tails of in-edges.
        let is_stored = self.direction == Direction::Undirected && self.own.ranks == 1;
        if is_stored { self.heads.row(v, self.degree(v)) } else { None }
    }

    /// Selects the vertices whose rows this rank processes, completely or in part. The set bits of `bits` are the
    /// candidates, as in the bitmap word with index `at`. Returns the bits of the selected vertices.
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

    /// Looks for the parent of `v`, a vertex that this rank owns, among the neighbours that [`Heads`] stores, except
    /// the first. `known` is the bitmap of the vertices that can be parents.
    #[inline]
    pub fn find_in_heads(&self, v: u32, known: &[AtomicU64]) -> ParentLookup {
        let (more, _) = self.heads.more(self.own.local_index(v));
        for (checked, &neighbour) in (0..).zip(more) {
            if neighbour == v {
                return ParentLookup { parent: None, checked, goes_on: false };
            }
            if is_set(known, neighbour) {
                return ParentLookup { parent: Some(neighbour), checked: checked + 1, goes_on: false };
            }
        }
        ParentLookup { parent: None, checked: more.len() as u64, goes_on: true }
    }

    /// Returns the neighbours of `v`, a vertex that this rank owns, that [`Heads`] does not store.
    #[inline]
    pub fn remaining_neighbours(&self, v: u32) -> [&[u32]; 2] {
        let (_, skip) = self.heads.more(self.own.local_index(v));
        self.rows.row_from(self.direction.row(v, EdgeDirection::In), skip)
    }

    /// Looks for the parent of `v`, a vertex that this rank owns, among the neighbours that [`Heads`] does not store.
    /// `known` is the bitmap of the vertices that can be parents. Returns the parent, or `None` if it is not among
    /// them, and the number of neighbours checked.
    #[inline]
    pub fn find_in_row(&self, v: u32, known: &[AtomicU64]) -> (Option<u32>, u64) {
        let mut checked = 0;
        for &neighbour in self.remaining_neighbours(v).into_iter().flatten() {
            checked += 1;
            if is_set(known, neighbour) {
                return (Some(neighbour), checked);
            }
        }
        (None, checked)
    }
}

/// Result of looking for the parent of a vertex among the neighbours that [`Heads`] stores.
pub struct ParentLookup {
    /// The first of the stored neighbours that is already reached, if any.
    pub parent: Option<u32>,
    /// Number of neighbours that were checked.
    pub checked: u64,
    /// Whether the parent may be among the neighbours that are not stored.
    pub goes_on: bool,
}
