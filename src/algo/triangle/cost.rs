//! Cost of triangle counting: memory from the functions that size buffers, time from measured rates.
//!
//! CPU rates are times per item on one core of a Zen 3 server with AVX2, in release builds. The graphs were Kronecker
//! and uniform graphs of 2^16 to 2^22 vertices with 3 to 64 edges per vertex. GPU rates were measured on an H200 with
//! graphs of 2^22 to 2^29 vertices. `gpugraph run` uses the same rates on any machine, so its estimates may be wrong by
//! a factor of two.

use crate::algo::triangle::Triangle;
use crate::algo::triangle::cpu::links::{self, LinkCounter};
use crate::algo::triangle::driver::RESULT_BYTES;
use crate::algo::triangle::gpu::Counted;
use crate::algo::triangle::work::ExpectedWork;
use crate::algo::triangle::{Counter, Settings, units};
use crate::algo::triangle::{comparisons, merged_rows, per_edge};
use crate::algo::{Cost, GraphSize, RankResources};
use crate::graph::stored;
use crate::store::journal::Record;

/// Time per edge, in nanoseconds on one thread, without the time to test wedges (paths of two edges).
const EDGE: f64 = 30.0;
/// Time to test one 512-bit word of the adjacency bits between hubs (the vertices of highest degree), in nanoseconds on
/// one thread.
const CHUNK: f64 = 1.4;
/// Time to test one wedge (path of two edges) by a lookup, in nanoseconds on one thread.
const LOOKUP: f64 = 2.4;
/// Additional time per triangle if triangles are counted per vertex, in nanoseconds on one thread.
const CORNER: f64 = 1.05;
/// Additional time per triangle if triangles are counted per vertex, for each doubling of the number of vertices beyond
/// [`CORNER_VERTICES`], in nanoseconds on one thread. It is added to [`CORNER`].
const CORNER_DOUBLING: f64 = 0.46;
/// Number of vertices up to which counting per vertex adds only [`CORNER`] to the time per triangle.
const CORNER_VERTICES: f64 = 65_536.0;
/// Additional time per edge to a hub (a vertex of highest degree) if triangles are counted per vertex, in nanoseconds
/// on one thread.
const HUB_CORNERS: f64 = 59.0;
/// Additional time per edge that leads to no hub if triangles are counted per vertex, in nanoseconds on one thread.
const OTHER_CORNERS: f64 = 37.0;
/// Additional time per triangle if triangles are counted per edge, in nanoseconds on one thread.
const SUPPORT: f64 = 7.0;
/// Additional time per edge if triangles are counted per edge, in nanoseconds on one thread.
const EDGE_SUPPORT: f64 = 50.0;
/// Time per row entry to count the comparisons of merging rows, in nanoseconds on one thread.
const COMPARED: f64 = 110.0;
/// Time to read one edge of the input again, in nanoseconds on one thread.
const REREAD: f64 = 15.0;
/// Time to write one row of the result columns, in nanoseconds on one thread. Measured times are 40 on the Zen 3
/// server, and 120 to 150 on the host of an H200.
const ROW: f64 = 80.0;
/// Number of wedges (paths of two edges) that a GPU tests per second, including the time for checks and copies.
const PROBES_ON_GPU: f64 = 5.2e11;
/// Number of triangles per second that a GPU adds to the counters of their edges.
const SUPPORTS_ON_GPU: f64 = 5e10;
/// Time to copy the triangle count of one edge from a GPU to a file, in nanoseconds.
const SUPPORT_FROM_GPU: f64 = 2.0;
/// Time to merge one edge of a directed graph into a file of rows for a GPU, in nanoseconds on one thread.
const MERGED: f64 = 20.0;
/// Page size in bytes. Files occupy whole pages.
const PAGE: u64 = 4096;

/// Returns the cost of triangle counting with the options `table` on a graph of this size.
pub(super) fn of(table: &Triangle, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let counted = if table.per_edge { of_edges(table, graph, resources) } else { of_graph(table, graph, resources) };
    if table.comparisons { with_comparisons(counted, graph, resources) } else { counted }
}

