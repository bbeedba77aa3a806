//! Estimates the memory and time of traversals. Memory estimates use the functions that compute the array sizes. Time
//! estimates use measured or estimated rates.

use super::options::{Strategy, Traverse};
use super::{cpu, exchange, gpu};
use crate::algo::bfs;
use crate::algo::searches::SearchCost;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::{GraphSize, RankResources};

/// Estimated time of a search on one thread, in nanoseconds per row entry.
const ENTRY: f64 = 6.0;
/// Estimated time of a search on a GPU, in nanoseconds per row entry. It is not measured, but derived from the memory
/// traffic.
const ENTRY_ON_GPU: f64 = 0.1;
/// Size of a pair (a vertex and its parent) in bytes.
const PAIR: u64 = 8;
/// Assumed ratio of the number of all candidates (neighbours of the frontier) to the number of those that remain after
/// repeats are dropped.
const LEFT: u64 = 8;

/// Returns the estimated cost of the searches of `table` on a graph of size `graph`.
pub(super) fn of(table: &Traverse, graph: &GraphSize<'_>, resources: &RankResources) -> SearchCost {
    let label = format!("traverse {}", table.strategy.name());
    if table.strategy == Strategy::Auto {
        return bfs::cost::of(&label, graph, resources);
    }
    let entries = graph.entries();
    let [own, own_entries] = own(table, graph, resources.ranks);
    let links = exchange::bytes(resources.ranks, resources.nodes);
    let bytes = match resources.on_gpu {
        true => gpu::host_bytes(own, own_entries, resources.ranks, resources.gpu_memory),
        false => cpu::bytes(&ownership(table, graph, resources.ranks), entries, resources.threads),
    };
    let bytes = bytes.map(|bytes| bytes + links);
    let candidates = if table.strategy == Strategy::Atomic { entries } else { entries / LEFT };
    let others = resources.ranks as u64 - 1;
    let sent = (PAIR * candidates + 4 * graph.vertices) * others / resources.ranks as u64;
    let each = match resources.on_gpu {
        true => ENTRY_ON_GPU * entries as f64 / resources.ranks as f64,
        false => ENTRY * entries as f64 / resources.all_threads(),
    };
    SearchCost { bytes, file: 0, cached: graph.rows_bytes(false), sent, nanoseconds: [0.0, each], label }
}

/// Returns the number of vertices that rank 0 owns, and an upper bound on the number of entries in their adjacency
/// rows.
pub(super) fn own(table: &Traverse, graph: &GraphSize<'_>, ranks: usize) -> [u64; 2] {
    let own = ownership(table, graph, ranks).len();
    [own as u64, graph.entries_of_rank(table.owner.block() as u64, ranks)]
}

/// Returns the ownership of vertices from the point of view of rank 0. No rank owns more vertices.
fn ownership(table: &Traverse, graph: &GraphSize<'_>, ranks: usize) -> VertexOwnership {
    VertexOwnership::new(table.owner, graph.vertices as usize, 0, ranks)
}
