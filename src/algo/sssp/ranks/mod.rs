//! Searches by all ranks of a job. Each rank owns some of the vertices.
//!
//! A rank keeps the sorted rows of the vertices that it owns ([`super::cpu`]) and the distances of all vertices. It
//! pushes and pulls along the edges of its own vertices only. After each round every rank sends the vertices that
//! became nearer to all others, so that all have the same distances and take the same steps. Ranks own chunks of
//! vertices in turn, as in breadth-first search. Parents go to rank 0 at the end.

pub(super) mod exchange;

use self::exchange::Exchange;
use super::Sssp;
use super::cpu::{CpuSearch, Resources};
use super::edges::Edges;
use super::search::{Search, Searched, ShortestPathTree};
use crate::algo::searches::ranks::VertexOwnership;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::Buffer;
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;

/// A graph prepared for searches by all ranks together.
pub struct RankedSearch<'a> {
    search: CpuSearch,
    exchange: Exchange,
    /// The edges of all vertices. Rank 0 uses them at the end to find the parents on plateaus.
    edges: Edges<'a>,
    /// Parents of vertices on ranks other than 0, where the caller has no array for them.
    parents: Buffer<u32>,
}

/// Returns the bytes that searches take on rank 0 in addition to its sorted rows and its trees. `own` are the vertices
/// that the rank owns. Other ranks have arrays of parents in place of trees.
pub fn bytes(own: VertexOwnership, nodes: usize) -> u64 {
    exchange::bytes(own, nodes)
}

impl<'a> RankedSearch<'a> {
    /// Prepares a graph for searches with the weights and the method of a table. Collective.
    ///
    /// # Errors
    /// Errors of [`CpuSearch::new`].
    pub fn new(
        comm: &Comm,
        graph: &'a Graph,
        table: &Sssp,
        degrees: &Mapped,
        resources: &Resources<'_>,
    ) -> Result<RankedSearch<'a>> {
        let vertices = graph.info.connected as usize;
        let own = VertexOwnership::blocks(vertices, comm.rank(), comm.ranks());
        let mut exchange = Exchange::open(comm, own, resources.budget)?;
        let parents = if comm.leads() { 0 } else { vertices };
        let parents = resources.budget.zeroed(parents, "the parents of vertices (4 bytes each)")?;
        let search = CpuSearch::of_part(graph, table, degrees, resources, own, Some(&mut exchange.ranks))?;
        let edges = Edges::new(graph, table.weights, resources.budget)?;
        Ok(RankedSearch { search, exchange, edges, parents })
    }
}

impl Search for RankedSearch<'_> {
    type Tree = ShortestPathTree;
    type Searched = Searched;

    fn search(&mut self, root: Vertex, tree: &mut ShortestPathTree) -> Result<Searched> {
        failpoint::hit("sssp.ranks").map_err(|e| Error::internal("search by ranks", e))?;
        self.exchange.ranks.wait_for_all()?;
        let parents = if tree.parents.is_empty() { &mut self.parents } else { &mut tree.parents };
        self.search.search_with(root, Some((&mut self.exchange, &self.edges)), &mut tree.distances, parents)
    }
}
