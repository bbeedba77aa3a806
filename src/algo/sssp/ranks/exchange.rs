//! Communication between the ranks of a search. Every rank sends the vertices that became nearer to all others, and
//! parents to rank 0.

use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::sssp::cpu::arithmetic::Arithmetic;
use crate::algo::sssp::cpu::bins::Entry;
use crate::comm::{Comm, Min, RoundShape, Rounds, Sum};
use crate::error::{Error, Result};
use crate::memory::{Budget, Reservation};

/// Bytes of all links of a rank together, and the smallest and largest size of a link.
const LINKS: usize = 4 << 20;
const LINK: [usize; 2] = [16 << 10, 1 << 20];
/// Maximum number of parents that a rank sends to rank 0 in a round.
const PARENTS: usize = 1 << 18;
/// Bytes for a vertex that becomes nearer in a round, in the list of a thread and in a message.
const NEARER: u64 = 32;

/// Links of a rank to the others.
pub struct Exchange {
    rounds: Rounds,
    own: VertexOwnership,
    message: Vec<u64>,
    _reserved: Reservation,
}

fn shape(ranks: usize) -> RoundShape {
    RoundShape { link: (LINKS / (ranks.max(2) - 1)).clamp(LINK[0], LINK[1]), reduction: 0 }
}

/// Returns the bytes that an exchange takes on a rank that owns `own`.
pub fn bytes(own: VertexOwnership, nodes: usize) -> u64 {
    shape(own.ranks()).bytes(own.ranks(), nodes) + NEARER * own.len() as u64 + 8 * PARENTS as u64
}

impl Exchange {
    /// Opens links between the ranks. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`].
    pub fn open(comm: &Comm, own: VertexOwnership, budget: &Budget) -> Result<Exchange> {
        let reserved = budget.reserve(bytes(own, comm.nodes()), "messages of ranks")?;
        Ok(Exchange { rounds: comm.rounds(shape(comm.ranks())), own, message: Vec::new(), _reserved: reserved })
    }

    /// Waits for all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn wait_for_all(&mut self) -> Result<()> {
        self.rounds.any(false).map(drop)
    }

    /// Returns the smallest of the numbers of all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn least(&mut self, number: u64) -> Result<u64> {
        let mut numbers = [number];
        self.rounds.all_reduce(Min, &mut numbers)?;
        Ok(numbers[0])
    }

    /// Returns the sum of the numbers of all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn sum(&mut self, number: u64) -> Result<u64> {
        let mut numbers = [number];
        self.add(&mut numbers)?;
        Ok(numbers[0])
    }

    /// Replaces each number by its sum over all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn add(&mut self, numbers: &mut [u64]) -> Result<()> {
        numbers.chunks_mut(4).try_for_each(|some| self.rounds.all_reduce(Sum, some))
    }

    /// Sends the vertices that became nearer here to all ranks, and lowers the distances of those that became nearer
    /// elsewhere. Then calls `current` with all of these that this rank owns, and with their present distances.
    /// Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn share_nearer<A: Arithmetic>(
        &mut self,
        sums: &[A::Cell],
        here: &[Vec<Entry<A::Sum>>],
        mut current: impl FnMut(Entry<A::Sum>),
    ) -> Result<()> {
        self.message.clear();
        let words = here.iter().flatten().flat_map(|entry| [A::to_word(entry.sum), entry.vertex.into()]);
        self.message.extend(words);
        let (own, ranks) = (self.own, self.own.ranks());
        let to: Vec<&[u64]> =
            (0..ranks).map(|rank| if rank == own.rank() { &[][..] } else { &self.message[..] }).collect();
        // A message arrives in pieces of any length, so the two words of an entry may be in different pieces.
        let mut open: Vec<Option<u64>> = vec![None; ranks];
        let mut arrived: Vec<Entry<A::Sum>> = Vec::new();
        self.rounds.exchange(&to, |from, words| {
            for &word in words {
                let Some(sum) = open[from].take() else {
                    open[from] = Some(word);
                    continue;
                };
                let (sum, vertex) = (A::of_word(sum), word as u32);
                let cell = sums.get(vertex as usize).ok_or_else(|| misplaced(from))?;
                A::lower(cell, sum);
                if own.has(vertex) {
                    arrived.push(Entry { sum, vertex });
                }
            }
            Ok(())
        })?;
        let all = here.iter().flatten().copied().filter(|entry| own.has(entry.vertex)).chain(arrived);
        all.filter(|entry| A::load(&sums[entry.vertex as usize]) == entry.sum).for_each(&mut current);
        Ok(())
    }

    /// Gathers parents on rank 0. Each rank contributes those of the vertices that it owns. Collective.
    ///
    /// # Errors
    /// Errors of the exchange.
    pub fn gather(&mut self, parents: &mut [u32]) -> Result<()> {
        let (own, ranks) = (self.own, self.own.ranks());
        // Rank 0 owns the most vertices.
        let most = own.of_rank(0).len();
        for first in (0..most).step_by(PARENTS) {
            self.message.clear();
            if own.rank() > 0 {
                let places = first..(first + PARENTS).min(own.len()).max(first);
                let pair = |v: usize| u64::from(parents[v]) << 32 | v as u64;
                self.message.extend(places.map(|place| own.vertex(place as u32) as usize).map(pair));
            }
            let mut to: Vec<&[u64]> = vec![&[]; ranks];
            to[0] = &self.message;
            self.rounds.exchange(&to, |from, pairs| {
                for &pair in pairs {
                    *parents.get_mut(pair as u32 as usize).ok_or_else(|| misplaced(from))? = (pair >> 32) as u32;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn misplaced(from: usize) -> Error {
    Error::internal("take vertices of another rank", format!("rank {from} sent vertices that do not exist"))
}
