//! Searches for shortest paths by all ranks of a job together. Each rank owns some of the vertices.
//!
//! A rank keeps the sorted rows of the vertices that it owns ([`super::cpu`]), and the distances of all vertices. In a
//! search, it relaxes only the edges of its own vertices. After each round, every rank sends the vertices whose
//! distances became smaller to all other ranks. So all ranks have the same distances and take the same steps. Blocks of
//! vertices go to the ranks in turn, as in breadth-first search. Rank 0 gets the parents at the end.

pub(super) mod exchange;

use self::exchange::NearerExchange;
use super::Sssp;
use super::cpu::CpuSearch;
use super::edges::WeightedEdges;
use super::search::{Search, ShortestPathTree, SsspStats};
use crate::algo::searches::EngineInput;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::ids::Vertex;
use crate::memory::Buffer;

/// A graph that is prepared for searches by all ranks together.
pub struct RankedSearch<'a> {
    search: CpuSearch,
    exchange: NearerExchange,
    /// The edges of all vertices. Rank 0 needs them at the end of a search, for vertices that are reached only by edges
    /// that add nothing.
    edges: WeightedEdges<'a>,
    /// Parents of vertices. Only ranks other than 0 use this array, because their callers have none.
    parents: Buffer<u32>,
}

impl<'a> RankedSearch<'a> {
    /// Prepares a graph for searches with the weights and the method of a table. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of [`CpuSearch::new`].
    pub fn new(table: &Sssp, input: EngineInput<'a, '_>) -> Result<RankedSearch<'a>> {
        let EngineInput { graph, run, .. } = input;
        let comm = run.comm;
        let vertices = graph.info.connected as usize;
        let own = VertexOwnership::blocks(vertices, comm.rank(), comm.ranks());
        let mut exchange = NearerExchange::open(comm, own, run.budget)?;
        let parents = if comm.is_leader() { 0 } else { vertices };
        let parents = run.budget.zeroed(parents, "the parents of vertices (4 bytes each)")?;
        let search = CpuSearch::of_part(table, input, own, Some(&mut exchange.ranks))?;
        let edges = WeightedEdges::new(graph, table.weights, run.budget)?;
        Ok(RankedSearch { search, exchange, edges, parents })
    }
}

impl Search<ShortestPathTree, SsspStats> for RankedSearch<'_> {
    fn search(&mut self, root: Vertex, tree: &mut ShortestPathTree) -> Result<SsspStats> {
        failpoint::hit("sssp.ranks").map_err(|e| Error::internal("search by ranks", e))?;
        self.exchange.ranks.barrier()?;
        let parents = if tree.parents.is_empty() { &mut self.parents } else { &mut tree.parents };
        self.search.search_with(root, Some((&mut self.exchange, &self.edges)), &mut tree.distances, parents)
    }
}
