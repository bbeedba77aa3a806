//! Searches by the ranks of a job, each of which owns some of the vertices.
//!
//! A rank has sorted rows of its own vertices ([`super::cpu`]), and the distances of all. It pushes along the edges of its own vertices, and pulls for
//! them; after each round all ranks tell all which vertices became nearer, so that they have the same distances again, and go on alike. Chunks of
//! vertices have owners in turn, as in breadth-first search. Parents go to rank 0 in the end.

pub(super) mod exchange;

use self::exchange::Exchange;
use super::Distances;
use super::Sssp;
use super::cpu::{CpuSearch, Resources};
use super::edges::Edges;
use super::search::{Search, Searched};
use crate::algo::own::Own;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::Buffer;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

/// A graph that all ranks search together.
pub struct RankedSearch<'a> {
    search: CpuSearch,
    exchange: Exchange,
    /// The edges of all vertices, for those that rank 0 gives parents to in the end.
    edges: Edges<'a>,
    /// The parents of vertices on ranks that nobody wants them of.
    parents: Buffer<u32>,
}

/// Returns the bytes that searches take on rank 0 beside those of its own rows, which are `own`, and its trees. Others have parents instead of these.
pub fn bytes(own: Own, nodes: usize) -> u64 {
    exchange::bytes(own, nodes)
}

impl<'a> RankedSearch<'a> {
    /// Gets ready to search a graph by the weights and the method of a table. Collective.
    ///
    /// # Errors
    /// Those of [`CpuSearch::new`].
    pub fn new(
        comm: &Comm,
        graph: &'a Graph,
        table: &Sssp,
        degrees: &Mapped,
        resources: &Resources<'_>,
    ) -> Result<RankedSearch<'a>> {
        let vertices = graph.info.connected as usize;
        let own = Own::of(vertices, comm.rank(), comm.ranks());
        let mut exchange = Exchange::open(comm, own, resources.budget)?;
        let parents = if comm.leads() { 0 } else { vertices };
        let parents = resources.budget.zeroed(parents, "the parents of vertices (4 bytes each)")?;
        let search = CpuSearch::of_part(graph, table, degrees, resources, own, Some(&mut exchange))?;
        let edges = Edges::new(graph, table.weights, resources.budget)?;
        Ok(RankedSearch { search, exchange, edges, parents })
    }
}

impl Search for RankedSearch<'_> {
    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched> {
        failpoint::hit("sssp.ranks").map_err(|e| Error::internal("search by ranks", e))?;
        self.exchange.meet()?;
        let parents = if parents.is_empty() { &mut self.parents[..] } else { parents };
        self.search.search_with(root, Some((&mut self.exchange, &self.edges)), distances, parents)
    }
}
