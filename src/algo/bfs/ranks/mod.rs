//! Searches by the ranks of a job, each of which owns some of the vertices.
//!
//! A rank searches like a single process ([`super::cpu`]), but over the vertices that it owns, and with bitmaps of all
//! reached vertices. In a bottom-up step it looks for parents of its own vertices, and then all ranks send each other
//! which vertices they reached (`exchange`). In a top-down step it claims the neighbours of its part of the frontier by
//! messages to their owners. Long rows are shared by all ranks.
//!
//! Ownership of chunks of vertices is interleaved over the ranks, because vertices are in the order of degree. With
//! consecutive shares of equal length, the first of two ranks would have 97 % of all entries of a Kronecker graph, and
//! all would wait for it in top-down steps. With shares of equally many entries, the first rank would have only 4 % of
//! the vertices, and it would wait for the others in bottom-up steps.

pub(super) mod exchange;

use self::exchange::ClaimExchange;
use super::cpu::{self, CpuSearch, WalkOptions};
use super::search::{BfsSearched, Search};
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
    /// Parents of this rank's vertices.
    parents: Buffer<u32>,
}

/// Returns the maximum and the minimum bytes that searches by `threads` threads of a rank take in addition to the
/// parents of all vertices. The graph has `entries` entries in all rows. `own` describes the vertices of rank 0, which
/// owns the most.
pub fn bytes(own: VertexOwnership, entries: u64, threads: usize, nodes: usize) -> [u64; 2] {
    cpu::bytes(own, entries, threads).map(|bytes| bytes + 4 * own.len() as u64 + exchange::bytes(own, nodes))
}

impl<'a> RankedSearch<'a> {
    /// Prepares to search a graph. `walk` has the thresholds, and whether rows are on a disk. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if not even the smallest choice of [`bytes()`] fits; errors of the graph.
    pub fn new(input: EngineInput<'a, '_>, walk: WalkOptions) -> Result<RankedSearch<'a>> {
        let (comm, budget) = (input.run.comm, input.run.budget);
        let own = VertexOwnership::blocks(input.graph.info.connected as usize, comm.rank(), comm.ranks());
        let exchange = ClaimExchange::open(comm, own, budget)?;
        let mut parents = budget.zeroed(own.len(), "the parents of a rank's vertices (4 bytes each)")?;
        populate(&mut parents);
        let search = CpuSearch::new(input, own, walk)?;
        Ok(RankedSearch { search, exchange, parents })
    }
}

impl Search<[u32], BfsSearched> for RankedSearch<'_> {
    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<BfsSearched> {
        failpoint::hit("bfs.ranks").map_err(|e| Error::internal("search by ranks", e))?;
        self.exchange.ranks.wait_for_all()?;
        self.exchange.take_exchanged();
        let started = Instant::now();
        let mut searched = self.search.search_with(root, Some(&mut self.exchange), &mut self.parents)?;
        self.exchange.ranks.wait_for_all()?;
        searched.seconds = started.elapsed().as_secs_f64();
        searched.exchanged = self.exchange.take_exchanged();
        self.exchange.ranks.gather_parents([&self.parents[..]], parents)?;
        Ok(searched)
    }
}
