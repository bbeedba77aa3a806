//! `gpugraph status`: the progress of a job, determined from the files in its workdir. It takes no lock and writes
//! nothing, so it blocks no other process.

use crate::algo::run::{Units, UnitsKind};
use crate::config::{self, InputSpec, Job};
use crate::error::{Error, Result};
use crate::job::graph::{STAGES, merge, transpose};
use crate::job::results::TaskResults;
use crate::job::state::lock::{Liveness, Lock, Owner};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::TaskRecord;
use crate::job::state::workdir;
use crate::process::formatting::{bytes, duration, per_second};
use crate::process::log;
use crate::process::status_file::Status;
use crate::store::checkpoint::Saved;
use crate::store::journal::{self, distinct};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Seconds without an update after which a run on another host is reported as silent. A run writes its status every
/// second.
const SILENT: f64 = 30.0;

/// Seconds without an update after which `status` reports a run on this host as silent.
const QUIET: f64 = 5.0;

/// Exit codes of errors that the same command would run into again: configuration, input, corrupt files, results of
/// another input, limits, and wrong results.
const FOR_GOOD: [u8; 6] = [2, 3, 4, 5, 7, 8];

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// A process is working on the job.
    Running,
    /// An owner on another host holds the workdir, but has written no update recently.
    Silent,
    /// The job ended early; the same command resumes it.
    Stopped,
    /// All tasks are complete.
    Finished,
}

/// Progress of a job, as `gpugraph status` reports it.
#[derive(Debug, Clone, Serialize)]
pub struct JobStatus {
    /// The workdir.
    pub workdir: PathBuf,
    /// Name of the job.
    pub job: String,
    /// Name of the job in the given job file, if it differs from the name of the job that computed the results.
    pub asked: Option<String>,
    /// Tables whose keys differ between the results and the job file. Each pair contains the table with its keys as
    /// used for the results, and the table with its keys in the job file.
    pub differs: Vec<[String; 2]>,
    /// The state of the job.
    pub state: JobState,
    /// The process that uses the workdir, or the last one that used it and did not release it.
    pub owner: Option<Owner>,
    /// Seconds since the owner's last update. It is inexact if the clocks of hosts differ.
    pub silent_seconds: Option<f64>,
    /// The reason why the last run ended early, if it did.
    pub stopped: Option<String>,
    /// Exit code of the last run, if it could record one.
    pub exit_code: Option<u8>,
    /// Number of times the job was resumed.
    pub resumes: u64,
    /// Total time in seconds of all runs that recorded their time.
    pub seconds: f64,
    /// Describes the durable progress of the job, for programs. If the text is the same before and after a run, the
    /// run made no durable progress.
    pub progress: String,
    /// All stages of the job, in order.
    pub stages: Vec<StageStatus>,
    /// Completed work units of the current task; `None` once the job is complete.
    pub units: Option<UnitsDone>,
    /// Progress of the current stage, or of the last one if none runs.
    pub now: Option<Status>,
    /// Results of completed tasks, as in the report.
    pub results: TaskResults,
}

/// Progress of one stage, as `gpugraph status` reports it.
#[derive(Debug, Clone, Serialize)]
pub struct StageStatus {
    /// Name of the stage in the report.
    pub name: String,
    /// True if the stage is complete.
    pub done: bool,
    /// Time in seconds that the stage took, if it is complete.
    pub seconds: Option<f64>,
}

/// Number of completed work units of a task, according to its journal or checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnitsDone {
    /// Name of the task.
    pub task: String,
    /// Number of units completed in the current trial.
    pub done: u64,
    /// Number of units per trial.
    pub total: u64,
    /// 0-based index of the current or last trial.
    pub trial: u32,
}

/// A job file or a workdir, the argument that `status` and `verify` accept.
#[derive(Debug, Clone)]
pub struct JobPlace {
    /// The workdir.
    pub workdir: PathBuf,
    /// The job, if a job file was given.
    pub job: Option<Job>,
}

impl JobPlace {
    /// Determines whether `path` is a job file or a workdir.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is neither, or if the job file has mistakes.
    pub fn of(path: &Path, set: &[String]) -> Result<JobPlace> {
        if path.is_dir() {
            if !set.is_empty() {
                return Err(Error::Usage("--set changes a job file; a workdir was named".into()));
            }
            return Ok(JobPlace { workdir: path.to_owned(), job: None });
        }
        if !path.try_exists().map_err(|e| Error::io("look for a job", path, e))? {
            return Err(Error::Usage(format!("{}: no such job file or workdir", path.display())));
        }
        let job = config::load(path, set)?;
        Ok(JobPlace { workdir: job.workdir.clone(), job: Some(job) })
    }

