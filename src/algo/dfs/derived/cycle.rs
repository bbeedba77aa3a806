//! Finds a cycle among the vertices that a depth-first search has reached: a self-loop, or a cycle of several vertices.
//! Adjacency rows contain no self-loops, so these are found while the input is read, either the first time or again.

use super::strong::Strong;
use crate::algo::dfs::output::MOST_OF_CYCLE;
use crate::algo::dfs::pairs::PairCounts;
use crate::algo::dfs::record::{DfsTree, NONE};
use crate::error::Result;
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::prepare::input_ids::InputIds;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel;

/// What is known about cycles among the vertices that a search has reached.
pub(in crate::algo::dfs) enum Cycle {
    /// There is no cycle, so a topological order exists.
    No,
    /// A self-loop at this vertex. No reached vertex with a smaller id has a self-loop.
    Loop(InputId),
    /// A cycle of at least two vertices. Each has an edge to the next, and the last has an edge to the first.
    Of(Buffer<u32>),
    /// There is no cycle of two or more vertices. It is unknown whether a reached vertex has a self-loop.
    Unknown,
}

/// The vertices that a search has reached.
#[derive(Clone, Copy)]
pub(in crate::algo::dfs) struct ReachedVertices<'a> {
    pub tree: &'a DfsTree,
    /// The source, if its only edges are self-loops or it has no edges. Then it is not in `tree`.
    pub own: Option<InputId>,
    /// Whether all vertices are reached, including those that have no edges other than self-loops. This is so for a
    /// forest.
    pub all: bool,
}

impl Cycle {
    /// Looks for a cycle among the `reached` vertices, in the adjacency rows and in what the first pass over the input
    /// stored about self-loops.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of reading the stored order of vertices.
    pub fn new(
        strong: &Strong,
        reached: ReachedVertices<'_>,
        graph: &Graph,
        ids: &InputIds,
        budget: &Budget,
    ) -> Result<Cycle> {
        if let Some(cycle) = strong.cycle(reached.tree, budget)? {
            return Ok(Cycle::Of(cycle));
        }
        Ok(match (graph.info.loops, graph.info.first_loop) {
            (0, _) => Cycle::No,
            (_, Some(first)) if reached.has(DenseId(first as u32), graph, ids)? => {
                Cycle::Loop(ids.of_dense(DenseId(first as u32)))
            }
            (1, Some(_)) => Cycle::No,
            _ => Cycle::Unknown,
        })
    }

    /// Returns the self-loop at the reached vertex with the smallest id, or [`Cycle::No`] if no reached vertex has a
    /// self-loop. `pairs` is the result of looking for self-loops in the input.
    pub fn by_loops(pairs: &PairCounts, graph: &Graph, ids: &InputIds) -> Cycle {
        let first = (0..graph.info.ids).map(|id| DenseId(id as u32)).find(|&id| pairs.occurs(id));
        first.map_or(Cycle::No, |id| Cycle::Loop(ids.of_dense(id)))
    }

    /// Returns the number of vertices of the cycle: 0 if there is none, `None` if it is unknown whether there is one.
    pub fn length(&self) -> Option<u64> {
        match self {
            Cycle::No => Some(0),
            Cycle::Loop(_) => Some(1),
            Cycle::Of(vertices) => Some(vertices.len() as u64),
            Cycle::Unknown => None,
        }
    }

    /// Returns the id of the vertex at index `place` of the cycle.
    pub fn vertex(&self, place: u64, ids: &InputIds) -> InputId {
        match self {
            Cycle::Loop(id) => *id,
            Cycle::Of(vertices) => ids.of(Vertex(vertices[place as usize])),
            Cycle::No | Cycle::Unknown => InputId::Number(0),
        }
    }

    /// Returns the number that stands for the vertex at index `place` of the cycle in columns of ids.
    pub fn number(&self, place: u64, ids: &InputIds) -> u64 {
        match self {
            Cycle::Of(vertices) => ids.number(Vertex(vertices[place as usize])),
            _ => ids.number_of(self.vertex(place, ids)),
        }
    }

    /// Returns the first vertices of the cycle, at most [`MOST_OF_CYCLE`], for the report.
    pub fn first_vertices(&self, ids: &InputIds) -> Vec<InputId> {
        let most = self.length().unwrap_or(0).min(MOST_OF_CYCLE as u64);
        (0..most).map(|place| self.vertex(place, ids)).collect()
    }
}

impl ReachedVertices<'_> {
    /// Returns true if the vertex with dense id `id` was reached. The vertex may have no edges other than self-loops.
    fn has(&self, id: DenseId, graph: &Graph, ids: &InputIds) -> Result<bool> {
        if self.all || self.own.is_some_and(|own| ids.find(own) == Some(id)) {
            return Ok(true);
        }
        let order = order::map(&graph.folder, graph.info.content)?;
        Ok(relabel::vertex(order.ids()?, id).is_some_and(|Vertex(v)| self.tree.pre(v) != NONE))
    }

    /// Makes each reached vertex its own partner in `partners`, so that [`PairCounts::count`] finds the self-loops of
    /// reached vertices.
    pub fn as_pairs(&self, ids: &InputIds, partners: &mut [u32]) {
        let mut put = |DenseId(id): DenseId| {
            if let Some(partner) = partners.get_mut(id as usize) {
                *partner = id + 1;
            }
        };
        if let Some(own) = self.own.and_then(|own| ids.find(own)) {
            put(own);
        }
        (0..self.tree.vertices()).filter(|&v| self.tree.pre(v) != NONE).for_each(|v| put(ids.dense(Vertex(v))));
        if self.all {
            partners.iter_mut().zip(1..).for_each(|(partner, id)| *partner = id);
        }
    }
}
