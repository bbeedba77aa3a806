//! The validated job. `None` in an `Option` does not mean that the file omits a key, because defaults are filled in. It
//! stands for a separate choice, such as "use what the machine has" or "choose by the extension".

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
    /// `[job] name`, or else a name made from the input's name, or else the stem of the job file's name. It is a single
    /// path component.
    pub name: String,
    /// `[job] workdir`, or else `gpugraph.work/NAME`. Relative to the folder in which the command runs.
    pub workdir: PathBuf,
    /// `[job] scratch`: a folder on each node's own disk, for data that one rank writes and reads again; `None` means
    /// the workdir.
    pub scratch: Option<PathBuf>,
    /// Whether the prepared graph is kept after the job, for `[input] prepared` of another job.
    pub keep: bool,
    /// Source of the edges.
    pub input: InputSpec,
    /// `[input] directed`: whether tasks that can follow the direction of edges do so.
    pub directed: bool,
    /// `[input] first_id`: the id of the first vertex in results and in the job file.
    pub first_id: FirstId,
    /// Whether an earlier job left a graph in the workdir that keeps direction. If so, and the input is still
    /// `directed`, this job keeps direction too, so that old and new results belong to the same graph.
    pub keeps_direction: bool,
    /// Whether a graph that is kept carries the weights of its input, if it has some, although no task reads them and
    /// no key names their type. The library sets it, because later calls may read them.
    pub keeps_weights: bool,
    /// The keys of `[input]` with their values as text.
    pub input_keys: InputKeys,
    /// `[input] expect`: the size that a plan assumes for missing files. A run reads the files.
    pub expect: Option<Expect>,
    /// The keys of `[limits]`. No stage's key depends on them.
    pub limits: Limits,
    /// The keys of `[run]`. No stage's key depends on them.
    pub run: Run,
    /// `[output] format`: the format of the columns of results.
    pub format: OutputFormat,
    /// Tasks of the job: the tables of algorithms, in the registry's order. If there are none, `keep` is true.
    pub tasks: Vec<Arc<dyn Task>>,
}

impl Job {
    /// Returns true if `is_needed` is true for the needs of at least one task. Tasks on lists need nothing.
    fn any_needs(&self, is_needed: impl Fn(Needs) -> bool) -> bool {
        self.tasks.iter().any(|task| is_needed(task.needs()))
    }

    /// Returns true if something reads the stored degrees: some tasks, the stage that makes the upper half of rows, and
    /// jobs on a kept graph.
    pub fn needs_degrees(&self) -> bool {
        self.keep || self.needs_upper() || self.any_needs(|needs| needs.degrees)
    }

    /// Returns true if a task needs the stored order of vertices to write its results.
    pub fn needs_order(&self) -> bool {
        self.any_needs(|needs| needs.order)
    }

    /// Returns the direction of edges in the prepared graph. Direction is kept if a task or another job may read it, or
    /// if an earlier job in this workdir kept it.
    pub fn direction(&self) -> Direction {
        Direction::of(self.directed && (self.keep || self.keeps_direction || self.any_needs(|needs| needs.direction)))
    }

    /// Returns true if the graph keeps direction, but some task needs undirected edges.
    pub fn merges(&self, direction: Direction) -> bool {
        direction == Direction::Directed && self.any_needs(|needs| !needs.direction)
    }

    /// Returns true if a task reads the upper half of rows: the neighbours with larger numbers than the row's vertex.
    pub fn needs_upper(&self) -> bool {
        self.any_needs(|needs| needs.upper)
    }

