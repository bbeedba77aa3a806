//! `gpugraph submit`: writes a job script from the plan's figures and hands it to Slurm or PBS.

mod script;

use super::cli::SubmitArgs;
use crate::comm::mpi;
use crate::config::{self, Device, Job};
use crate::error::{Error, Result};
use crate::job::plan::resources::Resources;
use crate::job::plan::{Plan, limits};
use crate::jobfile::duration;
use crate::stdout;
use crate::store::replace::replace;
use script::{Script, pasted, quoted};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Cores of a rank, if neither the job file nor the command line sets them.
const CORES: u32 = 8;
/// Memory that a run may need beyond the plan, with a tenth of it: drivers differ in what they take of the host.
const MARGIN: u64 = 256 << 20;
/// Memory of a process beside what the plan counts: code, page tables, kernel buffers.
const BESIDE: u64 = 512 << 20;
/// Walltime for each second of the plan, which is good to a factor of two on the machine that its rates are of; and seconds to start and to save.
const TIMES: f64 = 3.0;
const STARTING: f64 = 120.0;
/// Seconds of a plan on CPUs from which on a GPU is asked for, where the job file names no device: a shorter job would wait for it longer.
const WORTH_A_GPU: f64 = 60.0;
/// The longest walltime asked for by default. The job goes on in the next one, and queues prefer short ones.
const LONGEST: f64 = 86_400.0;

/// The schedulers that scripts are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scheduler {
    /// OpenPBS, PBS Pro, Torque: `qsub`
    Pbs,
    /// Slurm: `sbatch`
    Slurm,
}

impl Scheduler {
    fn command(self) -> &'static str {
        match self {
            Scheduler::Pbs => "qsub",
            Scheduler::Slurm => "sbatch",
        }
    }
}

/// `gpugraph submit`: writes a job script into the workdir and submits it, or prints it.
///
/// # Errors
/// [`Error::Usage`] where there is no scheduler, it refuses the job, or a path can't stand in a script; those of [`Plan::of`] and
/// [`limits::refuse`]; those of writing the script.
pub fn submit(args: &SubmitArgs) -> Result<()> {
    let scheduler = scheduler(args)?;
    let job = config::load(&args.job, &args.set)?;
    if crate::job::input::streams::is_piped_in(&job.input) {
        let what = "a job that a scheduler starts has nobody to pipe its input in: write it to a file and name that";
        return Err(Error::Usage(format!("input.path: {what}")));
    }
    let folder = std::env::current_dir().map_err(|e| Error::io("find", ".", e))?;
    let path = folder.join(&job.workdir).join(format!("submit.{}", script::ending(scheduler)));
    let Some(text) = script(args, scheduler, &job, &folder, &path)?.map(|script| script.to_string()) else {
        let job = pasted(&args.job);
        return stdout::print(format!(
            "{job} is done already: nothing to submit (gpugraph run {job} --fresh runs it again)"
        ));
    };
    if args.print {
        return stdout::print(text);
    }
    let made = std::fs::create_dir_all(&job.workdir);
    made.map_err(|e| Error::io("make the folder", &job.workdir, e))?;
    replace(&path, text.as_bytes())?;
    let ran = Command::new(scheduler.command()).arg(&path).stdin(Stdio::null()).output();
    let ran = ran.map_err(|e| Error::Usage(format!("{} can't be run: {e}", scheduler.command())))?;
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr).trim().replace('\n', "; ");
        let (command, path) = (scheduler.command(), pasted(&path));
        let remedy = remedy(scheduler, &why);
        return Err(Error::Usage(format!("{command} refused {path}: {why}; {remedy}")));
    }
    stdout::print(format!(
        "{}\nscript {}; `gpugraph status {}` tells how far it is",
        String::from_utf8_lossy(&ran.stdout).trim(),
        pasted(&path),
        pasted(&args.job)
    ))
}

