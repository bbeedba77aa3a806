//! Prepares a graph: converts an edge list to blocks of rows on disk.
//!
//! ```text
//! ingest     input → degree of every id                     one pass over the input
//! relabel    degrees → order of vertices, in place
//! partition  input → oriented edges in bins of rows          one pass over the input
//! sort       bins → sorted rows without duplicates → blocks  in cache, bin by bin
//! transpose  lower half of rows → upper half of rows         if a task needs it
//! merge      out- and in-neighbours → all neighbours         if a task ignores the direction of a directed graph
//! ```
//!
//! Sparse 64-bit ids (`dictionary`), string ids (`names`) and 64-bit weights (`weight_list`) require one more pass over
//! the input first. Preparation needs 4 bytes of memory for each id, in addition to the memory for bins. Edges that do
//! not fit the bins' memory are spilled to a file. This module knows nothing of job files. Its results do not depend on
//! devices or ranks. If its memory is large enough, a [GPU](gpu::PrepareGpu) executes steps instead of the CPU.

pub mod blocks;
pub mod dictionary;
mod edge_maker;
mod gate;
pub mod gpu;
pub mod ingest;
pub mod input_ids;
pub mod memory_plan;
pub mod merge;
pub mod names;
pub mod order;
pub mod partition;
pub mod prepared;
pub mod relabel;
mod sample;
pub mod sort;
pub mod sorted_list;
pub mod transpose;
pub mod weight_list;
