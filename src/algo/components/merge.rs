//! Joins the forests of all ranks of a job into the forest of rank 0, in rounds. In each round, half of the remaining
//! ranks send their forests to the other half.

use super::forest::Forest;
use crate::algo::team::{Parts, team};
use crate::comm::{Comm, Rounds};
use crate::error::Result;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Maximum number of bytes in flight from one rank to another while forests are joined.
const LINK: usize = 1 << 20;
/// Number of vertices that a thread joins to their parents at a time.
const PART: usize = 1 << 12;

/// Role of a rank in a round of joining forests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Receiver: joins the forest of this other rank into its own.
    Takes(usize),
    /// Sender: sends its forest to this other rank.
    Gives(usize),
    Waits,
}

/// Returns the role of rank `rank` in each round of joining the forests of `ranks` ranks.
pub(super) fn turns(rank: usize, ranks: usize) -> impl Iterator<Item = Turn> {
    (0..usize::BITS).map(|round| 1 << round).take_while(move |&step| step < ranks).map(move |step| {
        match rank % (2 * step) {
            0 if rank + step < ranks => Turn::Takes(rank + step),
            left if left == step => Turn::Gives(rank - step),
            _ => Turn::Waits,
        }
    })
}

/// Returns the memory, in bytes, that joining forests takes on each of `ranks` ranks, which run on `nodes` machines.
pub(super) fn bytes(ranks: usize, nodes: usize) -> u64 {
    if ranks > 1 { Rounds::bytes(LINK, ranks, nodes) + 2 * 4 * Comm::PIECE as u64 } else { 0 }
}

/// Returns the number of bytes that all ranks together send to find the components with forests of `bytes` bytes.
/// During the rounds, the parent of each vertex is sent to all other ranks once. At the end, all ranks but one send
/// their whole forest to another rank.
pub(super) fn sent(ranks: usize, bytes: u64) -> u64 {
    2 * (ranks as u64 - 1) * bytes
}

/// Sends the parents of some vertices to all other ranks. Each rank joins the vertices to these parents in its own
/// forest. Rank `r` sends the parents of the vertices `of_ranks[r]`. Collective.
///
/// # Errors
/// [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn share(comm: &Comm, forest: &Forest, of_ranks: &[Range<u32>], threads: usize) -> Result<()> {
    let longest = of_ranks.iter().map(|of| of.len()).max().unwrap_or(0);
    let mut joined = Ok(());
    for at in (0..longest).step_by(Comm::PIECE) {
        let piece = |of: &Range<u32>| {
            let piece = |at: usize| (of.start as usize + at).min(of.end as usize);
            piece(at)..piece(at + Comm::PIECE)
        };
        let mine = parents(&forest.parents()[piece(&of_ranks[comm.rank()])]);
        let mut next: Vec<u32> = of_ranks.iter().map(|of| piece(of).start as u32).collect();
        comm.gather_each(&mine, |from, parents| {
            if from != comm.rank() && joined.is_ok() {
                joined = join(forest, next[from], parents, threads);
            }
            next[from] += parents.len() as u32;
        });
    }
    joined
}

/// Joins the forests of all ranks into the forest of rank 0, through host memory. Collective.
///
/// # Errors
/// [`crate::Error::Internal`]; [`crate::Error::Addresses`] if no thread can be started.
pub(super) fn merge(comm: &Comm, forest: &Forest, threads: usize) -> Result<()> {
    if comm.ranks() == 1 {
        return Ok(());
    }
    // Vertices that are in the tree of vertex 0 in every forest need not be sent.
    let mut known = [forest.with_first(forest.parents().len() as u32).into()];
    comm.all_min(&mut known);
    let first = known[0] as usize;
    let mut rounds = comm.rounds(LINK);
    let mut taken: Vec<u32> = Vec::with_capacity(Comm::PIECE);
    for turn in turns(comm.rank(), comm.ranks()) {
        let pieces = forest.parents()[first..].chunks(Comm::PIECE);
        for (piece, first) in pieces.zip((first as u32..).step_by(Comm::PIECE)) {
            let mut messages: Vec<&[u32]> = vec![&[]; comm.ranks()];
            let mine: Vec<u32>;
            if let Turn::Gives(to) = turn {
                mine = parents(piece);
                messages[to] = &mine;
            }
            taken.clear();
            rounds.exchange(&messages, |_, parents| {
                taken.extend_from_slice(parents);
                Ok(())
            })?;
            join(forest, first, &taken, threads)?;
        }
    }
    Ok(())
}

fn parents(of: &[AtomicU32]) -> Vec<u32> {
    of.iter().map(|parent| parent.load(Relaxed)).collect()
}

/// Joins consecutive vertices, beginning at `first`, to their parents in another forest. `parents` contains these
/// parents.
fn join(forest: &Forest, first: u32, parents: &[u32], threads: usize) -> Result<()> {
    let parts = Parts::new(parents.len(), PART);
    team(threads.clamp(1, parents.len().div_ceil(PART).max(1)), &|_| {
        parts.each(|part| {
            let vertices = first + part.start as u32..;
            vertices.zip(&parents[part]).for_each(|(v, &parent)| forest.join(v, parent));
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_gives_its_forest_once_and_rank_0_has_all() {
        for ranks in 1..40 {
            let turns: Vec<Vec<Turn>> = (0..ranks).map(|rank| turns(rank, ranks).collect()).collect();
            let mut has: Vec<Vec<usize>> = (0..ranks).map(|rank| vec![rank]).collect();
            (0..turns[0].len()).for_each(|round| {
                for rank in 0..ranks {
                    match turns[rank][round] {
                        Turn::Takes(from) => {
                            assert_eq!(turns[from][round], Turn::Gives(rank));
                            let given = std::mem::take(&mut has[from]);
                            has[rank].extend(given);
                        }
                        Turn::Gives(to) => assert_eq!(turns[to][round], Turn::Takes(rank)),
                        Turn::Waits => {}
                    }
                }
            });
            has[0].sort_unstable();
            assert_eq!(has[0], (0..ranks).collect::<Vec<_>>());
        }
    }
}
