//! The library: graphs that a program opens, and algorithms on them as functions.
//!
//! A [`Graph`] is a job that stays open (`job/session.rs`). A call adds one task to it, with the same engines, limits and
//! devices as a job, and maps the columns that the task wrote. What the library adds is typed options and results.
//!
//! | file | has |
//! |---|---|
//! | `context` | limits, device, progress and cancellation; one call at a time |
//! | `graph`, `source` | a graph, and where its edges come from |
//! | `column` | a value for each vertex, by its id in the input |
//! | `labels` | ids that are strings |
//! | `folder` | folders that are removed with what uses them |
//! | `triangles`, `bfs`, `traverse`, `sssp`, `dfs`, `components`, `listrank` | the algorithms |
//! | `job` | jobs from files and tables |

pub mod bfs;
mod column;
pub mod components;
mod context;
pub mod dfs;
mod folder;
mod graph;
mod job;
mod labels;
pub mod listrank;
mod source;
pub mod sssp;
pub mod traverse;
mod tree;
pub mod triangles;

pub use column::{Column, Ids};
pub use context::{Canceller, Context, ContextBuilder, Progress, Size};
pub use graph::{Graph, GraphBuilder, Vertex};
pub use job::{Job, JobBuilder, JobStatus, Plan, Report};
pub use labels::Labels;
pub use source::Weight;
