//! Runs the tasks of a job on its graph or list: the trials that are not done yet, and what makes their results
//! durable.

use crate::algo::run::Units;
use crate::algo::{ByInput, Devices, InputRef, Outcome, Run, Task};
use crate::config::{Device, InputSpec};
use crate::error::{Error, Result};
use crate::job::input;
use crate::job::session::{Moved, Session};
use crate::job::state::record::{ComputedOn, Contents, Origin, TaskRecord, task_key};
use crate::process::progress::Unit;
use crate::results::about::about_file;
use crate::results::{Columns, Output};
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Returns the contents of an input.
fn contents(input: InputRef<'_>) -> Contents {
    match input {
        ByInput::Graph(graph) => Contents::of(&graph.info),
        ByInput::List(list) => Contents::of_list(list.identity),
    }
}

/// Returns the facts about the graph that a task is computed on; `None` for a list.
fn computed_on(input: InputRef<'_>, task: &dyn Task) -> Option<ComputedOn> {
    let graph = input.graph()?;
    let stored = graph.for_task(task.needs().direction).stored.clone();
    Some(ComputedOn { info: graph.info.clone(), stored })
}

/// Returns the number of units of a task, and what its units are.
fn units(input: InputRef<'_>, task: &dyn Task) -> (u64, Unit) {
    match input {
        ByInput::Graph(graph) => {
            let blocks = graph.for_task(task.needs().direction).catalogue.len();
            (task.units(blocks as u64), Unit::Units)
        }
        ByInput::List(list) => (task.units(list.length), Unit::Elements),
    }
}

/// Returns the bytes of an input that a trial reads.
fn bytes(input: InputRef<'_>) -> u64 {
    match input {
        ByInput::Graph(graph) => graph.catalogue.bytes() + graph.catalogue.weights_bytes(),
        ByInput::List(list) => list.source.bytes(),
    }
}

/// Computes one trial of a task. Collective.
fn run_trial(input: InputRef<'_>, task: &dyn Task, run: &mut Run<'_>) -> Result<Outcome> {
    match input {
        ByInput::Graph(graph) => task.run(ByInput::Graph(graph.for_task(task.needs().direction)), run),
        list @ ByInput::List(_) => task.run(list, run),
    }
}

/// A task to compute.
struct TaskWork<'a> {
    task: &'a dyn Task,
    name: &'static str,
    key: u64,
    units: u64,
    unit: Unit,
}

/// Computes the tasks of a session's job on its input.
struct TaskRunner<'s> {
    session: &'s mut Session,
    input: InputRef<'s>,
}

/// Computes all tasks of the job on its input, in order, except those that an earlier run completed. Collective.
///
/// # Errors
/// Errors of every task and of the disk.
pub(crate) fn compute(session: &mut Session, input: InputRef<'_>) -> Result<()> {
    TaskRunner { session, input }.all()
}

