//! Cost of searches. Memory comes from the functions that size the arrays, and time from measured rates.

use super::Sssp;
use super::{cpu, gpu, ranks};
use crate::algo::searches::ranks::{OwnerRule, VertexOwnership};
use crate::algo::searches::{SearchTask, telling_bytes};
use crate::algo::{Cost, Crew, GraphSize, WeightSource};

/// Nanoseconds of one CPU thread: for each vertex in a search, for each entry that is sorted by weight before the first
/// search, and for each row of a column.
const SEARCH: f64 = 60.0;
const SORT: f64 = 30.0;
const COLUMN: f64 = 20.0;
/// The same rates of a GPU. They include copying results to the host and rows to the GPU.
const SEARCH_ON_GPU: f64 = 0.5;
const SORT_ON_GPU: f64 = 0.5;
/// Bytes that ranks exchange for a vertex. It becomes nearer two or three times, and has a parent.
const EXCHANGED: u64 = 48;
/// Bytes of the journal for each source.
const RECORD: u64 = 1024;
/// Files occupy whole pages on the disk.
const PAGE: u64 = 4096;

/// Returns the cost of `table` on a graph of this size.
pub(super) fn of(table: &Sssp, graph: &GraphSize<'_>, crew: &Crew) -> Cost {
    let vertices = graph.vertices;
    let entries = graph.entries();
    let [most, fewest] = match crew.on_gpu {
        // If the GPU's memory is known, host memory holds the rows that do not fit it.
        true if crew.gpu_memory > 0 => [gpu::host_bytes(vertices, graph.edges, graph.direction, crew.gpu_memory); 2],
        true => [0; 2],
        false => {
            let own = VertexOwnership::blocks(vertices as usize, 0, crew.ranks);
            let here = graph.entries_of_rank(OwnerRule::Blocks.block() as u64, crew.ranks);
            let others = if crew.ranks > 1 { ranks::bytes(own, crew.nodes) } else { 0 };
            // A whole row may be longer by one entry for each vertex. Its 8 bytes are less than what searches take once
            // rows are sorted.
            let (longest, largest) = (graph.longest_row, table.largest_weight());
            let size = cpu::Size { vertices, entries: here, longest, largest, direction: graph.direction };
            cpu::bytes(&size, crew.threads).map(|bytes| bytes + others)
        }
    };
    let trees = table.tree_bytes(vertices, 1) + table.weights_bytes(vertices);
    let sources = table.options.count();
    let fewest = (fewest + trees).max(telling_bytes(sources, vertices));
    let most = (most + trees).max(fewest);
    let file =
        if most > crew.free { cpu::file_bytes(vertices, entries, table.largest_weight(), graph.direction) } else { 0 };
    // A CPU sorts rows by weight into a file of its own if memory does not hold them, which a small limit brings about.
    let sorted = match crew.on_gpu {
        true => 0,
        false => cpu::file_bytes(vertices, entries, table.largest_weight(), graph.direction),
    };
    let rows = graph.rows;
    let columns = crew.format.row_bytes(8, 20) + crew.format.row_bytes(8, 20);
    let ids = if graph.sparse { 8 * rows + PAGE } else { 0 };
    let written = if table.options.write { sources * (columns * rows + 2 * PAGE) + ids } else { 0 };
    let trials = u64::from(crew.trials);
    let [search, sort] =
        if crew.on_gpu { [SEARCH_ON_GPU, SORT_ON_GPU] } else { [SEARCH, SORT].map(|time| time / crew.all_threads()) };
    let (search, sort) = (search * vertices as f64, sort * 2.0 * graph.edges as f64);
    let columns = if table.options.write { sources as f64 * COLUMN * 2.0 * rows as f64 } else { 0.0 };
    Cost {
        host_memory: most.min(crew.free.max(fewest)),
        least_host_memory: fewest,
        disk: written + file + trials * sources * RECORD + PAGE,
        cached: graph.rows_bytes(table.weights == WeightSource::File) + sorted,
        exchange: trials * sources * EXCHANGED * vertices * (crew.ranks as u64 - 1),
        seconds: (f64::from(crew.trials) * (sources as f64 * search + sort) + columns) / 1e9,
        label: if table.options.validate { "sssp validated" } else { "sssp" }.into(),
    }
}
