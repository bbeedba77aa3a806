//! Code that all level-synchronous searches (breadth-first searches) share: trees of parents, levels computed from
//! parents, result columns, and checks.
//!
//! An algorithm implements [`SearchTable`](super::SearchTable) with its engine, and [`LevelStats`] for its
//! statistics. This module then implements [`SearchTask`](super::SearchTask) for it.

mod fault;
pub mod levels;
mod task;
pub mod validate;
pub mod verify;
mod write;

pub use task::LevelStats;
pub use write::put_parents;

/// Maximum number of trees that are checked together. The levels of a vertex in so many trees fill a cache line.
pub const BATCH: usize = 64;
