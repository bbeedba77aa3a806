//! A cycle among the reached vertices: one of several edges, or a loop. Rows have no loops, so loops come from the
//! first pass over the input or from another pass.

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

/// The cycle of a search, as far as it is known.
pub(in crate::algo::dfs) enum Cycle {
    /// There is no cycle, so a topological order exists.
    No,
    /// The vertex that has a loop; if several have, the one with the smallest id.
    Loop(InputId),
    /// Vertices each of which has an edge to the next; the last has one to the first.
    Of(Buffer<u32>),
    /// There are only loops, and it is not known whether any is at a reached vertex.
    Unknown,
}

/// The vertices that a search reached.
#[derive(Clone, Copy)]
pub(in crate::algo::dfs) struct ReachedVertices<'a> {
    pub tree: &'a DfsTree,
    /// The source, if it has no edges but loops.
    pub own: Option<InputId>,
    /// Whether all vertices are reached; in a forest, including those with no edges but loops.
    pub all: bool,
}

impl Cycle {
    /// Finds a cycle, as far as the rows and the first pass over the input show one.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of the stored order.
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

    /// Returns the loop that a pass over the input found. `pairs` has the loops of reached vertices.
    pub fn by_loops(pairs: &PairCounts, graph: &Graph, ids: &InputIds) -> Cycle {
        let first = (0..graph.info.ids).map(|id| DenseId(id as u32)).find(|&id| pairs.occurs(id));
        first.map_or(Cycle::No, |id| Cycle::Loop(ids.of_dense(id)))
    }

    /// Returns the number of vertices of the cycle, if it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Cycle::No => Some(0),
            Cycle::Loop(_) => Some(1),
            Cycle::Of(vertices) => Some(vertices.len() as u64),
            Cycle::Unknown => None,
        }
    }

    /// Returns the vertex of the cycle at index `place`.
    pub fn vertex(&self, place: u64, ids: &InputIds) -> InputId {
        match self {
            Cycle::Loop(id) => *id,
            Cycle::Of(vertices) => ids.of(Vertex(vertices[place as usize])),
            Cycle::No | Cycle::Unknown => InputId::Number(0),
        }
    }

    /// Returns the number that stands for the vertex at index `place` in columns of ids.
    pub fn number(&self, place: u64, ids: &InputIds) -> u64 {
        match self {
            Cycle::Of(vertices) => ids.number(Vertex(vertices[place as usize])),
            _ => ids.number_of(self.vertex(place, ids)),
        }
    }

    /// Returns the first vertices of the cycle, for the report.
    pub fn first_vertices(&self, ids: &InputIds) -> Vec<InputId> {
        let most = self.length().unwrap_or(0).min(MOST_OF_CYCLE as u64);
        (0..most).map(|place| self.vertex(place, ids)).collect()
    }
}

impl ReachedVertices<'_> {
    /// Returns true if a vertex was reached. It may be a vertex with no edges but loops.
    fn has(&self, id: DenseId, graph: &Graph, ids: &InputIds) -> Result<bool> {
        if self.all || self.own.is_some_and(|own| ids.find(own) == Some(id)) {
            return Ok(true);
        }
        let order = order::map(&graph.folder, graph.info.content)?;
        Ok(relabel::vertex(order.ids()?, id).is_some_and(|Vertex(v)| self.tree.pre(v) != NONE))
    }

    /// Makes each reached vertex its own partner, so that its loops are counted.
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