    /// Returns the manifest in the workdir.
    ///
    /// # Errors
    /// [`Error::Usage`] if no job has run there, [`Error::Io`], [`Error::Corrupt`].
    pub fn manifest(&self) -> Result<Manifest> {
        Manifest::load(&self.workdir)?.ok_or_else(|| {
            if self.job.is_none() {
                return workdir::of_no_job(&self.workdir);
            }
            let begin = "no job ran here yet; begin it with `gpugraph run` and this job file";
            Error::Usage(format!("{}: {begin}", self.workdir.display()))
        })
    }

    /// Returns the name of the job in the job file if the job that `manifest` records has another name. The results
    /// are then not those that the user asked for.
    pub fn name_in_job_file(&self, manifest: &Manifest) -> Option<&str> {
        let job = self.job.as_ref().filter(|job| job.name != manifest.job)?;
        Some(&job.name)
    }

    /// Returns the tables of the job file whose keys differ from those that the results in `manifest` were computed
    /// with. Each element contains the table's name, its keys as used for the results, and its keys in the job file.
    pub fn differences(&self, manifest: &Manifest) -> Vec<(&'static str, [String; 2])> {
        let Some(job) = self.job.as_ref().filter(|_| manifest.has_results()) else { return Vec::new() };
        let of_tasks = job.tasks.iter().filter_map(|task| {
            let name = task.name();
            Some((name, manifest.tasks.get(name)?.other_keys(&**task)))
        });
        let all = [("input", manifest.other_keys(job))].into_iter().chain(of_tasks);
        let both = |(table, keys): (_, Vec<_>)| (table, [0, 1].map(|side| table_values(table, &keys, side)));
        all.filter(|(_, keys)| !keys.is_empty()).map(both).collect()
    }
}

/// Formats one side of the pairs `keys` as text that begins with the name of the table. Side 0 contains the keys for
/// the results, side 1 the keys in the job file.
fn table_values(table: &str, keys: &[[String; 2]], side: usize) -> String {
    let values: Vec<&str> = keys.iter().map(|both| both[side].as_str()).collect();
    format!("[{table}] {}", values.join(", "))
}

/// Determines the status of a job from the files in its workdir.
///
/// # Errors
/// [`Error::Usage`] if no job has run there, [`Error::Corrupt`] if the manifest is damaged.
pub fn read_status(place: &JobPlace) -> Result<JobStatus> {
    let workdir = &place.workdir;
    let manifest = place.manifest()?;
    let owner = Lock::owner(workdir);
    let now = Status::read(workdir);
    let silent_seconds = now.as_ref().and(last_sign(workdir));
    // A run that has just started has not written its status yet, so the file may be from the previous run.
    let of_owner = |now: &Status| owner.as_ref().is_none_or(|owner| (now.pid, &now.host) == (owner.pid, &owner.host));
    let now = now.filter(of_owner);
    let state = match owner.as_ref().map(Owner::liveness) {
        Some(Liveness::Alive) => JobState::Running,
        Some(Liveness::Unknown) if silent_seconds.is_some_and(|s| s < SILENT) => JobState::Running,
        Some(Liveness::Unknown) => JobState::Silent,
        Some(Liveness::Dead) | None if manifest.stopped.is_some() => JobState::Stopped,
        Some(Liveness::Dead) | None => JobState::Finished,
    };
    let running = matches!(state, JobState::Running | JobState::Silent);
    let units = units(workdir, &manifest);
    Ok(JobStatus {
        progress: progress(workdir, &manifest, units.as_ref()),
        workdir: workdir.clone(),
        job: manifest.job.clone(),
        asked: place.name_in_job_file(&manifest).map(str::to_owned),
        differs: place.differences(&manifest).into_iter().map(|(_, both)| both).collect(),
        state,
        silent_seconds: silent_seconds.filter(|_| running),
        // While a job runs, its manifest says that it was killed, so that this is true if it does get killed.
        stopped: manifest.stopped.clone().filter(|_| !running),
        exit_code: manifest.exit_code.filter(|_| !running),
        resumes: manifest.resumes,
        seconds: manifest.seconds,
        stages: stages(&manifest, place.job.as_ref()),
        // Units of a finished job may be left over from an earlier attempt with more trials or other results. The
        // journal of searches also contains records of checks, so `min` caps the number of units.
        units: units
            .filter(|_| state != JobState::Finished)
            .map(|units| UnitsDone { done: units.done.min(units.total), ..units }),
        results: TaskResults::of(&manifest, usize::MAX, &[]),
        now,
        owner,
    })
}

