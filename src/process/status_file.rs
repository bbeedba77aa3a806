//! `status.json`: what a job does, for other shells.

use std::path::Path;

use super::figures::Spent;
use super::formatting::Unit;

/// The content of `status.json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// Whether the job ran on when this was written; false once it has ended in good order.
    pub running: bool,
    /// The stage at work, or the last one.
    pub stage: String,
    /// What `done`, `total` and `rate` count.
    pub unit: Unit,
    /// Work done.
    pub done: u64,
    /// Work in all, 0 if unknown.
    pub total: u64,
    /// Work a second, lately.
    pub rate: f64,
    /// Seconds left at this rate, if that can be said.
    pub eta_seconds: Option<f64>,
    /// Host memory now, in bytes.
    pub memory: u64,
    /// The most host memory so far, in bytes.
    pub memory_peak: u64,
    /// The job's limit, in bytes, if it has one.
    pub memory_limit: Option<u64>,
    /// Number of the run, as its manifest has it.
    #[serde(default)]
    pub run: u64,
    /// Seconds since it began.
    #[serde(default)]
    pub seconds: f64,
    /// What it has spent so far.
    #[serde(default)]
    pub spent: Spent,
    /// Host of the process.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// When this was written, as `2026-11-20T12:00:00Z`.
    pub updated_at: String,
}

impl Status {
    /// The last status of the job in this workdir, if it left a readable one.
    pub fn read(workdir: &Path) -> Option<Status> {
        serde_json::from_slice(&std::fs::read(workdir.join("status.json")).ok()?).ok()
    }
}
