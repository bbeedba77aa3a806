//! The validated job. No field is optional because the file may omit it: an `Option` means that "none" is itself a decision (use what the
//! machine has, choose by the extension).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::InputKeys;
use crate::algo::{Needs, Task};
use crate::error::{Error, Result};
use crate::formats::{AskedWeights, TextOptions};
use crate::generate::WeightedSpec;
use crate::graph::direction::Direction;
use crate::graph::ids::FirstId;
use crate::list::{Generated, ListFormat};
use crate::results::OutputFormat;

/// A job file after validation: every value in range, every default filled in, every `$VAR` expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The job file.
    pub file: PathBuf,
    /// `[job] name`, else a name made of the input's, else the stem of the job file's. It is a single path component.
    pub name: String,
    /// `[job] workdir`, else `gpugraph.work/NAME`. Relative to the folder the command runs in.
    pub workdir: PathBuf,
    /// `[job] scratch`: a folder on each node's own disk, for data that one rank writes and reads again; `None`: the workdir.
    pub scratch: Option<PathBuf>,
    /// True if the prepared graph is kept after the job, for `[input] prepared` of another.
    pub keep: bool,
    /// Source of the edges.
    pub input: InputSpec,
    /// `[input] directed`: true if tasks that follow edges do so in their direction.
    pub directed: bool,
    /// `[input] first_id`: the id that results and the job file give the first vertex.
    pub first_id: FirstId,
    /// True if the workdir has a graph that keeps direction: as long as the input does, results of that one and new ones are of one graph.
    pub keeps_direction: bool,
    /// The keys of `[input]` as they are written.
    pub input_keys: InputKeys,
    /// `[input] expect`: size that a plan assumes of missing files. A run reads the files.
    pub expect: Option<Expect>,
    /// Limits on the use of the machine. They are never part of a fingerprint.
    pub limits: Limits,
    /// How the job runs. It is never part of a fingerprint.
    pub run: Run,
    /// How results are written.
    pub output: Output,
    /// Tasks of the job: the tables of algorithms, in the registry's order. If there are none, `keep` is true.
    pub tasks: Vec<Arc<dyn Task>>,
    /// The job as TOML: the file's own text, or, under `--set`, an equivalent text with the overrides. `$VAR`s are not expanded in it.
    pub text: String,
}

impl Job {
    /// Returns true if a task needs what `is_needed` says of a prepared graph. Tasks on lists need nothing.
    fn any_needs(&self, is_needed: impl Fn(Needs) -> bool) -> bool {
        self.tasks.iter().any(|task| is_needed(task.needs()))
    }

    /// Returns true if anybody reads the stored degrees: some tasks, the stage that makes the upper half of rows, and jobs on a kept graph.
    pub fn needs_degrees(&self) -> bool {
        self.keep || self.needs_upper() || self.any_needs(|needs| needs.degrees)
    }

    /// Returns the direction of edges in the graph that is prepared: it is kept if a task, or another job, may read it, or an earlier
    /// one of this workdir did.
    pub fn direction(&self) -> Direction {
        Direction::of(self.directed && (self.keep || self.keeps_direction || self.any_needs(|needs| needs.direction)))
    }

    /// Returns true if a task takes edges without direction, of a graph that may keep it.
    pub fn merges(&self, direction: Direction) -> bool {
        direction == Direction::Directed && self.any_needs(|needs| !needs.direction)
    }

    /// Returns true if a task reads the upper half of rows.
    pub fn needs_upper(&self) -> bool {
        self.any_needs(|needs| needs.upper)
    }

    /// Returns true if the graph carries the weights of its edges: a task reads them, or they are kept for another job that may, as `weights`
    /// in `[input]` names their type.
    pub fn carries_weights(&self) -> bool {
        let is_named = matches!(self.input.weights(), AskedWeights::U32 | AskedWeights::F32);
        self.any_needs(|needs| needs.weights) || (self.keep && is_named)
    }

    /// Returns true if a task reads weights of the upper half of rows.
    pub fn upper_has_weights(&self) -> bool {
        self.any_needs(|needs| needs.upper && needs.weights)
    }

    /// Returns true if a task reads weights of rows of all neighbours, in a graph that keeps direction.
    pub fn merged_has_weights(&self) -> bool {
        self.any_needs(|needs| !needs.direction && needs.weights)
    }

