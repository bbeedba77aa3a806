//! The record of a run: its manifest, its stages for the report, and whether it has changed the workdir.

use crate::algo;
use crate::error::Result;
use crate::job::context::Context;
use crate::job::plan::speeds;
use crate::job::plan::stage::PlannedStage;
use crate::job::results::report::StageReport;
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::OrderWriter;
use crate::process::gpu_use;
use crate::process::measurements::StageMeasurements;
use crate::process::progress::{Progress, StageProgress, Unit};
use crate::store::os;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Number of bytes that this rank read and wrote in a stage.
#[derive(Debug, Clone, Copy, Default)]
pub struct IoBytes {
    /// Number of bytes read.
    pub read: u64,
    /// Number of bytes written.
    pub written: u64,
}

/// What a run has done so far: its manifest, its progress and its stages.
pub struct RunRecord {
    /// The manifest: the stages and tasks that are complete.
    pub manifest: Manifest,
    /// Progress of the current stage, which progress bars and log lines show, and memory peaks.
    pub progress: Progress,
    /// Workdir in which this rank saves the manifest; `None` unless this rank is the leader.
    workdir: Option<PathBuf>,
    /// The stages that have run or were already complete, in order, for the report.
    pub stages: Vec<StageReport>,
    /// Planned stages. After the run, their predicted times are compared with the measured times.
    pub(crate) planned: Vec<PlannedStage>,
    /// True once this run has changed files that earlier runs left.
    pub is_changed: bool,
    /// The manifest of an earlier run that completed the whole job.
    pub done: Option<Manifest>,
    /// True while the workdir still contains the manifest `done`, because this run has not saved its own.
    is_unsaved: bool,
    /// True once the GPU's energy meter has been passed to the metrics.
    is_metered: bool,
    started: Instant,
}

impl RunRecord {
    /// Creates the record of a run that started at the time `started` and continues from `manifest`. `done` is the
    /// manifest of an earlier run that completed the whole job; it remains on the disk until a stage starts. The
    /// leader shows progress in the workdir.
    pub fn new(context: &Context, manifest: Manifest, done: Option<Manifest>, started: Instant) -> Self {
        let Context { job, comm, budget, threads, .. } = context;
        let progress = Progress::new(job.run.log_interval);
        progress.set_memory_limit(budget.limit());
        progress.metrics().set_resources(comm.ranks(), *threads, budget.limit());
        let workdir = comm.is_leader().then(|| job.workdir.clone());
        if let Some(workdir) = &workdir {
            progress.set_run(workdir, manifest.runs, started);
            progress.metrics().begin(workdir, started);
        }
        let (is_changed, is_unsaved, is_metered) = (false, done.is_some() && workdir.is_some(), false);
        let (stages, planned) = (Vec::new(), Vec::new());
        RunRecord { manifest, progress, workdir, stages, planned, is_changed, done, is_unsaved, is_metered, started }
    }