/// Returns all stages: preparation of the graph, the tasks of the job, and other tasks computed in this workdir.
fn stages(manifest: &Manifest, job: Option<&Job>) -> Vec<StageStatus> {
    let look = |name: &str| {
        let task = || manifest.tasks.get(name).filter(|task| task.done).map(|task| &task.figures);
        let figures = manifest.stages.get(name).map(|stage| &stage.figures).or_else(task);
        StageStatus { name: name.to_owned(), done: figures.is_some(), seconds: figures.map(|figures| figures.seconds) }
    };
    let mut tasks: Vec<&str> = match job {
        Some(job) => job.tasks.iter().map(|task| task.name()).collect(),
        None => manifest.asked.iter().map(String::as_str).collect(),
    };
    for (name, _) in manifest.tasks_in_order() {
        if !tasks.contains(&name) {
            tasks.push(name);
        }
    }
    let prepares = |input: &InputSpec| !input.is_list() && !matches!(input, InputSpec::Prepared(_));
    let prepares = manifest.input.as_ref().is_none_or(prepares);
    let transposes = job.is_some_and(Job::needs_upper) || manifest.stages.contains_key(transpose::STAGE);
    let merges = job.is_some_and(|job| job.merges(job.direction())) || manifest.stages.contains_key(merge::STAGE);
    let parts = transposes.then_some(transpose::STAGE).into_iter().chain(merges.then_some(merge::STAGE));
    STAGES.into_iter().filter(|_| prepares).chain(parts).chain(tasks).map(look).collect()
}

/// Describes the durable progress of a job: the stages, trials and work units that are complete. Returns `nothing` if
/// there are none.
fn progress(workdir: &Path, manifest: &Manifest, units: Option<&UnitsDone>) -> String {
    let stages: Vec<&str> = manifest.stages.keys().map(String::as_str).collect();
    let trials: String = manifest.tasks.iter().map(|(name, task)| format!(" {name} {}", task.seconds.len())).collect();
    let (trial, done) = units.map_or((0, 0), |units| (units.trial, units.done));
    let rounds = match rounds(workdir) {
        0 => String::new(),
        bytes => format!(" rounds of {bytes} bytes"),
    };
    let compared = match comparisons(workdir, manifest) {
        0 => String::new(),
        parts => format!(" comparisons {parts}"),
    };
    let has_trials = manifest.tasks.values().any(|task| !task.seconds.is_empty());
    if stages.is_empty() && (trial, done) == (0, 0) && !has_trials && rounds.is_empty() && compared.is_empty() {
        return "nothing".into();
    }
    format!("stages {} trials{trials} trial {trial} units {done}{rounds}{compared}", stages.join("+"))
}

/// Returns the number of row segments whose comparisons `[triangle]` has counted so far, according to its checkpoints
/// `comparisons` in subfolders of `units`.
fn comparisons(workdir: &Path, manifest: &Manifest) -> u64 {
    let Some(key) = manifest.tasks.get("triangle").and_then(TaskRecord::key) else { return 0 };
    let entries = std::fs::read_dir(workdir.join("units")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(Saved::open(&entry.path().join("comparisons"), key).ok()?.done())).sum()
}

/// Returns the total size in bytes of the files `rounds` in subfolders of `units`: the journals in which list ranking
/// records its rounds.
fn rounds(workdir: &Path) -> u64 {
    let entries = std::fs::read_dir(workdir.join("units")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(std::fs::metadata(entry.path().join("rounds")).ok()?.len())).sum()
}

/// Returns the completed work units of the first incomplete task that has a journal or a checkpoint.
pub(crate) fn units(workdir: &Path, manifest: &Manifest) -> Option<UnitsDone> {
    let files: Vec<String> = std::fs::read_dir(workdir.join("units"))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let files: Vec<_> = files.iter().filter_map(|name| Some((name, Units::named(name)?))).collect();
    manifest.tasks_in_order().filter(|(_, record)| !record.done).find_map(|(name, record)| {
        let of_task = || files.iter().filter(|(_, (algorithm, _, _))| *algorithm == name);
        let trial = of_task().map(|(_, (_, trial, _))| *trial).max()?;
        let done = of_task()
            .filter(|(_, (_, number, _))| *number == trial)
            .filter_map(|(file, (_, _, kind))| units_in(&workdir.join("units").join(file), *kind, record))
            .max()?;
        Some(UnitsDone { task: name.to_owned(), done, total: record.units, trial })
    })
}

