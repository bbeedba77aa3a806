//! The library: graphs that a program opens, and algorithms on them as functions.
//!
//! A [`Graph`] is a job that stays open (`job/session.rs`). A call adds one task to it, with the same engines, limits
//! and devices as a job, and maps the columns that the task wrote. The library adds typed options and results.
//!
//! | file | has |
//! |---|---|
//! | `context` | limits, device, progress and cancellation; one call at a time; temporary folders |
//! | `graph`, `builder` | a graph, and where its edges come from |
//! | `column` | a value for each vertex, by its id in the input; ids that are sparse or strings |
//! | `algorithms` | the algorithms as functions |
//! | `job` | jobs from files and tables |

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
