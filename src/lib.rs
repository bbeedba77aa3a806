//! Exact algorithms on graphs larger than GPU memory and main memory.
//!
//! gpugraph counts triangles, searches, finds shortest paths, components, communities and cores, measures centrality,
//! and ranks vertices and lists. It streams tens of gigabytes of edges through fixed memory, on CPUs and GPUs, and
//! computes the same answer on all of them. It is a command with job files (`gpugraph run job.toml`), and this
//! library.
//!
//! # A tour
//!
//! A [`Context`] defines the resources that calls may use. A [`Graph`] is built once, from files or from memory.
//!
//! ```
//! use gpugraph::{Context, Graph, Size, bfs, sssp, triangles};
//!
//! # let folder = std::env::temp_dir().join(format!("gpugraph-tour-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let file = folder.join("friends.txt");
//! std::fs::write(&file, "# who knows whom\n1 2\n2 3\n3 1\n3 4\n")?;
//! let context = Context::builder().host_memory("2GiB".parse::<Size>()?).build()?;
//! let graph = Graph::builder().input(&file).build(&context)?;
//! assert_eq!((graph.vertices(), graph.edges()), (5, 4));
//! # std::fs::remove_dir_all(&folder)?;
//!
//! // Each algorithm is a module with a function or two, options and a typed result.
//! assert_eq!(triangles::count(&graph, &context)?, 1);
//!
//! // A column has a value for each vertex, by its id in the input.
//! let tree = bfs::search(&graph, graph.vertex(1)?, &bfs::Options::default(), &context)?;
//! assert_eq!(tree.levels()[4], 2);
//! assert_eq!(tree.parents().get(4), Some(3));
//! tree.validate(&graph, &context)?;
//!
//! // Edges may come from memory, with weights.
//! let roads = Graph::from_weighted_edges([(0, 1, 1.5f32), (1, 2, 0.5), (0, 2, 4.0)], &context)?;
//! let paths = sssp::search(&roads, roads.vertex(0)?, &sssp::Options::default(), &context)?;
//! assert_eq!(paths.path_to(2), Some(vec![0, 1, 2]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A graph that does not fit in memory is read from the disk: [`GraphBuilder::spill_to`] names the folder, and
//!   stores the graph there for later programs ([`Graph::open`]).
//! - [`ContextBuilder::on_progress`] reports the progress of a call, and [`Canceller`] stops it.
//! - Errors have a message of one line, with the position of the mistake and a remedy, and a stable [`ErrorKind`].
//! - [`Job`] runs job files, as the command does. A later run resumes a job that was killed.
//! - Logs go to the crate `tracing`; a program that installs no subscriber sees none.
//!
//! # How it is built
//!
//! ```text
//! job.toml ─ config ─ job ─┬─ prepare: ingest → relabel → partition → sort → blocks (of a graph; of a list nothing)
//!                          ├─ algo: a folder for each algorithm (of a graph or a list)
//!                          └─ report
//!                 beneath: store (files) · memory (budget) · comm (ranks)
//! ```
//!
//! ARCHITECTURE.md in the repository describes the modules, which are private. Four rules hold everywhere. The
//! answer, the stored blocks and the units of work depend on the input alone, never on limits, threads, device or
//! ranks. A stored file is either complete and checked, or absent. Memory that grows with the graph comes from the
//! budget. A size in a file header is checked against the file before memory is allocated for it.

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

pub use commands::{main, main_of};
pub use config::Device;
pub use error::{Error, ErrorKind, Result};
pub use formats::input::memory::EdgeList;
pub use formats::{WeightType, WeightsOption as Weights};
pub use library::{
    Canceller, Column, Context, ContextBuilder, Graph, GraphBuilder, Ids, Job, JobBuilder, JobStatus, Labels, Plan,
    Progress, Report, Size, Vertex, Weight, betweenness, bfs, cdlp, components, cores, dfs, distances, listrank,
    pagerank, sssp, traverse, triangles,
};
pub use list::memory::SuccessorList;
pub use results::Value;

/// Re-exports of the private modules, for the crate's own tests and benches. They change without notice.
#[cfg(feature = "testing")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod internals {
    macro_rules! modules {
        ($($name:ident)*) => { $(pub mod $name { pub use crate::$name::*; })* };
    }

    modules! {
        algo chart comm commands config convert error failpoint formats generate gpu graph job jobfile list memory
        prepare process quote results size stdout store stream
    }
}
