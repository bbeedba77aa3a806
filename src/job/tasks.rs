//! The stages that compute tasks on a graph or list. Each runs the trials that are missing, and stores their results
//! durably.

use crate::algo::run::Units;
use crate::algo::{ALGORITHMS, ByInput, Devices, InputRef, Outcome, Run, Task, about_column};
use crate::config::{Device, InputSpec, Job};
use crate::error::Result;
use crate::job::context::Context;
use crate::job::input::{self, occupied};
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::stage::{Stage, StageResults};
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{Contents, GraphRecord, ResultOrigin, TaskRecord, task_key};
use crate::process::progress::Unit;
use crate::results::{Columns, Output};
use crate::store::replace::{remove_file, remove_folder};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Returns the identity of a task's input, which its results depend on.
fn contents(input: InputRef<'_>) -> Contents {
    match input {
        ByInput::Graph(graph) => Contents::of(&graph.info),
        ByInput::List(list) => Contents::of_list(list.identity),
    }
}

/// Returns the number of work units of a trial of `task`, and the unit in which its progress is shown.
fn units(input: InputRef<'_>, task: &dyn Task) -> (u64, Unit) {
    match input {
        ByInput::Graph(graph) => {
            let blocks = graph.for_task(task.needs().direction).block_store.len();
            (task.units(blocks as u64), Unit::Units)
        }
        ByInput::List(list) => (task.units(list.length), Unit::Elements),
    }
}

/// Returns the size in bytes of the input data that a trial reads.
fn bytes(input: InputRef<'_>) -> u64 {
    match input {
        ByInput::Graph(graph) => graph.block_store.bytes() + graph.block_store.weights_bytes(),
        ByInput::List(list) => list.source.bytes(),
    }
}

/// The stage that runs the trials of a task.
pub(crate) struct AlgorithmStage(pub(crate) Arc<dyn Task>);

impl Stage for AlgorithmStage {
    fn steps(&self, _: &Job, _: &StageResults) -> Vec<&'static str> {
        vec![self.0.name()]
    }

    /// Runs the missing trials. If all results exist, removes the task's journals and checkpoints instead, because
    /// nothing would read or repair them any more.
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let task = &*self.0;
        let input = results.input()?;
        let key = task_key(task, contents(input));
        let is_done = context.on_leader(|| Ok(record.manifest.is_done(&context.job, task, key)))?;
        if !is_done {
            self.run_trials(context, record, input, key).map_err(|e| results.name_limit(e))?;
        } else if context.comm.is_leader() {
            remove_units(&context.job, task.name())?;
        }
        Ok(is_done)
    }
}

impl AlgorithmStage {
    /// Runs the missing trials, and records each in the manifest.
    fn run_trials(&self, context: &Context, record: &mut RunRecord, input: InputRef<'_>, key: u64) -> Result<()> {
        let (task, name) = (&*self.0, self.0.name());
        // Removes only files that the manifest lists. The result files of completed source vertices are listed in the
        // task's journal, and remain.
        forget_files(context, &mut record.manifest, name)?;
        let of_task = record.manifest.tasks.entry(name.into()).or_default();
        let goes_on = of_task.is_of(key) && !of_task.done;
        if !of_task.is_of(key) {
            // Time that was spent on another table or graph does not count for this task.
            record.manifest.spent.stages.remove(name);
        }
        let graph = input.graph().map(|graph| {
            let stored = graph.for_task(task.needs().direction).stored.clone();
            GraphRecord { info: graph.info.clone(), stored }
        });
        let on = (contents(input), graph);
        of_task.begin(key, task, on, units(input, task).0, context.job.format);
        let trials = context.job.run.trials;
        let first = (of_task.seconds.len() as u32).min(trials - 1);
        let has_units = |trial| units_of(&context.job, |of, number| (of, number) == (name, trial)).next().is_some();
        if goes_on && context.comm.is_leader() && !has_units(first) {
            tracing::info!("{name} starts from the beginning: the run before ended before it saved anything");
        }
        record.save()?;
        for trial in first..trials {
            let is_last = trial + 1 == trials;
            let (outcome, outputs, device) = self.run_trial(context, record, input, key, trial)?;
            if is_last {
                make_durable(context)?;
            }
            let figures = record.figures_of(name);
            let of_task = record.manifest.tasks.entry(name.into()).or_default();
            of_task.note(trial, outcome, is_last)?;
            of_task.outputs.extend(outputs);
            (of_task.device, of_task.figures) = (device.into(), figures);
            if is_last {
                (of_task.from, of_task.files) = (Some(ResultOrigin::now(&context.job)), Some(of_task.outputs.len()));
                record.manifest.set_content(contents(input).edges, &context.job.input_keys);
            }
            record.save()?;
        }
        Ok(())
    }

