//! A graph with the data that a search on CPUs needs in addition to parents.

use crate::algo::bfs::cpu::bitmap::ones;
use crate::algo::bfs::cpu::heads::Heads;
use crate::algo::bits::is_set;
use crate::algo::searches::ranks::VertexOwnership;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, Way};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// A graph with the data that a search on CPUs needs in addition to parents.
pub struct CpuGraph<'a> {
    /// The adjacency rows.
    pub rows: Adjacency<'a>,
    /// Whether edges are directed.
    pub direction: Direction,
    /// The vertices for which this rank finds parents: all vertices in a single process, otherwise the own vertices.
    pub own: VertexOwnership,
    /// First neighbours of this rank's vertices.
    pub heads: Heads,
    /// Number of entries of each row.
    pub degrees: &'a [u32],
    /// Whether rows are read from a disk on access.
    pub on_disk: bool,
    /// The rows that ranks share in top-down steps.
    pub hubs: Hubs,
}

/// The rows that ranks share in top-down steps: rows longer than [`LONG`]. Without sharing, all ranks would wait for
/// the owner of the largest hubs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hubs {
    /// Exclusive upper bound of the vertices with shared rows.
    end: u32,
    /// Number of shared rows.
    pub count: usize,
}

/// Row length above which ranks share a row.
const LONG: u64 = 1 << 10;

impl Hubs {
    /// Finds the shared rows of a graph whose row lengths are `degrees`. There are none with a single rank.
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

    /// Returns the range of a shared row that this rank processes. Returns `None` for any other row, which one rank
    /// processes completely.
    #[inline]
    pub fn shared_part(&self, v: u32) -> Option<Range<u64>> {
        self.is_shared(v).then(|| {
            let (length, ranks) = (self.degree(v), self.own.ranks as u64);
            let [from, to] = [0, 1].map(|next| length * (self.own.rank as u64 + next) / ranks);
            from..to
        })
    }

    /// Returns how many edges of frontier vertex `v` this rank processes.
    #[inline]
    pub fn taken(&self, v: u32) -> u64 {
        self.shared_part(v).map_or_else(|| self.degree(v), |part| part.end - part.start)
    }

    /// Returns the edges of frontier vertex `v` that this rank processes.
    #[inline]
    pub fn taken_row(&self, v: u32) -> [&[u32]; 2] {
        let row = self.direction.row(v, Way::Out);
        match self.shared_part(v) {
            None => self.rows.halves(row),
            Some(part) => self.rows.part(row, part.start as usize..part.end as usize),
        }
    }

    /// Returns the vertices among `bits` of bitmap word `at` whose rows this rank processes, completely or in part.
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

    /// Looks for a neighbour of own vertex `v` in `known`, among the neighbours that [`Heads`] stores after the first.
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

    /// Returns the part of the row of own vertex `v` that follows the neighbours stored in [`Heads`].
    #[inline]
    pub fn behind_heads(&self, v: u32) -> [&[u32]; 2] {
        let (_, skip) = self.heads.more(self.own.place(v));
        self.rows.row_from(self.direction.row(v, Way::In), skip)
    }

    /// Looks for a neighbour of own vertex `v` in `known`, in the row after the neighbours that [`Heads`] stores. Returns
    /// the neighbour, if there is one, and the number of entries checked.
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

/// Result of looking for the parent of a vertex among its first neighbours.
pub struct ParentLookup {
    /// The first neighbour that is already reached.
    pub parent: Option<u32>,
    /// Number of entries checked.
    pub checked: u64,
    /// Whether the row may have more entries to check.
    pub goes_on: bool,
}
