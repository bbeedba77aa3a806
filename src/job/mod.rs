//! Running a job: its stages, what makes them durable and resumable, and what can be seen of them.
//!
//! [`run`] is the way through: [`graph`] prepares, [`triangle`] counts, [`report`] tells. [`session`] is what stages
//! share; [`manifest`] says what is done, [`journal`] which units.

pub mod clean;
mod corners;
pub mod figures;
pub mod graph;
pub mod host;
pub mod input;
pub mod journal;
pub mod lock;
pub mod log;
pub mod manifest;
mod outputs;
pub mod plan;
pub mod progress;
pub mod report;
pub mod run;
pub mod session;
pub mod signals;
pub mod status;
pub mod triangle;
pub mod verify;
