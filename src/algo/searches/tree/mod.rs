//! Code that all searches by levels share: their trees of parents, levels computed from parents, columns, and checks.
//!
//! An algorithm implements [`SearchTable`](super::SearchTable) with its engine, and [`LevelSearched`] for its statistics.
//! Its [`SearchTask`](super::SearchTask) is here.

mod fault;
pub mod levels;
mod task;
pub mod validate;
mod verify;
mod write;

pub use task::LevelSearched;
pub use verify::SourceOutput;
pub use write::{TreeWriter, put_parents};

use super::Options;

/// Maximum number of trees that are checked together. Their levels of a vertex fill a cache line.
pub const BATCH: usize = 64;

/// Returns the bytes that `trees` trees take until they are checked and written.
pub fn bytes(options: &Options, vertices: u64, trees: usize) -> u64 {
    let checks = if options.validate { validate::bytes(vertices, trees, 0) } else { 0 };
    let writes = if options.write { write::bytes(vertices) } else { 0 };
    4 * vertices * trees as u64 + checks + writes
}
