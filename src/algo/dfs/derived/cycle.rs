//! A cycle of what a search reached: by its edges, or a loop. Rows have no loops, so these come from the first pass over the input, or from another.

use super::strong::Strong;
use crate::algo::dfs::output::MOST_OF_CYCLE;
use crate::algo::dfs::pairs::Pairs;
use crate::algo::dfs::record::{NONE, Tree};
use crate::error::Result;
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::prepare::input_ids::InputIds;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel;

/// What is known of cycles.
pub(in crate::algo::dfs) enum Cycle {
    /// There is none, so edges lead in an order.
    No,
    /// The vertex that has a loop; of several the one of the smallest id.
    Loop(InputId),
    /// Vertices each of which leads to the next, and the last to the first.
    Of(Buffer<u32>),
    /// There is none but loops, and not known whether these are of vertices that were reached.
    Unknown,
}

/// The vertices that a search reached.
#[derive(Clone, Copy)]
pub(in crate::algo::dfs) struct Reached<'a> {
    pub tree: &'a Tree,
    /// The source, if it has no edge but loops.
    pub own: Option<InputId>,
    /// True if all vertices are, of a forest also those that have no edge but loops.
    pub all: bool,
}

impl Cycle {
    /// Finds one, as far as the first pass over the input tells.
    ///
    /// # Errors
    /// [`crate::Error::Limit`]; errors of the stored order.
    pub fn new(strong: &Strong, reached: Reached<'_>, graph: &Graph, ids: &InputIds, budget: &Budget) -> Result<Cycle> {
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

    /// Returns the loop that a pass over the input found: `pairs` are of what was reached.
    pub fn by_loops(pairs: &Pairs, graph: &Graph, ids: &InputIds) -> Cycle {
        let first = (0..graph.info.ids).map(|id| DenseId(id as u32)).find(|&id| pairs.occurs(id));
        first.map_or(Cycle::No, |id| Cycle::Loop(ids.of_dense(id)))
    }

    /// Returns the number of its vertices, if it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Cycle::No => Some(0),
            Cycle::Loop(_) => Some(1),
            Cycle::Of(vertices) => Some(vertices.len() as u64),
            Cycle::Unknown => None,
        }
    }

    /// Returns one of its vertices.
    pub fn vertex(&self, place: u64, ids: &InputIds) -> InputId {
        match self {
            Cycle::Loop(id) => *id,
            Cycle::Of(vertices) => ids.of(Vertex(vertices[place as usize])),
            Cycle::No | Cycle::Unknown => InputId(0),
        }
    }

    /// Returns its first vertices, for the report.
    pub fn told(&self, ids: &InputIds) -> Vec<InputId> {
        let most = self.length().unwrap_or(0).min(MOST_OF_CYCLE as u64);
        (0..most).map(|place| self.vertex(place, ids)).collect()
    }
}

impl Reached<'_> {
    /// Returns true if a vertex was reached, which may have no edge but loops.
    fn has(&self, id: DenseId, graph: &Graph, ids: &InputIds) -> Result<bool> {
        if self.all || self.own == Some(ids.of_dense(id)) {
            return Ok(true);
        }
        let order = order::map(&graph.folder, graph.info.content)?;
        Ok(relabel::vertex(order.ids()?, id).is_some_and(|Vertex(v)| self.tree.pre(v) != NONE))
    }

    /// Writes as the partner of each vertex that was reached the vertex itself, plus 1, so that its loops are counted.
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