/// Returns the remedy for a script that the scheduler refused for the reason `why`.
fn remedy(scheduler: Scheduler, why: &str) -> &'static str {
    if scheduler == Scheduler::Pbs && why.contains("Unknown resource") && why.contains("gpus") {
        return "this site has defined no GPUs by that name: submit with --gpus 0 to count without one, or with --print \
                and write in what the site's documentation asks GPUs by";
    }
    "options for it go behind --"
}

/// Returns the scheduler that was named, else the one whose command is on the path.
fn scheduler(args: &SubmitArgs) -> Result<Scheduler> {
    let here = |scheduler: &Scheduler| on_path(scheduler.command());
    match args.scheduler {
        Some(named) if args.print || here(&named) => Ok(named),
        Some(named) => Err(Error::Usage(format!(
            "{} is not on the path: submit from a login node of the cluster, load the scheduler's module, or see the script with --print",
            named.command()
        ))),
        // Slurm comes first, since some of its sites have a qsub that imitates PBS.
        None => [Scheduler::Slurm, Scheduler::Pbs].into_iter().find(here).ok_or_else(|| {
            Error::Usage(
                "neither sbatch (Slurm) nor qsub (PBS) is on the path: submit from a login node of the cluster, or see the script \
                 with --scheduler slurm --print"
                    .into(),
            )
        }),
    }
}

fn on_path(command: &str) -> bool {
    let runs = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| runs(&folder.join(command)))
}

/// Returns the script of a job; `None` where earlier runs left nothing to do.
fn script(args: &SubmitArgs, scheduler: Scheduler, job: &Job, folder: &Path, script: &Path) -> Result<Option<Script>> {
    let cores = args.cpus.unwrap_or(match u32::try_from(job.limits.threads).unwrap_or(0) {
        0 => CORES,
        threads => threads,
    });
    let device = if job.run.device == Device::Gpu { Device::Gpu } else { Device::Cpu };
    let by_one_rank = plan(job, cores, device, [1, 1])?;
    if by_one_rank.stages.iter().all(|stage| stage.done) {
        return Ok(None);
    }
    let has_kernels = job.tasks.is_empty() || job.tasks.iter().any(|task| !task.programs().is_empty());
    let gpus = match (args.gpus, job.run.device) {
        (Some(gpus), _) => gpus,
        (None, Device::Cpu) => 0,
        (None, Device::Gpu) => 1,
        (None, Device::Auto) => u32::from(has_kernels && by_one_rank.seconds >= WORTH_A_GPU),
    };
    let ranks = gpus.max(1);
    if args.nodes * ranks > 1 && mpi::version().is_none() {
        return Err(Error::Usage(format!(
            "{} ranks ({} nodes of {ranks}), but this gpugraph was built for one: build it with `cargo build --release \
             --features mpi`, or submit with --nodes 1 --gpus 1",
            args.nodes * ranks,
            args.nodes
        )));
    }
    let needs = Needs::of(job, cores, gpus > 0, [args.nodes * ranks, args.nodes].map(|n| n as usize))?;
    let seconds = match args.walltime {
        Some(asked) => asked.as_secs().max(60),
        None => (needs.seconds * TIMES + STARTING).min(LONGEST) as u64,
    };
    // The run stays within the memory that the scheduler is asked for, whatever its node has: the limit on the command line, else the
    // plan's need. The job file's limit holds for any machine and bounds it.
    let margined = needs.memory + needs.memory / 10 + MARGIN;
    let (limit, planned) = match job.limits.host_memory {
        Some(limit) if args.set.iter().any(|set| sets_memory(set)) => (limit, None),
        limit => {
            let limit = limit.map_or(margined, |limit| limit.min(margined)).next_multiple_of(1 << 20);
            (limit, Some(format!("limits.host_memory={}", crate::memory::at_least(limit))))
        }
    };
    let set = args.set.iter().chain(&planned).map(|set| Ok(format!("--set {}", quoted("--set", set.as_ref())?)));
    let site = std::env::var_os("SITE").map(PathBuf::from).unwrap_or_else(|| "site.env".into());
    let job_file = std::path::absolute(&args.job).map_err(|e| Error::io("find", &args.job, e))?;
    let gpugraph = std::env::current_exe().map_err(|e| Error::internal("find its own file", e))?;
    let path = |what: &str, path: &Path| quoted(what, path.as_os_str());
    Ok(Some(Script {
        scheduler,
        name: script::name(&job.name),
        nodes: args.nodes,
        ranks,
        cores,
        gpus,
        memory: u64::from(ranks) * (limit + BESIDE),
        minutes: seconds.div_ceil(60),
        options: args.options.iter().map(|option| plain(option)).collect::<Result<_>>()?,
        arguments: set.collect::<Result<Vec<_>>>()?.join(" "),
        folder: path("the folder of this shell", folder)?,
        config: path("the job file", &job_file)?,
        gpugraph: path("the program", &gpugraph)?,
        site: path("SITE", &folder.join(site))?,
        script: path("the workdir", script)?,
        seconds: needs.seconds,
    }))
}

