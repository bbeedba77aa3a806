//! Communication between the ranks that search together: links that stay open, barriers, sums, and gathering parents on
//! rank 0. The algorithm decides what ranks send to each other in a step.

use super::VertexOwnership;
use crate::comm::{Comm, Rounds};
use crate::error::{Error, Result};
use crate::memory::{Budget, Reservation};

/// Total size, in bytes, of the buffers for all links of a rank.
const LINKS: usize = 4 << 20;
/// Minimum and maximum size, in bytes, of the buffers for the link between two ranks.
const LINK: [usize; 2] = [16 << 10, 1 << 20];

/// Open links of a rank to all other ranks of a search.
pub struct RankExchange {
    /// Assignment of vertices to the ranks that own them.
    pub ownership: VertexOwnership,
    /// Rounds in which this rank exchanges messages with the other ranks.
    pub rounds: Rounds,
    _reserved: Reservation,
}

/// Returns the size, in bytes, of the buffers for the link between two ranks, if there are `ranks` ranks.
fn link(ranks: usize) -> usize {
    (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1])
}

impl RankExchange {
    /// Returns the host memory, in bytes, for the links of one rank, if `ranks` ranks run on `nodes` machines.
    pub fn bytes(ranks: usize, nodes: usize) -> u64 {
        Rounds::bytes(link(ranks), ranks, nodes)
    }

    /// Opens links between all ranks. Reserves [`Self::bytes`] for the links, and `messages` bytes more for messages.
    /// Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, ownership: VertexOwnership, messages: u64, budget: &Budget) -> Result<RankExchange> {
        let links = RankExchange::bytes(comm.ranks(), comm.nodes());
        let reserved = budget.reserve(links + messages, "messages of ranks")?;
        Ok(RankExchange { ownership, rounds: comm.rounds(link(comm.ranks())), _reserved: reserved })
    }

    /// Waits at a barrier until all ranks have called this function.
    pub fn barrier(&mut self) -> Result<()> {
        self.rounds.any(false).map(drop)
    }

    /// Returns the smallest `number` that any rank passes. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn all_min(&mut self, number: u64) -> Result<u64> {
        Ok(self.numbers(number)?.min().unwrap_or(number))
    }

    /// Returns the sum of the values of `number` that all ranks pass. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn sum(&mut self, number: u64) -> Result<u64> {
        Ok(self.numbers(number)?.fold(0, u64::saturating_add))
    }

    /// Yields the value of `number` that each rank passes. Collective: all ranks must call it.
    fn numbers(&mut self, number: u64) -> Result<impl Iterator<Item = u64>> {
        Ok(self.rounds.gather([number, 0, 0, 0, 0, 0, 0])?.into_iter().map(|line| line[0]))
    }

    /// Sends `message` to all other ranks. Calls `take(from, words)` for the words that arrive from rank `from`. They
    /// may arrive in slices of any length. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Communication errors, and errors of `take`.
    pub fn send_to_others(&mut self, message: &[u64], take: impl FnMut(usize, &[u64]) -> Result<()>) -> Result<()> {
        let (rank, ranks) = (self.ownership.rank, self.ownership.ranks);
        let to: Vec<&[u64]> = (0..ranks).map(|to| if to == rank { &[][..] } else { message }).collect();
        self.rounds.exchange(&to, take)
    }

    /// Gathers the parents of all vertices in `parents` on rank 0. On other ranks `parents` is empty. `own` yields the
    /// parents of the vertices that this rank owns, in order. On rank 0, `own` may be empty if these parents are
    /// already in `parents`. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn gather_parents<'p>(&mut self, own: impl IntoIterator<Item = &'p [u32]>, parents: &mut [u32]) -> Result<()> {
        let ownership = self.ownership;
        let mut next = vec![0; ownership.ranks];
        let mut take = |from: usize, mut words: &[u32]| {
            while !words.is_empty() {
                let vertices = ownership.of_rank(from).run(next[from], words.len());
                let (some, rest) = words.split_at(vertices.len());
                parents.get_mut(vertices).ok_or_else(|| misplaced(from))?.copy_from_slice(some);
                next[from] += some.len();
                words = rest;
            }
            Ok(())
        };
        let mut round = self.rounds.begin()?;
        for some in own {
            round.send(0, some, &mut take)?;
        }
        round.finish(take)
    }
}

/// Creates the error for vertices that rank `from` sent although the graph does not contain them.
pub fn misplaced(from: usize) -> Error {
    Error::internal("take vertices of another rank", format!("rank {from} sent some that do not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_a_rank_are_those_from_it_and_to_it() {
        const MIB: u64 = 1 << 20;
        // Two ranks on one machine have two links of 1 MiB. Both ranks use both links.
        assert_eq!(RankExchange::bytes(2, 1) / MIB, 2);
        // Eight ranks have 56 links of 4/7 MiB. Each rank uses 14 of them.
        assert_eq!(RankExchange::bytes(8, 1) / MIB, 8);
        // Without shared memory, half of a link's buffers are at the sender and half at the receiver.
        assert_eq!(RankExchange::bytes(8, 2) / MIB, 4);
        assert_eq!(RankExchange::bytes(1, 1), 0);
    }
}
