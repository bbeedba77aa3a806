//! The exchange of a search by ranks: candidates to their owners, sums of each level, times and parents to rank 0.

use super::levels::{Frontier, Levels, lap};
use super::owner::Owners;
use super::search::{Sent, Steps};
use crate::comm::{Comm, Min, RoundShape, Rounds, Sum};
use crate::error::{Error, Result};
use crate::memory::{Budget, Buffer, Reservation};
use std::ops::Range;
use std::time::Instant;

/// Bytes of all links of a rank, and of a link at least and at most.
const LINKS: usize = 4 << 20;
const LINK: [usize; 2] = [16 << 10, 1 << 20];

/// The links of a rank to the others.
pub struct Exchange {
    rank: usize,
    ranks: usize,
    rounds: Rounds,
    /// Pairs of other ranks that were not taken yet.
    inbox: Buffer<u64>,
    _reserved: Reservation,
}

fn shape(ranks: usize) -> RoundShape {
    // A line is reduced at a time.
    RoundShape { link: (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1]), reduction: 0 }
}

/// Returns the bytes of links of a rank, of which there are `local` on its machine.
fn links_bytes(ranks: usize, nodes: usize, local: usize) -> u64 {
    let shared = if nodes == 1 { local.max(1) as u64 } else { 1 };
    shape(ranks).bytes(ranks, nodes).div_ceil(shared)
}

/// Returns the bytes of an exchange by `ranks` ranks on `nodes` machines, where `batch` pairs are taken at a time.
pub fn bytes(ranks: usize, nodes: usize, batch: usize) -> u64 {
    match ranks {
        1 => 0,
        _ => links_bytes(ranks, nodes, ranks.div_ceil(nodes.max(1))) + 8 * batch as u64,
    }
}

impl Exchange {
    /// Opens links between the ranks, of which this one takes `batch` pairs at a time. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, owners: Owners, batch: usize, budget: &Budget) -> Result<Exchange> {
        let (rank, ranks) = (owners.rank(), owners.ranks());
        let links = if ranks == 1 { 0 } else { links_bytes(ranks, comm.nodes(), comm.local_ranks()) };
        let reserved = budget.reserve(links, "messages of ranks")?;
        let inbox = budget.zeroed(if ranks == 1 { 0 } else { batch }, "candidates of other ranks")?;
        Ok(Exchange { rank, ranks, rounds: comm.rounds(shape(ranks)), inbox, _reserved: reserved })
    }

    /// Waits for all ranks. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn meet(&mut self) -> Result<()> {
        self.rounds.any(false).map(drop)
    }

    /// Sends the pairs of each rank to it, and has `levels` take those of this one. Returns how many pairs were sent to others. Collective.
    ///
    /// # Errors
    /// Those of the exchange and of `levels`.
    pub fn swap(
        &mut self,
        pairs: &[u64],
        to: &[Range<usize>],
        levels: &mut impl Levels,
        steps: &mut Steps,
    ) -> Result<u64> {
        let own = to.get(self.rank).map_or(&[][..], |range| &pairs[range.clone()]);
        if !own.is_empty() {
            levels.take(own, steps)?;
        }
        if self.ranks == 1 {
            return Ok(0);
        }
        let mut lapped = Instant::now();
        self.rounds.any(false)?;
        lap(&mut lapped, &mut steps.waiting);
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
        // Batches that were taken meanwhile have told their time.
        let mut exchanged = 0.0;
        lap(&mut lapped, &mut exchanged);
        let taken = steps.compute() + steps.exchange - before;
        steps.exchange += (exchanged - taken).max(0.0);
        if filled > 0 {
            levels.take(&self.inbox[..filled], steps)?;
        }
        Ok(parts.iter().map(|part| part.len() as u64).sum())
    }

    /// Returns the frontier of all ranks and the most edges that one of them has in it, with the sums of the step before. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn sum(&mut self, own: Frontier, sent: Sent, steps: &mut Steps) -> Result<(Frontier, u64, Sent)> {
        let mut lapped = Instant::now();
        let Sent { pruned, sent_bytes, unpruned_bytes } = sent;
        let mut numbers = [own.vertices, own.edges, pruned, sent_bytes, unpruned_bytes];
        self.rounds.all_reduce(Sum, &mut numbers)?;
        // The most of all is what the least has to the largest number.
        let mut left = [u64::MAX - own.edges];
        self.rounds.all_reduce(Min, &mut left)?;
        lap(&mut lapped, &mut steps.waiting);
        let [vertices, edges, pruned, sent_bytes, unpruned_bytes] = numbers;
        Ok((Frontier { vertices, edges }, u64::MAX - left[0], Sent { pruned, sent_bytes, unpruned_bytes }))
    }

    /// Returns the steps of all ranks, on each of them. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
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

    /// Gathers the parents of all vertices on rank 0 in `parents`, of which other ranks have none. `own` are those of the own vertices. Collective.
    ///
    /// # Errors
    /// Those of the exchange.
    pub fn gather(&mut self, own: &[u32], owners: Owners, parents: &mut [u32]) -> Result<()> {
        let mut to: Vec<&[u32]> = vec![&[]; self.ranks];
        to[0] = own;
        let mut next = vec![0; self.ranks];
        self.rounds.exchange(&to, |from, words| {
            for &parent in words {
                let v = owners.vertex(from, next[from]);
                let misplaced = || Error::internal("gather parents", format!("rank {from} sent too many"));
                *parents.get_mut(v as usize).ok_or_else(misplaced)? = parent;
                next[from] += 1;
            }
            Ok(())
        })
    }
}
