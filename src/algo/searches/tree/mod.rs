//! Code that all searches by levels share: their trees of parents, levels computed from parents, columns, and checks.
//!
//! An algorithm implements [`LevelTask`] with its engine and its statistics. The rest of its
//! [`SearchTask`](super::SearchTask) is here.

mod fault;
pub mod levels;
mod results;
mod task;
pub mod validate;
pub mod verify;
mod write;

pub use results::{LevelOutput, SourceOutput, figures_of, sentences_of, verify_trial, verify_units};
pub use task::{LevelFigures, LevelTask};
pub use write::TreeWriter;

use super::{Options, telling_bytes};
use crate::algo::{Cost, Crew, GraphSize};

/// Maximum number of trees that are checked together. Their levels of a vertex fill a cache line.
pub const BATCH: usize = 64;

/// Nanoseconds of a thread: for each entry of all rows while a tree is checked, and for each row of a column.
const CHECK: f64 = 0.15;
const COLUMN: f64 = 20.0;
/// Bytes in the journal for each source, which suffice for some tens of levels.
const RECORD: u64 = 8192;
/// Files occupy whole pages on the disk.
const PAGE: u64 = 4096;

/// Returns the bytes that `trees` trees take until they are checked and written.
pub fn bytes(options: &Options, vertices: u64, trees: usize) -> u64 {
    let checks = if options.validate { validate::bytes(vertices, trees, 0) } else { 0 };
    let writes = if options.write { write::bytes(vertices) } else { 0 };
    4 * vertices * trees as u64 + checks + writes
}

/// Cost of the searches alone, on one rank.
pub struct SearchCost {
    /// Host memory in bytes: the most that searches can use, and the smallest amount that suffices.
    pub bytes: [u64; 2],
    /// Bytes that all ranks together send in a search.
    pub sent: u64,
    /// Nanoseconds of a search.
    pub nanoseconds: f64,
    /// Label of the kind of work.
    pub label: String,
}

/// Returns the cost of a table with these options, including checks and columns. `search` is the cost of its searches.
pub fn cost(options: &Options, graph: &GraphSize<'_>, crew: &Crew, search: SearchCost) -> Cost {
    let (vertices, sources) = (graph.vertices, options.count());
    let [most, fewest] = search.bytes;
    let fewest = (fewest + bytes(options, vertices, 1)).max(telling_bytes(sources, vertices));
    let trees = if options.validate { BATCH.min(sources.max(1) as usize) } else { 1 };
    let wanted = (most + bytes(options, vertices, trees)).max(fewest);
    let rows = graph.rows;
    let columns = crew.format.row_bytes(8, 20) + crew.format.row_bytes(4, 11);
    let ids = if graph.sparse { 8 * rows + PAGE } else { 0 };
    let written = if options.write { sources * (columns * rows + 2 * PAGE) + ids } else { 0 };
    let trials = u64::from(crew.trials);
    let check = if options.validate { CHECK * 2.0 * graph.edges as f64 } else { 0.0 };
    // Rank 0 checks the trees.
    let each = search.nanoseconds + check / crew.threads as f64;
    let columns = if options.write { sources as f64 * COLUMN * 2.0 * rows as f64 } else { 0.0 };
    let label = if options.validate { format!("{} validated", search.label) } else { search.label };
    Cost {
        host_memory: wanted.min(crew.free.max(fewest)),
        least_host_memory: fewest,
        disk: written + trials * sources * RECORD + PAGE,
        exchange: trials * sources * search.sent,
        cached: graph.rows_bytes(false),
        seconds: (f64::from(crew.trials) * sources as f64 * each + columns) / 1e9,
        label,
    }
}
