//! The stages of a plan.

use serde::{Deserialize, Serialize};

/// A stage of a plan.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PlannedStage {
    /// Its name in the report.
    pub name: &'static str,
    /// True if an earlier run completed it.
    pub done: bool,
    /// Largest host memory of a rank while the stage runs, in bytes.
    pub host_memory: u64,
    /// Smallest host memory of a rank with which the stage can run, in bytes, in addition to what is taken before any
    /// stage.
    #[serde(skip)]
    pub(crate) least: u64,
    /// The same in addition to edges in flight to other ranks, while there are some; 0 if there are none.
    #[serde(skip)]
    pub(crate) exchanging: u64,
    /// Largest memory of a GPU, in bytes.
    pub gpu_memory: u64,
    /// Largest size of the workdir while the stage runs, in bytes.
    pub disk: u64,
    /// Bytes that all ranks together send to other ranks (approximate).
    pub exchange: u64,
    /// Bytes of files that all ranks together read in random order.
    #[serde(skip)]
    pub(crate) cached: u64,
    /// Time that the stage takes (approximate).
    #[serde(flatten)]
    pub time: Time,
    /// Part of the job that the stage belongs to.
    #[serde(skip)]
    pub(crate) kind: StageKind,
}

/// Predicted time of a stage.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Time {
    /// Seconds.
    pub seconds: f64,
    /// Likely range of the seconds, from lowest to highest.
    pub seconds_range: [f64; 2],
    /// Seconds predicted by the rates alone, recorded once the stage has run.
    #[serde(skip)]
    pub(super) modelled: f64,
    /// Name of the stage, with what else decides its speed.
    #[serde(skip)]
    pub(super) stage: String,
    #[serde(skip)]
    pub(super) bench: Bench,
    #[serde(skip)]
    pub(super) edges: u64,
}

/// Machine and device that a stage ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Bench {
    pub(super) host: String,
    /// CPU model.
    pub(super) processor: String,
    /// `debug` or `release`; debug builds are slower.
    pub(super) build: String,
    /// The GPU that did the work, or `cpu`.
    pub(super) device: String,
    pub(super) ranks: usize,
    /// Threads per rank.
    pub(super) threads: usize,
}

/// Parts of a job that stages belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// Reads the input and orders its vertices.
    #[default]
    Order,
    /// Builds the blocks.
    Blocks,
    /// Builds a part of the graph that only some tasks need.
    Part,
    /// A task of the job: its place among the tasks, and its number of trials.
    Task(usize, u32),
}

/// Stacks stages that run one after another on a disk that already holds `disk` bytes: `disk`, which is what
/// each stage writes, becomes the size of the workdir with it.
pub(crate) fn stacked(
    stages: impl IntoIterator<Item = PlannedStage>,
    mut disk: u64,
) -> impl Iterator<Item = PlannedStage> {
    stages.into_iter().map(move |stage| {
        disk += stage.disk;
        PlannedStage { disk, ..stage }
    })
}
