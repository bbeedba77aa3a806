//! Runs jobs in stages, stores results durably so that a killed job can resume, and reports the state of jobs.
//!
//! [`run`] is the entry point. It loads the state of the workdir ([`state`]), prepares the graph ([`graph`]),
//! computes the job's tasks on it (`tasks`) and writes the report ([`results`]). [`context`] contains the resources
//! that stages use, and [`run_record`] the state that a run records.

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
pub(crate) mod session;
mod stage;
mod start;
pub mod state;
pub mod status;
mod tasks;
pub mod verify;
