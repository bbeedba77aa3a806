//! Implementation of [`Levels`] on CPUs: the vertices of one rank, on the threads of a process, with adjacency rows in
//! memory or in mapped files.
//!
//! A candidate is a neighbour of the frontier, with the vertex that reaches it. A narrow step (a step from a frontier
//! with few edges) runs on one thread, which sorts the candidates. In other steps the threads distribute candidates
//! over buckets by the upper bits of their keys (`buckets`). The bins for the keys of a bucket fit in a cache. The
//! frontier is in order, and the order of candidates is kept, so the first candidate with a key has the smallest
//! parent. Strategy `atomic` drops no repeats, and claims vertices with atomic minimum operations.

mod atomic;
mod buckets;
mod rows;
mod update;

use super::levels::{Frontier, Levels, lap, pair};
use super::options::Strategy;
use super::search::{StepTimes, Traffic};
use crate::algo::searches::EngineInput;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::EdgeDirection;
use crate::memory::{populate, word_cells};
use buckets::KeyBuckets;
use rows::Expansion;
use std::ops::Range;
use std::time::Instant;
use update::Update;

/// Threshold for narrow steps, which run on one thread. A step is narrow if its frontier has at most 1/`NARROW` as many
/// edges as the rank has vertices. The maximum number of edges is clamped to [`BOUNDS`].
const NARROW: u64 = 64;
/// Lower and upper bound on the maximum number of edges of a narrow step (a step on one thread). The lower bound takes
/// effect in small graphs, the upper bound in large graphs.
const BOUNDS: [u64; 2] = [1 << 11, 1 << 14];

/// Maximum number of row entries in a piece (a range of the frontier's edges that is expanded at once).
const MOST_PIECE: u64 = 1 << 28;
/// Minimum number of row entries for which memory is reserved per piece (a range of the frontier's edges that is
/// expanded at once).
const LEAST_PIECE: u64 = 1 << 16;

/// The candidates (neighbours) of a piece (a range of the frontier's edges), as pairs of a key and a parent.
struct Candidates {
    /// For each rank, the range of the pairs to send to it. The range of this rank is empty if the rank has already
    /// claimed its own vertices.
    to: Vec<Range<usize>>,
    /// Number of repeated candidates that were dropped.
    pruned: u64,
    /// Number of candidates for vertices of other ranks, including repeats.
    away: u64,
}

/// Implementation of [`Levels`] on CPUs: the vertices that a rank owns, and the state of a search.
pub struct CpuLevels<'a> {
    degrees: &'a [u32],
    ownership: VertexOwnership,
    strategy: Strategy,
    threads: usize,
    update: Update,
    frontier: Expansion<'a>,
    buckets: KeyBuckets,
    piece: u64,
    /// Whether the current step is narrow: it has few edges and runs on one thread.
    is_narrow: bool,
    /// Traffic of the current step.
    sent: Traffic,
}

/// Returns the largest useful number of edges in a piece (a range of the frontier's edges that is expanded at once) on
/// one of `ranks` ranks, if all rows together have `entries` entries.
fn most_piece(entries: u64, ranks: usize) -> u64 {
    entries.div_ceil(ranks as u64).clamp(LEAST_PIECE, MOST_PIECE)
}

/// Returns the maximum and the minimum host memory in bytes that searches take on rank 0, without links between ranks.
/// All rows together have `entries` entries.
pub fn bytes(ownership: &VertexOwnership, entries: u64, threads: usize) -> [u64; 2] {
    let own = ownership.of_rank(0).len() as u64;
    let fixed = 12 * own + 8 + update::bytes(own, narrow_edges(ownership)) + buckets::bytes(ownership.keys(), threads);
    [most_piece(entries, ownership.ranks), LEAST_PIECE].map(|piece| fixed + 8 * piece)
}

/// Returns the maximum number of edges of a narrow step (a step on one thread).
fn narrow_edges(ownership: &VertexOwnership) -> u64 {
    (u64::from(ownership.stride) / NARROW).clamp(BOUNDS[0], BOUNDS[1])
}

