//! The keys of job files that do not depend on the algorithm. Each algorithm defines its own keys.

use crate::jobfile::Key;

/// Keys of `[job]`.
pub(super) mod job {
    use super::Key;

    pub const NAME: Key<()> = Key::of_field(
        "name",
        ("text", "the input's file name without endings"),
        "name of the job, so that each graph has its workdir",
    );
    pub const WORKDIR: Key<()> =
        Key::of_field("workdir", ("a path", "`gpugraph.work/NAME`"), "the folder for everything the job writes");
    pub const SCRATCH: Key<()> =
        Key::of_field("scratch", ("a path", "the workdir"), "a disk of each node for edges that memory can't hold");
    pub const KEEP: Key<bool> = Key::flag(
        "keep",
        "keeps the prepared graph for `[input] prepared` of another job; without a table of an algorithm it is always kept",
    );
}

/// Keys of `[input]`.
pub(super) mod input {
    use super::Key;
    use super::MOST_SKIPPED;
    use crate::formats::{Columns, IdKind, WeightsOption};
    use crate::graph::ids::FirstId;

    const NONE: &str = "none";

    pub const PATH: Key<()> = Key::of_field(
        "path",
        ("a path or a list of paths", NONE),
        "a file, a folder or pattern of part files, \"-\" for standard input, or a list of them that is read as one",
    );
    pub const FORMAT: Key<()> = Key::of_field(
        "format",
        ("u32 | u64 | text | mtx | metis | gr | graph500 | npy | npz | sg | wsg | parquet | auto", "\"auto\""),
        "format of the files; auto goes by the ending",
    );
    pub const WEIGHTS: Key<WeightsOption> =
        Key::choice("weights", &WeightsOption::NAMED, "type of the weights to read; auto is as the file has them");
    pub const COLUMNS: Key<Columns> = Key::new(
        "columns",
        ("[2, 3] | [2, 3, 4] | [\"src\", \"dst\"] | auto", "\"auto\""),
        "columns of text and Parquet that hold both ends, and the weight as a third",
        Columns::default,
        |field, diagnostics| field.columns(diagnostics),
    );
    pub const SKIP_LINES: Key<Option<u64>> = Key::new(
        "skip_lines",
        ("a whole number", "0, and a first line that states the number of lines is refused"),
        "lines to skip at the top of each file of text, not counting comments and blank lines",
        || None,
        |field, diagnostics| field.integer(0..=MOST_SKIPPED, diagnostics).map(Some),
    );
    pub const IDS: Key<IdKind> = Key::choice(
        "ids",
        &IdKind::NAMED,
        "what the ids of text and Parquet are; strings are numbered in the order of their bytes, as `out/ids.txt` lists them",
    );
    pub const VERTICES: Key<()> = Key::of_field(
        "vertices",
        ("a path", NONE),
        "a file of text with the id of each vertex, one a line: the graph has these vertices, also without edges, and no others",
    );
    pub const PREPARED: Key<()> =
        Key::of_field("prepared", ("a path", NONE), "the workdir of a job that kept its graph");
    pub const KRONECKER: Key<()> = Key::of_field(
        "kronecker",
        ("{ scale = 20, edge_factor = 16, seed = 1 }", NONE),
        "a graph that the job makes: 2^scale vertices with edge_factor edges each, as Graph500 has it",
    );
    pub const UNIFORM: Key<()> = Key::of_field(
        "uniform",
        ("{ scale = 20, edge_factor = 16, seed = 1 }", NONE),
        "a graph that the job generates, both ends of every edge drawn uniformly",
    );
    pub const RANDOM: Key<()> = Key::of_field(
        "random",
        ("{ vertices = 16384, edges = 163840, min_weight = 1, max_weight = 1000, seed = 1 }", NONE),
        "a graph without loops that the job makes, with weights",
    );
    pub const RMAT: Key<()> = Key::of_field(
        "rmat",
        ("{ scale = 14, edges = 163840, a = 0.45, b = 0.15, c = 0.15, d = 0.25 }", NONE),
        "a graph that the job makes by these probabilities of quadrants, with weights as `random` has them",
    );
    pub const SSCA2: Key<()> = Key::of_field(
        "ssca2",
        ("{ vertices = 16384, largest_clique = 25, one_way = 0.2, parallel = 3, between = 0.5 }", NONE),
        "cliques and edges between them that the job makes, with weights as `random` has them",
    );
    pub const GRID: Key<()> = Key::of_field(
        "grid",
        ("{ rows = 1024, columns = 1024 }", NONE),
        "long paths, as roads have, that the job makes, with weights as `random` has them",
    );
    pub const LIST: Key<()> = Key::of_field(
        "list",
        ("{ length = 10_000_000, kind = \"random\", seed = 1 }", NONE),
        "a linked list that the job makes, for `[listrank]`",
    );
    pub const EXPECT: Key<()> = Key::of_field(
        "expect",
        ("{ edges = 1000000, ids = 50000 }", NONE),
        "size of the input, for `gpugraph plan` while the file is not there",
    );
    pub const DIRECTED: Key<bool> = Key::flag("directed", "keeps direction for algorithms that follow it");
    pub const FIRST_ID: Key<FirstId> = Key::new(
        "first_id",
        ("0 | 1", "0"),
        "1 keeps the ids of a file that counts from 1 (mtx, metis, gr) in results and sources",
        FirstId::default,
        |field, diagnostics| field.integer(0..=1, diagnostics).map(FirstId),
    );
    pub const RECURSIVE: Key<bool> = Key::flag("recursive", "reads the subfolders of a folder, too");
}

