//! The validated job. `None` in an `Option` does not mean that the file omits a key, because defaults are filled in.
//! It is a choice of its own, such as "use all that the machine has" or "choose by the extension".

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::InputKeys;
use crate::algo::{Needs, Task};
use crate::error::{Error, Result};
use crate::formats::input::memory::MemoryEdges;
use crate::formats::{Format, TextOptions, WeightsOption};
use crate::generate::WeightedSpec;
use crate::gpu::ProgramSource;
use crate::graph::direction::Direction;
use crate::graph::ids::FirstId;
use crate::list::{Generated, ListFormat, MemoryList};
use crate::results::OutputFormat;

/// A job file after validation: every value in range, every default filled in, every `$VAR` expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Path of the job file.
    pub file: PathBuf,
    /// `[job] name`, or else a name made from the input, or else the job file's name without its extension. It is a
    /// single path component.
    pub name: String,
    /// `[job] workdir`, or else `gpugraph.work/NAME`. Relative to the folder in which the command runs.
    pub workdir: PathBuf,
    /// `[job] scratch`: a folder on each node's own disk, for temporary files of ranks; `None` means the workdir.
    pub scratch: Option<PathBuf>,
    /// Whether the prepared graph is kept after the job, for `[input] prepared` of another job.
    pub keep: bool,
    /// Source of the edges or of the list.
    pub input: InputSpec,
    /// `[input] directed`: whether algorithms that support directed edges respect their direction.
    pub directed: bool,
    /// `[input] first_id`: whether ids are 0-based or 1-based in results and in the job file.
    pub first_id: FirstId,
    /// Whether an earlier job left a directed graph in the workdir. If so, and the input is still `directed`, this
    /// job's graph is directed too, so that old and new results describe the same graph.
    pub keeps_direction: bool,
    /// Whether a kept graph stores the weights of its input, if any, even if no task reads them and no key names their
    /// type. The library sets it, because later calls may read them.
    pub keeps_weights: bool,
    /// The keys of `[input]` with their values as text.
    pub input_keys: InputKeys,
    /// `[input] expect`: the size that a plan assumes for missing files. A run ignores it and reads the files.
    pub expect: Option<Expect>,
    /// The keys of `[limits]`. A change does not invalidate completed stages.
    pub limits: Limits,
    /// The keys of `[run]`. A change does not invalidate completed stages.
    pub run: Run,
    /// `[output] format`: the file format of the result columns.
    pub format: OutputFormat,
    /// Tasks of the job, one per algorithm table, in the registry's order. If there are none, `keep` is true.
    pub tasks: Vec<Arc<dyn Task>>,
}

impl Job {
    /// Returns true if `is_needed` returns true for a task of the job. `is_needed` is called with what a task needs of
    /// the graph; a task on a list needs nothing of it.
    fn any_needs(&self, is_needed: impl Fn(Needs) -> bool) -> bool {
        self.tasks.iter().any(|task| is_needed(task.needs()))
    }

    /// Returns true if anything reads the stored degrees: a task, the stage that builds the upper half of the rows,
    /// or another job that uses the kept graph.
    pub fn needs_degrees(&self) -> bool {
        self.keep || self.needs_upper() || self.any_needs(|needs| needs.degrees)
    }

    /// Returns true if a task needs the stored degree order (map from dense ids to vertices) to write its
    /// results.
    pub fn needs_order(&self) -> bool {
        self.any_needs(|needs| needs.order)
    }

    /// Returns true if the prepared graph is directed: if the input is `directed`, and either a task or another job
    /// may read the direction, or an earlier job in this workdir stored it.
    pub fn direction(&self) -> Direction {
        Direction::of(self.directed && (self.keep || self.keeps_direction || self.any_needs(|needs| needs.direction)))
    }

    /// Returns true if some task needs undirected edges although the graph is directed (`direction`), so that out-edges
    /// and in-edges must be merged.
    pub fn merges(&self, direction: Direction) -> bool {
        direction == Direction::Directed && self.any_needs(|needs| !needs.direction)
    }

    /// Returns true if a task reads the upper half of the rows: for each vertex, the neighbours that follow it in the
    /// degree order.
    pub fn needs_upper(&self) -> bool {
        self.any_needs(|needs| needs.upper)
    }

    /// Returns the source texts of the GPU programs that the tasks launch only in rare cases.
    pub fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        self.tasks.iter().flat_map(|task| task.rare_programs()).collect()
    }

    /// Returns true if the graph stores the weights of its edges. It does if a task reads them. A graph that is kept
    /// for other jobs also stores them if `[input] weights` names their type or `keeps_weights` is set.
    pub fn carries_weights(&self) -> bool {
        let is_named = self.input.weights().named().is_some();
        self.any_needs(|needs| needs.weights) || (self.keep && (is_named || self.keeps_weights))
    }

    /// Returns true if a task reads weights of the upper half of the rows.
    pub fn upper_has_weights(&self) -> bool {
        self.any_needs(|needs| needs.upper && needs.weights)
    }

    /// Returns true if a task reads the weights of undirected edges. This matters only if the graph is directed,
    /// because out-edges and in-edges are then merged.
    pub fn merged_has_weights(&self) -> bool {
        self.any_needs(|needs| !needs.direction && needs.weights)
    }

    /// Refuses `first_id = 1` for an input whose ids are not 1-based. `name` is the input's name in the message.
    ///
    /// # Errors
    /// [`Error::Usage`] in that case.
    pub fn check_first_id(&self, counts_from_one: bool, name: &str) -> Result<()> {
        if self.first_id == FirstId(0) || counts_from_one {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{name}: first_id = 1 in [input] is for formats that count from 1 (mtx, metis, gr); ids of this input are kept as they are: \
             leave first_id out"
        )))
    }
}

