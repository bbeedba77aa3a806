//! The labels of all vertices, and one iteration, which all ranks of the job compute together.
//!
//! Each rank has consecutive vertices with about the same number of neighbours as those of the others, and a copy of
//! all labels. A vertex keeps its label if no neighbour has changed its own, so once few labels change, iterations look
//! only at the neighbours of vertices that have. That takes rows that stay in memory.

use super::votes::{self, Votes, smallest};
use crate::algo::team::{Parts, WorkList, gathered, team};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::block_store::{BlockStore, Unpacked};
use crate::graph::csr::Block;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Number of row entries in a part, unless a single vertex has more.
const PART: u64 = 1 << 15;
/// Cost of a vertex in addition to its entries, in entries.
const VERTEX: u64 = 4;
/// Only neighbours of changed vertices are looked at if those have less than one in this many entries.
pub(super) const FEW: u64 = 8;
/// Number of vertices whose changes a thread looks for at a time.
const RANGE: usize = 1 << 12;

/// Labels after some iterations.
pub(super) struct Labels<'g> {
    /// Label of each vertex that has an edge: the dense id of a vertex.
    pub of: Buffer<u32>,
    /// Labels before the last iteration. The next one puts its own here.
    other: Buffer<u32>,
    /// A bit for each vertex that has a changed neighbour.
    marked: Buffer<AtomicU32>,
    /// Number of entries of the vertices that changed in the last iteration; `None` if that is unknown.
    changed: Option<u64>,
    /// Whether every vertex has its own label.
    pub differ: bool,
    pub rows: Neighbours<'g>,
}

/// The rows of all vertices, in parts.
pub(in crate::algo) struct Neighbours<'g> {
    pub halves: [&'g BlockStore; 2],
    pub direction: Direction,
    /// Number of entries of each row.
    degrees: &'g [u32],
    /// The vertices of this rank, in parts.
    pub parts: Vec<Range<usize>>,
    /// The first vertex of each rank, and one past the last vertex.
    pub firsts: Vec<usize>,
    /// Number of entries of the vertex with most of them.
    pub longest: u64,
    /// Whether blocks are freed when they have been read, because they do not all fit in memory.
    pub releases: bool,
}

/// Returns the bytes of memory that the labels of `vertices` vertices take, and counting in `threads` threads in rows of up
/// to `longest` entries.
pub(super) fn bytes(vertices: u64, longest: u64, threads: usize) -> u64 {
    8 * vertices + vertices.div_ceil(32) * 4 + threads as u64 * votes::bytes(longest)
}

