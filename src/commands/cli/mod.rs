//! The command line: all commands and options, with an example for each command.

mod generate;
mod graphalytics;
mod submit;

use generate::threads;
pub use generate::*;
pub use graphalytics::GraphalyticsArgs;
pub use submit::{Scheduler, SubmitArgs};

use crate::formats::{Columns, IdKind, WeightsOption};
use crate::process::log::Format as LogFormat;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// Exact algorithms on graphs larger than memory and on linked lists, as resumable jobs.
#[derive(Debug, Parser)]
#[command(name = "gpugraph", version, max_term_width = 110, disable_help_subcommand = true)]
#[command(after_help = "Example:\n  gpugraph run configs/quickstart.toml\n\nExit codes: 0 done, 2 usage or config, \
    3 bad input, 4 a stored file is corrupt, 5 workdir in use, or with finished results of another input, 6 out of disk, 7 a limit is too small, 8 a result failed \
    validation, 9 a GPU or rank was lost, 10 workdir can't be read or written, 75 stopped by a signal: run the same line again.")]
pub struct Cli {
    /// The command to run
    #[command(subcommand)]
    pub command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a job; it resumes where an earlier run of the same job stopped
    #[command(
        after_help = "Examples:\n  gpugraph run configs/triangle.toml --set input.path=edges.u32 --set limits.host_memory=8GiB\n  \
        gpugraph run configs/listrank.toml --set input.path=successors.list\n\n\
        Ids count from 0 in sources and results, also for formats that count from 1 (mtx, metis, gr); --set input.first_id=1 keeps the ids of the file."
    )]
    Run(RunArgs),
    /// Print the stages, memory, disk space and time of a job without running it, and the limits that are too small
    #[command(after_help = "Examples:\n  gpugraph plan configs/s29.toml\n  \
        gpugraph plan configs/hyperlink2012.toml --ranks 64 --nodes 16")]
    Plan(PlanArgs),
    /// Write a job script for Slurm or PBS from the plan's memory and time, and submit it
    #[command(
        after_help = "Example:\n  gpugraph submit configs/s29.toml --gpus 1 --walltime 1h -- --partition=gpu --account=graphs"
    )]
    Submit(SubmitArgs),
    /// Show the progress of a job, even while it runs on another machine, or why it stopped
    #[command(after_help = "Example:\n  gpugraph status gpugraph.work/s29")]
    Status(InspectArgs),
    /// Check every stored file against its checksum and every result by another method
    #[command(after_help = "Example:\n  gpugraph verify configs/s29.toml")]
    Verify(InspectArgs),
    /// Write a random graph, a Kronecker product of two graphs or a linked list; the file is the same on any machine
    Generate(GenerateArgs),
    /// Convert an edge list or a linked list to another format, in fixed memory
    #[command(
        after_help = "Weights are kept by text, mtx, metis, gr and graph500 (in FILE.weights); the other formats hold \
        none. If the input has none and the format needs lengths (gr), they are 1.\n\nExamples:\n  gpugraph convert email-Eu-core.txt.gz email.u32\n  \
        gpugraph convert table.csv edges.u32 --columns 2,3\n  \
        gpugraph convert successors.list successors.i32"
    )]
    Convert(ConvertArgs),
    /// Run the algorithms of an LDBC Graphalytics graph as one job, and check the results against its references
    #[command(
        after_help = "Times are those of Graphalytics: load (read and prepare the graph), processing (the algorithm alone) and makespan (load, \
        algorithm and output). The references are the files NAME-BFS, NAME-PR and so on beside the vertex file; exit 8 if a result differs.\n\n\
        Examples:\n  gpugraph graphalytics datagen-7_5-fb.properties --output results\n  \
        gpugraph graphalytics graph500-22.properties --algorithms bfs,wcc --set limits.host_memory=8GiB --set run.trials=3"
    )]
    Graphalytics(GraphalyticsArgs),
    /// Remove the files of a workdir that can be rebuilt; results and reports stay
    #[command(after_help = "Example:\n  gpugraph clean gpugraph.work/s29")]
    Clean(CleanArgs),
    /// Recreate report.html of a job, or compare the jobs of several workdirs
    #[command(after_help = "Examples:\n  gpugraph report gpugraph.work/s29\n  \
        gpugraph report work/1-rank work/2-ranks work/4-ranks -o scaling.html")]
    Report(ReportArgs),
    /// Show GPUs, driver, memory and MPI, and how to install what is missing
    #[command(after_help = "Example:\n  gpugraph devices --json")]
    Devices(DevicesArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  gpugraph completions bash > ~/.local/share/bash-completion/completions/gpugraph"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man pages of gpugraph and all its commands
    #[command(after_help = "Example:\n  gpugraph man | man -l -")]
    Man,
    /// Print help for a command, or for a table or a key of job files
    #[command(
        after_help = "Examples:\n  gpugraph help run\n  gpugraph help '[sssp]'\n  gpugraph help limits.host_memory"
    )]
    Help(HelpArgs),
}