/// Returns true if an override of the job file may set `limits.host_memory`, by the key or by its table.
fn sets_memory(set: &str) -> bool {
    let keys: Vec<&str> = set.split('=').next().unwrap_or_default().split('.').map(str::trim).collect();
    matches!(keys[..], ["limits"] | ["limits", "host_memory"])
}

/// Memory and seconds that one rank needs, on a GPU or the CPU.
struct Needs {
    memory: u64,
    seconds: f64,
}

impl Needs {
    /// Returns the plan's figures for ranks of `cores` cores.
    fn of(job: &Job, cores: u32, gpu: bool, [ranks, nodes]: [usize; 2]) -> Result<Needs> {
        let mut needs = Needs { memory: 0, seconds: 0.0 };
        // With "auto" the node may have a GPU or not, so both plans must fit.
        let devices = match job.run.device {
            Device::Auto if gpu => vec![Device::Cpu, Device::Gpu],
            Device::Auto => vec![Device::Cpu],
            named => vec![named],
        };
        for device in devices {
            let plan = plan(job, cores, device, [ranks, nodes])?;
            limits::refuse(&plan)?;
            let memory = plan.host_memory.max(plan.host_memory_needed.min(plan.host_memory_limit));
            needs.memory = needs.memory.max(memory);
            needs.seconds = needs.seconds.max(plan.seconds);
        }
        Ok(needs)
    }
}

/// Returns the plan of a job for ranks of `cores` cores on a device. If it needs more memory than this node has, it assumes a node that has it.
fn plan(job: &Job, cores: u32, device: Device, [ranks, nodes]: [usize; 2]) -> Result<Plan> {
    let mut job = job.clone();
    job.limits.threads = cores as usize;
    job.run.device = device;
    job.run.gpu = job.run.gpu.filter(|_| device != Device::Cpu);
    let plan = Plan::of(&job, &Resources::here(&job, ranks, nodes)?)?;
    if job.limits.host_memory.is_some() || plan.host_memory_needed <= plan.host_memory_limit {
        return Ok(plan);
    }
    job.limits.host_memory = Some(plan.host_memory_needed.next_multiple_of(1 << 20));
    Plan::of(&job, &Resources::here(&job, ranks, nodes)?)
}

/// Returns an option of the scheduler unchanged if it can stand in a line of directives, where quoting is not reliable.
fn plain(option: &str) -> Result<String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-+=:,.@%/[]".contains(c);
    if !option.is_empty() && option.chars().all(fine) {
        return Ok(option.to_owned());
    }
    Err(Error::Usage(format!(
        "option {option:?} of the scheduler: expected letters, digits and _-+=:,.@%/[]; write others into the script that --print shows"
    )))
}

/// Parses a walltime: a duration as in job files, or `[[hours:]minutes:]seconds` as for schedulers.
///
/// # Errors
/// The mistake, for a message of the command line.
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

    #[test]
    fn options_that_a_directive_would_misread_are_refused() {
        assert!(plain("--partition=gpu,long").is_ok() && plain("--array=0-9%2").is_ok());
        for option in ["", "a b", "a\nb", "a#b", "$(x)", "a'b", "ü"] {
            assert!(plain(option).is_err(), "{option:?}");
        }
    }
}
