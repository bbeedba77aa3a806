//! Arguments of `gpugraph submit`.

use crate::jobfile::duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `gpugraph submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// The job file
    pub job: PathBuf,
    /// Set a key of the job, as table.key=value, for the plan and the run. If limits.host_memory is set here, the
    /// script requests that much memory; otherwise it requests what the plan needs, up to the limit in the job file
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    pub set: Vec<String>,
    /// The scheduler; by default the one whose sbatch or qsub is in PATH
    #[arg(long, value_enum)]
    pub scheduler: Option<Scheduler>,
    /// Number of nodes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub nodes: u32,
    /// Ranks per node; several ranks need a gpugraph that was built with MPI. By default, one for each GPU, or one
    /// without GPUs
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: Option<u32>,
    /// GPUs per node, at most one for each rank. By default, one for each rank if run.device = "gpu", or if an
    /// algorithm has GPU kernels and the plan takes a minute or more without a GPU; otherwise none
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub gpus: Option<u32>,
    /// Cores per rank; by default, limits.threads, or 8 if that is not set
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Walltime, as 4h or 04:00:00; by default, three times the planned time plus two minutes, at most a day
    #[arg(long, value_parser = walltime)]
    pub walltime: Option<Duration>,
    /// Print the script instead of submitting it
    #[arg(long)]
    pub print: bool,
    /// Options for sbatch or qsub, after --. In a job array (--array, -J), %a is replaced by the index of the task in
    /// JOB, in --set and in job.workdir; the workdir must contain it
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

/// Scheduler for which a job script is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scheduler {
    /// OpenPBS, PBS Pro, Torque: `qsub`
    Pbs,
    /// Slurm: `sbatch`
    Slurm,
}

impl Scheduler {
    /// Returns the command that submits a script.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Scheduler::Pbs => "qsub",
            Scheduler::Slurm => "sbatch",
        }
    }
}

/// Parses a walltime: a duration as in job files, such as `4h`, or `hours:minutes:seconds` as for schedulers.
///
/// # Errors
/// A message for the command line if `text` is not a walltime from a second to a year.
pub fn walltime(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(366 * 86_400);
    let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok().filter(|&n| n < 1 << 30)).collect();
    let found = match parts.as_deref() {
        Some([h, m, s]) => Duration::from_secs(h * 3600 + m * 60 + s),
        Some([h, m]) => {
            return Err(format!("write {h}:{m}:00 for hours and minutes, {h}m{m}s for minutes and seconds"));
        }
        _ => duration::parse(text).map_err(|why| format!("expected a walltime such as 4h or 04:00:00, {why}"))?,
    };
    if found.is_zero() || found > most {
        return Err("expected a walltime of a second to a year".into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walltimes_are_read_as_people_and_as_schedulers_write_them() {
        for (text, seconds) in
            [("4h", 14_400), ("1h30m", 5_400), ("04:00:00", 14_400), ("100:00:01", 360_001), ("90s", 90)]
        {
            assert_eq!(walltime(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "4", "1:30", "0s", "00:00:00", "1:2:3:4", "-1:00:00", "9999999999:00:00", "500d"] {
            assert!(walltime(text).is_err(), "{text}");
        }
    }
}
