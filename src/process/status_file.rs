//! The file `status.json`: the state of a running job, which `gpugraph status` reads.

use crate::store::regular;
use std::path::Path;

use super::formatting::Unit;
use super::measurements::StageTotals;

/// Contents of `status.json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// True if the job was still running when the file was written; false after a normal end of the job.
    pub running: bool,
    /// Name of the current stage, or of the last one if none is in progress.
    pub stage: String,
    /// Unit of `done`, `total` and `rate`.
    pub unit: Unit,
    /// Completed work of the stage.
    pub done: u64,
    /// Total work of the stage; 0 if unknown.
    pub total: u64,
    /// Recent rate of the stage, in units per second.
    pub rate: f64,
    /// Estimated remaining time of the stage at this rate, in seconds; `None` if unknown.
    pub eta_seconds: Option<f64>,
    /// Host memory in use, in bytes.
    pub memory: u64,
    /// Peak of host memory, in bytes.
    pub memory_peak: u64,
    /// Host memory limit in bytes; `None` if there is none.
    pub memory_limit: Option<u64>,
    /// Number of the run, as in the manifest.
    #[serde(default)]
    pub run: u64,
    /// Time since the run began, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Measurements of the run's stages so far.
    #[serde(default)]
    pub spent: StageTotals,
    /// Host on which rank 0 runs.
    pub host: String,
    /// Process id of rank 0 on its host.
    pub pid: u32,
    /// Time at which the file was written, such as `2026-11-20T12:00:00Z`.
    pub updated_at: String,
}

impl Status {
    /// Reads the status file in `workdir`; `None` if there is none or it can't be read.
    pub fn read(workdir: &Path) -> Option<Status> {
        serde_json::from_slice(&regular::read(&workdir.join("status.json")).ok()?).ok()
    }
}
