//! What a process is to those around it: signals that stop it, its log, what it shows of its progress, and the host it is on.

pub mod bars;
pub mod figures;
pub mod formatting;
pub mod host;
pub mod log;
pub mod progress;
pub mod signals;
pub mod status_file;
