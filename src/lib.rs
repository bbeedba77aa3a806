//! gpugraph: out-of-core graph algorithms.

pub mod config;
pub mod error;
pub mod failpoint;
pub mod graph;
pub mod job;
pub mod store;
