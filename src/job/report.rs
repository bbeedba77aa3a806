//! `report.json`: what a run did and found, in base units (seconds, bytes).

use super::manifest::{Figures, Output};
use crate::error::Result;
use crate::store::replace::replace;
use serde::Serialize;
use std::path::Path;

/// Changes when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// The report of one run. The fields are the contract of the README's section "What a run leaves".
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // each is named in the contract
pub struct Report {
    pub schema: u32,
    pub job: String,
    pub version: &'static str,
    pub host: Host,
    pub ranks: usize,
    pub device: String,
    pub limits: Limits,
    pub input: Input,
    pub graph: Graph,
    pub stages: Vec<StageReport>,
    pub seconds: f64,
    pub seconds_total: f64,
    pub resumes: u64,
    pub results: Results,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Host {
    pub name: String,
    pub cores: usize,
    pub memory: u64,
    pub gpus: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Limits {
    pub host_memory: u64,
    pub host_memory_peak: u64,
    pub gpu_memory: u64,
    pub gpu_memory_peak: u64,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Input {
    pub path: String,
    pub bytes: u64,
    pub edges: u64,
    pub self_loops: u64,
    pub duplicates: u64,
    pub checksum: String,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Graph {
    pub vertices: u64,
    pub isolated: u64,
    pub edges: u64,
    pub max_degree: u64,
    pub blocks: u64,
    /// Whether the prepared graph stays in the workdir.
    pub kept: bool,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct StageReport {
    pub name: &'static str,
    #[serde(flatten)]
    pub figures: Figures,
    pub resumed: bool,
}

#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct Results {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triangle: Option<Triangle>,
}

#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub struct Triangle {
    pub triangles: u128,
    pub seconds: f64,
    pub trials: Vec<f64>,
    pub units: u64,
    pub probes: u128,
    pub wedges: u128,
    pub transitivity: f64,
}

impl Triangle {
    /// As if it had been counted `trials` times only.
    pub(super) fn first(mut self, trials: usize) -> Triangle {
        self.trials.truncate(trials);
        self.seconds = median(&self.trials);
        self
    }
}

/// The median; the mean of the middle two where their number is even.
pub(super) fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

impl Report {
    /// The schema of this version.
    pub const SCHEMA: u32 = SCHEMA;

    /// Replaces `report.json` of `workdir`; returns its length and checksum.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn save(&self, workdir: &Path) -> Result<Output> {
        let path = workdir.join("report.json");
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|e| crate::Error::io("write the report", &path, e.into()))?;
        text.push(b'\n');
        replace(&path, &text)?;
        Ok(Output::of(&text))
    }
}

impl std::fmt::Display for Results {
    /// What `run` prints at its end.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.triangle {
            Some(t) => {
                write!(f, "triangles {}  in {:.3} s, {} units, {} probes", t.triangles, t.seconds, t.units, t.probes)
            }
            None => write!(f, "prepared"),
        }
    }
}
