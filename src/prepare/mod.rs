//! From an edge list to blocks of rows on disk.
//!
//! ```text
//! ingest     input → degree of every id                     one pass
//! relabel    degrees → order of vertices, in place
//! partition  input → oriented edges in bins of rows          one pass
//! sort       bins → sorted rows without repeats → blocks     in cache, bin by bin
//! ```
//!
//! Sparse 64-bit ids take one more pass first (`dictionary`). Memory is 4 bytes for each id and what the bins are
//! given; edges that don't fit are spilled. No step knows of job files, stages, devices or ranks.

pub mod blocks;
pub mod dictionary;
pub mod ingest;
pub mod order;
pub mod partition;
pub mod relabel;
mod sample;
pub mod shares;
pub mod sort;
