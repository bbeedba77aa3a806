//! Runs jobs in stages, makes their results durable so that a killed job resumes, and shows users their state.
//!
//! [`run`] is the entry point. It loads the state of the workdir ([`state`]), prepares the graph ([`graph`]),
//! computes the job's tasks on it (`tasks`) and writes the report ([`results`]). [`context`] has the resources that
//! stages use, and [`run_record`] the state that a run keeps.

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
