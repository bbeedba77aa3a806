//! Runs jobs: their stages, what makes them durable and resumable, and what users can see of them.
//!
//! [`run`] is the entry point. It loads the state of the workdir ([`state`]), prepares the graph ([`graph`]),
//! computes the job's tasks on it (`tasks`) and writes the report ([`results`]). [`session`] holds the state that all
//! stages of a run share.

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
