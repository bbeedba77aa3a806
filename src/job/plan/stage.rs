//! The stages of a plan.

use crate::job::plan::resources::Resources;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Maximum number of memory limits to try in the search for the smallest one that works.
const LIMITS: usize = 16;

/// A stage of a plan.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PlannedStage {
    /// Name of the stage in the report.
    pub name: &'static str,
    /// True if an earlier run completed the stage.
    pub done: bool,
    /// Maximum host memory of a rank while the stage runs, in bytes.
    pub host_memory: u64,
    /// Minimum host memory of a rank with which the stage can run, in bytes. The memory that a rank uses before any
    /// stage is not included.
    #[serde(skip)]
    pub(crate) least: u64,
    /// Minimum host memory of a rank while it sends edges to other ranks, in bytes, not including the edges in
    /// flight; 0 if the stage sends no edges.
    #[serde(skip)]
    pub(crate) exchanging: u64,
    /// Maximum GPU memory of a rank while the stage runs, in bytes.
    pub gpu_memory: u64,
    /// Maximum size of the workdir while the stage runs, in bytes.
    pub disk: u64,
    /// Number of bytes that all ranks together send to other ranks (approximate).
    pub exchange: u64,
    /// Size in bytes of the files that all ranks together read in random order.
    #[serde(skip)]
    pub(crate) cached: u64,
    /// Time that the stage takes (approximate).
    #[serde(flatten)]
    pub time: Time,
    /// What the stage does: it orders vertices, builds blocks, derives rows, or runs a task.
    #[serde(skip)]
    pub(crate) kind: StageKind,
}

/// Predicted time of a stage.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Time {
    /// Predicted time in seconds.
    pub seconds: f64,
    /// Likely range of the time in seconds: lowest and highest value.
    pub seconds_range: [f64; 2],
    /// Time in seconds that the rates alone predict. After the stage has run, the measured time is compared with it.
    #[serde(skip)]
    pub(super) modelled: f64,
    /// Label of the stage: its name and properties that affect its speed, such as the format of the input.
    #[serde(skip)]
    pub(super) stage: String,
    #[serde(skip)]
    pub(super) bench: Hardware,
    #[serde(skip)]
    pub(super) edges: u64,
}

/// Machine and device that a stage ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Hardware {
    pub(super) host: String,
    /// CPU model.
    pub(super) processor: String,
    /// `debug` or `release`; debug builds are slower.
    pub(super) build: String,
    /// Name of the GPU that did the work, or `cpu`.
    pub(super) device: String,
    pub(super) ranks: usize,
    /// Number of threads per rank.
    pub(super) threads: usize,
}

/// What a stage of a plan does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// Reads the input or orders its vertices.
    #[default]
    Order,
    /// Builds the blocks.
    Blocks,
    /// Builds rows that only some tasks need, such as the upper half.
    Part,
    /// Reads the input of a graph that another job kept. Every run does it again.
    Again,
    /// Runs a task of the job: (its index among the tasks, its number of trials).
    Task(usize, u32),
}

/// Changes the field `disk` of each stage from the number of bytes that the stage writes to the size of the workdir
/// after the stage. The stages run one after another, and the workdir has `disk` bytes before the first.
pub(crate) fn stacked(
    stages: impl IntoIterator<Item = PlannedStage>,
    mut disk: u64,
) -> impl Iterator<Item = PlannedStage> {
    stages.into_iter().map(move |stage| {
        disk += stage.disk;
        PlannedStage { disk, ..stage }
    })
}

/// Returns the smallest limit on host memory, in bytes, under which the remaining stages can run on `machine`. `stages`
/// are the stages under the limit of `machine`, and `on` returns the stages under another limit.
pub(crate) fn least_limit(
    machine: &Resources,
    stages: &[PlannedStage],
    on: impl Fn(&Resources) -> Vec<PlannedStage>,
) -> u64 {
    let needed = |stages: &[PlannedStage]| {
        let most = |of: fn(&PlannedStage) -> u64| stages.iter().filter(|stage| !stage.done).map(of).max().unwrap_or(0);
        machine.smallest(most(|stage| stage.least), most(|stage| stage.exchanging))
    };
    // With another limit, a stage may use another method that needs less or more memory.
    let mut limit = needed(stages);
    let mut rises = false;
    for _ in 0..LIMITS {
        let there = needed(&on(&machine.at(limit)));
        match there.cmp(&limit) {
            Ordering::Greater => rises = true,
            Ordering::Less if !rises => {}
            _ => break,
        }
        limit = there;
    }
    limit
}
