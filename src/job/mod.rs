//! What makes a job durable and visible.

pub mod figures;
pub mod host;
pub mod journal;
pub mod lock;
pub mod log;
pub mod progress;
pub mod signals;
pub mod status;
