//! The process and the machine it runs on: resources, signals, logs and progress.
//!
//! | module | contents |
//! |---|---|
//! | `host` | cores, memory and disk that the process may use |
//! | `signals`, `bus_errors`, `panics` | signals that stop the process, and panics that must not |
//! | `log`, `progress`, `bars`, `status_file` | log lines, progress on a terminal, `status.json` for other shells |
//! | `threads` | threads that work together, and end before their caller goes on |
//! | `backoff` | exponential back-off of polls, which leaves cores to others |
//! | `metrics` | use of resources over time, in `metrics.json` for the report |
//! | `measurements` | measurements of a stage: seconds, bytes and peaks |
//! | `energy`, `gpu_use`, `traffic` | counters from which measurements are made |
//! | `formatting` | numbers formatted for people |

pub mod backoff;
pub mod bars;
mod bus_errors;
pub mod energy;
pub mod formatting;
pub mod gpu_use;
pub mod host;
pub mod log;
pub mod measurements;
pub mod metrics;
pub mod panics;
pub mod progress;
pub mod signals;
pub mod status_file;
pub mod threads;
pub mod traffic;
