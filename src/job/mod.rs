//! Running a job: its stages, what makes them durable and resumable, and what can be seen of them.
//!
//! [`run`] is the way through: [`graph`] prepares, [`triangle`] counts, [`report`] tells. [`session`] is what stages
//! share; [`manifest`] says what is done, [`journal`] which units.

mod build;
pub mod clean;
mod columns;
mod corners;
pub mod device;
pub mod estimate;
mod fits;
pub mod graph;
mod guess;
mod home;
pub mod input;
pub mod journal;
mod likely;
pub mod lock;
pub mod look;
pub mod machine;
pub mod manifest;
pub mod moving;
mod needs;
mod occupied;
pub mod ordered;
mod outputs;
pub mod plan;
mod plan_text;
mod prepared;
mod ranks;
mod rates;
mod recount;
pub mod report;
pub mod run;
mod sampled;
pub mod session;
mod speeds;
pub mod spool;
mod together;
pub mod triangle;
pub mod verify;
mod whole;
mod work;
mod workdir;
