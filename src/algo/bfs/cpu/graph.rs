//! A graph and what searches of it need in addition to parents.

use crate::algo::bfs::cpu::bitmap::ones;
use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bits::is_set;
use crate::algo::searches::ranks::VertexOwnership;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, Way};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// A graph and what searches of it need in addition to parents.
pub struct CpuGraph<'a> {
    /// The adjacency rows.
    pub rows: Adjacency<'a>,
    /// Whether edges are directed.
    pub direction: Direction,
    /// The vertices for which this rank finds parents: all vertices in a single process, otherwise the own vertices.
    pub own: VertexOwnership,
    /// First neighbours of the own vertices.
    pub heads: Heads,
    /// Row lengths.
    pub degrees: &'a [u32],
    /// Whether rows are read from a disk on access.
    pub on_disk: bool,
    /// The rows that ranks share.
    pub hubs: Hubs,
}

/// The rows that ranks share in top-down steps: rows longer than [`LONG`]. Without sharing, all ranks would wait for
/// the owner of the largest hubs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hubs {
    /// An upper bound of the vertices with shared rows (exclusive).
    end: u32,
    /// Number of shared rows.
    pub count: usize,
}

/// Row length above which ranks share a row.
const LONG: u64 = 1 << 10;

impl Hubs {
    /// Returns the shared rows of a graph with these row lengths. There are none with a single rank.
    pub fn of(degrees: &[u32], direction: Direction, own: VertexOwnership) -> Hubs {
        if own.ranks == 1 {
            return Hubs::default();
        }
        let rows = (0..own.vertices as u32).map(|v| (v, degrees[direction.row(v, Way::Out) as usize]));
        let long = rows.filter(|&(_, degree)| u64::from(degree) > LONG);
        long.fold(Hubs::default(), |Hubs { count, .. }, (v, _)| Hubs { end: v + 1, count: count + 1 })
    }

    /// Returns the maximum number of shared rows of a graph with `entries` entries in all rows.
    pub fn most(entries: u64) -> u64 {
        entries / LONG
    }
}

impl CpuGraph<'_> {
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

    /// Returns the range of a shared row that this rank takes; `None` for any other row, which one rank takes
    /// completely.
    #[inline]
    pub fn shared_part(&self, v: u32) -> Option<Range<u64>> {
        self.is_shared(v).then(|| {
            let (length, ranks) = (self.degree(v), self.own.ranks as u64);
            let [from, to] = [0, 1].map(|next| length * (self.own.rank as u64 + next) / ranks);
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

    /// Returns which of the given vertices of word `at` have a row that this rank takes, completely or in part.
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

    /// Searches the heads after the first for a neighbour of the own vertex `v` that is in `known`.
    #[inline]
    pub fn among_heads(&self, v: u32, known: &[AtomicU64]) -> ParentLookup {
        let (more, _) = self.heads.more(self.own.place(v));
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

    /// Returns the rest of the row of the own vertex `v` after the heads.
    #[inline]
    pub fn behind_heads(&self, v: u32) -> [&[u32]; 2] {
        let (_, skip) = self.heads.more(self.own.place(v));
        self.rows.row_from(self.direction.row(v, Way::In), skip)
    }

    /// Searches the row of the own vertex `v` after the heads for a neighbour that is in `known`. Returns it, and the
    /// number of entries checked.
    #[inline]
    pub fn in_row(&self, v: u32, known: &[AtomicU64]) -> (Option<u32>, u64) {
        let mut checked = 0;
        for &neighbour in self.behind_heads(v).into_iter().flatten() {
            checked += 1;
            if is_set(known, neighbour) {
                return (Some(neighbour), checked);
            }
        }
        (None, checked)
    }
}

/// The result of a search for a parent.
pub struct ParentLookup {
    /// The first known neighbour.
    pub parent: Option<u32>,
    /// Number of entries checked.
    pub checked: u64,
    /// Whether there may be more entries.
    pub goes_on: bool,
}
