//! The cost of a task: memory, disk, exchange, time.

use crate::graph::direction::Direction;
use crate::graph::order::DegreeRuns;
use crate::results::OutputFormat;

/// The size of a graph: what is known of it, or bounds of that.
#[derive(Debug, Clone, Copy)]
pub struct GraphSize<'a> {
    /// Vertices that have an edge.
    pub vertices: u64,
    /// Direction of its edges.
    pub direction: Direction,
    /// Edges of the simple graph.
    pub edges: u64,
    /// Rows of results.
    pub rows: u64,
    /// Ids that the map spans.
    pub ids: u64,
    /// True if results come in the order of a list of sparse ids.
    pub sparse: bool,
    /// Entries of the longest row.
    pub longest_row: u64,
    /// Blocks, at most.
    pub blocks: u64,
    /// The degrees, or those of a graph that is likely like it.
    pub degrees: &'a DegreeRuns,
}

/// The ranks that compute: as many on each node, with as many threads each.
#[derive(Debug, Clone, Copy)]
pub struct Crew {
    /// Ranks that share the work.
    pub ranks: usize,
    /// Nodes that they are on.
    pub nodes: usize,
    /// Threads of a rank.
    pub threads: usize,
    /// True if every rank has a GPU that does the work.
    pub on_gpu: bool,
    /// Bytes of that GPU's memory that may be taken; 0 where they are not known, or no GPU does it.
    pub gpu_memory: u64,
    /// Bytes of host memory that rows take which are packed there for the GPU, if they are.
    pub packed: Option<u64>,
    /// Bytes of host memory that a rank has left for it.
    pub free: u64,
    /// Trials.
    pub trials: u32,
    /// The format of results.
    pub format: OutputFormat,
}

impl Crew {
    /// Returns the threads of all ranks.
    pub fn all_threads(&self) -> f64 {
        (self.ranks * self.threads) as f64
    }
}

/// The cost of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cost {
    /// Bytes of host memory of a rank, beside what is taken before it begins.
    pub host_memory: u64,
    /// The fewest that do.
    pub least_host_memory: u64,
    /// Bytes that it leaves on the disk, at most: results, journals and checkpoints of all trials.
    pub disk: u64,
    /// Bytes that ranks send to others, all together.
    pub exchange: u64,
    /// Seconds of all trials, by the rates of the machine that these were measured on.
    pub seconds: f64,
    /// The kind of work, by which times of earlier runs are found: the task's name, and options that make other work.
    pub label: String,
}