    /// Returns the GPU programs that tasks seldom launch.
    pub fn rare_programs(&self) -> Vec<&'static ProgramSource> {
        self.tasks.iter().flat_map(|task| task.rare_programs()).collect()
    }

    /// Returns true if the graph stores the weights of its edges. It does if a task reads them, or if the graph is kept
    /// for another job that may read them and `weights` in `[input]` names their type.
    pub fn carries_weights(&self) -> bool {
        let is_named = self.input.weights().named().is_some();
        self.any_needs(|needs| needs.weights) || (self.keep && (is_named || self.keeps_weights))
    }

    /// Returns true if a task reads weights of the upper half of rows.
    pub fn upper_has_weights(&self) -> bool {
        self.any_needs(|needs| needs.upper && needs.weights)
    }

    /// Returns true if a task reads weights of the undirected rows, in a graph that keeps direction.
    pub fn merged_has_weights(&self) -> bool {
        self.any_needs(|needs| !needs.direction && needs.weights)
    }

    /// Refuses `first_id = 1` for an input, called `name`, that does not count from 1.
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

/// `[input]`: exactly one source of edges, or of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    /// `path`: files, folders or patterns, read in this order as one edge list. There is at least one path; none has
    /// been looked up yet.
    Files {
        /// Paths, with variables expanded but patterns kept.
        paths: Vec<PathBuf>,
        /// Format of the files. `None` means `"auto"`: the format follows from the extension of each file.
        format: Option<Format>,
        /// Whether subfolders of a folder are read, too.
        #[serde(default)]
        recursive: bool,
        /// `columns` and `skip_lines`: options for reading text.
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
    /// `random`, `rmat`, `ssca2` or `grid`: a graph with weights.
    Weighted(WeightedSpec),
    /// Edges that the caller of the library has in memory. No key of a job file names them.
    Memory(MemoryEdges),
    /// `path` of a job that ranks a list: one file, which has not been looked up yet.
    ListFile {
        /// The path, with variables expanded.
        path: PathBuf,
        /// The format. `None` means `"auto"`: the format follows from the extension.
        format: Option<ListFormat>,
    },
    /// `list`: a list that the job generates.
    List(Generated),
    /// A list that the caller of the library has in memory. No key of a job file names it.
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

    /// Returns the paths of the input's files, with patterns kept; empty if the input is not a file.
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
    /// Number of edges, including loops and repeats.
    pub edges: u64,
    /// Number of ids: the largest id plus one.
    pub ids: u64,
}

/// A random graph that the job generates: 2^`scale` vertices and `edge_factor` × 2^`scale` edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Random {
    /// log2 of the number of vertices, 1 to 40.
    pub scale: u32,
    /// Number of edges per vertex, greater than 0 and not necessarily an integer.
    pub edge_factor: f64,
    /// Seed of the counter-based random numbers.
    pub seed: u64,
}

/// `[limits]`: limits on the use of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Host memory per rank in bytes; `None` means 80 % of what the machine or cgroup has free.
    pub host_memory: Option<u64>,
    /// Memory per GPU in bytes; `None` means 90 % of what is free, or less if that would leave less than 1 GiB.
    pub gpu_memory: Option<u64>,
    /// Number of threads; 0 means as many as the scheduler, the affinity mask or the cgroup's quota grants this
    /// process, or else `OMP_NUM_THREADS`, or else all cores.
    pub threads: usize,
}

/// `[run]`: how the job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The device that computes.
    pub device: Device,
    /// Index of the GPU to use; `None` chooses it by the rank's index on its machine. It is never set with
    /// [`Device::Cpu`].
    pub gpu: Option<u32>,
    /// How ranks share GPUs if a machine has fewer GPUs than ranks.
    pub gpu_sharing: GpuSharing,
    /// Number of trials of each algorithm, at least one. Each trial and the median are reported.
    pub trials: u32,
    /// Time between two progress lines in the log.
    pub log_interval: Duration,
    /// Whether a run is refused if its plan does not fit on the disk.
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
    /// A GPU; without one the job is refused, and calls fail with [`Error::Usage`].
    Gpu,
}

/// `[run] gpu_sharing`: how ranks share GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuSharing {
    /// Ranks with the same GPU use equal parts of its memory.
    Split,
    /// A job with more ranks than GPUs on a machine is refused.
    Refuse,
}
