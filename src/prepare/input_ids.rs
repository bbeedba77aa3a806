//! Maps vertices to their ids in the input, for results and for algorithms that depend on the input's ids.

use super::names::NameList;
use super::order;
use super::prepared::Graph;
use crate::error::{At, Error, Result};
use crate::graph::{DenseId, FirstId, InputId, RawId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::store::map::{Mapped, as_u64};

/// Maps dense ids to ids of the input.
pub struct IdList {
    /// Sorted raw ids, if the input's ids are sparse.
    list: Option<Mapped>,
    /// Sorted strings, if the input's ids are strings.
    names: Option<Box<NameList>>,
    first_id: FirstId,
    /// Number of dense ids of the graph.
    ids: u64,
}

impl IdList {
    /// Opens the id list of a graph.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`] of the list of ids.
    pub fn open(graph: &Graph) -> Result<IdList> {
        let (list, ids) = (graph.sparse_ids()?, graph.info.ids);
        if let Some(list) = &list
            && list.body().len() as u64 != 8 * ids
        {
            let what = format!("{} bytes, but the vertex order has {ids} ids", list.body().len());
            return Err(Error::corrupt(list.path(), At::File, what));
        }
        Ok(IdList { list, names: graph.names()?.map(Box::new), first_id: graph.info.first_id, ids })
    }

    fn sparse(&self) -> Option<&[u64]> {
        self.list.as_ref().map(|list| as_u64(list.body()).unwrap_or_default())
    }

    /// Returns the input id (the id that users write and see) of the vertex with the dense id `dense`.
    pub fn of(&self, dense: DenseId) -> InputId {
        let number = self.number(dense);
        let name = self.names.as_ref().and_then(|names| names.lines().get(number));
        name.map_or(InputId::Number(number), |name| InputId::of_bytes(name, number))
    }

    /// Returns the input id (the id that users write and see) of the vertex in row `row` of a result column.
    pub fn of_row(&self, row: u64) -> InputId {
        match u32::try_from(row).ok().filter(|_| row < self.ids) {
            Some(dense) => self.of(DenseId(dense)),
            // If the input declares its number of vertices, it may have vertices with larger ids than any vertex with
            // an edge.
            None => InputId::Number(row + self.first_id.0),
        }
    }

    /// Returns the number that represents the vertex with the dense id `dense` in columns of vertex ids: its input id,
    /// or, if ids are strings, the index of its string.
    #[inline]
    pub fn number(&self, dense: DenseId) -> u64 {
        self.raw(dense).0.wrapping_add(self.first_id.0)
    }

    #[inline]
    fn raw(&self, dense: DenseId) -> RawId {
        RawId(self.sparse().map_or(dense.0.into(), |ids| ids[dense.index()]))
    }
}

/// Map from vertices to their ids in the input, and back.
pub struct InputIds {
    /// Dense id of each vertex, indexed by vertex.
    dense: Buffer<u32>,
    list: IdList,
}

impl InputIds {
    /// Returns the size in bytes of the map for `vertices` vertices.
    pub fn bytes(vertices: u64) -> u64 {
        4 * vertices
    }

    /// Reads the file of the vertex order, which maps dense ids to vertices, and inverts the map.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`] of the vertex order or the list of ids; [`Error::Limit`].
    pub fn open(graph: &Graph, budget: &Budget) -> Result<InputIds> {
        let Graph { folder, info, .. } = graph;
        let order = order::map(folder, info.content)?;
        let map = order.ids()?;
        let mut dense = budget.zeroed(info.connected as usize, "ids of vertices (4 bytes for each)")?;
        for (id, &vertex) in (0u32..).zip(map) {
            // Ids without an edge have the value `ISOLATED`, which is beyond the end of `dense`.
            if let Some(of_vertex) = dense.get_mut(vertex as usize) {
                *of_vertex = id;
            }
        }
        Ok(InputIds { dense, list: IdList::open(graph)? })
    }

    /// Returns the input id of `vertex`: the id that users write and see.
    pub fn of(&self, vertex: Vertex) -> InputId {
        self.of_dense(self.dense(vertex))
    }

    /// Returns the number that represents `vertex` in columns of vertex ids: its input id, or, if ids are strings, the
    /// index of its string.
    #[inline]
    pub fn number(&self, vertex: Vertex) -> u64 {
        self.list.number(self.dense(vertex))
    }

    /// Returns the number that represents the vertex with the input id `id` in columns of vertex ids: `id` itself, or,
    /// if ids are strings, the index of the string.
    pub fn number_of(&self, id: InputId) -> u64 {
        match id {
            InputId::Number(number) => number,
            InputId::Name(_) => self.find(id).map_or(u64::MAX, |dense| self.list.number(dense)),
        }
    }

    /// Returns the dense id of `vertex`.
    #[inline]
    pub fn dense(&self, vertex: Vertex) -> DenseId {
        DenseId(self.dense[vertex.index()])
    }

    /// Returns the dense ids of all vertices.
    pub fn into_dense(self) -> Buffer<u32> {
        self.dense
    }

    /// Returns the input id (the id that users write and see) of the vertex with the dense id `dense`.
    pub fn of_dense(&self, dense: DenseId) -> InputId {
        self.list.of(dense)
    }

    /// Returns the raw id of `vertex`, as readers of the input deliver it.
    #[inline]
    pub fn raw(&self, vertex: Vertex) -> RawId {
        self.list.raw(self.dense(vertex))
    }

    /// Returns the dense id of the vertex with the input id `id`. Returns `None` for an id that the input can't
    /// contain. The vertex may have no edge.
    pub fn find(&self, id: InputId) -> Option<DenseId> {
        match id {
            InputId::Number(number) => self.list.first_id.raw(number)?.dense(self.list.sparse()),
            InputId::Name(name) => {
                let row = self.list.names.as_ref()?.lines().find(name.text().as_bytes())?;
                Some(DenseId(row as u32))
            }
        }
    }
}

/// Returns the input id of vertex `v`, for messages. It searches the map of all ids linearly, which is fast enough
/// because a job calls it only two or three times.
///
/// # Errors
/// [`Error::Corrupt`] or [`Error::Io`] of the vertex order or the list of ids.
pub fn name(graph: &Graph, v: u32) -> Result<String> {
    let Graph { folder, info, .. } = graph;
    let order = order::map(folder, info.content)?;
    let row = order.ids()?.iter().position(|&vertex| vertex == v);
    let row = row.ok_or_else(|| Error::internal("name a vertex", "it has no id"))?;
    Ok(IdList::open(graph)?.of(DenseId(row as u32)).to_string())
}
