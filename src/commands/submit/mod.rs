//! `gpugraph submit`: writes a job script from the plan and submits it to Slurm or PBS.

mod array;
mod needs;
mod script;

use super::cli::{Scheduler, SubmitArgs};
use crate::config::{self, Job};
use crate::error::{Error, Result};
use crate::stdout;
use crate::store::replace::replace;
use array::JobArray;
use needs::{NodeNeeds, PerNode, of_node, per_node, sets_memory};
use script::{Script, pasted, quoted};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Default number of cores per rank, if neither the job file nor the command line sets it.
const CORES: u32 = 8;
/// Factor in the default walltime, which is `TIMES` times the planned time plus `STARTING` seconds for starting and
/// saving. A plan is accurate to a factor of two on the machine on which the rates of the cost model were measured.
const TIMES: f64 = 3.0;
const STARTING: f64 = 120.0;
/// Maximum default walltime in seconds: a day. Queues prefer short jobs, and an unfinished job can be resumed by the
/// next one.
const LONGEST: f64 = 86_400.0;

/// `gpugraph submit`: writes a job script into the workdir and submits it, or prints it.
///
/// # Errors
/// [`Error::Usage`] if no scheduler is found or it rejects the job, if the tasks of an array share a workdir, or if a
/// path can't be written in a script. Also the errors of planning the job and of writing the script.
pub fn submit(args: &SubmitArgs) -> Result<()> {
    let scheduler = scheduler(args)?;
    let array = JobArray::of(&args.options, scheduler);
    let mut job = match array {
        Some(array) => array.load(&args.job, &args.set)?,
        None => config::load(&args.job, &args.set)?,
    };
    if crate::job::input::streams::is_piped_in(&job.input) {
        let what = "a scheduler can't pipe the input into a job: write it to a file and name that";
        return Err(Error::Usage(format!("input.path: {what}")));
    }
    let folder = std::env::current_dir().map_err(|e| Error::io("find", ".", e))?;
    // Each task has its own workdir, so the script, which all tasks run, is stored outside the workdirs.
    let (shared, ending) = (array::shared(&job.workdir).to_owned(), script::ending(scheduler));
    let path = match array {
        Some(_) => folder.join(&shared).join(format!("submit.{}.{ending}", script::name(&job.name))),
        None => folder.join(&job.workdir).join(format!("submit.{ending}")),
    };
    let workdir_set = array.and_then(|_| array::workdir_set(&job.workdir));
    if let Some(array) = array {
        job.workdir = array.path(&job.workdir);
    }
    let Some(mut script) = script(args, scheduler, &job, &folder, &path)? else {
        let again = status(args, array);
        return stdout::print(format!(
            "{} is done already: nothing to submit (gpugraph run {again} --fresh runs it again)",
            pasted(&args.job)
        ));
    };
    script.is_array = array.is_some();
    if let Some(set) = workdir_set {
        script.arguments = format!("--set {} {}", quoted("job.workdir", set.as_ref())?, script.arguments);
    }
    let text = script.to_string();
    if args.print {
        return stdout::print(text);
    }
    let parent = path.parent().unwrap_or(&folder);
    std::fs::create_dir_all(parent).map_err(|e| Error::io("make the folder", parent, e))?;
    replace(&path, text.as_bytes())?;
    let ran = Command::new(scheduler.command()).arg(&path).stdin(Stdio::null()).output();
    let ran = ran.map_err(|e| Error::Usage(format!("{} can't be run: {e}", scheduler.command())))?;
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr).trim().replace('\n', "; ");
        let (command, path) = (scheduler.command(), pasted(&path));
        let remedy = remedy(scheduler, &why);
        return Err(Error::Usage(format!("{command} refused {path}: {why}; {remedy}")));
    }
    let look = match array {
        None => status(args, array),
        Some(_) => pasted(&job.workdir),
    };
    stdout::print(format!(
        "{}\nscript {}; `gpugraph status {look}` shows the progress of {}",
        String::from_utf8_lossy(&ran.stdout).trim(),
        pasted(&path),
        if array.is_some() { "the first task" } else { "it" }
    ))
}

/// Returns the job file and the `--set` overrides as shell text, to be pasted after `gpugraph status` or `gpugraph
/// run`.
fn status(args: &SubmitArgs, array: Option<JobArray>) -> String {
    let job = array.map_or_else(|| args.job.clone(), |array| array.path(&args.job));
    let mut text = pasted(&job);
    for set in &args.set {
        let set = array.map_or_else(|| set.clone(), |array| array.text(set));
        text += " --set ";
        text += &pasted(Path::new(&set));
    }
    text
}

