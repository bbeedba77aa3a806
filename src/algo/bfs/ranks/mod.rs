//! Breadth-first search by the ranks of a job, each of which owns some of the vertices.
//!
//! Each rank searches like a single process ([`super::cpu`]). It finds parents only for the vertices that it owns, but
//! has bitmaps of all reached vertices. In a top-down step, a rank follows the edges of the frontier's vertices that it
//! owns, and sends claims (vertices with proposed parents) to the owners of the neighbours. After every step, ranks
//! send each other the vertices that they reached (`exchange`). In top-down steps, ranks divide long rows among
//! themselves.
//!
//! Blocks of consecutive vertices are assigned to the ranks in turn (round-robin), because vertices are in the order of
//! descending degree. Suppose instead that the first of two ranks owned the first half of the vertices of a Kronecker
//! graph. Its rows would contain 97 % of all entries, and the other rank would wait for it in top-down steps. If each
//! rank owned half of the entries, the first rank would own 4 % of the vertices, and it would wait in bottom-up steps.

pub(super) mod exchange;

use self::exchange::ClaimExchange;
use super::cpu::{self, CpuSearch};
use super::search::{BfsStats, Search, Switch};
use crate::algo::searches::EngineInput;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::{Buffer, populate};
use std::time::Instant;

/// A graph that all ranks search together.
pub struct RankedSearch<'a> {
    search: CpuSearch<'a>,
    exchange: ClaimExchange,
    /// Parents of the vertices that this rank owns.
    parents: Buffer<u32>,
}

/// Returns the host memory of a rank, in bytes, as `[maximum, minimum]`: the most that searches by `threads` threads
/// use, and the least that they need, not counting the parents of all vertices. `entries` is the number of row entries
/// in the graph. `own` describes the vertices that rank 0 owns, because no rank owns more.
pub fn bytes(own: VertexOwnership, entries: u64, threads: usize, nodes: usize) -> [u64; 2] {
    cpu::bytes(own, entries, threads).map(|bytes| bytes + 4 * own.len() as u64 + exchange::bytes(own, nodes))
}

impl<'a> RankedSearch<'a> {
    /// Prepares to search a graph, as [`CpuSearch::new`] does, but together with the other ranks. `switch` and
    /// `on_disk` must be the same on all ranks. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if not even the smallest choice of [`bytes()`] fits; errors of the graph.
    pub fn new(input: EngineInput<'a, '_>, switch: Switch, on_disk: bool) -> Result<RankedSearch<'a>> {
        let (comm, budget) = (input.run.comm, input.run.budget);
        let own = VertexOwnership::blocks(input.graph.info.connected as usize, comm.rank(), comm.ranks());
        let exchange = ClaimExchange::open(comm, own, budget)?;
        let mut parents = budget.zeroed(own.len(), "the parents of a rank's vertices (4 bytes each)")?;
        populate(&mut parents);
        let search = CpuSearch::new(input, own, switch, on_disk)?;
        Ok(RankedSearch { search, exchange, parents })
    }
}

impl Search<[u32], BfsStats> for RankedSearch<'_> {
    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<BfsStats> {
        failpoint::hit("bfs.ranks").map_err(|e| Error::internal("search by ranks", e))?;
        self.exchange.ranks.barrier()?;
        self.exchange.take_exchanged();
        let started = Instant::now();
        let mut searched = self.search.search_with(root, Some(&mut self.exchange), &mut self.parents)?;
        self.exchange.ranks.barrier()?;
        searched.seconds = started.elapsed().as_secs_f64();
        searched.exchanged = self.exchange.take_exchanged();
        self.exchange.ranks.gather_parents([&self.parents[..]], parents)?;
        Ok(searched)
    }
}
