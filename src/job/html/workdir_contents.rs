//! Reads the contents of a workdir for its report. If a file is damaged or missing, the report mentions this, and
//! lacks only the data of that file.

use crate::algo;
use crate::chart::Figure;
use crate::error::Error;
use crate::job::results::TaskResults;
use crate::job::state::lock::{Liveness, Lock};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::TaskRecord;
use crate::job::state::workdir;
use crate::job::status;
use crate::prepare::prepared::{InputInfo, StoreInfo};
use crate::process::metrics::Metrics;
use crate::quote::clip_to;
use crate::store::regular;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Number of bytes that are read from the end of the log.
const LOG_BYTES: u64 = 256 << 10;
const LOG_LINES: usize = 60;
/// Maximum number of characters of a log line that are shown.
const LINE: usize = 300;

/// State of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunState {
    /// All tasks are complete.
    Finished,
    /// A process is working on the job.
    Running,
    /// A signal stopped the last run.
    Stopped,
    /// An error ended the last run, with this exit code.
    Failed(u8),
    /// The last run was killed, or its machine failed.
    Killed,
    /// The manifest can't be read.
    Unknown,
}

/// A task that is not complete.
pub(super) struct Unfinished {
    /// Name of the task.
    pub name: String,
    /// Number of work units per trial.
    pub total: u64,
    /// Number of units completed in the current trial, if known.
    pub done: Option<u64>,
    /// Charts of the completed units.
    pub figures: Vec<Figure>,
}

/// The contents of a workdir, as its report shows them.
pub(super) struct WorkdirContents {
    /// The workdir.
    pub workdir: PathBuf,
    /// State of the job.
    pub state: RunState,
    /// Why the last run ended early.
    pub why: Option<String>,
    /// Content of `report.json`. For an incomplete job, a report that is made from what is known so far.
    pub report: Value,
    /// Tasks that are not complete.
    pub unfinished: Vec<Unfinished>,
    /// Metrics of the job: its runs, and samples of their use of resources.
    pub metrics: Metrics,
    /// Warnings and errors in the part of the log that was read.
    pub warnings: Vec<String>,
    /// Last lines of the log.
    pub log: Vec<String>,
    /// Result files, by path relative to the workdir.
    pub files: Vec<String>,
    /// Sentences about missing or damaged files.
    pub faults: Vec<String>,
}

impl WorkdirContents {
    /// Reads the contents of `workdir`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a folder in which no job has run.
    pub fn at(workdir: &Path) -> Result<WorkdirContents, Error> {
        if !workdir.is_dir() {
            return Err(workdir::of_no_job(workdir));
        }
        let mut faults = Vec::new();
        let manifest = Manifest::load(workdir).unwrap_or_else(|e| fault(&mut faults, &e.to_string()));
        let path = workdir.join("report.json");
        let report = match regular::read(&path).map(|text| serde_json::from_slice::<Value>(&text)) {
            Ok(Ok(report)) if report.is_object() => Some(report),
            Ok(Ok(_)) => fault(&mut faults, "report.json is not a report"),
            Ok(Err(e)) => fault(&mut faults, &format!("report.json can't be read: {e}")),
            Err(_) => None,
        };
        let metrics =
            Metrics::read(workdir).unwrap_or_else(|e| fault(&mut faults, &format!("metrics.json can't be read: {e}")));
        if manifest.is_none() && report.is_none() && metrics.is_none() && !workdir::is_of_a_job(workdir) {
            return Err(workdir::of_no_job(workdir));
        }
        if manifest.is_none() && faults.is_empty() {
            faults.push("manifest.json is missing: the progress of the job is unknown".to_owned());
        }
        let is_damaged = faults.iter().any(|fault| fault.starts_with("metrics.json"));
        if metrics.is_none()
            && !is_damaged
            && manifest.as_ref().is_some_and(|manifest| !manifest.stages.is_empty() || !manifest.tasks.is_empty())
        {
            faults.push("metrics.json is missing: there is no timeline".to_owned());
        }
        let metrics = metrics.unwrap_or_default();
        let log = tail(&workdir.join("run.log")).or_else(|| fault(&mut faults, "run.log is missing"));
        let log: Vec<String> = log.unwrap_or_default();
        let warns = |line: &&String| {
            [" WARN ", " ERROR ", "\"level\":\"WARN\"", "\"level\":\"ERROR\""].iter().any(|mark| line.contains(mark))
        };
        let warnings: Vec<String> = log.iter().filter(warns).cloned().collect();
        let (state, why) = state(workdir, manifest.as_ref());
        let done = state == RunState::Finished;
        if done && report.is_none() {
            faults.push("report.json is missing: this report is made from manifest.json".to_owned());
        }
        if let Some(manifest) = manifest.as_ref().filter(|_| done) {
            faults.extend(lost_results(workdir, manifest));
        }
        let unfinished = manifest.as_ref().map(|manifest| unfinished(workdir, manifest)).unwrap_or_default();
        let of_tasks = manifest.iter().flat_map(|manifest| manifest.tasks.values()).filter(|task| task.done);
        let files: BTreeSet<String> = of_tasks.flat_map(|task| task.outputs.keys().cloned()).collect();
        let report = match (report, manifest) {
            (Some(report), Some(_)) if done => report,
            (Some(report), None) => report,
            (_, Some(manifest)) => so_far(&manifest, &metrics),
            (None, None) => Value::Object(Map::new()),
        };
        let log = log[log.len().saturating_sub(LOG_LINES)..].to_vec();
        let files = files.into_iter().collect();
        Ok(WorkdirContents {
            workdir: workdir.to_owned(),
            state,
            why,
            report,
            unfinished,
            metrics,
            warnings,
            log,
            files,
            faults,
        })
    }
}