/// Returns advice for a user whose job script the scheduler has rejected with the message `why`.
fn remedy(scheduler: Scheduler, why: &str) -> &'static str {
    if scheduler == Scheduler::Pbs && why.contains("Unknown resource") && why.contains("gpus") {
        return "this site has defined no GPUs by that name: submit with --gpus 0 to count without one, or with --print \
                and write in what the site's documentation asks GPUs by";
    }
    "options for the scheduler go after --"
}

/// Returns the scheduler that the user named, or else the scheduler whose command is in `PATH`.
fn scheduler(args: &SubmitArgs) -> Result<Scheduler> {
    let here = |scheduler: &Scheduler| on_path(scheduler.command());
    match args.scheduler {
        Some(named) if args.print || here(&named) => Ok(named),
        Some(named) => Err(Error::Usage(format!(
            "{} is not on the path: submit from a login node of the cluster, load the scheduler's module, or see the script with --print",
            named.command()
        ))),
        None if !on_path("sbatch") && on_path("qconf") => Err(Error::Usage(
            "qsub is Grid Engine's here, and submit writes scripts for Slurm and PBS: use scheduler/job.sge (docs/reference/schedulers.md), or see a \
             script for others with --scheduler pbs --print"
                .into(),
        )),
        // Slurm comes first, because some Slurm sites provide a `qsub` command that imitates PBS.
        None => [Scheduler::Slurm, Scheduler::Pbs].into_iter().find(here).ok_or_else(|| {
            Error::Usage(
                "neither sbatch (Slurm) nor qsub (PBS) is on the path: submit from a login node of the cluster, or see the script \
                 with --scheduler slurm --print; for LSF and Flux there are scripts (docs/reference/schedulers.md)"
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

/// Returns the job script for `job`, which will be stored at `script`; `None` if earlier runs have completed the job.
fn script(args: &SubmitArgs, scheduler: Scheduler, job: &Job, folder: &Path, script: &Path) -> Result<Option<Script>> {
    let cores = args.cpus.unwrap_or(match u32::try_from(job.limits.threads).unwrap_or(0) {
        0 => CORES,
        threads => threads,
    });
    let Some(PerNode { gpus, ranks }) = per_node(args, job, cores)? else { return Ok(None) };
    let needs = NodeNeeds::of(job, cores, gpus > 0, [args.nodes * ranks, args.nodes].map(|n| n as usize))?;
    let seconds = match args.walltime {
        Some(asked) => asked.as_secs().max(60),
        None => (needs.seconds * TIMES + STARTING).min(LONGEST) as u64,
    };
    // The memory limit of the run is the amount requested from the scheduler, even if the node has more memory. A
    // limit on the command line takes precedence. Otherwise the limit is what the plan needs, but at most the limit in
    // the job file.
    let (limit, cached, planned) = match job.limits.host_memory {
        Some(limit) if args.set.iter().any(|set| sets_memory(set)) => (limit, 0, None),
        limit => {
            let limit = limit.map_or(needs.memory, |limit| limit.min(needs.memory)).next_multiple_of(1 << 20);
            (limit, needs.cached, Some(format!("limits.host_memory={}", crate::memory::at_least(limit))))
        }
    };
    let set = args.set.iter().chain(&planned).map(|set| Ok(format!("--set {}", quoted("--set", set.as_ref())?)));
    // A job script fails if it can't read the file that SITE names, so set SITE only if site.env exists.
    let site = std::env::var_os("SITE").filter(|site| !site.is_empty()).map(|site| folder.join(site));
    let site = site.or_else(|| Some(folder.join("site.env")).filter(|path| path.exists()));
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
        memory: of_node(limit, cached, [ranks, cores, gpus]),
        minutes: seconds.div_ceil(60),
        options: args.options.iter().map(|option| plain(option)).collect::<Result<_>>()?,
        is_array: false,
        arguments: set.collect::<Result<Vec<_>>>()?.join(" "),
        folder: path("the folder of this shell", folder)?,
        config: path("the job file", &job_file)?,
        gpugraph: path("the program", &gpugraph)?,
        site: site.map_or_else(|| Ok(String::new()), |site| path("SITE", &site))?,
        script: path("the workdir", script)?,
        seconds: needs.seconds,
    }))
}

/// Returns `option`, an option for the scheduler, unchanged if it needs no quoting. Other options are an error,
/// because quoting is unreliable in scheduler directives.
fn plain(option: &str) -> Result<String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-+=:,.@%/[]".contains(c);
    if !option.is_empty() && option.chars().all(fine) {
        return Ok(option.to_owned());
    }
    Err(Error::Usage(format!(
        "option {option:?} of the scheduler: expected letters, digits and _-+=:,.@%/[]; write others into the script that --print shows"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_a_directive_would_misread_are_refused() {
        assert!(plain("--partition=gpu,long").is_ok() && plain("--array=0-9%2").is_ok());
        for option in ["", "a b", "a\nb", "a#b", "$(x)", "a'b", "ü"] {
            assert!(plain(option).is_err(), "{option:?}");
        }
    }
}
