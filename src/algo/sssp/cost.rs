//! Estimates the memory and time of shortest-path searches. Memory estimates use the functions that compute the array
//! sizes. Time estimates use measured rates.

use super::weights::EdgeWeights;
use super::{Sssp, cpu, gpu, ranks};
use crate::algo::searches::ranks::{OwnerRule, VertexOwnership};
use crate::algo::searches::{SearchCost, SearchTable};
use crate::algo::{GraphSize, RankResources};

/// Estimated time of a search on one thread, in nanoseconds per vertex.
const SEARCH: f64 = 60.0;
/// Estimated time that one thread takes to sort the adjacency rows by weight before the first search, in nanoseconds
/// per row entry.
const SORT: f64 = 30.0;
/// Estimated time of a search on a GPU, in nanoseconds per vertex. It includes the copy of the results to the host.
const SEARCH_ON_GPU: f64 = 0.5;
/// Estimated time that a GPU takes to sort the adjacency rows by weight before the first search, in nanoseconds per row
/// entry. It includes the copy of the rows to the GPU.
const SORT_ON_GPU: f64 = 0.5;
/// Estimated number of bytes per vertex that a rank sends to each other rank in a search. It is enough for two or three
/// distances of each vertex and its parent.
const EXCHANGED: u64 = 48;

/// Returns the estimated cost of the searches of `table` on a graph of size `graph`. `resources` gives the number of
/// ranks and threads, and the size of memory.
pub(super) fn of(table: &Sssp, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
    let vertices = graph.vertices;
    let entries = graph.entries();
    let bytes = match resources.on_gpu {
        // If the size of GPU memory is known, only the rows that do not fit there need host memory.
        true if resources.gpu_memory > 0 => {
            [gpu::host_bytes(vertices, graph.edges, graph.direction, resources.gpu_memory); 2]
        }
        true => [0; 2],
        false => {
            let own = VertexOwnership::blocks(vertices as usize, 0, resources.ranks);
            let here = graph.entries_of_rank(OwnerRule::Blocks.block() as u64, resources.ranks);
            let others = if resources.ranks > 1 { ranks::bytes(own, resources.nodes) } else { 0 };
            // A whole row may be longer than `longest_row`, by at most one entry per vertex. These entries take 8 bytes
            // per vertex, less than searches take after rows are sorted.
            let (longest, largest) = (graph.longest_row, table.weights.largest());
            let size = cpu::RowsSize { vertices, entries: here, longest, largest, direction: graph.direction };
            cpu::bytes(&size, resources.threads).map(|bytes| bytes + others)
        }
    };
    // If memory is too small for sorted rows, a CPU search stores them in a file.
    let file = cpu::file_bytes(vertices, entries, table.weights.largest(), graph.direction);
    let nanoseconds = if resources.on_gpu {
        [SORT_ON_GPU, SEARCH_ON_GPU]
    } else {
        [SORT, SEARCH].map(|time| time / resources.all_threads())
    };
    SearchCost {
        bytes: bytes.map(|bytes| bytes + EdgeWeights::bytes(table.weights, vertices)),
        file,
        cached: graph.rows_bytes(table.reads_weights()) + if resources.on_gpu { 0 } else { file },
        sent: EXCHANGED * vertices * (resources.ranks as u64 - 1),
        nanoseconds: [nanoseconds[0] * 2.0 * graph.edges as f64, nanoseconds[1] * vertices as f64],
        label: "sssp".into(),
    }
}