/// Arguments of `gpugraph help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, a table or a key of job files; without it, all commands are listed
    #[arg(
        help = "A command, a table such as [limits], or a key such as threads or limits.threads; without it, all commands are listed"
    )]
    pub topic: Option<String>,
}

/// Arguments of `gpugraph run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The job file
    pub job: PathBuf,
    /// Options for starting the job
    #[command(flatten)]
    pub start: StartArgs,
}

/// Arguments of all commands that run a job.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// Set a key of the job, as table.key=value
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    pub set: Vec<String>,
    /// Discard everything that earlier runs left in the workdir, including finished results of another input
    #[arg(long)]
    pub fresh: bool,
    /// Wait while another process uses the workdir, instead of exiting with code 5
    #[arg(long)]
    pub wait: bool,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Log only warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `gpugraph plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The job file
    pub job: PathBuf,
    /// Set a key of the job, as table.key=value
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    pub set: Vec<String>,
    /// Number of MPI ranks that run the job
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub ranks: u32,
    /// Number of nodes that the ranks run on. Each is assumed to be like this machine, unless the job file sets limits
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub nodes: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `gpugraph status` and `gpugraph verify`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A job file or a workdir
    #[arg(value_name = "JOB.toml|WORKDIR")]
    pub place: PathBuf,
    /// Set a key of the job, as table.key=value
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    pub set: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `gpugraph report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A workdir; if there are several, the others are compared with the first
    #[arg(required = true, value_name = "WORKDIR")]
    pub workdirs: Vec<PathBuf>,
    /// The file to write, or - for standard output; by default report.html in the workdir
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON instead
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    /// Print the tables as CSV instead
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub csv: bool,
    /// Write each chart to this folder as an SVG file instead, for example for a paper
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["output", "json", "csv"])]
    pub svg: Option<PathBuf>,
}

/// Arguments of `gpugraph convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A file, a folder, a pattern, a pipe, or - for standard input (with --from). Data from a pipe is first copied
    /// to a file next to the output, because it may be read twice; the copy is deleted at the end
    pub input: PathBuf,
    /// The file to write
    pub output: PathBuf,
    /// Also read the subfolders of a folder
    #[arg(long)]
    pub recursive: bool,
    /// Format of the input; by default, its extension selects it
    #[arg(long)]
    pub from: Option<String>,
    /// Format of the output; by default, its extension selects it
    #[arg(long)]
    pub to: Option<String>,
    /// Columns of text or Parquet that contain the ids, by 1-based index or by name: 2,3 or src,dst. By default, the
    /// header line selects them by name; in text without a header line, they are the first two
    #[arg(long, value_parser = Columns::from_str)]
    pub columns: Option<Columns>,
    /// Type of the weights: auto (integers or f32, as in the input), none, u32, u64, f32 or f64
    #[arg(long, default_value = "auto", value_parser = WeightsOption::from_str)]
    pub weights: WeightsOption,
    /// Lines to skip at the top of each text file, not counting comments and blank lines
    #[arg(long, value_name = "LINES")]
    pub skip_lines: Option<u64>,
    /// Type of the ids in text and Parquet: number, or string. String ids become numbers, in byte order of the
    /// strings, and OUTPUT.ids.txt lists the strings
    #[arg(long, default_value = "number", value_parser = IdKind::from_str)]
    pub ids: IdKind,
    /// Number of threads; 0 for all cores of this process
    #[arg(long, default_value_t = 0, value_parser = threads)]
    pub threads: usize,
}

/// Arguments of `gpugraph clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// The workdir
    pub workdir: PathBuf,
    /// Also remove results and reports
    #[arg(long)]
    pub all: bool,
}

/// Arguments of `gpugraph devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
