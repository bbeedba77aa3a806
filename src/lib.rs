//! gpugraph: out-of-core graph algorithms.

pub mod config;
pub mod error;
pub mod graph;
