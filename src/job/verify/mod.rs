//! `gpugraph verify`: checks every stored file against its checksum, and every result with an independent method.
//!
//! It changes nothing, and continues after a failed check. This module and `store_check` check stored files.
//! Algorithms check their own results directly against the input ([`crate::algo::Algorithm::verify`]).

mod list;
mod report;
mod requested;
mod store_check;

use crate::algo::run::{Units, UnitsKind};
use crate::algo::{self, ByInput, EdgeSource, Results, StoredUnits, Task, UnitsContent, Verdict};
use crate::config::{InputKeys, InputSpec};
use crate::error::{At, Error, Result};
use crate::formats::Input;
use crate::graph::weights::stored::GraphWeights;
use crate::job::input::streams;
use crate::job::plan::resources;
use crate::job::state::kept;
use crate::job::state::lock::{Liveness, Lock};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{GraphRecord, TaskRecord};
use crate::job::status::JobPlace;
use crate::memory::Budget;
use crate::prepare::names::lines::NameFile;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::results::{NAMES, Output};
use crate::store::checkpoint::Saved;
use crate::store::journal::{self, distinct};
use std::path::Path;
use std::sync::Arc;

/// Checks everything that can be checked in the workdir of `place`, and reports each check to `verdict`.
///
/// # Errors
/// Errors that prevent all checks: [`Error::Busy`], [`Error::Usage`] if no job has run there, [`Error::Stopped`].
/// Failed checks are reported to `verdict`.
pub fn verify(place: &JobPlace, verdict: &mut Verdict<'_>) -> Result<()> {
    let workdir = &place.workdir;
    if let Some(owner) = Lock::owner(workdir).filter(|owner| owner.liveness() == Liveness::Alive) {
        // A running job creates and removes files.
        return Err(Error::Busy { workdir: workdir.clone(), owner: owner.to_string() });
    }
    let manifest = match place.manifest() {
        Ok(manifest) => manifest,
        Err(e @ Error::Corrupt { .. }) => return verdict.note("manifest.json", Err(e)),
        Err(e) => return Err(e),
    };
    let stages = manifest.stages.len() + manifest.tasks.values().filter(|task| task.done).count();
    verdict.note("manifest.json", Ok(format!("whole; {stages} stages done")))?;
    if let Some(asked) = place.name_in_job_file(&manifest) {
        let what = format!("the job file is for {asked}: the results belong to {}, which ran last", manifest.job);
        verdict.warn("job", what)?;
    }
    requested::check(place, &manifest, verdict)?;
    let limits = place.job.as_ref().map(|job| job.limits).unwrap_or_default();
    let threads = resources::threads(limits.threads);
    let budget = Budget::new(resources::host_memory(&limits)?, threads)?;

    let job = place.job.clone().map(|job| streams::with_copies(job, &manifest));
    let spec = job.as_ref().map(|job| &job.input).or(manifest.input.as_ref());
    if manifest.input.as_ref().is_some_and(InputSpec::is_list) {
        units(workdir, None, &manifest, verdict)?;
        outputs(workdir, &manifest, verdict)?;
        check_report(workdir, &manifest, None, verdict)?;
        return list::verify(place, spec, &manifest, verdict);
    }
    let prepared = match spec {
        Some(InputSpec::Prepared(other)) => {
            let graph = prepared_graph(other, verdict)?;
            if let (Some(graph), Some(job)) = (&graph, &job)
                && let Err(e) = kept::check_direction(graph, job, other)
            {
                verdict.note("job", Err(e))?;
            }
            graph
        }
        _ => None,
    };
    let info =
        prepared.as_ref().map_or_else(|| manifest.last::<InputInfo>("relabel"), |graph| Some(graph.info.clone()));
    match (&prepared, &info) {
        (Some(graph), _) => store_check::own_rows(graph, workdir, &manifest, verdict)?,
        (None, Some(info)) => store_check::stored_graph(workdir, &manifest, info, &budget, verdict)?,
        (None, None) => verdict.skip("graph", "not prepared yet")?,
    }
    if let Some(info) = &info {
        units(workdir, Some(info), &manifest, verdict)?;
    }
    outputs(workdir, &manifest, verdict)?;
    let stored = match &prepared {
        Some(graph) => Some(graph.stored.clone()),
        None => info.as_ref().and_then(|info| manifest.found("sort", info.content)),
    };
    // The graph of the other job may have changed since.
    let is_same = |info: &InputInfo| manifest.content().is_none_or(|content| content == info.content);
    let graph = info.filter(is_same).zip(stored).map(|(info, stored)| GraphRecord { info, stored });
    check_report(workdir, &manifest, graph, verdict)?;
    if !manifest.tasks.values().any(|record| record.found.is_some()) {
        return verdict.skip("results", "the job has none yet");
    }
    let keys = job.as_ref().map(|job| job.input_keys.clone()).unwrap_or_default();
    let (prepared, keys) = (prepared.as_ref(), &keys);
    ResultCheck { workdir, spec, keys, prepared, budget: &budget, threads }.results(&manifest, verdict)
}

