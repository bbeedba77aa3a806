//! The library: graphs that a program opens, and graph algorithms as functions.
//!
//! A [`Graph`] is a job that stays open (`job/session.rs`). A library call adds one task to this job, which uses the
//! same engines, limits and devices as any job. The call then memory-maps the result columns that the task wrote. The
//! library adds typed options and results.
//!
//! | file | contains |
//! |---|---|
//! | `context` | limits, device, progress and cancellation; one call at a time; temporary folders |
//! | `graph`, `builder` | graphs, and the sources of their edges |
//! | `column` | columns of one value per vertex, accessed by vertex id; sparse ids and string ids |
//! | `algorithms` | the algorithms as functions |
//! | `job` | jobs, described by a job file or by keys |

mod algorithms;
mod builder;
mod column;
mod context;
mod graph;
mod job;

pub use algorithms::{
    betweenness, bfs, cdlp, components, cores, dfs, distances, listrank, pagerank, sssp, traverse, triangles,
};
pub use builder::{GraphBuilder, Weight};
pub use column::{Column, Ids, Labels};
pub use context::{Canceller, Context, ContextBuilder, Progress, Size};
pub use graph::{Graph, Vertex};
pub use job::{Job, JobBuilder, JobStatus, Plan, Report};