/// Adds the cost of counting comparisons, which precedes the count of triangles.
fn with_comparisons(counted: Cost, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let (bytes, trials) = (comparisons::bytes(graph, resources.threads), u64::from(resources.trials));
    let nanoseconds = COMPARED * graph.entries() as f64 + REREAD * graph.edges as f64;
    // Ranks add up the numbers of self-loops, and the first and last entries and lengths of rows in both orders.
    let exchanged = trials * 2 * (4 * graph.ids + 2 * 12 * graph.vertices) * (resources.ranks as u64 - 1);
    Cost {
        host_memory: counted.host_memory.max(bytes),
        least_host_memory: counted.least_host_memory.max(bytes),
        disk: counted.disk + 2 * PAGE,
        exchange: counted.exchange + exchanged,
        seconds: counted.seconds + trials as f64 * nanoseconds / 1e9 / resources.all_threads(),
        label: format!("{} with comparisons", counted.label),
        ..counted
    }
}

/// Returns the cost of counting triangles in total or per vertex.
fn of_graph(table: &Triangle, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let (per_vertex, is_directed) = (table.has_columns(), table.counted(graph.direction) == Counted::Links);
    let [host_memory, least_host_memory] = host_memory(graph, resources, (per_vertex, is_directed));
    let trials = u64::from(resources.trials);
    let units = units::total(graph.blocks as usize);
    let (results, records) = match per_vertex {
        // Disk space for one checkpoint per trial, and for one that is being written.
        true => (results(graph, resources) + (8 * (graph.vertices + units) + PAGE) * (trials + 1), 0),
        false => (0, Record::bytes(RESULT_BYTES) * units * trials),
    };
    // Each rank receives from all ranks the counts of its section of the vertices, adds them up, and sends the sums to
    // the leader.
    let gathered =
        if per_vertex && resources.ranks > 1 { trials * 8 * graph.vertices * resources.ranks as u64 } else { 0 };
    let mut work = ExpectedWork::of(graph.degrees);
    if is_directed {
        // Counting links (edges between neighbours) does not use the bit matrix of hubs.
        (work.chunks, work.lookups) = (0.0, work.wedges);
    }
    // A GPU counts links from rows that the host merges into files.
    let merges = is_directed && resources.on_gpu;
    let merging = if merges { MERGED * work.edges / 1e9 / resources.threads as f64 } else { 0.0 };
    let merged = if merges { stored::body_bytes(graph.vertices, graph.edges) + graph.blocks * PAGE } else { 0 };
    let each = merging
        + counting(&work, resources)
        + if per_vertex { corners(&work, graph.column_rows, resources) } else { 0.0 };
    Cost {
        host_memory,
        least_host_memory,
        disk: results + records + merged,
        exchange: gathered,
        seconds: f64::from(resources.trials) * each,
        label: match (per_vertex, is_directed) {
            (false, _) => "triangle",
            (_, false) => "triangle per vertex",
            _ => "triangle directed",
        }
        .into(),
        ..Cost::default()
    }
}

/// Returns the cost of counting triangles per edge.
fn of_edges(table: &Triangle, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let ([host_memory, least_host_memory], groups) = per_edge::host_memory(table, graph, resources);
    let trials = u64::from(resources.trials);
    let units = units::total(graph.blocks as usize);
    // Files of counts exist only for one trial at a time.
    let files = 4 * graph.edges + graph.blocks * PAGE;
    let of_vertices =
        if table.per_vertex { results(graph, resources) } else { 8 * graph.column_rows * u64::from(graph.sparse) };
    let results = resources.format.row_bytes(20, 31) * graph.edges + of_vertices;
    let work = ExpectedWork::of(graph.degrees);
    let rows = work.edges + if table.per_vertex { graph.column_rows as f64 } else { 0.0 };
    Cost {
        host_memory,
        least_host_memory,
        disk: files + results + 4 * PAGE + Record::bytes(RESULT_BYTES) * units * trials,
        seconds: f64::from(resources.trials) * supports(&work, groups, resources) + ROW * rows / 1e9,
        label: "triangle per edge".into(),
        ..Cost::default()
    }
}

