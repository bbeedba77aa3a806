//! The process and its surroundings: what the machine lends it, what stops it, and what it tells while it runs.
//!
//! | file | holds |
//! |---|---|
//! | `host` | cores, memory and disk that it may use |
//! | `signals`, `bus_errors`, `panics` | what asks it to stop, and what must not |
//! | `log`, `progress`, `bars`, `status_file` | what it tells: lines, progress on a terminal, `status.json` for other shells |
//! | `backoff` | waiting by polls, which leaves cores to others |
//! | `metrics` | what it used over time, in `metrics.json` for the report |
//! | `figures` | seconds, bytes and peaks of a stage |
//! | `disk`, `energy`, `gpu_use`, `traffic` | counters that these are made of |
//! | `formatting` | numbers for people |

pub mod backoff;
pub mod bars;
mod bus_errors;
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
