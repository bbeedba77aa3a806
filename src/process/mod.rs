//! The process and the machine it runs on: resources, signals, logs and progress.
//!
//! | module | contents |
//! |---|---|
//! | `host` | cores, memory and disk that the process may use |
//! | `signals`, `bus_errors`, `panics` | signals that stop the process, and panics that must not stop it |
//! | `log`, `progress`, `bars`, `status_file` | log lines, progress bars, `status.json` for `gpugraph status` |
//! | `threads` | scoped threads, which end before their caller continues |
//! | `backoff` | exponential back-off of polling threads |
//! | `metrics` | resource use over time, in `metrics.json` for the report |
//! | `measurements` | measurements of a stage: time, bytes read and written, and peak memory |
//! | `energy`, `gpu_use`, `traffic` | counters that the metrics sample |
//! | `formatting` | human-readable sizes, durations and rates |

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