/// Returns the host memory in bytes for the fastest settings, and the minimum. With a GPU both are the same: the counts
/// per vertex and, for links, the memory in which the host merges rows and counts degrees.
fn host_memory(graph: &GraphSize<'_>, resources: &RankResources, (per_vertex, is_directed): (bool, bool)) -> [u64; 2] {
    let (GraphSize { vertices, edges, longest_row, .. }, threads) = (*graph, resources.threads);
    let counts = if per_vertex { 8 * vertices } else { 0 };
    if resources.on_gpu {
        // Each vertex of a block has an entry in at least one of its two rows, so there are at most two rows per
        // entry.
        let block = per_edge::largest_block(graph);
        let block = merged_rows::block_bytes(2 * block.min(vertices), block, longest_row);
        let merging = block.max(links::degrees_bytes(threads, vertices, longest_row));
        return [counts + if is_directed { merging } else { 0 }; 2];
    }
    [resources.free.saturating_sub(counts), 0].map(|free| {
        if is_directed {
            let settings = LinkCounter::settings(threads, edges, longest_row, free);
            let scratch = LinkCounter::scratch_bytes(&settings, longest_row);
            return counts + scratch.max(links::degrees_bytes(threads, vertices, longest_row));
        }
        let settings = Settings::within(threads, edges, vertices, longest_row, free);
        counts + Counter::scratch_bytes(&settings, vertices, longest_row)
    })
}

/// Returns the size in bytes of the columns `triangles`, `degree` and `clustering`, plus the column of ids if ids are
/// sparse.
fn results(graph: &GraphSize<'_>, resources: &RankResources) -> u64 {
    let columns = 2 * resources.format.row_bytes(8, 20) + resources.format.row_bytes(4, 10);
    let row = columns + if graph.sparse { 8 } else { 0 };
    row * graph.column_rows + 4 * PAGE
}

/// Estimates the time of one trial without counts per vertex, in seconds.
pub(super) fn counting(work: &ExpectedWork, resources: &RankResources) -> f64 {
    if resources.on_gpu {
        return work.wedges / PROBES_ON_GPU / resources.ranks as f64;
    }
    (EDGE * work.edges + CHUNK * work.chunks + LOOKUP * work.lookups) / 1e9 / resources.all_threads()
}

/// Estimates the time in seconds that counting per vertex adds to one trial, including the time to write `rows` rows of
/// results. On a GPU the counts themselves take almost no time.
pub(super) fn corners(work: &ExpectedWork, rows: u64, resources: &RankResources) -> f64 {
    let results = ROW * rows as f64 / 1e9;
    if resources.on_gpu {
        return results;
    }
    let corner = CORNER + CORNER_DOUBLING * (work.vertices / CORNER_VERTICES).log2().max(0.0);
    let others = HUB_CORNERS * work.hub_edges + OTHER_CORNERS * (work.edges - work.hub_edges);
    results + (work.triangles * corner + others) / 1e9 / resources.all_threads()
}

