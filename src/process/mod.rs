//! The process and its surroundings: signals, log, progress, status file, and the host.

pub mod bars;
pub mod disk;
pub mod energy;
pub mod figures;
pub mod formatting;
pub mod gpu_use;
pub mod host;
pub mod log;
pub mod metrics;
pub mod panics;
pub mod progress;
pub mod signals;
pub mod status_file;
pub mod traffic;
