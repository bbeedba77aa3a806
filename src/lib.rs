//! gpugraph: exact graph algorithms on graphs larger than the GPU and than memory, as resumable jobs.
//!
//! ```text
//! job.toml ─ config ─ job ─┬─ prepare: ingest → relabel → partition → sort → blocks
//!                          ├─ algo: triangle
//!                          └─ report
//!                 beneath: store (files) · memory (budget) · comm (ranks)
//! ```
//!
//! | module | knows |
//! |---|---|
//! | [`config`] | the job file, and nothing of how it is carried out |
//! | [`job`] | runs, stages, manifest, journal, limits, signals; the only one that writes the manifest |
//! | [`formats`], [`generate`], [`convert`] | edges as they come and go |
//! | [`prepare`] | from edges to rows; no stages, devices or ranks |
//! | [`graph`] | order of vertices, layout, blocks |
//! | [`algo`] | algorithms over blocks; opens no file |
//! | [`stream`] | rows through a GPU's fixed memory; not what is done with them |
//! | [`store`], [`memory`] | sealed files; the memory limit |
//! | [`commands`] | the command line; job scripts for Slurm and PBS |
//! | [`stdout`] | printing an answer |
//!
//! What holds everywhere: the answer, the blocks and the units depend on the input alone, never on limits, threads,
//! device or ranks; a stored file is complete and checked, or absent; memory that grows with the graph comes from the
//! budget; nothing is allocated by the claim of a header that was not checked against the file.

pub mod algo;
pub mod comm;
pub mod commands;
pub mod config;
pub mod convert;
pub mod error;
pub mod failpoint;
pub mod formats;
pub mod generate;
pub mod gpu;
pub mod graph;
pub mod job;
pub mod memory;
pub mod prepare;
pub mod process;
pub mod quote;
pub mod size;
pub mod stdout;
pub mod store;
pub mod stream;

pub use error::{Error, Result};
