//! Estimates the memory and time of breadth-first searches for a plan. Memory estimates use the functions that compute
//! the array sizes. Time estimates use measured rates.

use crate::algo::bfs::{cpu, gpu, ranks};
use crate::algo::searches::SearchCost;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::{GraphSize, RankResources};

/// Estimated time of a search on one thread, in nanoseconds per vertex.
const SEARCH: f64 = 5.0;
/// Estimated time of a search on a GPU, in nanoseconds per vertex. It includes the copy of the parents to the host.
const SEARCH_ON_GPU: f64 = 0.2;
/// Estimated number of steps of a search that reach so many vertices that ranks send bitmaps of them instead of lists.
const STEPS: u64 = 3;
/// Estimated ratio of the number of vertices to the number of claims that all ranks together send in a search. A claim
/// is a vertex and its proposed parent.
const CLAIMED: u64 = 8;

/// Returns the estimated cost of the searches of the table named `label` on a graph of size `graph`.
pub fn of(label: &str, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
    let vertices = graph.vertices;
    let entries = graph.entries();
    let own = VertexOwnership::blocks(vertices as usize, 0, resources.ranks);
    let bytes = match resources.ranks {
        _ if resources.on_gpu => on_gpu(graph, resources),
        1 => cpu::bytes(own, entries, resources.threads),
        _ => ranks::bytes(own, entries, resources.threads, resources.nodes),
    };
    let each = if resources.on_gpu {
        SEARCH_ON_GPU * vertices as f64
    } else {
        SEARCH * vertices as f64 / resources.all_threads()
    };
    SearchCost {
        bytes,
        file: 0,
        cached: graph.rows_bytes(false),
        sent: sent(vertices, resources.ranks as u64),
        nanoseconds: [0.0, each],
        label: label.into(),
    }
}

/// Returns the host memory, in bytes, for adjacency rows that do not fit in GPU memory, as `[maximum, minimum]`: the
/// most that searches may use, and the least that they need. Both are 0 if the size of GPU memory is unknown.
fn on_gpu(graph: &GraphSize<'_>, resources: &RankResources) -> [u64; 2] {
    // GPUs of different nodes cannot access each other's memory.
    let gpus = if resources.nodes == 1 { resources.ranks as u64 } else { 1 };
    match (resources.gpu_memory, resources.packed) {
        (0, _) => [0; 2],
        (_, Some(packed)) => [packed; 2],
        (bytes, None) => gpu::host_bytes(graph.vertices, graph.edges, graph.direction, bytes, gpus),
    }
}

/// Returns the approximate number of bytes that the ranks send each other in a search. Ranks send a bitmap of all
/// vertices after each step that reaches many vertices. They also send claims (a vertex and its proposed parent), and
/// all parents at the end.
fn sent(vertices: u64, ranks: u64) -> u64 {
    let others = ranks.saturating_sub(1);
    others * (STEPS * vertices / 8) + (8 * vertices / CLAIMED + 4 * vertices) * others / ranks.max(1)
}
