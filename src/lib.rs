//! gpugraph: out-of-core graph algorithms.

pub mod error;
pub mod graph;
