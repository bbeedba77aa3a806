//! Communication of a search by ranks: candidates to their owners, sums of each level, and times and parents to rank 0.

use super::levels::{Frontier, Levels, lap};
use super::search::{Sent, Steps};
use crate::algo::searches::ranks::VertexOwnership;
use crate::comm::{Comm, RoundShape, Rounds};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Reservation};
use std::ops::Range;
use std::time::Instant;

/// Bytes of all links of a rank, and minimum and maximum bytes of one link.
const LINKS: usize = 4 << 20;
const LINK: [usize; 2] = [16 << 10, 1 << 20];

/// The links of a rank to the other ranks.
pub struct Exchange {
    rank: usize,
    ranks: usize,
    rounds: Rounds,
    /// Buffer of received pairs that are not processed yet.
    inbox: Buffer<u64>,
    _reserved: Reservation,
}

fn shape(ranks: usize) -> RoundShape {
    // Only single lines are reduced.
    RoundShape { link: (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1]), reduction: 0 }
}

/// Returns the bytes of a rank's links, with `local` ranks on its machine.
fn links_bytes(ranks: usize, nodes: usize, local: usize) -> u64 {
    let shared = if nodes == 1 { local.max(1) as u64 } else { 1 };
    shape(ranks).bytes(ranks, nodes).div_ceil(shared)
}

/// Returns the bytes of an exchange among `ranks` ranks on `nodes` machines that process `batch` pairs at a time.
pub fn bytes(ranks: usize, nodes: usize, batch: usize) -> u64 {
    match ranks {
        1 => 0,
        _ => links_bytes(ranks, nodes, ranks.div_ceil(nodes.max(1))) + 8 * batch as u64,
    }
}

/// Returns the bytes that [`Exchange::open`] takes on this rank.
pub fn bytes_here(comm: &Comm, batch: usize) -> u64 {
    match comm.ranks() {
        1 => 0,
        ranks => links_bytes(ranks, comm.nodes(), comm.local_ranks()) + 8 * batch as u64,
    }
}

impl Exchange {
    /// Opens links between the ranks. This rank processes `batch` pairs at a time. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, ownership: VertexOwnership, batch: usize, budget: &Budget) -> Result<Exchange> {
        let (rank, ranks) = (ownership.rank(), ownership.ranks());
        let links = if ranks == 1 { 0 } else { links_bytes(ranks, comm.nodes(), comm.local_ranks()) };
        let reserved = budget.reserve(links, "messages of ranks")?;
        let inbox = budget.zeroed(if ranks == 1 { 0 } else { batch }, "candidates of other ranks")?;
        Ok(Exchange { rank, ranks, rounds: comm.rounds(shape(ranks)), inbox, _reserved: reserved })
    }

    /// Makes ranks wait for each other without sleeping, as far as there are cores.
    pub fn stay_awake(&mut self) {
        self.rounds.stay_awake();
    }

    /// Waits for all ranks, which then continue at the same time. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn meet(&mut self) -> Result<()> {
        // A rank that waited for long may sleep when the last rank arrives. At the second barrier all are awake.
        self.rounds.any(false)?;
        self.rounds.any(false).map(drop)
    }

    /// Waits for all ranks within a step. Collective.
    fn wait(&mut self, steps: &mut Steps) -> Result<()> {
        let mut lapped = Instant::now();
        self.rounds.any(false)?;
        lap(&mut lapped, &mut steps.waiting);
        Ok(())
    }

    /// Delivers the pairs of each rank in `to`, and claims those of this rank. Waits for the other ranks if another
    /// piece of the level follows. Collective.
    ///
    /// # Errors
    /// Errors of the exchange and of `levels`.
    pub fn swap(
        &mut self,
        (pairs, to): (&[u64], &[Range<usize>]),
        levels: &mut impl Levels,
        is_last: bool,
        steps: &mut Steps,
    ) -> Result<()> {
        if self.ranks > 1 && levels.pulls() {
            levels.settle(steps)?;
            self.wait(steps)?;
            levels.pull()?;
            if !is_last {
                // The next piece overwrites this one. After the last piece, the sums of the level synchronise the
                // ranks.
                levels.settle(steps)?;
                self.wait(steps)?;
            }
            return Ok(());
        }
        let own = to.get(self.rank).map_or(&[][..], |range| &pairs[range.clone()]);
        if !own.is_empty() {
            levels.take(own, steps)?;
        }
        if self.ranks == 1 {
            return Ok(());
        }
        self.wait(steps)?;
        let mut lapped = Instant::now();
        let parts = to.iter().enumerate();
        let parts: Vec<&[u64]> =
            parts.map(|(rank, range)| if rank == self.rank { &[][..] } else { &pairs[range.clone()] }).collect();
        let (inbox, mut filled) = (&mut self.inbox, 0);
        let before = steps.compute() + steps.exchange;
        self.rounds.exchange(&parts, |_, mut words| {
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
        // Batches that were processed meanwhile have already recorded their time.
        let mut exchanged = 0.0;
        lap(&mut lapped, &mut exchanged);
        let taken = steps.compute() + steps.exchange - before;
        steps.exchange += (exchanged - taken).max(0.0);
        if filled > 0 {
            levels.take(&self.inbox[..filled], steps)?;
        }
        Ok(())
    }

    /// Returns the frontier of all ranks, the maximum number of edges of one rank in it, and the traffic of the last
    /// step. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn sum(&mut self, own: Frontier, sent: Sent, steps: &mut Steps) -> Result<(Frontier, u64, Sent)> {
        let mut lapped = Instant::now();
        let Sent { pruned, sent_bytes, unpruned_bytes } = sent;
        let reported = self.rounds.gather([own.vertices, own.edges, pruned, sent_bytes, unpruned_bytes, 0, 0])?;
        lap(&mut lapped, &mut steps.waiting);
        let sum = |which: usize| reported.iter().map(|of_rank| of_rank[which]).sum();
        let most = reported.iter().map(|of_rank| of_rank[1]).max().unwrap_or(0);
        let sent = Sent { pruned: sum(2), sent_bytes: sum(3), unpruned_bytes: sum(4) };
        Ok((Frontier { vertices: sum(0), edges: sum(1) }, most, sent))
    }

    /// Returns the steps of all ranks, on each rank. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn gather_steps(&mut self, steps: &Steps) -> Result<Vec<Steps>> {
        let words: Vec<u64> = steps.numbers().iter().map(|seconds| seconds.to_bits()).collect();
        let mut all = vec![Vec::new(); self.ranks];
        let to = vec![words.as_slice(); self.ranks];
        self.rounds.exchange(&to, |from, words| {
            all[from].extend(words.iter().map(|&bits| f64::from_bits(bits)));
            Ok(())
        })?;
        Ok(all.iter().map(|numbers| Steps::of(numbers)).collect())
    }

    /// Gathers the parents of all vertices in `parents` on rank 0; on other ranks `parents` is empty. `own` has the
    /// parents of the own vertices. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn gather(&mut self, own: &[u32], ownership: VertexOwnership, parents: &mut [u32]) -> Result<()> {
        let mut to: Vec<&[u32]> = vec![&[]; self.ranks];
        to[0] = own;
        let mut next = vec![0; self.ranks];
        self.rounds.exchange(&to, |from, words| {
            for &parent in words {
                let v = ownership.of_rank(from).vertex(next[from]);
                let misplaced = || Error::internal("gather parents", format!("rank {from} sent too many"));
                *parents.get_mut(v as usize).ok_or_else(misplaced)? = parent;
                next[from] += 1;
            }
            Ok(())
        })
    }
}
