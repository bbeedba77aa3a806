//! `gpugraph status`: how far a job is, seen from outside. Takes no lock and writes nothing, so it is in nobody's way.

use super::corners;
use super::graph::{Facts, STAGES, Stored};
use super::journal::{self, distinct};
use super::lock::{Liveness, Lock, Owner};
use super::manifest::{Manifest, Trials};
use super::triangle::triangle_key;
use crate::algo::triangle::driver;
use crate::config::{self, Job, Triangle};
use crate::error::{Error, Result};
use crate::process::formatting::{bytes, duration, per_second};
use crate::process::log;
use crate::process::status_file::Status;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Without a sign for so long, an owner on another host may be gone: it writes its status every second.
const SILENT: f64 = 30.0;

/// Without a sign for so long, a run on this host is said to be silent.
const QUIET: f64 = 5.0;

/// Exit codes of stops that the same line does not get past: config, input, corrupt files, results of another input, limits and wrong
/// results.
const FOR_GOOD: [u8; 6] = [2, 3, 4, 5, 7, 8];

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// At work.
    Running,
    /// Held by an owner on another host that has given no sign lately.
    Silent,
    /// Ended before its end; the same command carries on.
    Stopped,
    /// All done.
    Finished,
}

/// What `status` tells.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    /// The workdir.
    pub workdir: PathBuf,
    /// Name of the job.
    pub job: String,
    /// Name that the job file has, where the workdir is of a job with another name.
    pub asked: Option<String>,
    /// How it stands.
    pub state: State,
    /// Who holds the workdir, or held it last without releasing it.
    pub owner: Option<Owner>,
    /// Seconds since the owner's last sign, by clocks that may differ between hosts.
    pub silent_seconds: Option<f64>,
    /// Why the last run ended early.
    pub stopped: Option<String>,
    /// Its exit code, if it could say why.
    pub exit_code: Option<u8>,
    /// Times that the job carried on.
    pub resumes: u64,
    /// Seconds of all runs that could say so.
    pub seconds: f64,
    /// How far the job has come for good, for programs: the same text as before a run says that it came no further.
    pub progress: String,
    /// All stages in order.
    pub stages: Vec<StageLook>,
    /// Units of the stage that counts them, until the job is done.
    pub units: Option<Units>,
    /// What is being done, or was last.
    pub now: Option<Status>,
    /// The answer, once there is one.
    pub triangles: Option<u128>,
}

/// One stage.
#[derive(Debug, Clone, Serialize)]
pub struct StageLook {
    /// Its name in the report.
    pub name: String,
    /// Whether its result is there.
    pub done: bool,
    /// Seconds it took.
    pub seconds: Option<f64>,
}

/// Units counted, as their journals or checkpoints say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Units {
    /// Counted units, of the trial at work.
    pub done: u64,
    /// Units of the graph; 0 before its blocks are known.
    pub total: u64,
    /// The trial at work or done last, from 0.
    pub trial: u32,
}

/// A job file or a workdir, as `status` and `verify` take them.
#[derive(Debug, Clone)]
pub struct Place {
    /// The workdir.
    pub workdir: PathBuf,
    /// The job, where a job file was named.
    pub job: Option<Job>,
}

impl Place {
    /// Finds out which of both `path` is.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is neither, and for mistakes in the job file.
    pub fn of(path: &Path, set: &[String]) -> Result<Place> {
        if path.is_dir() {
            if !set.is_empty() {
                return Err(Error::Usage("--set changes a job file; a workdir was named".into()));
            }
            return Ok(Place { workdir: path.to_owned(), job: None });
        }
        let found = path.try_exists().map_err(|e| Error::io("look for a job", path, e))?;
        if !found {
            return Err(Error::Usage(format!("{}: no such job file or workdir", path.display())));
        }
        let job = config::load(path, set)?;
        Ok(Place { workdir: job.workdir.clone(), job: Some(job) })
    }

    /// The manifest of the workdir.
    ///
    /// # Errors
    /// [`Error::Usage`] where no job has run, [`Error::Io`], [`Error::Corrupt`].
    pub fn manifest(&self) -> Result<Manifest> {
        Manifest::load(&self.workdir)?.ok_or_else(|| {
            let begin = match self.job {
                Some(_) => "begin it with `gpugraph run` and this job file",
                None => "name the workdir or the job file of one that did",
            };
            Error::Usage(format!("{}: no job ran here yet; {begin}", self.workdir.display()))
        })
    }