    /// Runs one trial. Returns its outcome, the files that it wrote, and the device on which it ran.
    fn run_trial(
        &self,
        context: &Context,
        record: &mut RunRecord,
        input: InputRef<'_>,
        key: u64,
        trial: u32,
    ) -> Result<(Outcome, BTreeMap<String, Output>, &'static str)> {
        let (task, name) = (&*self.0, self.0.name());
        let Context { job, comm, threads, budget, gpu, .. } = context;
        let (graph, construction) = (input.graph(), record.seconds_of_stages());
        let (units, unit) = units(input, task);
        record.stage(context, name, units, unit, |progress| {
            let read = if comm.is_leader() { bytes(input) } else { 0 };
            progress.reads(read);
            let devices = Devices::new(comm, gpu.workspace(), gpu.peers(), job.run.device == Device::Auto);
            let folder = job.workdir.join("units");
            let meters = job.run.energy.then(|| gpu.meters());
            let is_prepared = matches!(job.input, InputSpec::Prepared(_));
            let edges = || input::of_graph(&job.input, graph);
            let mut run = Run {
                comm,
                threads: *threads,
                budget,
                devices: &devices,
                progress,
                columns: Columns::new(&job.workdir, job.format, graph, name, *threads),
                is_last: trial + 1 == job.run.trials,
                input: (graph.is_some() && !is_prepared).then_some(&edges),
                units: Units { folder: &folder, algorithm: name, trial, key },
                construction,
                meters: meters.as_ref(),
            };
            let outcome = match input {
                ByInput::Graph(graph) => task.run(ByInput::Graph(graph.for_task(task.needs().direction)), &mut run),
                list @ ByInput::List(_) => task.run(list, &mut run),
            }?;
            if comm.is_leader() {
                run.columns.put_names()?;
            }
            let outputs = run.columns.into_written()?;
            let written = outputs.values().map(|output| output.bytes).sum();
            Ok(((outcome, outputs, devices.name()), IoBytes { read, written }))
        })
    }
}

/// Makes sure that no write of a block has failed, because such a block may have been read back with other contents. If
/// the job keeps its graph, waits until all blocks are durable. Otherwise the graph is about to be deleted, so only the
/// errors so far are checked. Collective.
fn make_durable(context: &Context) -> Result<()> {
    let durable = if context.job.keep { context.syncer.wait() } else { context.syncer.check() };
    // All ranks wrote blocks. A rank that failed must end the job before the others record the task as complete.
    context.comm.barrier();
    durable.inspect_err(|_| {
        // The journals and checkpoints are useless now. If they can't be removed, only the first error is reported.
        let _ = std::fs::remove_dir_all(context.job.workdir.join("units"));
    })
}

/// The stage that removes outdated results before the first task runs: results of other inputs, and incomplete
/// results of other tables.
pub(crate) struct OtherResults;