/// Keys of `[limits]`.
pub(super) mod limits {
    use super::Key;
    use crate::config::MAX_THREADS;

    pub const HOST_MEMORY: Key<Option<u64>> = Key::new(
        "host_memory",
        ("a size, such as \"16GiB\"", "80 % of what is free"),
        "host memory of each rank, never exceeded",
        || None,
        |field, diagnostics| field.size(diagnostics).map(Some),
    );
    pub const GPU_MEMORY: Key<Option<u64>> = Key::new(
        "gpu_memory",
        ("a size, such as \"16GiB\"", "90 % of what is free; leaves at least 1 GiB"),
        "memory of each GPU, never exceeded; taken as a whole at the start",
        || None,
        |field, diagnostics| field.size(diagnostics).map(Some),
    );
    pub const THREADS: Key<usize> = Key::new(
        "threads",
        ("a whole number", "0"),
        "threads of each rank; 0 is all cores that the scheduler gave the process",
        || 0,
        |field, diagnostics| field.integer(0..=MAX_THREADS, diagnostics),
    );
}

/// Keys of `[run]`.
pub(super) mod run {
    use super::Key;
    use crate::config::spec::{Device, GpuSharing};
    use std::time::Duration;

    pub const DEVICE: Key<Device> = Key::choice(
        "device",
        &[("auto", Device::Auto), ("cpu", Device::Cpu), ("gpu", Device::Gpu)],
        "where to compute; auto is a GPU if one can be used, else the CPU",
    );
    pub const GPU: Key<Option<u32>> = Key::new(
        "gpu",
        ("a whole number", "the first"),
        "number of the GPU to use, and no other",
        || None,
        |field, diagnostics| field.integer(0..=1023, diagnostics).map(Some),
    );
    pub const GPU_SHARING: Key<GpuSharing> = Key::choice(
        "gpu_sharing",
        &[("split", GpuSharing::Split), ("refuse", GpuSharing::Refuse)],
        "if a machine has more ranks than GPUs, they share them or are refused",
    );
    pub const TRIALS: Key<u32> = Key::new(
        "trials",
        ("a whole number from 1", "1"),
        "repeats the algorithm, and reports each trial and the median",
        || 1,
        |field, diagnostics| field.integer(1..=1_000_000, diagnostics),
    );
    pub const LOG_INTERVAL: Key<Duration> = Key::new(
        "log_interval",
        ("a duration, such as \"30s\"", "\"30s\""),
        "time between two lines of progress in a log; a terminal shows bars",
        || Duration::from_secs(30),
        |field, diagnostics| field.duration(Duration::from_millis(100)..=Duration::from_secs(86_400), diagnostics),
    );
    pub const DISK_CHECK: Key<bool> =
        Key::flag_on("disk_check", "refuses a job whose disk has less room than the plan needs");
    pub const ENERGY: Key<bool> = Key::flag("energy", "reports joules of algorithms that measure them");
}

/// Keys of `[output]`.
pub(super) mod output {
    use super::Key;
    use crate::results::OutputFormat;

    pub const FORMAT: Key<OutputFormat> = Key::choice("format", &FORMATS, "format of the results");
    const FORMATS: [(&str, OutputFormat); 3] =
        [("npy", OutputFormat::Npy), ("csv", OutputFormat::Csv), ("parquet", OutputFormat::Parquet)];
}

/// Largest value of `skip_lines`. gpugraph inspects only the beginning of a file, which might not contain more lines.
const MOST_SKIPPED: u64 = 1 << 20;

/// Keys whose values are arbitrary text. On the command line their values need no quotes even if they are numbers
/// (`--set job.name=2024`).
pub(super) const TEXT: [[&str; 2]; 5] =
    [["job", "name"], ["job", "workdir"], ["job", "scratch"], ["input", "path"], ["input", "prepared"]];

/// Parameters of the random graphs `kronecker` and `uniform`.
pub(super) const RANDOM: [&str; 3] = ["scale", "edge_factor", "seed"];

/// Keys of `[input] expect`, the expected size of missing files.
pub(super) const EXPECT: [&str; 2] = ["edges", "ids"];