    /// The name in the job file, where `manifest` is of a job with another: its results are not what was asked for.
    pub fn asked(&self, manifest: &Manifest) -> Option<&str> {
        let job = self.job.as_ref().filter(|job| job.name != manifest.job)?;
        Some(&job.name)
    }
}

/// Looks at a workdir.
///
/// # Errors
/// [`Error::Usage`] where no job has run, [`Error::Corrupt`] for a damaged manifest.
pub fn look(place: &Place) -> Result<Look> {
    let workdir = &place.workdir;
    let manifest = place.manifest()?;
    let owner = Lock::owner(workdir);
    let now = Status::read(workdir);
    let silent_seconds = now.as_ref().and(last_sign(workdir));
    // A run that has just begun has said nothing yet: what stands there is of the one before.
    let of_owner = |now: &Status| owner.as_ref().is_none_or(|owner| (now.pid, &now.host) == (owner.pid, &owner.host));
    let now = now.filter(of_owner);
    let state = match owner.as_ref().map(Owner::liveness) {
        Some(Liveness::Alive) => State::Running,
        Some(Liveness::Unknown) if silent_seconds.is_some_and(|s| s < SILENT) => State::Running,
        Some(Liveness::Unknown) => State::Silent,
        Some(Liveness::Dead) | None if manifest.stopped.is_some() => State::Stopped,
        Some(Liveness::Dead) | None => State::Finished,
    };
    let running = matches!(state, State::Running | State::Silent);
    let table = place.job.as_ref().map(|job| job.triangle);
    let found: Option<super::report::Triangle> = manifest.last("triangle");
    let units = units(workdir, &manifest);
    Ok(Look {
        progress: progress(&manifest, units),
        workdir: workdir.clone(),
        job: manifest.job.clone(),
        asked: place.asked(&manifest).map(str::to_owned),
        state,
        silent_seconds: silent_seconds.filter(|_| running),
        // While a job runs the manifest says that it was killed, for it may be.
        stopped: manifest.stopped.clone().filter(|_| !running),
        exit_code: manifest.exit_code.filter(|_| !running),
        resumes: manifest.resumes,
        seconds: manifest.seconds,
        stages: stages(&manifest, table != Some(None)),
        // What a finished job left of them may be of an earlier attempt: with more trials, or of other results.
        units: if state == State::Finished { None } else { units },
        triangles: found.map(|t| t.triangles),
        now,
        owner,
    })
}

fn stages(manifest: &Manifest, triangle: bool) -> Vec<StageLook> {
    let look = |name: &str| {
        let stage = manifest.stages.get(name);
        StageLook { name: name.to_owned(), done: stage.is_some(), seconds: stage.map(|s| s.figures.seconds) }
    };
    let prepared = matches!(manifest.input, Some(config::InputSpec::Prepared(_)));
    STAGES.into_iter().filter(|_| !prepared).chain(triangle.then_some("triangle")).map(look).collect()
}

/// Returns what would be lost with the workdir: the stages, trials and units that are done.
fn progress(manifest: &Manifest, units: Option<Units>) -> String {
    let stages: Vec<&str> = manifest.stages.keys().map(String::as_str).collect();
    let trials = manifest.trials.as_ref().map_or(0, Trials::done);
    let (trial, done) = units.map_or((0, 0), |units| (units.trial, units.done));
    format!("{} trials {trials} trial {trial} units {done}", stages.join("+"))
}

/// The newest journal or checkpoint there is for this graph.
fn units(workdir: &Path, manifest: &Manifest) -> Option<Units> {
    let facts: Facts = manifest.last("relabel")?;
    let total = manifest.found::<Stored>("sort", facts.content).map_or(0, |s| driver::units(s.blocks as usize));
    let folder = workdir.join("units");
    let key = |per_vertex| triangle_key(facts.content, &Triangle { per_vertex });
    // A trial leaves a journal, or a checkpoint if it was broken off.
    let trials = std::fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let (kind, trial) = name.split_once('.')?;
        Some((trial.parse::<u32>().ok()?, kind.to_owned()))
    });
    let (trial, kind) = trials.max()?;
    let path = folder.join(format!("{kind}.{trial}"));
    let done = match kind.as_str() {
        "triangle" => distinct(&journal::peek(&path, key(false).ok()?).ok()?.records).len() as u64,
        _ => corners::peek(&path, key(true).ok()?, facts.connected).ok()?.units,
    };
    Some(Units { done, total, trial })
}

