//! gpugraph: out-of-core graph algorithms.

pub mod algo;
pub mod error;
pub mod graph;