impl<'a> CpuLevels<'a> {
    /// Reserves memory for searches of a graph. This rank searches from the vertices that it owns.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if even the minimum of [`bytes()`] does not fit; errors of the graph.
    pub fn new(
        EngineInput { graph, degrees, run, spare }: EngineInput<'a, '_>,
        ownership: VertexOwnership,
        strategy: Strategy,
    ) -> Result<CpuLevels<'a>> {
        let (threads, budget, direction) = (run.threads, run.budget, graph.info.direction);
        let entries = degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>() >> direction.shift();
        let own = ownership.len();
        let update = Update::new(own, narrow_edges(&ownership), budget)?;
        let mut vertices = budget.zeroed(own, "the frontier (4 bytes a vertex)")?;
        let mut offsets = budget.zeroed(own + 1, "edges of the frontier (8 bytes a vertex)")?;
        populate(&mut vertices);
        populate(&mut offsets);
        let rows = Adjacency::new(&graph.block_store, graph.upper()?);
        let buckets = KeyBuckets::new(ownership.keys(), threads, budget)?;
        let room = budget.free().saturating_sub(spare) / 8;
        let piece = most_piece(entries, ownership.ranks).min(room.max(LEAST_PIECE));
        Ok(CpuLevels {
            degrees,
            ownership,
            strategy,
            threads,
            update,
            frontier: Expansion { rows, direction, vertices, offsets, count: 0 },
            buckets,
            piece,
            is_narrow: true,
            sent: Traffic::default(),
        })
    }

    /// Expands a piece (a range of the frontier's edges) with the strategy of the job or, if the step is narrow, on one
    /// thread.
    fn candidates(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Candidates> {
        if self.is_narrow {
            return Ok(self.narrow(piece, pairs, steps));
        }
        let pairs_cells = word_cells(pairs);
        if self.strategy == Strategy::Atomic {
            let claims = self.update.claims();
            return atomic::expand(&self.frontier, &self.ownership, claims, piece, pairs_cells, self.threads, steps);
        }
        let (pruned, away, count) =
            self.buckets.fill(&self.frontier, &self.ownership, piece, pairs_cells, self.threads, steps)?;
        Ok(Candidates { to: by_owner(&self.ownership, &pairs[..count]), pruned, away })
    }

    /// Expands a piece (a range of the frontier's edges) on this thread alone, and groups the candidates by owner.
    /// Strategy `sort-unique` also drops repeats.
    fn narrow(&self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Candidates {
        let mut lapped = Instant::now();
        let (mut count, mut own) = (0, 0);
        let rank = self.ownership.rank as u32;
        self.frontier.each(piece, |neighbour, v| {
            let (owner, local_index) = self.ownership.locate(neighbour);
            own += u64::from(owner == rank);
            pairs[count] = pair(owner * self.ownership.stride + local_index, v);
            count += 1;
        });
        lap(&mut lapped, &mut steps.search);
        let found = &mut pairs[..count];
        let away = count as u64 - own;
        if self.strategy == Strategy::SortUnique {
            found.sort_unstable();
            lap(&mut lapped, &mut steps.sort);
            count = buckets::unique(found);
        } else if self.ownership.ranks > 1 {
            // Repeats are not dropped, but the candidates of each owner must be consecutive.
            found.sort_unstable_by_key(|&pair| (pair >> 32) as u32 / self.ownership.stride);
        }
        let to = by_owner(&self.ownership, &pairs[..count]);
        lap(&mut lapped, &mut steps.unique);
        Candidates { to, pruned: own + away - count as u64, away }
    }
}

/// Returns the range of each rank's pairs in `pairs`, which are ordered by owner.
fn by_owner(ownership: &VertexOwnership, pairs: &[u64]) -> Vec<Range<usize>> {
    let end = |rank: usize| {
        let end = (rank as u64 + 1) * u64::from(ownership.stride);
        pairs.partition_point(|&pair| pair >> 32 < end)
    };
    let ends: Vec<usize> = (0..ownership.ranks).map(end).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, &end)| start..end).collect()
}

impl Levels for CpuLevels<'_> {
    fn begin(&mut self, root: u32) -> Result<Frontier> {
        self.update.begin();
        let (owner, local_index) = self.ownership.locate(root);
        let is_own = owner as usize == self.ownership.rank;
        let frontier = &mut self.frontier;
        frontier.count = usize::from(is_own);
        if is_own {
            self.update.root(local_index as usize, root);
            frontier.vertices[0] = root;
            frontier.offsets[1] = self.degrees[frontier.direction.row(root, EdgeDirection::Out) as usize].into();
        }
        Ok(Frontier { vertices: frontier.count as u64, edges: frontier.offsets[frontier.count] })
    }

    fn step(&mut self, all: Frontier) -> Result<()> {
        self.is_narrow = all.edges <= narrow_edges(&self.ownership);
        Ok(())
    }

    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Vec<Range<usize>>> {
        let Candidates { to, pruned, away } = self.candidates(piece, pairs, steps)?;
        let others = to.iter().enumerate().filter(|&(rank, _)| rank != self.ownership.rank);
        self.sent.add(pruned, others.map(|(_, range)| range.len() as u64).sum(), away);
        Ok(to)
    }

    fn take(&mut self, pairs: &[u64], steps: &mut StepTimes) -> Result<()> {
        let mut lapped = Instant::now();
        let first = self.ownership.rank as u32 * self.ownership.stride;
        self.update.take(pairs, first, self.is_narrow, self.threads)?;
        lap(&mut lapped, &mut steps.update);
        Ok(())
    }

    fn advance(&mut self, steps: &mut StepTimes) -> Result<(Frontier, Traffic)> {
        let mut lapped = Instant::now();
        let threads = if self.is_narrow { 1 } else { self.threads };
        let (ownership, degrees) = (self.ownership, self.degrees);
        let vertex = |local_index: u32| ownership.vertex(local_index);
        let Expansion { direction, vertices, offsets, count, .. } = &mut self.frontier;
        *count = self.update.advance(vertices, vertex, self.is_narrow, threads)?;
        lap(&mut lapped, &mut steps.update);
        let degree = |v: u32| degrees[direction.row(v, EdgeDirection::Out) as usize].into();
        let threads = if *count < 1 << 14 { 1 } else { threads };
        let edges = rows::prefix_sum(&vertices[..*count], degree, offsets, threads)?;
        lap(&mut lapped, &mut steps.prefix_sum);
        Ok((Frontier { vertices: *count as u64, edges }, std::mem::take(&mut self.sent)))
    }

    fn parents(&mut self) -> Result<&[u32]> {
        Ok(self.update.parents())
    }

    fn piece_capacity(&self) -> u64 {
        self.piece
    }
}