/// Seconds since `status.json` was written.
fn last_sign(workdir: &Path) -> Option<f64> {
    let written = std::fs::metadata(workdir.join("status.json")).and_then(|meta| meta.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default().as_secs_f64())
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner.as_ref().map_or_else(|| "nobody".into(), Owner::to_string);
        let silent = duration(self.silent_seconds.unwrap_or(0.0));
        let state = match (self.state, &self.stopped) {
            (State::Running, _) if self.silent_seconds.is_some_and(|s| s > QUIET) => {
                format!("running: {owner}, silent for {silent}")
            }
            (State::Running, _) => format!("running: {owner}"),
            (State::Silent, _) => format!("unknown: {owner} holds the workdir, silent for {silent}"),
            (State::Finished, _) => format!("finished at {}", self.ended()),
            // "stopped by SIGINT: …" says it itself.
            (State::Stopped, Some(why)) if why.starts_with("stopped ") => why.clone(),
            (State::Stopped, Some(why)) if self.says_what_to_do(why) => format!("stopped: {why}"),
            (State::Stopped, Some(why)) => format!("stopped: {why}; run the same line again to carry on"),
            (State::Stopped, None) => "stopped".to_owned(),
        };
        writeln!(f, "job       {} in {}", self.job, self.workdir.display())?;
        if let Some(asked) = &self.asked {
            writeln!(f, "warning   the job file is of {asked}: what stands here is of {}, which ran last", self.job)?;
        }
        writeln!(f, "state     {state}")?;
        writeln!(f, "resumes   {}, {} of finished runs", self.resumes, duration(self.seconds))?;
        for stage in &self.stages {
            let at_work = self.state == State::Running && self.now.as_ref().is_some_and(|now| now.stage == stage.name);
            let how = match (stage.done, stage.seconds) {
                _ if at_work => "at work".to_owned(),
                (true, Some(seconds)) => format!("done in {}", duration(seconds)),
                (true, None) => "done".to_owned(),
                (false, _) => match self.units.filter(|units| stage.name == "triangle" && units.done > 0) {
                    Some(Units { done, total, .. }) if total > 0 => format!("{done} of {total}"),
                    Some(Units { done, .. }) => format!("{done} units"),
                    None => "to do".to_owned(),
                },
            };
            writeln!(f, "{:9} {how}", stage.name)?;
        }
        if let Some(units) = self.units {
            let of = if units.total > 0 { format!(" of {}", units.total) } else { String::new() };
            let trial = if units.trial > 0 { format!(" in trial {}", units.trial) } else { String::new() };
            writeln!(f, "units     {}{of} counted{trial}", units.done)?;
        }
        if let (State::Running | State::Silent, Some(now)) = (self.state, &self.now) {
            // A rank may have done some of others' share.
            let percent = (100.0 * now.done as f64 / now.total.max(1) as f64).min(100.0);
            let left = now.eta_seconds.map_or_else(|| "?".into(), duration);
            let rate = per_second(now.rate, now.unit);
            writeln!(f, "now       {} {percent:.1} %, {rate}, {left} left, on {}", now.stage, now.host)?;
            let limit = now.memory_limit.map_or_else(String::new, |limit| format!(" of {}", bytes(limit)));
            writeln!(f, "memory    {}{limit}, {} at most", bytes(now.memory), bytes(now.memory_peak))?;
        }
        self.triangles.map_or(Ok(()), |triangles| writeln!(f, "triangles {triangles}"))
    }
}

impl Look {
    /// Whether the same line would only stop there again, or the error advises it itself.
    fn says_what_to_do(&self, why: &str) -> bool {
        let for_good = self.exit_code.is_some_and(|code| FOR_GOOD.contains(&code));
        for_good || why.contains("run the same line again")
    }

    fn ended(&self) -> String {
        let written = std::fs::metadata(self.workdir.join("manifest.json")).and_then(|meta| meta.modified());
        written.map_or_else(|_| "an unknown time".into(), log::timestamp)
    }
}
