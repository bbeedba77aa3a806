//! Names of vertices in messages: the input's ids.

use crate::algo::bfs::fault::Fault;
use crate::error::{Error, Result};
use crate::graph::ids::Vertex;
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::store::map::as_u64;

/// Returns the fault in the tree of a root as an error that names vertices as the input does.
pub(super) fn told(graph: &Graph, root: Vertex, fault: Fault) -> Error {
    // The fault is told, too, where the order can't be read.
    let name = |v: u32| input_id(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"));
    fault.of_source(&name(root.0), &name)
}

/// Looks for a vertex in the map of all ids, as this is wanted twice or three times.
fn input_id(graph: &Graph, v: u32) -> Result<String> {
    let Graph { folder, info, .. } = graph;
    let order = order::map(folder, info.content)?;
    let row = order.ids()?.iter().position(|&vertex| vertex == v);
    let row = row.ok_or_else(|| Error::internal("name a vertex", "it has no id"))?;
    let Some(list) = graph.sparse_ids()? else { return Ok(row.to_string()) };
    let id = as_u64(list.body()).and_then(|ids| ids.get(row));
    id.map(u64::to_string).ok_or_else(|| Error::internal("name a vertex", "it has no id"))
}
