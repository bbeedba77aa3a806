//! The validated job: what the rest of the crate is given. Nothing in here is optional because the file left it
//! out; an `Option` means that "none" is itself a decision (take what the machine has, guess by the ending).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::formats::TextOptions;

/// A job file after validation: every value in range, every default filled in, every `$VAR` expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// `[job] name`, else made of the input's name, else the stem of the job file's. A single path component.
    pub name: String,
    /// `[job] workdir`, else `gpugraph.work/NAME`. Relative to the folder the command runs in.
    pub workdir: PathBuf,
    /// `[job] scratch`: a folder of each node's own disk, for what one rank alone writes and reads again; `None`: the
    /// workdir.
    pub scratch: Option<PathBuf>,
    /// Keep the prepared graph after the job, for `[input] prepared` of another.
    pub keep: bool,
    /// Where the edges come from.
    pub input: InputSpec,
    /// `[input] expect`: what a plan takes the files for while they are not there. A run reads them.
    pub expect: Option<Expect>,
    /// How much of the machine may be used. Never part of a fingerprint.
    pub limits: Limits,
    /// How to run. Never part of a fingerprint.
    pub run: Run,
    /// How results are written.
    pub output: Output,
    /// The `[triangle]` table, if the job has one. Without any algorithm `keep` is true.
    pub triangle: Option<Triangle>,
    /// The job as TOML: the file's own text, or, under `--set`, an equivalent text with the overrides in it.
    /// `$VAR`s stand in it as written.
    pub text: String,
}

/// `[input]`: exactly one source of edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    /// `path`: files, folders or patterns, read in this order as one edge list. Neither empty nor looked up yet.
    Files {
        /// As written, variables expanded, patterns not.
        paths: Vec<PathBuf>,
        /// One of [`FORMATS`](super::FORMATS); `None` stands for `"auto"`: by the ending of each file.
        format: Option<String>,
        /// True if subfolders of a folder are read, too.
        #[serde(default)]
        recursive: bool,
        /// `columns` and `skip_lines`: how text is read.
        #[serde(default)]
        text: TextOptions,
    },
    /// `prepared`: the workdir of a job that kept its graph.
    Prepared(PathBuf),
    /// `kronecker`: an R-MAT graph by the Graph500 parameters.
    Kronecker(Random),
    /// `uniform`: both ends of every edge drawn evenly.
    Uniform(Random),
}

/// `[input] expect`: the size of files that are not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// Edges, loops and repeats included.
    pub edges: u64,
    /// The largest id and one.
    pub ids: u64,
}

/// A random graph that the job makes itself: 2^`scale` vertices and `edge_factor` × 2^`scale` edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Random {
    /// Binary logarithm of the number of vertices, 1 to 40.
    pub scale: u32,
    /// Edges per vertex, above 0; need not be whole.
    pub edge_factor: f64,
    /// Seed of the counter-based random numbers.
    pub seed: u64,
}

/// `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of host memory per rank; `None`: 80 % of what the machine or cgroup has free.
    pub host_memory: Option<u64>,
    /// Bytes of memory per GPU; `None`: 90 % of what is free.
    pub gpu_memory: Option<u64>,
    /// Threads; 0: all the cores that the scheduler gave this process.
    pub threads: usize,
}

/// `[run]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What computes.
    pub device: Device,
    /// Ordinal of the one GPU to use; `None`: by local rank. Never with [`Device::Cpu`].
    pub gpu: Option<u32>,
    /// What to do where a machine has fewer GPUs than ranks.
    #[serde(default)]
    pub gpu_sharing: GpuSharing,
    /// How often an algorithm is repeated, at least once; each is reported, and the median.
    pub trials: u32,
    /// Time between two lines of progress in a log.
    pub log_interval: Duration,
    /// Refuse to begin where the plan's figures of the disk do not fit.
    pub disk_check: bool,
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
        }
    }
}

/// `[run] device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// A GPU where there is a usable one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, or the job is refused.
    Gpu,
}

/// `[run] gpu_sharing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuSharing {
    /// Ranks that have the same GPU take an equal part of its memory.
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

/// `[output]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Output {
    /// Format of the per-vertex results.
    pub format: OutputFormat,
}

/// `[output] format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// NumPy arrays, indexed by vertex id.
    #[default]
    Npy,
    /// Text with a column of ids.
    Csv,
}

/// `[triangle]`: *what* to count. Its serialised form is part of the stage's fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Triangle {
    /// Also count per vertex, and write `out/triangles` and `out/clustering`.
    pub per_vertex: bool,
}
