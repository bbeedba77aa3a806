//! gpugraph: exact algorithms on graphs larger than the GPU and than memory, and on linked lists, as resumable jobs.
//!
//! ```text
//! job.toml ─ config ─ job ─┬─ prepare: ingest → relabel → partition → sort → blocks (of a graph; of a list nothing)
//!                          ├─ algo: a folder for each algorithm (of a graph or a list)
//!                          └─ report
//!                 beneath: store (files) · memory (budget) · comm (ranks)
//! ```
//!
//! | module | contains |
//! |---|---|
//! | [`jobfile`], [`config`] | the job file, validated |
//! | [`job`] | runs, stages, manifest, journal, limits, signals; only this module writes the manifest |
//! | [`formats`], [`generate`], [`convert`] | edges read, generated and written |
//! | [`list`] | linked lists read and generated |
//! | [`prepare`] | from edges to rows |
//! | [`graph`] | order of vertices, layout, blocks |
//! | [`algo`] | the registry of algorithms, which work on blocks or a list, and open no file of the workdir |
//! | [`results`] | columns of results |
//! | [`stream`] | rows that pass through a GPU's fixed memory |
//! | [`gpu`], [`comm`] | the GPU in use; the ranks of a job |
//! | [`store`], [`memory`] | sealed files; the memory limit |
//! | [`chart`] | pictures of numbers, with their tables, as SVG in HTML |
//! | [`commands`] | the command line; job scripts for Slurm and PBS |
//! | [`stdout`] | prints answers |
//!
//! Four rules hold everywhere. The answer, the blocks and the units depend on the input alone, never on limits,
//! threads, device or ranks. A stored file is either complete and checked, or absent. Memory that grows with the
//! graph comes from the budget. No allocation trusts a size in a header before it was checked against the file.

pub mod algo;
pub mod chart;
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
pub mod jobfile;
pub mod list;
pub mod memory;
pub mod prepare;
pub mod process;
pub mod quote;
pub mod results;
pub mod size;
pub mod stdout;
pub mod store;
pub mod stream;

pub use error::{Error, Result};