fn units_in(path: &Path, kind: UnitsKind, record: &TaskRecord) -> Option<u64> {
    let key = record.key()?;
    match kind {
        UnitsKind::Journal => Some(distinct(&journal::peek(path, key).ok()?.records).len() as u64),
        UnitsKind::Checkpoint => Some(Saved::open(path, key).ok()?.done()),
        // Only the algorithm can determine how much work these files represent.
        UnitsKind::Files => None,
    }
}

/// Returns the age of `status.json` in seconds.
fn last_sign(workdir: &Path) -> Option<f64> {
    let written = std::fs::metadata(workdir.join("status.json")).and_then(|meta| meta.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default().as_secs_f64())
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner.as_ref().map_or_else(|| "nobody".into(), Owner::to_string);
        let silent = duration(self.silent_seconds.unwrap_or(0.0));
        let state = match (self.state, &self.stopped) {
            (JobState::Running, _) if self.silent_seconds.is_some_and(|s| s > QUIET) => {
                format!("running: {owner}, silent for {silent}")
            }
            (JobState::Running, _) => format!("running: {owner}"),
            (JobState::Silent, _) => format!("unknown: {owner} holds the workdir, silent for {silent}"),
            (JobState::Finished, _) => format!("finished at {}", self.ended()),
            // "stopped by SIGINT: …" already starts with "stopped".
            (JobState::Stopped, Some(why)) if why.starts_with("stopped ") => why.clone(),
            (JobState::Stopped, Some(why)) if self.says_what_to_do(why) => format!("stopped: {why}"),
            (JobState::Stopped, Some(why)) => format!("stopped: {why}; run the same line again to carry on"),
            (JobState::Stopped, None) => "stopped".to_owned(),
        };
        writeln!(f, "job       {} in {}", self.job, self.workdir.display())?;
        if let Some(asked) = &self.asked {
            writeln!(f, "warning   the job file is for {asked}: this is the state of {}, which ran last", self.job)?;
        }
        for [before, now] in &self.differs {
            writeln!(f, "warning   the job file has {now}: this is the state of {before}")?;
        }
        writeln!(f, "state     {state}")?;
        writeln!(f, "resumes   {}, {} in finished runs", self.resumes, duration(self.seconds))?;
        for stage in &self.stages {
            let at_work =
                self.state == JobState::Running && self.now.as_ref().is_some_and(|now| now.stage == stage.name);
            let how = match stage.seconds {
                _ if at_work => "at work".to_owned(),
                Some(seconds) => format!("done in {}", duration(seconds)),
                None => match self.units.as_ref().filter(|units| stage.name == units.task && units.done > 0) {
                    Some(UnitsDone { done, total, .. }) => format!("{done} of {total}"),
                    None => "to do".to_owned(),
                },
            };
            writeln!(f, "{:9} {how}", stage.name)?;
        }
        if let Some(UnitsDone { task, done, total, trial }) = &self.units {
            let trial = if *trial > 0 { format!(" in trial {trial}") } else { String::new() };
            writeln!(f, "units     {done} of {total} of {task}{trial}")?;
        }
        if let (JobState::Running | JobState::Silent, Some(now)) = (self.state, &self.now) {
            // The percentage is capped, because a rank may have done work of other ranks in addition to its own
            // share.
            let percent = (100.0 * now.done as f64 / now.total.max(1) as f64).min(100.0);
            let left = now.eta_seconds.map_or_else(|| "?".into(), duration);
            let rate = per_second(now.rate, now.unit);
            writeln!(f, "now       {} {percent:.1} %, {rate}, {left} left, on {}", now.stage, now.host)?;
            let limit = now.memory_limit.map_or_else(String::new, |limit| format!(" of {}", bytes(limit)));
            writeln!(f, "memory    {}{limit}, {} at most", bytes(now.memory), bytes(now.memory_peak))?;
        }
        for result in &self.results.0 {
            let Some(answer) = &result.answer else { continue };
            let from = result.from.as_ref().map_or_else(String::new, |from| format!("  (found {from})"));
            writeln!(f, "{}{from}", answer.main)?;
        }
        Ok(())
    }
}

impl JobStatus {
    /// Returns true if the user needs no advice to run the command again, because the command would fail again in the
    /// same way, or because the error message `why` already contains that advice.
    fn says_what_to_do(&self, why: &str) -> bool {
        let for_good = self.exit_code.is_some_and(|code| FOR_GOOD.contains(&code));
        for_good || why.contains("run the same line again")
    }

    fn ended(&self) -> String {
        let written = std::fs::metadata(self.workdir.join("manifest.json")).and_then(|meta| meta.modified());
        written.map_or_else(|_| "an unknown time".into(), log::timestamp)
    }
}
