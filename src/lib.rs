//! gpugraph: out-of-core graph algorithms.

pub mod convert;
pub mod error;
pub mod formats;
pub mod generate;
pub mod graph;