/// Opens the graph that another job kept, and checks its blocks.
fn prepared_graph(workdir: &Path, verdict: &mut Verdict<'_>) -> Result<Option<Graph>> {
    let graph = store_check::prepared_graph(workdir).map_err(|e| e.advise_rerun(workdir));
    let found = |graph: &Graph| format!("{}: {} blocks whole; rows ascend", workdir.display(), graph.block_store.len());
    let (said, graph) = match graph {
        Ok(graph) => (Ok(found(&graph)), Some(graph)),
        Err(e) => (Err(e), None),
    };
    verdict.note("prepared graph", said)?;
    Ok(graph)
}

/// What is needed to check the results of tasks on a graph: the input, memory and threads.
struct ResultCheck<'a> {
    workdir: &'a Path,
    spec: Option<&'a InputSpec>,
    /// Keys of `[input]` in the job file, which affect how the input is read.
    keys: &'a InputKeys,
    /// The graph that another job kept, if this job uses one.
    prepared: Option<&'a Graph>,
    budget: &'a Budget,
    threads: usize,
}

impl ResultCheck<'_> {
    /// Checks each result against the graph that it was computed on.
    fn results(&self, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
        let ResultCheck { workdir, budget, threads, .. } = *self;
        for (name, record) in manifest.tasks_in_order() {
            let Some(found) = &record.found else { continue };
            let Some(task) = recalled(name, record).filter(|task| !task.is_on_list()) else {
                verdict.skip(name, OTHER_VERSION)?;
                continue;
            };
            let Some(GraphRecord { info, stored }) = &record.graph else {
                verdict.skip(name, OTHER_GRAPH)?;
                continue;
            };
            let names = match info.names.then(|| NameFile::open(&workdir.join(NAMES), info.ids, budget)).transpose() {
                Ok(names) => names.map(Arc::new),
                Err(e) => {
                    verdict.note(name, Err(e))?;
                    continue;
                }
            };
            let input = self.input(manifest, info).map(|input| match &names {
                Some(names) => input.with_numbering(names.clone()),
                None => input,
            });
            let edges = match (self.prepared, &input) {
                (Some(graph), _) => {
                    let weights = stored.weights.filter(|_| task.needs().weights);
                    same_graph(graph, info, weights).map(|()| EdgeSource::Blocks(graph))
                }
                (None, Ok(input)) => Ok(EdgeSource::Input(input)),
                (None, Err(why)) => Err(why.clone()),
            };
            let info = &InputInfo { first_id: record.first_id, ..info.clone() };
            let (outputs, done) = (&record.outputs, record.done);
            let results = Results { workdir, info, stored, outputs, done, edges, names, budget, threads };
            task.verify(ByInput::Graph(&results), (found, &record.how), verdict)?;
        }
        Ok(())
    }

    /// Opens the input from which a result was computed. Otherwise returns the reason why the input can't be read.
    fn input(&self, manifest: &Manifest, info: &InputInfo) -> std::result::Result<Input, String> {
        match self.spec {
            _ if self.prepared.is_some() => Err(String::new()),
            _ if streams::is_gone(manifest) => Err("the input came by a pipe and is gone".to_owned()),
            None => Err("the manifest does not name the input: name the job file".to_owned()),
            Some(InputSpec::Prepared(other)) => Err(format!("the graph of {} can't be read", other.display())),
            Some(spec) => unchanged(spec, info, self.keys),
        }
    }
}

/// Returns an error message if a result was computed on a graph other than `graph`, or with weights other than
/// `weights`.
fn same_graph(graph: &Graph, info: &InputInfo, weights: Option<GraphWeights>) -> std::result::Result<(), String> {
    match graph.info.content == info.content && (weights.is_none() || weights == graph.stored.weights) {
        true => Ok(()),
        false => Err(format!("{} is not the graph that it was computed on", graph.folder.display())),
    }
}

const OTHER_VERSION: &str = "of an algorithm that this version does not have";
const OTHER_GRAPH: &str =
    "found by an older version, which did not record its graph: `gpugraph run JOB.toml --fresh` finds it again";

fn recalled(name: &str, record: &TaskRecord) -> Option<Arc<dyn Task>> {
    (algo::find(name)?.recall)(&record.table)
}

/// Opens the input if it may be unchanged since the job read it. Otherwise returns the reason why the results can't
/// be checked against it.
fn unchanged(spec: &InputSpec, info: &InputInfo, keys: &InputKeys) -> std::result::Result<Input, String> {
    let input = crate::job::input::open(spec).map_err(|e| format!("the input is gone: {e}"))?;
    match crate::job::input::version_key(&input, keys) {
        // A file with a new modification time may have the same contents. Its checksum is compared when it is read.
        Ok(key) if key == info.identity || input.bytes() == info.bytes => Ok(input),
        Ok(_) => Err(format!("{} is not what the job read: its size changed", input.name())),
        Err(e) => Err(format!("the input can't be read: {e}")),
    }
}