impl<'g> Labels<'g> {
    /// Gives every vertex its own label.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of the vertex order.
    pub(super) fn new(graph: &'g Graph, degrees: &'g [u32], comm: &Comm, budget: &Budget) -> Result<Labels<'g>> {
        let vertices = graph.info.connected as usize;
        let of = InputIds::open(graph, budget)?.into_dense();
        let other = budget.zeroed(vertices, "labels of vertices (4 bytes each)")?;
        let marked = budget.zeroed(vertices.div_ceil(32), "vertices whose neighbours changed (a bit each)")?;
        let rows = Neighbours::new(graph, degrees, comm, budget)?;
        Ok(Labels { of, other, marked, changed: None, differ: true, rows })
    }

    /// Returns the bytes of memory that counting takes in `threads` threads.
    pub(super) fn counting_bytes(&self, threads: usize) -> u64 {
        threads as u64 * votes::bytes(self.rows.longest)
    }

    /// Returns the labels alone.
    pub(super) fn into_labels(self) -> Buffer<u32> {
        self.of
    }

    /// Gives all ranks of the job the labels that rank 0 has loaded. Collective.
    pub(super) fn broadcast(&mut self, comm: &Comm) {
        self.differ = false;
        comm.broadcast_numbers(&mut self.of);
    }

    /// Computes the next labels of this rank's vertices. Until [`Self::exchange`] the labels stay those of the iteration
    /// before.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`]; [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn vote(&mut self, threads: usize) -> Result<()> {
        let Labels { of, other, marked, changed, differ, rows } = self;
        let only_marked = !rows.releases && changed.is_some_and(|changed| FEW * changed < rows.all_entries());
        if only_marked {
            marked.iter_mut().for_each(|word| *word.get_mut() = 0);
            rows.mark(of, other, marked, threads)?;
        }
        // The smallest of different labels wins, unless an edge in both directions gives one of them two votes.
        let smallest_wins = *differ && rows.direction == Direction::Undirected;
        let left = rows.parts_of_blocks(&rows.parts);
        let (mut rest, mut at, mut work) = (&mut **other, 0, Vec::with_capacity(rows.parts.len()));
        for part in &rows.parts {
            let (next, after) = rest.split_at_mut(part.start - at).1.split_at_mut(part.len());
            (rest, at) = (after, part.end);
            work.push((part.clone(), next));
        }
        let (work, of) = (WorkList::new(work), &**of);
        team(threads, &|_| {
            let (mut votes, mut unpacked) = (Votes::new(rows.longest), Default::default());
            while let Some((part, next)) = work.take() {
                signals::check()?;
                for (v, next) in part.clone().zip(next) {
                    let is_due = !only_marked || marked[v / 32].load(Relaxed) >> (v % 32) & 1 != 0;
                    let rows = rows.of(v, &mut unpacked);
                    *next = match is_due {
                        true if smallest_wins => smallest(rows, of, of[v]),
                        true => votes.winner(rows, of, of[v]),
                        false => of[v],
                    };
                }
                rows.release(&part, &left);
            }
            Ok(())
        })
    }

    /// Completes an iteration after [`Self::vote`]. Returns the number of vertices whose labels have changed.
    /// Collective.
    ///
    /// # Errors
    /// [`crate::Error::Addresses`] if no thread can be started.
    pub(super) fn exchange(&mut self, comm: &Comm, threads: usize) -> Result<u64> {
        let firsts = &self.rows.firsts;
        let (own, longest) = (self.rows.own(comm.rank()), firsts.windows(2).map(|pair| pair[1] - pair[0]).max());
        for at in (0..longest.unwrap_or(0)).step_by(Comm::PIECE).filter(|_| comm.ranks() > 1) {
            let mine = self.other[own.end.min(own.start + at)..own.end.min(own.start + at + Comm::PIECE)].to_vec();
            let mut next: Vec<usize> = firsts.iter().map(|first| first + at).collect();
            comm.gather_each(&mine, |from, labels: &[u32]| {
                self.other[next[from]..next[from] + labels.len()].copy_from_slice(labels);
                next[from] += labels.len();
            });
        }
        std::mem::swap(&mut self.of, &mut self.other);
        let (of, other, rows) = (&*self.of, &*self.other, &self.rows);
        let parts = Parts::new(of.len(), RANGE);
        let counted = gathered(threads, &|_| {
            let mut counts = [0, 0];
            parts.each(|range| {
                for v in range.filter(|&v| of[v] != other[v]) {
                    counts = [counts[0] + 1, counts[1] + rows.entries(v)];
                }
                Ok(())
            })?;
            Ok(counts)
        })?;
        let [vertices, entries] = counted.iter().fold([0, 0], |sums, of| [sums[0] + of[0], sums[1] + of[1]]);
        (self.changed, self.differ) = (Some(entries), false);
        Ok(vertices)
    }
}