impl Stage for OtherResults {
    /// Removes the records and files of tasks that were computed on another graph or with another first id. When the
    /// graph becomes directed, results that were computed on the same undirected graph remain. Also removes
    /// incomplete tasks whose table differs from the job file. A complete task whose table differs is replaced later,
    /// when the job runs that task.
    ///
    /// # Errors
    /// [`crate::error::Error::Occupied`] if tables that this job lacks have complete results with another first id.
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let (manifest, contents) = (&mut record.manifest, contents(results.input()?));
        let keys: Vec<u64> = context.job.tasks.iter().map(|task| task_key(&**task, contents)).collect();
        // Results of another graph were refused before, unless only the direction changed, because of a table or
        // `keep`.
        if let Some(before) = manifest.content().filter(|&before| before != contents.edges) {
            manifest.tasks.iter_mut().for_each(|(name, record)| record.adopt_direction(name, before, contents.edges));
        }
        occupied::check_first_id(&context.job, manifest, contents.first_id)?;
        let is_begun = |record: &TaskRecord| !record.done && !keys.iter().any(|&key| record.is_of(key));
        let is_other = |name: &str, record: &TaskRecord| {
            record.first_id != contents.first_id || !record.is_on(name, contents.edges) || is_begun(record)
        };
        let others = manifest.tasks.iter().filter(|(name, record)| is_other(name, record));
        let others: Vec<(String, bool)> = others.map(|(name, record)| (name.clone(), is_begun(record))).collect();
        for (name, is_begun) in others {
            forget_files(context, manifest, &name)?;
            manifest.tasks.remove(&name);
            if is_begun {
                context.on_leader(|| remove_unlisted(&context.job.workdir, manifest, &name))?;
            }
        }
        // Incomplete results in another format, and all results after the manifest was lost, are computed again.
        let has_other_format = |record: &TaskRecord| !record.done && record.format != context.job.format;
        let is_unlisted = |name: &str| manifest.is_lost || manifest.tasks.get(name).is_some_and(has_other_format);
        for name in ALGORITHMS.iter().map(|algorithm| algorithm.name).filter(|name| is_unlisted(name)) {
            context.on_leader(|| remove_unlisted(&context.job.workdir, manifest, name))?;
        }
        manifest.is_lost = false;
        Ok(true)
    }
}

/// Removes result files that the manifest does not list, because a run was killed before it recorded them. They are
/// in the algorithm's folder and in `out` itself.
fn remove_unlisted(workdir: &Path, manifest: &Manifest, algorithm: &str) -> Result<()> {
    let out = workdir.join("out");
    let listed = manifest.tasks.values().flat_map(|record| record.outputs.keys());
    let listed: HashSet<PathBuf> = listed.map(|file| workdir.join(file)).collect();
    let (of_all, folder) = (WalkDir::new(&out).max_depth(1), out.join(algorithm));
    // A result table is named after its algorithm; in the folder of the algorithm it is named after a source vertex.
    let table = out.join(format!("{algorithm}.parquet"));
    for entry in of_all.into_iter().chain(WalkDir::new(&folder)).filter_map(std::result::Result::ok) {
        let path = entry.path();
        let is_table = path == table || path.starts_with(&folder) && path.extension() == table.extension();
        let is_result = is_table || about_column(path).is_some();
        if entry.file_type().is_file() && is_result && !listed.contains(path) {
            remove_output(path, &out)?;
        }
    }
    Ok(())
}

/// Removes the result files of task `name`, so that none of them is mistaken for a result of this job. Files that
/// other tasks also list remain. The record lists the files until all of them are removed.
fn forget_files(context: &Context, manifest: &mut Manifest, name: &str) -> Result<()> {
    let Some(record) = manifest.tasks.get(name) else { return Ok(()) };
    let others = manifest.tasks.iter().filter(|(other, _)| *other != name);
    let kept: HashSet<&String> = others.flat_map(|(_, task)| task.outputs.keys()).collect();
    let removed = record.outputs.keys().filter(|file| !kept.contains(file));
    let workdir = &context.job.workdir;
    let out = workdir.join("out");
    context.on_leader(|| removed.into_iter().try_for_each(|file| remove_output(&workdir.join(file), &out)))?;
    if let Some(record) = manifest.tasks.get_mut(name) {
        record.outputs.clear();
    }
    Ok(())
}

/// Removes journals and checkpoints of a task.
fn remove_units(job: &Job, name: &str) -> Result<()> {
    for path in units_of(job, |algorithm, _| algorithm == name) {
        if path.is_dir() { remove_folder(&path) } else { remove_file(&path) }?;
    }
    Ok(())
}

/// Returns the paths of journals and checkpoints for which `wants`, called with algorithm and trial, returns true.
fn units_of(job: &Job, wants: impl Fn(&str, u32) -> bool) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(job.workdir.join("units")).into_iter().flatten().flatten();
    let is_wanted = move |file: &str| Units::named(file).is_some_and(|(algorithm, trial, _)| wants(algorithm, trial));
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(&is_wanted)).map(|entry| entry.path())
}

/// Removes a result file, and then its parent folders below `out` that are empty.
fn remove_output(path: &Path, out: &Path) -> Result<()> {
    remove_file(path)?;
    let mut between = path.ancestors().skip(1).take_while(|folder| folder.starts_with(out) && *folder != out);
    // The first folder that is not empty ends the walk.
    let _ = between.try_for_each(std::fs::remove_dir);
    Ok(())
}