/// Checks journals and checkpoints. Files from work on another graph or with another table are skipped with a note,
/// because the next run discards them.
fn units(workdir: &Path, info: Option<&InputInfo>, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    let folder = workdir.join("units");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    for name in names.iter().filter(|name| !name.contains(".tmp-")) {
        let what = format!("units/{name}");
        let Some((algorithm, _, kind)) = Units::named(name) else {
            verdict.skip(&what, "not a file of this version")?;
            continue;
        };
        let record = manifest.tasks.get(algorithm);
        let task = record.and_then(|record| Some((record, record.key()?, recalled(algorithm, record)?)));
        let Some((record, key, task)) = task else {
            verdict.skip(&what, "the manifest has no such task; a run discards it")?;
            continue;
        };
        if kind == UnitsKind::Files {
            verdict.skip(&what, "belongs to an unfinished task, which checks it when it resumes")?;
            continue;
        }
        match units_hold(&folder.join(name), kind, key, info, record, &*task) {
            Err(Error::Corrupt { at: At::Byte(16), .. }) => verdict.skip(&what, "of other work; a run discards it")?,
            found => verdict.note(&what, found)?,
        }
    }
    Ok(())
}

fn units_hold(
    path: &Path,
    kind: UnitsKind,
    key: u64,
    info: Option<&InputInfo>,
    record: &TaskRecord,
    task: &dyn Task,
) -> Result<String> {
    // For a task on a list, the work units are its elements.
    let vertices = info.map_or(record.units, |info| info.connected);
    let stored = |content| StoredUnits { path, vertices, total: record.units, content };
    let found = record.found.as_ref();
    match kind {
        UnitsKind::Journal => {
            let peek = journal::peek(path, key)?;
            if let Some(byte) = peek.damaged_at {
                let what = "a record does not agree with its checksum";
                return Err(Error::corrupt(path, At::Byte(byte), what));
            }
            let records = distinct(&peek.records);
            let said = task.verify_units(&stored(UnitsContent::Records(&records)), found)?;
            match (peek.torn, found) {
                (0, _) => Ok(format!("whole; {said}")),
                // A run that was killed may have left it, and the next run discards it.
                (_, None) => Ok(format!("whole; {said}, and a torn one at its end")),
                (_, Some(_)) => Err(Error::corrupt(path, At::File, "it ends with a part of a record")),
            }
        }
        UnitsKind::Files => Ok(String::new()),
        UnitsKind::Checkpoint => {
            let saved = Saved::open(path, key)?;
            let said = task.verify_units(&stored(UnitsContent::Checkpoint(&saved)), found)?;
            Ok(format!("whole; {said}"))
        }
    }
}

/// Checks the length and checksum of every result file against the manifest.
fn outputs(workdir: &Path, manifest: &Manifest, verdict: &mut Verdict<'_>) -> Result<()> {
    let of_tasks = manifest.tasks.values().flat_map(|task| &task.outputs);
    let all: std::collections::BTreeMap<&String, &Output> = manifest.outputs.iter().chain(of_tasks).collect();
    for (name, output) in all {
        verdict.note(name, output_holds(&workdir.join(name), output))?;
    }
    if !manifest.outputs.contains_key("report.json") {
        verdict.skip("report.json", "the job is not finished")?;
    }
    Ok(())
}

/// Compares the report with the manifest, unless a later run stopped before it wrote a report.
fn check_report(
    workdir: &Path,
    manifest: &Manifest,
    graph: Option<GraphRecord>,
    verdict: &mut Verdict<'_>,
) -> Result<()> {
    match manifest.outputs.contains_key("report.json") && manifest.stopped.is_none() {
        true => verdict.note("report", report::agrees(workdir, manifest, graph)),
        false => Ok(()),
    }
}

fn output_holds(path: &Path, output: &Output) -> Result<String> {
    if path.is_symlink() {
        return Err(Error::corrupt(path, At::File, "a link in the place of the file that the job wrote"));
    }
    let Output { bytes, checksum } = Output::of_file(path).map_err(|e| Error::io("read", path, e))?;
    if bytes != output.bytes {
        let what = format!("{bytes} bytes, the manifest has {}", output.bytes);
        return Err(Error::corrupt(path, At::Byte(bytes.min(output.bytes)), what));
    }
    if checksum != output.checksum {
        let what = format!("its checksum is {checksum:016x}, the manifest has {:016x}", output.checksum);
        return Err(Error::corrupt(path, At::File, what));
    }
    Ok(format!("whole; {bytes} bytes"))
}
