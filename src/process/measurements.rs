//! Measurements of stages: time, bytes read and written, and peak memory.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measurements of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageMeasurements {
    /// Wall time of the stage in seconds.
    pub seconds: f64,
    /// Number of bytes that the stage read.
    pub read: u64,
    /// Number of bytes that the stage wrote.
    pub written: u64,
    /// Peak of host memory while the stage ran, in bytes.
    pub host_memory_peak: u64,
}

impl StageMeasurements {
    /// Adds other measurements of the same stage, for example from an earlier run. The peak becomes the maximum of
    /// both.
    pub fn add(&mut self, other: &StageMeasurements) {
        self.seconds += other.seconds;
        self.read += other.read;
        self.written += other.written;
        self.host_memory_peak = self.host_memory_peak.max(other.host_memory_peak);
    }
}

/// Measurements of the stages of one or more runs, including stages that did not finish.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTotals {
    /// Measurements of each stage, by its name.
    pub stages: BTreeMap<String, StageMeasurements>,
    /// Peak of host memory during the runs, in bytes.
    pub host_memory_peak: u64,
    /// Peak of GPU memory during the runs, in bytes; 0 if no run measured it.
    pub gpu_memory_peak: u64,
}

impl StageTotals {
    /// Adds the measurements `figures` to those of the stage named `stage`.
    pub fn on(&mut self, stage: &str, figures: &StageMeasurements) {
        self.stages.entry(stage.to_owned()).or_default().add(figures);
    }

    /// Adds the measurements of another run. Peaks become the maximum of both.
    pub fn add(&mut self, other: &StageTotals) {
        other.stages.iter().for_each(|(stage, figures)| self.on(stage, figures));
        self.host_memory_peak = self.host_memory_peak.max(other.host_memory_peak);
        self.gpu_memory_peak = self.gpu_memory_peak.max(other.gpu_memory_peak);
    }
}
