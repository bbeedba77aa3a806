//! Searches for shortest paths by all ranks of a job together. Each rank owns some of the vertices.
//!
//! A rank stores the sorted rows of the vertices that it owns ([`super::cpu`]), and the distances of all vertices. In
//! a search, it relaxes only the edges of the vertices that it owns. After each round, every rank sends the vertices
//! whose distances became smaller to all other ranks. So all ranks have the same distances and take the same steps.
//! Blocks of vertices are assigned to the ranks in turn (round-robin), as in breadth-first search. Rank 0 receives the
//! parents at the end.

use super::edges::WeightedEdges;
use crate::algo::searches::ranks::{OwnerRule, RankExchange, VertexOwnership, misplaced};
use crate::algo::sssp::cpu::arithmetic::Arithmetic;
use crate::algo::sssp::cpu::bins::NearerVertex;
use crate::comm::Comm;
use crate::error::Result;
use crate::memory::{Budget, Buffer};

/// Memory for thread-local lists and for messages, in bytes per vertex that the rank owns.
const NEARER: u64 = 32;

/// State of a rank for searches together with other ranks, in addition to the state that a single process needs.
pub struct RankState<'a> {
    /// Links to the other ranks.
    pub exchange: NearerExchange,
    /// The edges of all vertices. At the end of a search, rank 0 uses these edges to find the parents of vertices that
    /// are reached only by edges that add nothing to a distance.
    pub edges: WeightedEdges<'a>,
    /// Parents of all vertices. Only ranks other than 0 use this array; on rank 0 the caller passes one.
    pub parents: Buffer<u32>,
}

/// Links of a rank to all other ranks, and a message buffer.
pub struct NearerExchange {
    /// The links to the other ranks.
    pub ranks: RankExchange,
    message: Vec<u64>,
}

/// Returns the memory, in bytes, for lists of vertices whose distances become smaller, and for messages about these
/// vertices. `own` says which vertices the rank owns.
fn messages_bytes(own: VertexOwnership) -> u64 {
    NEARER * own.len() as u64
}

/// Returns the host memory, in bytes, that a rank needs for communication if the ranks run on `nodes` machines. `own`
/// says which vertices the rank owns.
pub fn bytes(own: VertexOwnership, nodes: usize) -> u64 {
    RankExchange::bytes(own.ranks, nodes) + messages_bytes(own)
}

impl NearerExchange {
    /// Opens links between all ranks. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`].
    pub fn open(comm: &Comm, own: VertexOwnership, budget: &Budget) -> Result<NearerExchange> {
        let ranks = RankExchange::open(comm, own, messages_bytes(own), budget)?;
        Ok(NearerExchange { ranks, message: Vec::new() })
    }

    /// Sends the vertices in `here`, whose distances became smaller on this rank, to all other ranks. Receives such
    /// vertices from the other ranks, and lowers their distances in `sums`. Then calls `current` with each sent or
    /// received vertex that this rank owns, unless its distance in `sums` is even smaller. Collective: all ranks must
    /// call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn share_nearer<A: Arithmetic>(
        &mut self,
        sums: &[A::Cell],
        here: &[Vec<NearerVertex<A::Sum>>],
        mut current: impl FnMut(NearerVertex<A::Sum>),
    ) -> Result<()> {
        self.message.clear();
        let words = here.iter().flatten().flat_map(|entry| [A::to_word(entry.sum), entry.vertex.into()]);
        self.message.extend(words);
        let own = self.ranks.ownership;
        // A message arrives in parts of any length, so the two words of a vertex and its distance may arrive
        // separately.
        let mut open: Vec<Option<u64>> = vec![None; own.ranks];
        let mut arrived: Vec<NearerVertex<A::Sum>> = Vec::new();
        self.ranks.send_to_others(&self.message, |from, words| {
            for &word in words {
                let Some(sum) = open[from].take() else {
                    open[from] = Some(word);
                    continue;
                };
                let (sum, vertex) = (A::of_word(sum), word as u32);
                let cell = sums.get(vertex as usize).ok_or_else(|| misplaced(from))?;
                A::lower(cell, sum);
                if own.has(vertex) {
                    arrived.push(NearerVertex { sum, vertex });
                }
            }
            Ok(())
        })?;
        let all = here.iter().flatten().copied().filter(|entry| own.has(entry.vertex)).chain(arrived);
        all.filter(|entry| A::load(&sums[entry.vertex as usize]) == entry.sum).for_each(&mut current);
        Ok(())
    }

    /// Gathers the parents of all vertices on rank 0. Every other rank sends the parents of the vertices that it owns
    /// to it. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Communication errors.
    pub fn gather(&mut self, parents: &mut [u32]) -> Result<()> {
        let own = self.ranks.ownership;
        if own.rank == 0 {
            return self.ranks.gather_parents([], parents);
        }
        let runs = (0..own.len()).step_by(OwnerRule::Blocks.block()).map(|place| own.run(place, own.len() - place));
        self.ranks.gather_parents(runs.map(|run| &parents[run]), &mut [])
    }
}
