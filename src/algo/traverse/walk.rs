//! A level-synchronous search by all ranks. Each step expands the frontier, drops repeats, exchanges candidates
//! (neighbours of the frontier) between ranks, and updates parents.

use super::exchange::CandidateExchange;
use super::levels::{Frontier, Levels, lap};
use super::search::{Search, StepTimes, Traffic, TraverseLevel, TraverseStats};
use crate::algo::searches::ranks::VertexOwnership;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer, populate};
use crate::process::signals;
use std::time::Instant;

/// State of one rank in a level-synchronous search by all ranks.
pub struct Traversal<L> {
    ownership: VertexOwnership,
    exchange: CandidateExchange,
    levels: L,
    /// Buffer for the candidates of a piece (a range of the frontier's edges that is expanded at once).
    pairs: Buffer<u64>,
    /// Maximum number of row entries that are expanded at once (a piece). It is the same on all ranks.
    piece: u64,
}

impl<L: Levels> Traversal<L> {
    /// Opens links between the ranks, and reserves memory for the candidates (neighbours of the frontier) that are
    /// expanded at once. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn new(comm: &Comm, ownership: VertexOwnership, levels: L, budget: &Budget) -> Result<Traversal<L>> {
        let mut exchange = CandidateExchange::open(comm, ownership, budget)?;
        let mut piece = [levels.piece_capacity()];
        comm.all_min(&mut piece);
        let mut pairs = budget.zeroed(levels.host_pairs(piece[0]) as usize, "candidates of a level (8 bytes each)")?;
        // Touch the memory now, so that page faults do not count as search time.
        populate(&mut pairs);
        let on_gpus = comm.any(levels.is_on_gpu());
        if on_gpus {
            exchange.ranks.rounds.poll_longer();
        }
        if on_gpus && comm.ranks() > 1 && comm.is_leader() && !levels.pulls() {
            tracing::info!("ranks send by way of the host: not all have GPUs of one machine that reach each other");
        }
        tracing::debug!(piece = piece[0], pulls = levels.pulls(), "ready to traverse");
        let mut walk = Traversal { ownership, exchange, levels, pairs, piece: piece[0] };
        if on_gpus && ownership.vertices > 0 {
            walk.warm_up()?;
        }
        Ok(walk)
    }

    /// Warms up the GPU kernels, because the first launch of a kernel takes longer. Takes a step from the last vertex
    /// of each rank before any search. Collective: all ranks must call it.
    fn warm_up(&mut self) -> Result<()> {
        let (ownership, mut steps) = (self.ownership, StepTimes::default());
        let last = ownership.len().checked_sub(1);
        // A rank without vertices begins from a vertex of another rank, so its frontier is empty.
        let root = last.map_or(0, |local_index| ownership.vertex(local_index as u32));
        let own = self.levels.begin(root)?;
        let (all, most, _) = self.exchange.sum(own, Traffic::default(), &mut steps)?;
        self.levels.step(all)?;
        self.step(own, most, &mut steps).map(drop)
    }

    /// Takes the step from one level to the next. `own` is the size of this rank's part of the frontier, and `most` an
    /// upper bound on the number of its edges on any rank. Returns the size of this rank's part of the next frontier,
    /// and the traffic of this rank.
    fn step(&mut self, own: Frontier, most: u64, steps: &mut StepTimes) -> Result<(Frontier, Traffic)> {
        failpoint::hit("traverse.level").map_err(|e| Error::internal("traverse a level", e))?;
        for first in (0..most).step_by(self.piece as usize) {
            let end = first + self.piece;
            let piece = first.min(own.edges)..end.min(own.edges);
            let to = self.levels.expand(piece, &mut self.pairs, steps)?;
            self.exchange.swap((&self.pairs, &to), &mut self.levels, end >= most, steps)?;
        }
        self.levels.advance(steps)
    }
}

impl<L: Levels> Search<[u32], TraverseStats> for Traversal<L> {
    fn search(&mut self, Vertex(root): Vertex, parents: &mut [u32]) -> Result<TraverseStats> {
        let (mut searched, mut steps) = (TraverseStats::default(), StepTimes::default());
        let mut own = self.levels.begin(root)?;
        self.exchange.barrier()?;
        let started = Instant::now();
        let (mut all, mut most, _) = self.exchange.sum(own, Traffic::default(), &mut steps)?;
        while all.vertices > 0 {
            let mut lapped = Instant::now();
            self.levels.step(all)?;
            let (next, sent) = self.step(own, most, &mut steps)?;
            signals::check()?;
            let (next_all, next_most, sent) = self.exchange.sum(next, sent, &mut steps)?;
            let Traffic { pruned, sent_bytes, unpruned_bytes } = sent;
            let mut level = TraverseLevel {
                frontier: all.vertices,
                expanded: all.edges,
                pruned: Some(pruned),
                sent_bytes: Some(sent_bytes),
                unpruned_bytes: Some(unpruned_bytes),
                seconds: 0.0,
            };
            lap(&mut lapped, &mut level.seconds);
            searched.note(level);
            (own, all, most) = (next, next_all, next_most);
        }
        searched.seconds = started.elapsed().as_secs_f64();
        searched.time(&self.exchange.gather_steps(&steps)?);
        let own = self.levels.parents()?;
        self.exchange.ranks.gather_parents([own], parents)?;
        Ok(searched)
    }
}
