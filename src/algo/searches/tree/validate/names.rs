//! Names of vertices in messages: the input's ids.

use crate::algo::searches::tree::fault::Fault;
use crate::error::Error;
use crate::graph::ids::Vertex;
use crate::prepare::input_ids;
use crate::prepare::prepared::Graph;

/// Makes an error of a fault in the tree of `root`. The error names vertices by the input's ids.
pub(super) fn to_error(graph: &Graph, root: Vertex, fault: Fault) -> Error {
    // The fault is reported even if the order can't be read.
    let name = |v: u32| input_ids::name(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"));
    fault.of_source(&name(root.0), &name)
}
