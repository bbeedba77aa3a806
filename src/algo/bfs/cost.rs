//! The cost of searches: memory by the functions that size their arrays, time by rates.

use crate::algo::bfs::Bfs;
use crate::algo::bfs::{cpu, gpu, ranks};
use crate::algo::own::Own;
use crate::algo::searches::tree::{self, SearchCost};
use crate::algo::{Cost, Crew, GraphSize};

/// Nanoseconds of a thread for each vertex of a search.
const SEARCH: f64 = 5.0;
/// Nanoseconds of a GPU for each vertex of a search, its parents' way to the host included.
const SEARCH_ON_GPU: f64 = 0.2;
/// Steps of a search that reach so many vertices that their bits are sent rather than a list, and one in how many vertices is claimed top-down.
const STEPS: u64 = 3;
const CLAIMED: u64 = 8;

/// Returns what `table` takes on a graph of this size.
pub(super) fn of(table: &Bfs, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
    tree::cost(&table.options, graph, crew, of_search("bfs", graph, crew))
}

/// Returns what searches of the table `label` take on a graph of this size.
pub fn of_search(label: &str, graph: &GraphSize<'_>, crew: &Crew) -> SearchCost {
    let vertices = graph.vertices;
    let entries = graph.entries();
    let own = Own::of(vertices as usize, 0, crew.ranks);
    let bytes = match crew.ranks {
        _ if crew.on_gpu => on_gpu(graph, crew),
        1 => cpu::bytes(own, entries, crew.threads),
        _ => ranks::bytes(own, entries, crew.threads, crew.nodes),
    };
    let nanoseconds =
        if crew.on_gpu { SEARCH_ON_GPU * vertices as f64 } else { SEARCH * vertices as f64 / crew.all_threads() };
    SearchCost { bytes, sent: sent(vertices, crew.ranks as u64), nanoseconds, label: label.into() }
}

/// Returns the most bytes of host memory of the rows that GPUs of known memory have no room for, and the fewest.
fn on_gpu(graph: &GraphSize<'_>, crew: &Crew) -> [u64; 2] {
    // GPUs of several nodes do not reach each other.
    let gpus = if crew.nodes == 1 { crew.ranks as u64 } else { 1 };
    match (crew.gpu_memory, crew.packed) {
        (0, _) => [0; 2],
        (_, Some(packed)) => [packed; 2],
        (bytes, None) => gpu::host_bytes(graph.vertices, graph.edges, graph.direction, bytes, gpus),
    }
}

/// Returns about how many bytes ranks send to others in a search: bits of all vertices after the steps that reach many, claims of some vertices with
/// their parents, and parents.
fn sent(vertices: u64, ranks: u64) -> u64 {
    let others = ranks.saturating_sub(1);
    others * (STEPS * vertices / 8) + (8 * vertices / CLAIMED + 4 * vertices) * others / ranks.max(1)
}
