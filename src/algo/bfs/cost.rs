//! The cost of searches: memory by the functions that size their arrays, time by rates.

use crate::algo::bfs::task::Table;
use crate::algo::bfs::{cpu, driver, gpu, ranks};
use crate::algo::own::Own;
use crate::algo::searches::SearchTask;
use crate::algo::{Cost, Crew, GraphSize};
use crate::graph::direction::Direction;

/// Nanoseconds of a thread for each vertex of a search, for each entry of all rows while its tree is checked, and for each row of a column.
const SEARCH: f64 = 5.0;
const CHECK: f64 = 0.15;
const COLUMN: f64 = 20.0;
/// Nanoseconds of a GPU for each vertex of a search, its parents' way to the host included.
const SEARCH_ON_GPU: f64 = 0.2;
/// Bytes of the journal for each source: some tens of levels.
const RECORD: u64 = 8192;
/// Steps of a search that reach so many vertices that their bits are sent rather than a list, and one in how many vertices is claimed top-down.
const STEPS: u64 = 3;
const CLAIMED: u64 = 8;
/// Files take whole pages on the disk.
const PAGE: u64 = 4096;

/// Returns what `table` takes on a graph of this size.
pub(super) fn of(table: &Table, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
    let vertices = graph.vertices;
    // Undirected edges are in the rows of both ends.
    let entries = if graph.direction == Direction::Directed { graph.edges } else { 2 * graph.edges };
    let own = Own::of(vertices as usize, 0, crew.ranks);
    let [most, fewest] = match crew.ranks {
        _ if crew.on_gpu => [on_gpu(graph, crew); 2],
        1 => cpu::bytes(own, entries, crew.threads),
        _ => ranks::bytes(own, entries, crew.threads, crew.nodes),
    };
    let fewest = fewest + table.tree_bytes(vertices, 1);
    let trees = if table.validate { driver::BATCH.min(table.sources().max(1) as usize) } else { 1 };
    let wanted = most + table.tree_bytes(vertices, trees);
    let rows = crew.format.rows(graph.rows, graph.ids);
    let columns = crew.format.row_bytes(8, 20) + crew.format.row_bytes(4, 11);
    let ids = if graph.sparse { 8 * rows + PAGE } else { 0 };
    let written = if table.write { table.sources() * (columns * rows + 2 * PAGE) + ids } else { 0 };
    let trials = u64::from(crew.trials);
    let searches = table.sources() as f64;
    let check = if table.validate { CHECK * 2.0 * graph.edges as f64 } else { 0.0 };
    let search =
        if crew.on_gpu { SEARCH_ON_GPU * vertices as f64 } else { SEARCH * vertices as f64 / crew.all_threads() };
    // Rank 0 checks trees.
    let each = search + check / crew.threads as f64;
    let columns = if table.write { searches * COLUMN * 2.0 * rows as f64 } else { 0.0 };
    Cost {
        host_memory: wanted.min(crew.free.max(fewest)),
        least_host_memory: fewest,
        disk: written + trials * table.sources() * RECORD + PAGE,
        exchange: trials * table.sources() * sent(vertices, crew.ranks as u64),
        seconds: (f64::from(crew.trials) * searches * each + columns) / 1e9,
        label: if table.validate { "bfs validated" } else { "bfs" }.into(),
    }
}

/// Returns the bytes of host memory of the rows that a GPU of known memory has no room for.
fn on_gpu(graph: &GraphSize<'_>, crew: &Crew) -> u64 {
    match (crew.gpu_memory, crew.packed) {
        (0, _) => 0,
        (_, Some(packed)) => packed,
        (bytes, None) => gpu::host_bytes(graph.vertices, graph.edges, graph.direction, bytes),
    }
}

/// Returns about how many bytes ranks send to others in a search: bits of all vertices after the steps that reach many, claims of some vertices with
/// their parents, and parents.
fn sent(vertices: u64, ranks: u64) -> u64 {
    let others = ranks.saturating_sub(1);
    others * (STEPS * vertices / 8) + (8 * vertices / CLAIMED + 4 * vertices) * others / ranks.max(1)
}
