//! Code that all searches by levels share: their trees of parents, levels computed from parents, columns, and checks.
//!
//! An algorithm implements [`SearchTable`](super::SearchTable) with its engine, and [`LevelSearched`] for its statistics.
//! Its [`SearchTask`](super::SearchTask) is here.

mod fault;
pub mod levels;
mod task;
pub mod validate;
pub mod verify;
mod write;

pub use task::LevelSearched;
pub use write::put_parents;

/// Maximum number of trees that are checked together. Their levels of a vertex fill a cache line.
pub const BATCH: usize = 64;
