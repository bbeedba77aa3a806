//! Cost model of depth-first search: memory from the functions that compute array sizes, and time from measured rates.

use super::Dfs;
use super::derived::articulation::Articulation;
use super::derived::strong::Strong;
use super::pairs::PairCounts;
use super::validate;
use super::walk::DfsWalk;
use crate::algo::{Cost, GraphSize, RankResources};
use crate::prepare::input_ids::InputIds;

/// Time to search one entry of an adjacency row, in nanoseconds. The search uses one thread.
const ENTRY: f64 = 5.0;
/// Time to check one entry of an adjacency row against the tree, in nanoseconds, on one thread.
const CHECK: f64 = 5.0;
/// Time to read one edge of the input again, in nanoseconds, on one thread.
const PAIR: f64 = 15.0;
/// Time to write one row of a result column, in nanoseconds, on one thread.
const COLUMN: f64 = 20.0;
/// Number of result columns that every search writes.
const COLUMNS: u64 = 4;
/// Maximum number of digits of a value in a result column.
const DIGITS: u64 = 20;
/// Size of a disk page in bytes. Files occupy whole pages.
const PAGE: u64 = 4096;

/// Returns the cost of a depth-first search with the options `table` on a graph of this size.
pub(super) fn of(table: &Dfs, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
    let vertices = graph.vertices;
    let entries = graph.entries();
    let checks = if table.validate { validate::bytes(vertices) } else { 0 };
    let articulation = if table.articulation { Articulation::bytes(vertices) } else { 0 };
    let strong = if table.components.is_some() { Strong::bytes(vertices) } else { 0 };
    // While the input is read again, memory contains the marks of bridges, or the components and the cycle.
    let looks = table.multigraph || (table.components.is_some() && table.source.is_some());
    let pairs = if looks { 8 * vertices + PairCounts::bytes(graph, resources.ranks) } else { 0 };
    let after = checks.max(articulation.max(strong).max(pairs) + InputIds::bytes(vertices));
    let host_memory = DfsWalk::bytes(vertices) + after + PAGE;
    let rows = graph.column_rows;
    let more = 2 * (u64::from(table.articulation) + u64::from(table.components.is_some()));
    let columns = (COLUMNS + more) * (resources.format.row_bytes(8, DIGITS) * rows + 2 * PAGE);
    let ids = if graph.sparse { 8 * rows + PAGE } else { 0 };
    // One checkpoint per trial, and a new one that is written before it replaces the previous one.
    let checkpoints = (u64::from(resources.trials) + 1) * (32 * vertices + PAGE);
    let check = if table.validate { CHECK * entries as f64 / resources.threads as f64 } else { 0.0 };
    let passes = ENTRY / 2.0 * more as f64 * entries as f64;
    let again = if table.multigraph { PAIR * graph.edges as f64 / resources.all_threads() } else { 0.0 };
    let each = ENTRY * entries as f64 + passes + check + again;
    Cost {
        host_memory,
        least_host_memory: host_memory,
        disk: columns + ids + checkpoints,
        exchange: 0,
        cached: graph.rows_bytes(false),
        seconds: (f64::from(resources.trials) * each + COLUMN * ((COLUMNS + more) * rows) as f64) / 1e9,
        label: if table.validate { "dfs validated" } else { "dfs" }.into(),
    }
}