impl<'g> Neighbours<'g> {
    /// Divides the vertices into parts, and among the ranks. Blocks in files are freed after use if they do not all fit in
    /// the memory that `budget` has left.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the graph was opened without the upper half.
    pub(in crate::algo) fn new(
        graph: &'g Graph,
        degrees: &'g [u32],
        comm: &Comm,
        budget: &Budget,
    ) -> Result<Neighbours<'g>> {
        let halves = [&graph.block_store, graph.upper()?];
        let releases = halves.iter().map(|half| half.bytes()).sum::<u64>() > budget.free();
        let mut rows = Neighbours {
            halves,
            direction: graph.info.direction,
            degrees,
            parts: Vec::new(),
            firsts: Vec::new(),
            longest: 0,
            releases,
        };
        let (mut parts, mut first, mut cost) = (Vec::new(), 0, 0);
        let vertices = graph.info.connected as usize;
        for v in 0..vertices {
            let entries = rows.entries(v);
            rows.longest = rows.longest.max(entries);
            cost += entries + VERTEX;
            if cost >= PART || v + 1 == vertices {
                parts.push(first..v + 1);
                (first, cost) = (v + 1, 0);
            }
        }
        let of_rank = |rank: usize| parts.len() * rank / comm.ranks();
        let first = |rank: usize| parts.get(of_rank(rank)).map_or(vertices, |part| part.start);
        rows.firsts = (0..=comm.ranks()).map(first).collect();
        rows.parts = parts[of_rank(comm.rank())..of_rank(comm.rank() + 1)].to_vec();
        Ok(rows)
    }

    /// Returns the vertices of a rank.
    pub(in crate::algo) fn own(&self, rank: usize) -> Range<usize> {
        self.firsts[rank]..self.firsts[rank + 1]
    }

    /// Returns the rows of some vertices.
    fn rows(&self, vertices: Range<usize>) -> Range<u32> {
        (vertices.start << self.direction.shift()) as u32..(vertices.end << self.direction.shift()) as u32
    }

    /// Returns the number of entries in the rows of vertex `v`.
    #[inline]
    pub(super) fn entries(&self, v: usize) -> u64 {
        let rows = self.rows(v..v + 1);
        self.degrees[rows.start as usize..rows.end as usize].iter().map(|&degree| u64::from(degree)).sum()
    }

    /// Returns the number of entries in all rows.
    pub(in crate::algo) fn all_entries(&self) -> u64 {
        self.halves.iter().map(|half| half.edges()).sum()
    }

    /// Returns the rows of vertex `v`, each as a view of it alone.
    #[inline]
    fn of<'u>(&'u self, v: usize, unpacked: &'u mut [[Unpacked; 2]; 2]) -> impl Iterator<Item = Block<'u>> {
        self.rows(v..v + 1).zip(unpacked).flat_map(|(row, unpacked)| self.row(row, unpacked))
    }

    /// Returns both halves of a row, each as a view of it alone.
    #[inline]
    pub(in crate::algo) fn row<'u>(
        &'u self,
        row: u32,
        unpacked: &'u mut [Unpacked; 2],
    ) -> impl Iterator<Item = Block<'u>> {
        self.halves.iter().zip(unpacked).map(move |(half, unpacked)| half.row_in_block(row, unpacked))
    }

    /// Returns the number of entries of a row.
    #[inline]
    pub(in crate::algo) fn degree(&self, row: u32) -> u64 {
        self.degrees[row as usize].into()
    }

    /// Marks the neighbours of all vertices whose labels differ.
    fn mark(&self, labels: &[u32], before: &[u32], marked: &[AtomicU32], threads: usize) -> Result<()> {
        let parts = Parts::new(labels.len(), RANGE);
        team(threads, &|_| {
            let mut unpacked = Unpacked::default();
            parts.each(|range| {
                signals::check()?;
                for v in range.filter(|&v| labels[v] != before[v]) {
                    for row in self.rows(v..v + 1) {
                        for half in self.halves {
                            for &u in half.unpacked_row(row, &mut unpacked) {
                                marked[u as usize / 32].fetch_or(1 << (u % 32), Relaxed);
                            }
                        }
                    }
                }
                Ok(())
            })
        })
    }

    /// Returns for each block of both halves the number of `parts` (ranges of vertices) that read it.
    pub(in crate::algo) fn parts_of_blocks(&self, parts: &[Range<usize>]) -> [Vec<AtomicUsize>; 2] {
        let left = self.halves.map(|half| (0..half.len()).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        for (half, left) in self.halves.iter().zip(&left).filter(|_| self.releases) {
            for part in parts {
                half.blocks_of(self.rows(part.clone())).for_each(|b| {
                    left[b].fetch_add(1, Relaxed);
                });
            }
        }
        left
    }

    /// Frees blocks of which `part` was the last part.
    pub(in crate::algo) fn release(&self, part: &Range<usize>, left: &[Vec<AtomicUsize>; 2]) {
        for (half, left) in self.halves.iter().zip(left).filter(|_| self.releases) {
            let done = half.blocks_of(self.rows(part.clone())).filter(|&b| left[b].fetch_sub(1, Relaxed) == 1);
            done.for_each(|b| half.release(b));
        }
    }
}