    /// Refuses `first_id = 1` for an input, called `name`, that does not count from 1.
    ///
    /// # Errors
    /// [`Error::Usage`].
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
    /// `path`: files, folders or patterns, read in this order as one edge list. There is at least one; none has been looked up yet.
    Files {
        /// Paths as written, variables expanded, patterns not.
        paths: Vec<PathBuf>,
        /// One of [`FORMATS`](super::FORMATS); `None` stands for `"auto"`: by the extension of each file.
        format: Option<String>,
        /// True if subfolders of a folder are read, too.
        #[serde(default)]
        recursive: bool,
        /// `columns` and `skip_lines`: options for reading text.
        #[serde(default)]
        text: TextOptions,
        /// `weights`: the weights that tasks get which need some.
        #[serde(default)]
        weights: AskedWeights,
    },
    /// `prepared`: the workdir of a job that kept its graph.
    Prepared(PathBuf),
    /// `kronecker`: an R-MAT graph (Chakrabarti, Zhan and Faloutsos 2004) with the parameters of Graph500.
    Kronecker(Random),
    /// `uniform`: both ends of every edge are drawn uniformly.
    Uniform(Random),
    /// `random`, `rmat`, `ssca2` or `grid`: a graph with weights.
    Weighted(WeightedSpec),
    /// `path` of a job that ranks a list: one file, which has not been looked up yet.
    ListFile {
        /// The path, variables expanded.
        path: PathBuf,
        /// The format; `None` stands for `"auto"`: by the extension.
        format: Option<ListFormat>,
    },
    /// `list`: a list that the job makes.
    List(Generated),
}

impl InputSpec {
    /// Returns true if it names a list rather than edges.
    pub fn is_list(&self) -> bool {
        matches!(self, InputSpec::ListFile { .. } | InputSpec::List(_))
    }

    /// Returns the weights that tasks get which need some; as a file has them where the input is no file.
    pub fn weights(&self) -> AskedWeights {
        match self {
            InputSpec::Files { weights, .. } => *weights,
            _ => AskedWeights::Auto,
        }
    }

    /// Returns the paths of its files, as they are written.
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            InputSpec::Files { paths, .. } => paths,
            InputSpec::ListFile { path, .. } => std::slice::from_ref(path),
            InputSpec::Prepared(_)
            | InputSpec::Kronecker(_)
            | InputSpec::Uniform(_)
            | InputSpec::Weighted(_)
            | InputSpec::List(_) => &[],
        }
    }
}

/// `[input] expect`: the size of files that do not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// Number of edges, loops and repeats included.
    pub edges: u64,
    /// The largest id plus one.
    pub ids: u64,
}

/// A random graph that the job generates: 2^`scale` vertices and `edge_factor` × 2^`scale` edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Random {
    /// Binary logarithm of the number of vertices, 1 to 40.
    pub scale: u32,
    /// Edges per vertex, above 0 and not necessarily whole.
    pub edge_factor: f64,
    /// Seed of the counter-based random numbers.
    pub seed: u64,
}

/// Limits: `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of host memory per rank; `None`: 80 % of what the machine or cgroup has free.
    pub host_memory: Option<u64>,
    /// Bytes of memory per GPU; `None`: 90 % of what is free, or less where that would leave less than 1 GiB.
    pub gpu_memory: Option<u64>,
    /// Threads; 0: those that the scheduler, the affinity mask or the cgroup's quota grants this process, else `OMP_NUM_THREADS`, else all cores.
    pub threads: usize,
}

/// How to run: `[run]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Device that computes.
    pub device: Device,
    /// Index of the GPU to use; `None`: by local rank. It is never set with [`Device::Cpu`].
    pub gpu: Option<u32>,
    /// How ranks share GPUs if a machine has fewer GPUs than ranks.
    #[serde(default)]
    pub gpu_sharing: GpuSharing,
    /// Number of trials of each algorithm, at least one. Each is reported, and the median.
    pub trials: u32,
    /// Time between two lines of progress in a log.
    pub log_interval: Duration,
    /// True if a run is refused whose plan does not fit the disk.
    pub disk_check: bool,
    /// True if the energy of algorithms is measured, by those that can repeat their work for that.
    #[serde(default)]
    pub energy: bool,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            device: Device::Auto,
            gpu: None,
            gpu_sharing: GpuSharing::Split,
            trials: 1,
            log_interval: Duration::from_secs(30),
            disk_check: true,
            energy: false,
        }
    }
}

/// Device: `[run] device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// A GPU if a usable one exists, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, or the job is refused.
    Gpu,
}

/// Sharing of GPUs: `[run] gpu_sharing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuSharing {
    /// Ranks with the same GPU take equal parts of its memory.
    #[default]
    Split,
    /// The job is refused.
    Refuse,
}

impl fmt::Display for GpuSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GpuSharing::Split => "split",
            GpuSharing::Refuse => "refuse",
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Device::Auto => "auto",
            Device::Cpu => "cpu",
            Device::Gpu => "gpu",
        })
    }
}

/// Results: `[output]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Output {
    /// Format of the per-vertex results.
    pub format: OutputFormat,
}