/// Estimates the time in seconds of one trial that counts per edge, without writing results. A unit (pair of blocks)
/// whose two blocks are in different groups is counted twice.
fn supports(work: &ExpectedWork, groups: u64, resources: &RankResources) -> f64 {
    let of_edges = if resources.on_gpu {
        (work.triangles / SUPPORTS_ON_GPU + SUPPORT_FROM_GPU * work.edges / 1e9) / resources.ranks as f64
    } else {
        (SUPPORT * work.triangles + EDGE_SUPPORT * work.edges) / 1e9 / resources.all_threads()
    };
    counting(work, resources) * (2.0 - 1.0 / groups as f64) + of_edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::direction::Direction;
    use crate::graph::likely;
    use crate::results::OutputFormat;

    fn graph500(scale: u32, edge_factor: u64) -> ExpectedWork {
        ExpectedWork::of(&likely::degrees(edge_factor << scale, 1 << scale, likely::GRAPH500))
    }

    fn resources(ranks: usize, threads: usize, on_gpu: bool) -> RankResources {
        RankResources {
            ranks,
            nodes: 1,
            threads,
            on_gpu,
            gpu_memory: 0,
            packed: None,
            free: 1 << 40,
            trials: 1,
            format: OutputFormat::Npy,
        }
    }

    /// Compares estimates with CPU times of one thread on the machine of docs/performance.md. The cores of that machine
    /// differ by as much as the tolerance.
    #[test]
    fn a_cpu_takes_as_long_as_was_measured_within_a_factor_of_two() {
        let one = resources(1, 1, false);
        // Scale, edges per vertex, seconds of counting in total, and seconds of counting per vertex.
        for (scale, edge_factor, counted, per_vertex) in [
            (18, 16, 0.22, 0.58),
            (18, 64, 0.73, 4.29),
            (20, 8, 0.41, 1.27),
            (20, 16, 1.10, 2.94),
            (20, 32, 2.15, 10.11),
            (21, 16, 2.87, 6.80),
            (22, 16, 7.60, 17.96),
        ] {
            let work = graph500(scale, edge_factor);
            let said = [counting(&work, &one), counting(&work, &one) + corners(&work, 1 << scale, &one)];
            for (said, measured) in said.into_iter().zip([counted, per_vertex]) {
                assert!((0.6..=1.6).contains(&(said / measured)), "{scale} x {edge_factor}: {said}, {measured}");
            }
        }
    }

    /// Compares estimates with the times measured on an H200, which are in docs/performance.md.
    #[test]
    fn a_gpu_takes_as_long_as_was_measured_within_a_factor_of_two() {
        for (scale, edge_factor, seconds) in [(29, 10, 2.64), (26, 16, 0.34), (22, 16, 0.0146)] {
            let said = counting(&graph500(scale, edge_factor), &resources(1, 16, true));
            assert!((0.5..=2.0).contains(&(said / seconds)), "{scale}: {said} planned, {seconds} measured");
        }
    }

    #[test]
    fn ranks_divide_counting() {
        let work = graph500(24, 64);
        for gpu in [false, true] {
            let seconds =
                |ranks| counting(&work, &resources(ranks, 3, gpu)) + corners(&work, 0, &resources(ranks, 3, gpu));
            assert!((seconds(1) / seconds(8) - 8.0).abs() < 1e-9);
        }
    }

    /// Checks that more trials and results per vertex take more disk space, and that results per vertex take only one
    /// 8-byte count per vertex in memory.
    #[test]
    fn results_at_vertices_take_memory_and_disk() {
        let degrees = likely::degrees(1 << 20, 1 << 16, likely::GRAPH500);
        let graph = GraphSize {
            vertices: 60_000,
            direction: Direction::Undirected,
            edges: 900_000,
            column_rows: 65_536,
            ids: 65_536,
            sparse: false,
            longest_row: 1000,
            longest_whole_row: 60_000,
            blocks: 3,
            gpu_row: None,
            reading: 0,
            degrees: &degrees,
        };
        let resources = resources(1, 2, false);
        let [total, corners] =
            [false, true].map(|per_vertex| of(&Triangle { per_vertex, ..Triangle::default() }, &graph, &resources));
        assert_eq!(corners.least_host_memory - total.least_host_memory, 8 * 60_000);
        assert!(corners.disk >= 16 * 65_536 + 2 * 8 * 60_000 && total.disk == 6 * Record::bytes(24));
        assert!(of(&Triangle::default(), &graph, &RankResources { trials: 3, ..resources }).disk == 3 * total.disk);
        assert!(corners.seconds > total.seconds);
    }
}