impl TaskRunner<'_> {
    fn all(&mut self) -> Result<()> {
        self.forget_others()?;
        for task in self.session.job.tasks.clone() {
            let (task, name) = (&*task, task.name());
            let key = task_key(task, contents(self.input))?;
            if self.session.agreed(|| Ok(self.session.manifest.is_done(&self.session.job, task, key)))? {
                if self.session.comm.leads() {
                    self.forget_units(name)?;
                }
                self.session.skipped(name);
                continue;
            }
            let (units, unit) = units(self.input, task);
            self.work(&TaskWork { task, name, key, units, unit })?;
        }
        Ok(())
    }

    fn work(&mut self, work: &TaskWork<'_>) -> Result<()> {
        let TaskWork { task, name, key, units, .. } = *work;
        self.forget_files(name)?;
        let record = self.session.manifest.tasks.entry(name.into()).or_default();
        let goes_on = record.is_of(key) && !record.done;
        if !record.is_of(key) {
            // Time spent on another table or graph does not belong to this work.
            self.session.manifest.spent.stages.remove(name);
        }
        let on = (contents(self.input), computed_on(self.input, task));
        record.begin(key, task, on, units, self.session.job.output.format);
        let trials = self.session.job.run.trials;
        let first = (record.seconds.len() as u32).min(trials - 1);
        if goes_on && self.session.comm.leads() && !self.has_units(name, first) {
            tracing::info!("{name} starts from the beginning: the run before ended before it saved anything");
        }
        self.session.save_manifest()?;
        for trial in first..trials {
            let is_last = trial + 1 == trials;
            let (outcome, outputs, device) = self.trial(work, trial, is_last)?;
            if is_last {
                self.make_durable()?;
            }
            let figures = self.session.figures_of(name);
            let record = self.session.manifest.tasks.entry(name.into()).or_default();
            record.note(trial, outcome, is_last)?;
            record.outputs.extend(outputs);
            (record.device, record.figures) = (device.into(), figures);
            if is_last {
                (record.from, record.files) = (Some(Origin::now(&self.session.job)), Some(record.outputs.len()));
                self.session.manifest.set_content(contents(self.input).edges, &self.session.job.input_keys);
            }
            self.session.save_manifest()?;
        }
        Ok(())
    }

    /// Runs one trial. Returns its outcome, the files it wrote, and the device it ran on.
    fn trial(
        &mut self,
        work: &TaskWork<'_>,
        trial: u32,
        is_last: bool,
    ) -> Result<(Outcome, BTreeMap<String, Output>, &'static str)> {
        let TaskWork { task, name, key, units, unit } = *work;
        let input = self.input;
        let graph = input.graph();
        self.session.stage(name, units, unit, |s, progress| {
            let s = &*s;
            let read = if s.comm.leads() { bytes(input) } else { 0 };
            progress.reads(read);
            let workspace = s.gpu.workspace();
            let devices = Devices::new(&s.comm, workspace, s.gpu.peers(), s.job.run.device == Device::Auto);
            let folder = s.job.workdir.join("units");
            let construction = s.seconds_of_stages();
            let meters = s.job.run.energy.then(|| s.gpu.meters());
            let is_prepared = matches!(s.job.input, InputSpec::Prepared(_));
            let edges = || input::open(&s.job.input);
            let mut run = Run {
                comm: &s.comm,
                threads: s.threads,
                budget: &s.budget,
                devices: &devices,
                progress,
                columns: Columns::new(&s.job.workdir, s.job.output.format, graph, name),
                is_last,
                input: (graph.is_some() && !is_prepared).then_some(&edges),
                units: Units { folder: &folder, algorithm: name, trial, key },
                construction,
                meters: meters.as_ref(),
            };
            let outcome = run_trial(input, task, &mut run)?;
            let outputs = run.columns.into_written();
            let written = outputs.values().map(|output| output.bytes).sum();
            Ok(((outcome, outputs, devices.name()), Moved { read, written }))
        })
    }

    /// Checks that what was computed on is what was written: a block that could not be made durable may have been
    /// read back as something else. Only a job that keeps its graph waits for the disk, because others delete the
    /// graph now. Collective.
    fn make_durable(&self) -> Result<()> {
        let durable = if self.session.job.keep { self.session.syncer.wait() } else { self.session.syncer.check() };
        // All ranks wrote blocks. A rank that failed must end the job before the others count the blocks as done.
        self.session.comm.barrier();
        durable.inspect_err(|_| {
            // The journals and checkpoints are useless now. A failure to remove them is ignored: the error itself
            // says enough.
            let _ = std::fs::remove_dir_all(self.session.job.workdir.join("units"));
        })
    }

    /// Forgets tasks of another graph or with other ids, and removes their files. Also forgets unfinished tasks with
    /// another table. A finished task with another table is replaced later, when its turn comes.
    fn forget_others(&mut self) -> Result<()> {
        let contents = contents(self.input);
        let of_job = self.session.job.tasks.iter().map(|task| task_key(&**task, contents));
        let keys: Vec<u64> = of_job.collect::<Result<_>>()?;
        let is_begun = |record: &TaskRecord| !record.done && !keys.iter().any(|&key| record.is_of(key));
        let is_other = |name: &str, record: &TaskRecord| {
            record.first_id != contents.first_id || !record.is_on(name, contents.edges) || is_begun(record)
        };
        let others = self.session.manifest.tasks.iter().filter(|(name, record)| is_other(name, record));
        let others: Vec<(String, bool)> = others.map(|(name, record)| (name.clone(), is_begun(record))).collect();
        for (name, is_begun) in others {
            self.forget_files(&name)?;
            self.session.manifest.tasks.remove(&name);
            if is_begun {
                self.session.agreed(|| self.remove_unlisted(&name))?;
            }
        }
        Ok(())
    }

    /// Removes columns that a killed run wrote but could not record, in the folder of the algorithm and in `out`
    /// itself.
    fn remove_unlisted(&self, algorithm: &str) -> Result<()> {
        let out = self.session.job.workdir.join("out");
        let listed = self.session.manifest.tasks.values().flat_map(|record| record.outputs.keys());
        let listed: HashSet<PathBuf> = listed.map(|file| self.session.job.workdir.join(file)).collect();
        let of_all = WalkDir::new(&out).max_depth(1);
        for entry in of_all.into_iter().chain(WalkDir::new(out.join(algorithm))).filter_map(std::result::Result::ok) {
            let is_column = about_file(entry.path()).is_some();
            if entry.file_type().is_file() && is_column && !listed.contains(entry.path()) {
                remove_output(entry.path(), &out)?;
            }
        }
        Ok(())
    }

    /// Removes the files of a task, so that none of them is mistaken for a file of this job. Files that other tasks
    /// also list stay. The record keeps all files listed until all are removed.
    fn forget_files(&mut self, name: &str) -> Result<()> {
        let Some(record) = self.session.manifest.tasks.get(name) else { return Ok(()) };
        let others = self.session.manifest.tasks.iter().filter(|(other, _)| *other != name);
        let kept: HashSet<&String> = others.flat_map(|(_, task)| task.outputs.keys()).collect();
        let removed = record.outputs.keys().filter(|file| !kept.contains(file));
        let workdir = &self.session.job.workdir;
        let out = workdir.join("out");
        self.session.agreed(|| removed.into_iter().try_for_each(|file| remove_output(&workdir.join(file), &out)))?;
        if let Some(record) = self.session.manifest.tasks.get_mut(name) {
            record.outputs.clear();
        }
        Ok(())
    }

    /// Removes journals and checkpoints of a finished task, which nobody reads or would repair.
    fn forget_units(&self, name: &str) -> Result<()> {
        for path in self.units_of(|algorithm, _| algorithm == name) {
            let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.map_err(|e| Error::io("remove", &path, e))?;
        }
        Ok(())
    }

    /// Returns true if a journal or checkpoint of the trial is stored.
    fn has_units(&self, name: &str, trial: u32) -> bool {
        self.units_of(|algorithm, number| (algorithm, number) == (name, trial)).next().is_some()
    }

    /// Returns the journals and checkpoints of the algorithms and trials for which `wants` returns true.
    fn units_of(&self, wants: impl Fn(&str, u32) -> bool) -> impl Iterator<Item = PathBuf> {
        let entries = std::fs::read_dir(self.session.job.workdir.join("units")).into_iter().flatten().flatten();
        let is_wanted =
            move |file: &str| Units::named(file).is_some_and(|(algorithm, trial, _)| wants(algorithm, trial));
        entries.filter(move |entry| entry.file_name().to_str().is_some_and(&is_wanted)).map(|entry| entry.path())
    }
}

/// Removes a result file, and then the folders between it and `out` that are empty.
fn remove_output(path: &Path, out: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(Error::io("remove", path, e)),
        _ => remove_empty_folders(path, out),
    }
    Ok(())
}

/// Removes the empty folders between `file` and `out`.
fn remove_empty_folders(file: &Path, out: &Path) {
    let between = file.ancestors().skip(1).take_while(|folder| folder.starts_with(out) && *folder != out);
    for folder in between {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
