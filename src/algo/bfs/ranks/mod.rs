//! Searches by the ranks of a job, each of which owns consecutive vertices.
//!
//! | file | holds |
//! |---|---|
//! | `shares` | who owns which vertices |
//! | `exchange` | what ranks tell each other in a step |
//!
//! A rank walks as a process by itself does ([`super::cpu`]), over the vertices that it owns, and has the bits of all vertices that were
//! reached. Bottom-up, it looks for parents of its own vertices, and then all ranks tell all which they reached. Top-down, it claims the
//! neighbours of its part of the frontier; who owns a claimed vertex is told so, and finds its parent.

mod exchange;
mod shares;

use self::exchange::Exchange;
use self::shares::Shares;
use super::cpu::{self, CpuSearch};
use super::search::{Search, Searched, Switch};
use crate::comm::Comm;
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::ids::Vertex;
use crate::graph::order::DegreeRuns;
use crate::memory::{Budget, Buffer, populate};
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;
use std::time::Instant;

/// A graph that all ranks search together.
pub struct RankedSearch<'a> {
    search: CpuSearch<'a>,
    exchange: Exchange,
    /// The parents of the own vertices; on rank 0 they are where the caller wants them.
    parents: Buffer<u32>,
    leads: bool,
}

/// Returns the most bytes that searches take on a rank beside the parents of all vertices, and the fewest that do, on a graph of these degrees.
pub fn bytes(runs: &DegreeRuns, ranks: usize, nodes: usize) -> [u64; 2] {
    let own = Shares::most(runs, ranks);
    cpu::bytes(runs.vertices(), own).map(|bytes| bytes + 4 * own + exchange::bytes(own, ranks, nodes))
}

impl<'a> RankedSearch<'a> {
    /// Gets ready to search a graph whose input has these degrees. `spare` bytes of `budget` stay free. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] where the fewest of [`bytes()`] do not fit; those of the graph.
    pub fn new(
        comm: &Comm,
        graph: &'a Graph,
        runs: &DegreeRuns,
        degrees: &'a Mapped,
        switch: Switch,
        (threads, spare, budget): (usize, u64, &Budget),
    ) -> Result<RankedSearch<'a>> {
        let shares = Shares::new(runs, comm.ranks());
        let (own, leads) = (shares.of(comm.rank()), comm.leads());
        let exchange = Exchange::open(comm, shares, budget)?;
        let parents = if leads { 0 } else { own.len() };
        let mut parents = budget.zeroed(parents, "the parents of a rank's vertices (4 bytes each)")?;
        populate(&mut parents);
        let rows = Adjacency::new(&graph.catalogue, graph.upper()?);
        let vertices = (graph.info.connected as usize, own);
        let search = CpuSearch::new(rows, graph.info.direction, vertices, degrees, switch, (threads, spare, budget))?;
        Ok(RankedSearch { search, exchange, parents, leads })
    }
}

impl Search for RankedSearch<'_> {
    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<Searched> {
        let own = if self.leads { &mut parents[..self.search.own()] } else { &mut self.parents[..] };
        self.exchange.meet()?;
        let started = Instant::now();
        let mut searched = self.search.search_with(root, Some(&self.exchange), own)?;
        self.exchange.meet()?;
        searched.seconds = started.elapsed().as_secs_f64();
        self.exchange.gather(&self.parents, parents)?;
        Ok(searched)
    }
}
