//! The library: graphs that a program opens, and algorithms on them as functions.
//!
//! A [`Graph`] is a job that stays open (`job/session.rs`). A call adds one task to it, with the same engines, limits and
//! devices as a job, and maps the columns that the task wrote. What the library adds is typed options and results.
//!
//! | file | has |
//! |---|---|
//! | `context` | limits, device, progress and cancellation; one call at a time; folders that are removed with what uses them |
//! | `graph`, `builder` | a graph, and where its edges come from |
//! | `column` | a value for each vertex, by its id in the input; ids that are sparse or strings |
//! | `triangles`, `bfs`, `traverse`, `sssp`, `dfs`, `components`, `cdlp`, `pagerank`, `listrank` | the algorithms |
//! | `job` | jobs from files and tables |

pub mod bfs;
mod builder;
pub mod cdlp;
mod column;
pub mod components;
mod context;
pub mod dfs;
mod graph;
mod job;
pub mod listrank;
pub mod pagerank;
pub mod sssp;
pub mod traverse;
mod tree;
pub mod triangles;

pub use builder::{GraphBuilder, Weight};
pub use column::{Column, Ids, Labels};
pub use context::{Canceller, Context, ContextBuilder, Progress, Size};
pub use graph::{Graph, Vertex};
pub use job::{Job, JobBuilder, JobStatus, Plan, Report};
