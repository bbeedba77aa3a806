//! Text of a job script: scheduler directives, the variables of this job, and the body that all job scripts of
//! gpugraph share.

use crate::commands::cli::Scheduler;
use crate::error::{Error, Result};
use crate::jobfile::duration;
use std::ffi::OsStr;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Last section of a job script, which is the same for all schedulers.
const BODY: &str = include_str!("../../../scheduler/run.sh");
const PBS: &str = include_str!("../../../scheduler/pbs.sh");
const SLURM: &str = include_str!("../../../scheduler/slurm.sh");
/// Minimum and maximum of the grace period in seconds: the time between a signal to the job to save its work and the
/// end of the walltime. Between the two bounds, the grace period is a tenth of the walltime.
const GRACE: RangeInclusive<u64> = 20..=120;

/// Values that differ between job scripts. Paths and arguments are already quoted for a shell.
pub(super) struct Script {
    pub scheduler: Scheduler,
    pub name: String,
    pub nodes: u32,
    /// Ranks per node.
    pub ranks: u32,
    /// Cores per rank.
    pub cores: u32,
    /// GPUs per node.
    pub gpus: u32,
    /// Memory per node in bytes.
    pub memory: u64,
    pub minutes: u64,
    pub options: Vec<String>,
    /// True if `options` request a job array.
    pub is_array: bool,
    pub arguments: String,
    pub folder: String,
    pub config: String,
    pub gpugraph: String,
    /// Path of the site's settings file, `site.env`; empty if there is none.
    pub site: String,
    /// Path of this script.
    pub script: String,
    /// Planned time of the job in seconds.
    pub seconds: f64,
}

/// Returns the file name extension of job scripts for a scheduler.
pub(super) fn ending(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::Pbs => "pbs",
        Scheduler::Slurm => "sbatch",
    }
}

/// Quotes `text` as a single shell word. `what` names the text in the error message.
///
/// # Errors
/// [`Error::Usage`] for text that is not UTF-8 or contains a newline or another control character, because it can't be
/// written reliably on one line of a script.
pub(super) fn quoted(what: &str, text: &OsStr) -> Result<String> {
    match text.to_str().filter(|text| !text.chars().any(char::is_control)) {
        Some(text) => Ok(format!("'{}'", text.replace('\'', r"'\''"))),
        None => Err(Error::Usage(format!(
            "{what}: {text:?} can't stand in a job script: expected UTF-8 text without newlines and control characters; rename it"
        ))),
    }
}

/// Returns `path` as text to be pasted into a shell, quoted if necessary. A path that [`quoted`] rejects is formatted
/// with `{:?}`.
pub(super) fn pasted(path: &Path) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=:,.@%/".contains(c);
    match path.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        _ => quoted("path", path.as_os_str()).unwrap_or_else(|_| format!("{path:?}")),
    }
}

/// Converts the name of a job into a name that every scheduler accepts: it starts with a letter and has at most 15
/// characters.
pub(super) fn name(job: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String = job.chars().map(fine).collect();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    format!("{}{name}", if begins { "" } else { "g" }).chars().take(15).collect()
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Script { nodes, ranks, cores, gpus, name, .. } = self;
        let (mib, all) = (self.memory.div_ceil(1 << 20), ranks * cores);
        let grace = (self.minutes * 6).clamp(*GRACE.start(), *GRACE.end());
        let time = format!("{:02}:{:02}:00", self.minutes / 60, self.minutes % 60);
        let planned = duration::show(Duration::from_secs(self.seconds.ceil().min(1e15) as u64));
        writeln!(f, "#!/bin/bash")?;
        writeln!(
            f,
            "# Made by gpugraph {} from the job's plan, which has {planned} to go.",
            env!("CARGO_PKG_VERSION")
        )?;
        writeln!(
            f,
            "# shellcheck disable=SC2034,SC2153,SC2317 # what the environment sets, and other job scripts need"
        )?;
        match self.scheduler {
            Scheduler::Slurm => {
                writeln!(
                    f,
                    "#SBATCH --nodes={nodes}\n#SBATCH --ntasks-per-node={ranks}\n#SBATCH --cpus-per-task={cores}"
                )?;
                if *gpus > 0 {
                    writeln!(f, "#SBATCH --gres=gpu:{gpus}")?;
                }
                writeln!(f, "#SBATCH --mem={mib}M\n#SBATCH --time={time}\n#SBATCH --job-name={name}")?;
                writeln!(f, "#SBATCH --signal=B:USR1@{grace}\n#SBATCH --requeue\n#SBATCH --open-mode=append")?;
                writeln!(f, "#SBATCH --output=%x.{}.log", if self.is_array { "%A_%a" } else { "%j" })?;
                if !self.options.is_empty() {
                    writeln!(f, "#SBATCH {}", self.options.join(" "))?;
                }
            }
            Scheduler::Pbs => {
                let per = |name: &str, n: u32| if n > 0 { format!(":{name}={n}") } else { String::new() };
                let (ngpus, older) = (per("ngpus", *gpus), per("gpus", *gpus));
                writeln!(f, "#PBS -l select={nodes}:ncpus={all}{ngpus}:mpiprocs={ranks}:mem={mib}mb")?;
                if *nodes > 1 {
                    writeln!(f, "#PBS -l place=scatter")?;
                }
                writeln!(f, "# In the older dialect (Torque):")?;
                writeln!(f, "##PBS -l nodes={nodes}:ppn={all}{older} -l mem={}mb", u64::from(*nodes) * mib)?;
                writeln!(f, "#PBS -l walltime={time}\n#PBS -N {name}\n#PBS -S /bin/bash\n#PBS -j oe\n#PBS -r y")?;
                if !self.options.is_empty() {
                    writeln!(f, "#PBS {}", self.options.join(" "))?;
                }
            }
        }
        let (scheduler, particular) = match self.scheduler {
            Scheduler::Slurm => ("slurm", SLURM),
            Scheduler::Pbs => ("pbs", PBS),
        };
        writeln!(f, "\nscheduler={scheduler} ARGS=({})", self.arguments)?;
        writeln!(f, "CONFIG={}\nSET=\nGPUGRAPH={}\nSITE={}", self.config, self.gpugraph, self.site)?;
        writeln!(f, "GPUGRAPH_SUBMIT_DIR={}\nGPUGRAPH_SCRIPT={}", self.folder, self.script)?;
        if self.scheduler == Scheduler::Pbs {
            writeln!(f, "WALLTIME={time} GRACE=${{GRACE:-{grace}}}")?;
        }
        write!(f, "\n{particular}\n{BODY}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_names_are_accepted_by_schedulers() {
        for (job, expected) in [("web", "web"), ("s29 x/10", "s29_x_10"), ("10x", "g10x"), ("ü", "g_"), ("-a", "g-a")]
        {
            assert_eq!(name(job), expected);
        }
        assert_eq!(name("a-very-long-name-of-a-job").len(), 15);
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for text in ["a b", "it's", "$(touch x) `y` \"z\" \\ * ~ #", "''", "-n", "ü"] {
            let word = quoted("x", text.as_ref()).unwrap();
            let ran = std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), text);
        }
        for text in ["a\nb", "a\rb", "a\0b", "\x1b[0m"] {
            assert!(quoted("x", text.as_ref()).is_err(), "{text:?}");
        }
    }
}