/// `[input]`: exactly one source of edges or of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    /// `path`: files, folders or patterns, read in this order as one edge list. There is at least one path. The file
    /// system has not been accessed yet.
    Files {
        /// Paths, with environment variables expanded and wildcards not yet expanded.
        paths: Vec<PathBuf>,
        /// Format of the files. `None` means `"auto"`: the format follows from the extension of each file.
        format: Option<Format>,
        /// Whether subfolders of a folder are read, too.
        #[serde(default)]
        recursive: bool,
        /// `columns`, `skip_lines` and `ids`: options for reading text and Parquet.
        #[serde(default)]
        text: TextOptions,
        /// `vertices`: the file that lists all vertices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vertices: Option<PathBuf>,
        /// `weights`: the type of the weights to read for tasks that need weights.
        #[serde(default)]
        weights: WeightsOption,
    },
    /// `prepared`: the workdir of a job that kept its graph.
    Prepared(PathBuf),
    /// `kronecker`: an R-MAT graph (Chakrabarti, Zhan and Faloutsos 2004) with the parameters of Graph500.
    Kronecker(Random),
    /// `uniform`: both ends of every edge are drawn uniformly.
    Uniform(Random),
    /// `random`, `rmat`, `ssca2` or `grid`: a generated graph with weights.
    Weighted(WeightedSpec),
    /// Edges that the caller of the library has in memory. A job file can't specify them.
    Memory(MemoryEdges),
    /// `path` of a list-ranking job: one file. The file system has not been accessed yet.
    ListFile {
        /// Path of the file, with environment variables expanded.
        path: PathBuf,
        /// Format of the file. `None` means `"auto"`: the format follows from the extension.
        format: Option<ListFormat>,
    },
    /// `list`: a list that the job generates.
    List(Generated),
    /// A list that the caller of the library has in memory. A job file can't specify it.
    MemoryList(MemoryList),
}

impl InputSpec {
    /// Returns true if the input is a list rather than edges.
    pub fn is_list(&self) -> bool {
        matches!(self, InputSpec::ListFile { .. } | InputSpec::List(_) | InputSpec::MemoryList(_))
    }

    /// Returns the type of the weights to read for tasks that need weights; [`WeightsOption::Auto`] if the input is not
    /// a set of files.
    pub fn weights(&self) -> WeightsOption {
        match self {
            InputSpec::Files { weights, .. } => *weights,
            _ => WeightsOption::Auto,
        }
    }

    /// Returns the paths of the input's files, with wildcards not expanded; empty if the input is not a file.
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            InputSpec::Files { paths, .. } => paths,
            InputSpec::ListFile { path, .. } => std::slice::from_ref(path),
            _ => &[],
        }
    }
}

/// `[input] expect`: the size of files that do not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// Number of edges, including self-loops and duplicates.
    pub edges: u64,
    /// Number of ids: the largest id (0-based) plus one.
    pub ids: u64,
}

/// A random graph that the job generates: 2^`scale` vertices and `edge_factor` × 2^`scale` edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Random {
    /// log2 of the number of vertices, 1 to 40.
    pub scale: u32,
    /// Number of edges per vertex, greater than 0 and not necessarily an integer.
    pub edge_factor: f64,
    /// Seed of the counter-based random number generator.
    pub seed: u64,
}

/// `[limits]`: limits on memory and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Host memory per rank in bytes; `None` means 80 % of the memory that is free on the machine or in the cgroup.
    pub host_memory: Option<u64>,
    /// Memory per GPU in bytes; `None` means 90 % of what is free, or less if that would leave less than 1 GiB.
    pub gpu_memory: Option<u64>,
    /// Number of threads. 0 means the number that the scheduler, the affinity mask or the cgroup's quota grants this
    /// process. If none of them sets a limit, it is `OMP_NUM_THREADS` if set, otherwise the number of all cores.
    pub threads: usize,
}

/// `[run]`: how the job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The device that computes.
    pub device: Device,
    /// Index of the GPU to use. `None` chooses a GPU by the rank's index among the ranks of its machine. It is always
    /// `None` with [`Device::Cpu`].
    pub gpu: Option<u32>,
    /// How ranks share GPUs if a machine has fewer GPUs than ranks.
    pub gpu_sharing: GpuSharing,
    /// Number of trials of each algorithm, at least one. Each trial and the median are reported.
    pub trials: u32,
    /// Time between two progress lines in the log.
    pub log_interval: Duration,
    /// Whether a run is refused if the disk has less free space than its plan needs.
    pub disk_check: bool,
    /// Whether energy is measured, for algorithms that can repeat their work for that purpose.
    pub energy: bool,
}

/// `[run] device`: the device that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// A GPU if a usable one exists, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU. Without a usable GPU, a job is refused, and a call of the library fails with [`Error::Usage`].
    Gpu,
}

/// `[run] gpu_sharing`: how ranks share GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuSharing {
    /// Let ranks share a GPU, each with an equal share of its memory.
    Split,
    /// Refuse a job that has more ranks than GPUs on a machine.
    Refuse,
}
