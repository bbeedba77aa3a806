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
//! | `jobfile`, `config` | the job file, validated |
//! | `job` | runs, stages, manifest, journal, limits, signals; only this module writes the manifest |
//! | `formats`, `generate`, `convert` | edges read, generated and written |
//! | `list` | linked lists read and generated |
//! | `prepare` | from edges to rows |
//! | `graph` | order of vertices, layout, blocks |
//! | `algo` | the registry of algorithms, which work on blocks or a list, and open no file of the workdir |
//! | `results` | columns of results |
//! | `stream` | rows that pass through a GPU's fixed memory |
//! | `gpu`, `comm` | the GPU in use; the ranks of a job |
//! | `store`, `memory` | sealed files; the memory limit |
//! | `chart` | pictures of numbers, with their tables, as SVG in HTML |
//! | `commands` | the command line; job scripts for Slurm and PBS |
//! | `stdout` | prints answers |
//!
//! Four rules hold everywhere. The answer, the blocks and the units depend on the input alone, never on limits,
//! threads, device or ranks. A stored file is either complete and checked, or absent. Memory that grows with the
//! graph comes from the budget. No allocation trusts a size in a header before it was checked against the file.

mod algo;
mod chart;
mod comm;
mod commands;
mod config;
mod convert;
mod error;
mod failpoint;
mod formats;
mod generate;
mod gpu;
mod graph;
mod job;
mod jobfile;
mod library;
mod list;
mod memory;
mod prepare;
mod process;
mod quote;
mod results;
mod size;
mod stdout;
mod store;
mod stream;

pub use commands::main;
pub use error::{Error, ErrorKind, Result};
pub use formats::WeightType;
pub use formats::input::memory::EdgeList;
pub use library::{
    Canceller, Column, Context, ContextBuilder, Device, Graph, GraphBuilder, Job, JobBuilder, JobStatus, Plan,
    Progress, Report, Size, Vertex, Weight, Weights, bfs, dfs, listrank, sssp, traverse, triangles,
};
pub use list::memory::SuccessorList;
pub use results::Value;

/// The modules of the crate, for its own tests and benches. They change without notice.
#[cfg(feature = "testing")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod internals {
    pub mod algo {
        pub use crate::algo::*;
    }
    pub mod chart {
        pub use crate::chart::*;
    }
    pub mod comm {
        pub use crate::comm::*;
    }
    pub mod commands {
        pub use crate::commands::*;
    }
    pub mod config {
        pub use crate::config::*;
    }
    pub mod convert {
        pub use crate::convert::*;
    }
    pub mod error {
        pub use crate::error::*;
    }
    pub mod failpoint {
        pub use crate::failpoint::*;
    }
    pub mod formats {
        pub use crate::formats::*;
    }
    pub mod generate {
        pub use crate::generate::*;
    }
    pub mod gpu {
        pub use crate::gpu::*;
    }
    pub mod graph {
        pub use crate::graph::*;
    }
    pub mod job {
        pub use crate::job::*;
    }
    pub mod jobfile {
        pub use crate::jobfile::*;
    }
    pub mod list {
        pub use crate::list::*;
    }
    pub mod memory {
        pub use crate::memory::*;
    }
    pub mod prepare {
        pub use crate::prepare::*;
    }
    pub mod process {
        pub use crate::process::*;
    }
    pub mod quote {
        pub use crate::quote::*;
    }
    pub mod results {
        pub use crate::results::*;
    }
    pub mod size {
        pub use crate::size::*;
    }
    pub mod stdout {
        pub use crate::stdout::*;
    }
    pub mod store {
        pub use crate::store::*;
    }
    pub mod stream {
        pub use crate::stream::*;
    }
}