/// Returns the results in a report, each with the name of its algorithm, in the registry's order.
pub(super) fn results(report: &Value) -> Vec<(&String, &Value)> {
    let mut results: Vec<_> = report["results"].as_object().into_iter().flatten().collect();
    let place = |name: &str| algo::ALGORITHMS.iter().position(|algorithm| algorithm.name == name);
    results.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    results
}

fn fault<T>(faults: &mut Vec<String>, what: &str) -> Option<T> {
    faults.push(what.to_owned());
    None
}

/// Returns the state of a job, and why its last run ended early.
fn state(workdir: &Path, manifest: Option<&Manifest>) -> (RunState, Option<String>) {
    let Some(manifest) = manifest else { return (RunState::Unknown, None) };
    let Some(why) = &manifest.stopped else { return (RunState::Finished, None) };
    let owner = Lock::owner(workdir).filter(|owner| owner.pid != std::process::id());
    if owner.is_some_and(|owner| owner.liveness() == Liveness::Alive) {
        return (RunState::Running, None);
    }
    let state = match manifest.exit_code {
        Some(75) => RunState::Stopped,
        Some(code) => RunState::Failed(code),
        None => RunState::Killed,
    };
    (state, Some(why.clone()))
}

/// Returns a message for each result file that is missing or has a different length. `verify` checks the contents.
fn lost_results(workdir: &Path, manifest: &Manifest) -> Vec<String> {
    let files = manifest.tasks.values().flat_map(|task| &task.outputs);
    let lost = files.filter_map(|(name, output)| match workdir.join(name).symlink_metadata() {
        Err(_) => Some(format!("{name} is missing")),
        Ok(meta) if !meta.is_file() => Some(format!("{name} is no longer a file")),
        Ok(meta) if meta.len() != output.bytes => {
            Some(format!("{name} has {} bytes, {} were written", meta.len(), output.bytes))
        }
        Ok(_) => None,
    });
    lost.take(20).collect()
}

/// Returns the incomplete tasks with their progress.
fn unfinished(workdir: &Path, manifest: &Manifest) -> Vec<Unfinished> {
    let at_work = status::units(workdir, manifest);
    let left = manifest.tasks_in_order().filter(|(_, record)| !record.done);
    let task = |(name, record): (&str, &TaskRecord)| {
        let units = at_work.as_ref().filter(|units| units.task == name);
        let figures = || {
            let (task, key) = ((algo::find(name)?.recall)(&record.table)?, record.key()?);
            let folder = &workdir.join("units");
            let journal = algo::run::Units { folder, algorithm: name, trial: units?.trial, key };
            Some(task.figures_so_far(&journal.peek(), record.units))
        };
        let (done, figures) = (units.map(|units| units.done), figures().unwrap_or_default());
        Unfinished { name: name.to_owned(), total: record.units, done, figures }
    };
    left.map(task).collect()
}

/// Returns the last lines of a log; `None` if it can't be read.
fn tail(path: &Path) -> Option<Vec<String>> {
    let mut file = regular::open(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(LOG_BYTES);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be incomplete.
    let lines = text.lines().skip(usize::from(from > 0));
    Some(lines.map(|line| clip_to(line, LINE)).collect())
}

/// Returns a report of an incomplete job, made from what is known so far.
fn so_far(manifest: &Manifest, metrics: &Metrics) -> Value {
    let mut spent = manifest.spent.clone();
    spent.add(&manifest.spending);
    let run = metrics.runs.last();
    let spans = metrics.runs.iter().flat_map(|run| &run.stages);
    let mut stages: Vec<Value> = Vec::new();
    for name in spans.map(|span| &span.name).chain(spent.stages.keys()) {
        if let Some(figures) = spent.stages.get(name).filter(|_| stages.iter().all(|stage| stage["name"] != **name)) {
            let mut stage = json!(figures);
            stage["name"] = json!(name);
            stage["done"] =
                json!(manifest.stages.contains_key(name) || manifest.tasks.get(name).is_some_and(|task| task.done));
            stages.push(stage);
        }
    }
    let info = manifest.last::<InputInfo>("relabel");
    let stored = manifest.last::<StoreInfo>("sort");
    let input = info.as_ref().map_or(Value::Null, |info| {
        json!({ "path": info.source, "bytes": info.bytes, "edges": info.edges, "self_loops": info.loops,
            "duplicates": stored.as_ref().map(|stored| info.edges - info.loops - stored.edges), "checksum": format!("{:016x}", info.checksum) })
    });
    let graph = info.as_ref().map_or(Value::Null, |info| {
        json!({ "vertices": info.vertices, "isolated": info.vertices - info.connected, "with_edges": info.connected, "degrees": info.degrees,
            "edges": stored.as_ref().map(|stored| stored.edges), "blocks": stored.as_ref().map(|stored| stored.blocks),
            "max_degree": stored.as_ref().map(|stored| stored.summary.max_degree) })
    });
    json!({
        "job": manifest.job, "version": manifest.version, "ranks": run.map(|run| run.ranks),
        "host": { "name": run.map(|run| &run.host) },
        "limits": { "host_memory": run.map_or(0, |run| run.host_memory), "host_memory_peak": spent.host_memory_peak,
            "gpu_memory": run.map_or(0, |run| run.gpu_memory), "gpu_memory_peak": spent.gpu_memory_peak },
        "input": input, "graph": graph, "stages": stages,
        "seconds_total": manifest.seconds + manifest.unfinished, "resumes": manifest.resumes,
        "results": TaskResults::of(manifest, usize::MAX, &[]),
    })
}
