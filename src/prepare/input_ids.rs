//! The input's ids of vertices, for what depends on them.

use super::order;
use super::prepared::Graph;
use crate::error::{At, Error, Result};
use crate::graph::ids::{DenseId, InputId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::store::map::{Mapped, as_u64};

/// The id of every vertex.
pub struct InputIds {
    /// The dense id of each.
    dense: Buffer<u32>,
    /// The sorted ids, if they are sparse.
    list: Option<Mapped>,
}

impl InputIds {
    /// Returns the bytes that those of `vertices` vertices take.
    pub fn bytes(vertices: u64) -> u64 {
        4 * vertices
    }

    /// Opens the order of vertices, and turns it round.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] of the order and of the list of ids; [`Error::Limit`].
    pub fn open(graph: &Graph, budget: &Budget) -> Result<InputIds> {
        let Graph { folder, info, .. } = graph;
        let order = order::map(folder, info.content)?;
        let map = order.ids()?;
        let mut dense = budget.zeroed(info.connected as usize, "ids of vertices (4 bytes for each)")?;
        for (id, &vertex) in (0u32..).zip(map) {
            // Others have no edge.
            if let Some(of_vertex) = dense.get_mut(vertex as usize) {
                *of_vertex = id;
            }
        }
        let list = graph.sparse_ids()?;
        if let Some(list) = &list
            && list.body().len() != 8 * map.len()
        {
            let what = format!("{} bytes, where {} ids are ordered", list.body().len(), map.len());
            return Err(Error::corrupt(list.path(), At::File, what));
        }
        Ok(InputIds { dense, list })
    }

    /// Returns the id of a vertex.
    #[inline]
    pub fn of(&self, vertex: Vertex) -> InputId {
        self.of_dense(self.dense(vertex))
    }

    /// Returns the dense id of a vertex.
    #[inline]
    pub fn dense(&self, vertex: Vertex) -> DenseId {
        DenseId(self.dense[vertex.index()])
    }

    /// Returns the input's id of a dense one.
    #[inline]
    pub fn of_dense(&self, dense: DenseId) -> InputId {
        match &self.list {
            Some(list) => InputId(as_u64(list.body()).unwrap_or_default()[dense.index()]),
            None => InputId(dense.0.into()),
        }
    }

    /// Returns the dense id of an id of the input, which may lack an edge; `None` for an id that the input cannot have.
    pub fn find(&self, InputId(id): InputId) -> Option<DenseId> {
        match &self.list {
            Some(list) => as_u64(list.body())?.binary_search(&id).ok().map(|place| DenseId(place as u32)),
            None => u32::try_from(id).ok().map(DenseId),
        }
    }
}

/// Returns the id of one vertex, for messages: it looks for it in the map of all ids, as this is wanted twice or three times.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::Io`] of the order and of the list of ids.
pub fn name(graph: &Graph, v: u32) -> Result<String> {
    let Graph { folder, info, .. } = graph;
    let order = order::map(folder, info.content)?;
    let row = order.ids()?.iter().position(|&vertex| vertex == v);
    let row = row.ok_or_else(|| Error::internal("name a vertex", "it has no id"))?;
    let Some(list) = graph.sparse_ids()? else { return Ok(row.to_string()) };
    let id = as_u64(list.body()).and_then(|ids| ids.get(row));
    id.map(u64::to_string).ok_or_else(|| Error::internal("name a vertex", "it has no id"))
}
