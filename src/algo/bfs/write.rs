//! The columns of a source: `parent` and `level`, by the input's ids.

use crate::algo::bfs::levels::{Tree, levels};
use crate::algo::bfs::roots::Root;
use crate::algo::bfs::search::NONE;
use crate::error::Result;
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer};
use crate::prepare::dictionary::{self, Dictionary};
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::prepare::relabel::ISOLATED;
use crate::results::{Columns, Output};
use crate::store::map::{Mapped, as_u64};
use std::collections::BTreeMap;

/// Value of a vertex that was not reached.
const UNREACHED: i64 = -1;

/// Writes the columns of trees.
pub struct TreeWriter {
    /// The dense id of every vertex.
    dense: Buffer<u32>,
    /// The input's ids, where these are sparse.
    list: Option<Mapped>,
}

/// Returns the bytes of host memory that writing takes: dense ids, and the levels of a tree.
pub fn bytes(vertices: u64) -> u64 {
    8 * vertices
}

impl TreeWriter {
    /// Reads the ids of vertices.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Corrupt`], [`crate::Error::Io`].
    pub fn new(graph: &Graph, budget: &Budget) -> Result<TreeWriter> {
        let mut dense: Buffer<u32> =
            budget.zeroed(graph.info.connected as usize, "the ids of vertices (4 bytes each)")?;
        for (id, &vertex) in order::map(&graph.folder, graph.info.content)?.ids()?.iter().enumerate() {
            if vertex != ISOLATED {
                dense[vertex as usize] = id as u32;
            }
        }
        let list = match graph.info.sparse {
            true => Some(Dictionary::list(&dictionary::path(&graph.folder), graph.info.identity)?),
            false => None,
        };
        Ok(TreeWriter { dense, list })
    }

    /// Writes the columns of a tree; returns the files by their paths in the workdir.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`], [`crate::Error::Limit`], a stop.
    pub fn write(
        &self,
        columns: &mut Columns<'_>,
        root: Root,
        parents: &[u32],
        (threads, budget): (usize, &Budget),
    ) -> Result<BTreeMap<String, Output>> {
        let list = self.list.as_ref().map(|list| as_u64(list.body()).unwrap_or_default());
        let id = |vertex: u32| {
            let dense = self.dense[vertex as usize];
            list.map_or(u64::from(dense), |list| list[dense as usize]) as i64
        };
        let own = root.vertex.is_none();
        let parent = |Vertex(v): Vertex| match parents.get(v as usize) {
            Some(&NONE) | None => UNREACHED,
            Some(&parent) => id(parent),
        };
        columns.put_of_source(root.id, "parent", UNREACHED, own.then_some(root.id.0 as i64), parent)?;
        let levels = match root.vertex {
            Some(root) => Some(levels(Tree { root: Vertex(root), parents }, threads, budget)?),
            None => None,
        };
        let level = |v: Vertex| match levels.as_ref().map(|levels| levels[v.index()]) {
            Some(NONE) | None => UNREACHED as i32,
            Some(level) => level as i32,
        };
        columns.put_of_source(root.id, "level", UNREACHED as i32, own.then_some(0), level)?;
        Ok(columns.of_source(root.id))
    }
}
