//! Messages between the ranks in a traversal. A rank sends candidates (neighbours of the frontier) to their owners, the
//! counts of each level to all ranks, and parents to rank 0.

use super::levels::{BATCH, Frontier, Levels, lap};
use super::search::{StepTimes, Traffic};
use crate::algo::searches::ranks::{RankExchange, VertexOwnership};
use crate::comm::Comm;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::ops::Range;
use std::time::Instant;

/// Exchange of candidates (neighbours of the frontier) between this rank and the other ranks.
pub struct CandidateExchange {
    /// Links to the other ranks.
    pub ranks: RankExchange,
    /// Buffer for received pairs (a vertex and its proposed parent) that are not processed yet.
    inbox: Buffer<u64>,
}

/// Returns the size in bytes of a [`CandidateExchange`] of one rank, if there are `ranks` ranks on `nodes` machines.
pub fn bytes(ranks: usize, nodes: usize) -> u64 {
    if ranks == 1 { 0 } else { RankExchange::bytes(ranks, nodes) + 8 * BATCH as u64 }
}

impl CandidateExchange {
    /// Opens the links between all ranks of a search. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn open(comm: &Comm, ownership: VertexOwnership, budget: &Budget) -> Result<CandidateExchange> {
        let ranks = RankExchange::open(comm, ownership, 0, budget)?;
        let inbox = budget.zeroed(if comm.ranks() == 1 { 0 } else { BATCH }, "candidates of other ranks")?;
        Ok(CandidateExchange { ranks, inbox })
    }

    /// Waits at a barrier until all ranks have called this function. All ranks continue at the same time. Collective:
    /// all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn barrier(&mut self) -> Result<()> {
        // A rank that has waited for long may be asleep when the last rank arrives. At the second barrier all ranks are
        // awake.
        self.ranks.barrier()?;
        self.ranks.barrier()
    }

    /// Waits at a barrier within a step, and adds the time to the waiting time in `steps`. Collective: all ranks must
    /// call it.
    fn wait(&mut self, steps: &mut StepTimes) -> Result<()> {
        let mut lapped = Instant::now();
        self.ranks.barrier()?;
        lap(&mut lapped, &mut steps.waiting);
        Ok(())
    }

    /// Sends pairs (a vertex and its proposed parent) to their owners: the range `to[r]` of `pairs` to rank `r`. Claims
    /// the vertices of the pairs that this rank receives. If more edges of the level follow (`is_last` is false), also
    /// waits for the other ranks. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange and of `levels`.
    pub fn swap(
        &mut self,
        (pairs, to): (&[u64], &[Range<usize>]),
        levels: &mut impl Levels,
        is_last: bool,
        steps: &mut StepTimes,
    ) -> Result<()> {
        let (here, ranks) = (self.ranks.ownership.rank, self.ranks.ownership.ranks);
        if ranks > 1 && levels.pulls() {
            levels.synchronize(steps)?;
            self.wait(steps)?;
            levels.pull()?;
            if !is_last {
                // The next piece overwrites the pairs of this one. After the last piece, the ranks wait for each other
                // when they add up the sums of the level.
                levels.synchronize(steps)?;
                self.wait(steps)?;
            }
            return Ok(());
        }
        let own = to.get(here).map_or(&[][..], |range| &pairs[range.clone()]);
        if !own.is_empty() {
            levels.take(own, steps)?;
        }
        if ranks == 1 {
            return Ok(());
        }
        self.wait(steps)?;
        let mut lapped = Instant::now();
        let parts = to.iter().enumerate();
        let parts: Vec<&[u64]> =
            parts.map(|(rank, range)| if rank == here { &[][..] } else { &pairs[range.clone()] }).collect();
        let (inbox, mut filled) = (&mut self.inbox, 0);
        let before = steps.compute() + steps.exchange;
        self.ranks.rounds.exchange(&parts, |_, mut words| {
            while !words.is_empty() {
                let some = words.len().min(inbox.len() - filled);
                inbox[filled..filled + some].copy_from_slice(&words[..some]);
                words = &words[some..];
                filled += some;
                if filled == inbox.len() {
                    levels.take(inbox, steps)?;
                    filled = 0;
                }
            }
            Ok(())
        })?;
        // The time for processing received pairs during the exchange is already recorded, so it is subtracted.
        let mut exchanged = 0.0;
        lap(&mut lapped, &mut exchanged);
        let taken = steps.compute() + steps.exchange - before;
        steps.exchange += (exchanged - taken).max(0.0);
        if filled > 0 {
            levels.take(&self.inbox[..filled], steps)?;
        }
        Ok(())
    }

    /// Adds up the counts of all ranks after a step. Returns the size of the frontier on all ranks together, the
    /// largest number of frontier edges on one rank, and the traffic of the step. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn sum(&mut self, own: Frontier, sent: Traffic, steps: &mut StepTimes) -> Result<(Frontier, u64, Traffic)> {
        let mut lapped = Instant::now();
        let Traffic { pruned, sent_bytes, unpruned_bytes } = sent;
        let reported = self.ranks.rounds.gather([own.vertices, own.edges, pruned, sent_bytes, unpruned_bytes, 0, 0])?;
        lap(&mut lapped, &mut steps.waiting);
        let sum = |which: usize| reported.iter().map(|of_rank| of_rank[which]).sum();
        let most = reported.iter().map(|of_rank| of_rank[1]).max().unwrap_or(0);
        let sent = Traffic { pruned: sum(2), sent_bytes: sum(3), unpruned_bytes: sum(4) };
        Ok((Frontier { vertices: sum(0), edges: sum(1) }, most, sent))
    }

    /// Returns the step times of each rank, in the order of the ranks. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn gather_steps(&mut self, steps: &StepTimes) -> Result<Vec<StepTimes>> {
        let words: Vec<u64> = steps.numbers().iter().map(|seconds| seconds.to_bits()).collect();
        let ranks = self.ranks.ownership.ranks;
        let (mut all, to) = (vec![Vec::new(); ranks], vec![words.as_slice(); ranks]);
        self.ranks.rounds.exchange(&to, |from, words| {
            all[from].extend(words.iter().map(|&bits| f64::from_bits(bits)));
            Ok(())
        })?;
        Ok(all.into_iter().map(|numbers| StepTimes::of(numbers.try_into().unwrap_or_default())).collect())
    }
}
