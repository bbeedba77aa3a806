//! Runs jobs: their stages, what makes them durable and resumable, and what users can see of them.
//!
//! [`run`] is the entry point. It loads the state of the workdir ([`state`]), prepares the graph ([`graph`]),
//! computes the job's tasks on it (`tasks`) and writes the report ([`results`]). [`context`] holds what stages
//! work with, [`run_record`] what a run remembers.

pub mod context;
pub mod device;
mod ending;
pub mod graph;
pub mod html;
pub mod input;
mod list;
pub mod plan;
mod ranks;
mod reporting;
pub mod results;
pub mod run;
pub mod run_record;
mod stage;
mod start;
pub mod state;
pub mod status;
mod tasks;
pub mod verify;
