//! Running a job: its stages, what makes them durable and resumable, and what can be seen of them.
//!
//! [`run`] is the way through: it takes up what the workdir remembers ([`state`]), prepares the graph ([`graph`]), computes the tasks of
//! the job on it (`tasks`) and writes the report ([`results`]). [`session`] holds what all stages of a run share.

pub mod device;
pub mod graph;
pub mod html;
pub mod input;
mod list;
pub mod plan;
mod ranks;
mod reporting;
pub mod results;
pub mod run;
pub mod session;
mod start;
pub mod state;
pub mod status;
mod tasks;
pub mod verify;