    /// Saves the manifest with the time spent so far, because a killed run can't add its time later.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn save(&mut self) -> Result<()> {
        self.manifest_so_far();
        self.workdir.as_ref().map_or(Ok(()), |workdir| self.manifest.save(workdir))
    }

    /// Updates the manifest with the time spent so far, and returns it.
    pub fn manifest_so_far(&mut self) -> &Manifest {
        self.manifest.unfinished = self.seconds();
        self.manifest.spending = self.progress.spent();
        &self.manifest
    }

    /// Returns the number of seconds since the run started.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Runs `work` as stage `name`, and records its time, bytes transferred and memory peak. Collective.
    ///
    /// # Errors
    /// Errors of the stage.
    pub fn stage<T>(
        &mut self,
        context: &Context,
        name: &'static str,
        total: u64,
        unit: Unit,
        work: impl FnOnce(&StageProgress) -> Result<(T, IoBytes)>,
    ) -> Result<T> {
        self.is_changed = true;
        if std::mem::take(&mut self.is_unsaved) {
            self.save()?;
        }
        self.record_gpu(context);
        let progress = self.progress.stage(name, total, unit);
        self.progress.metrics().end_sample();
        let (before, computed) = (os::processor_time(), gpu_use::busy());
        let (value, moved) = work(&progress)?;
        self.record_gpu(context);
        let end = progress.finish();
        let comm = &context.comm;
        let (ranks, rank) = (comm.ranks(), comm.rank());
        self.progress.metrics().end_sample();
        // Layout of `sums`: bytes read, bytes written, the CPU time of each rank, and then the GPU time of each rank.
        let (mut sums, mut most) = (vec![0; 2 + 2 * ranks], [end.host_memory_peak]);
        (sums[0], sums[1]) = (moved.read, moved.written);
        sums[2 + rank] = os::processor_time().saturating_sub(before).as_micros() as u64;
        sums[2 + ranks + rank] = (gpu_use::busy() - computed).as_micros() as u64;
        comm.all_sum(&mut sums);
        comm.all_max(&mut most);
        let (read, written, [host_memory_peak]) = (sums[0], sums[1], most);
        let seconds: Vec<f64> = sums[2..].iter().map(|&micros| micros as f64 / 1e6).collect();
        let (cpu_seconds, gpu_seconds) = (seconds[..ranks].to_vec(), seconds[ranks..].to_vec());
        // The list is empty if no rank reports GPU time, because it can't be measured or the CPU did all the work.
        let gpu_seconds = if gpu_seconds.iter().any(|&time| time > 0.0) { gpu_seconds } else { Vec::new() };
        let figures = StageMeasurements { seconds: end.seconds, read, written, host_memory_peak };
        self.progress.add_spent(name, &figures);
        self.stages.push(StageReport { name, figures, resumed: false, cpu_seconds, gpu_seconds });
        Ok(value)
    }

    /// Passes the GPU's memory limit and energy meter to the metrics, once the GPU is open.
    fn record_gpu(&mut self, context: &Context) {
        let (gpu, metrics) = (&context.gpu, self.progress.metrics());
        if !gpu.is_open() {
            return;
        }
        metrics.set_gpu_memory(gpu.memory()[0]);
        if let Some(open) = gpu.meter().filter(|_| !std::mem::replace(&mut self.is_metered, true)) {
            metrics.set_meter(open);
        }
    }

    /// Starts to store the degree order in the background. Ranks other than the leader do nothing.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if no thread can be started.
    pub fn store_order(&mut self, order: &mut OrderWriter, content: u64) -> Result<()> {
        let Some(workdir) = self.workdir.clone() else { return Ok(()) };
        let manifest = self.manifest_so_far().clone();
        order.store(content, manifest, &workdir)
    }

    /// Adds the stages `names` to the report, with the measurements of the earlier run that completed them.
    pub fn skipped(&mut self, names: &[&'static str]) {
        let Manifest { stages, tasks, .. } = &self.manifest;
        for &name in names {
            let figures = stages.get(name).map(|stage| &stage.figures).or(tasks.get(name).map(|task| &task.figures));
            let figures = figures.cloned().unwrap_or_default();
            self.stages.push(StageReport { name, figures, resumed: true, ..StageReport::default() });
        }
    }

    /// Records in the manifest that stage `name` is complete, with the measurements of its last execution. `found` is
    /// its result.
    ///
    /// # Errors
    /// Errors of [`Manifest::done`].
    pub fn done<T: Serialize>(&mut self, name: &str, key: u64, found: &T) -> Result<()> {
        self.manifest.done(name, key, self.figures_of(name), found)
    }

    /// Returns the total time in seconds of all stages that prepared the graph.
    pub fn seconds_of_stages(&self) -> f64 {
        let prepare = self.stages.iter().filter(|stage| algo::find(stage.name).is_none());
        prepare.map(|stage| stage.figures.seconds).sum()
    }

    /// Returns the measurements of stage `name` from its last execution in this run.
    pub fn figures_of(&self, name: &str) -> StageMeasurements {
        self.stages.iter().rev().find(|stage| stage.name == name).map(|stage| stage.figures.clone()).unwrap_or_default()
    }

    /// Records how long the planned stages took, so that later plans predict times better.
    pub fn remember_speeds(&mut self) {
        let planned = std::mem::take(&mut self.planned);
        // In a resumed job, an earlier run may have done part of a stage, so that the measured time is too short.
        if self.manifest.resumes == 0 && self.workdir.is_some() {
            speeds::record_times(planned, &self.stages);
        }
    }
}
