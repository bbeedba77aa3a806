//! One run of a job: what all its stages share.

use super::estimate::Stage;
use super::manifest::Manifest;
use super::moving::Moving;
use super::ordered::Storing;
use super::report::StageReport;
use super::{device, ranks};
use crate::comm::{Comm, WorkStealing};
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::gpu::Peers;
use crate::memory::{Budget, Reservation, addresses_left};
use crate::process::figures::Figures;
use crate::process::progress::{Progress, StageProgress, Unit};
use crate::process::{host, signals};
use crate::store::sync::Syncer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Instant;

/// The state of a run.
pub struct Session {
    /// The job as configured.
    pub job: Job,
    /// What is done.
    pub manifest: Manifest,
    /// The ranks that share the work. All of them run the same stages in the same order.
    pub comm: Comm,
    /// Chunks of the input that ranks have begun, where they tell each other.
    pub stealing: Option<WorkStealing>,
    /// What is left of host memory.
    pub budget: Budget,
    /// Memory for what ranks do together.
    pub moving: Moving,
    _standing: Reservation,
    /// Threads to work with.
    pub threads: usize,
    /// The GPU while it is opened.
    pub opening: Option<device::Opening>,
    /// The GPU, once it is open, if the run has one.
    pub device: Option<device::InUse>,
    /// Why it has none, though it might.
    pub no_device: Option<Error>,
    /// GPU memory of the other ranks.
    pub peers: Peers,
    /// The order of vertices, while it is stored behind what does not wait for it.
    pub ordered: Option<Storing>,
    /// Bars, log lines, peaks.
    pub progress: Progress,
    /// Durability in the background.
    pub syncer: Syncer,
    /// Stages for the report, in order.
    pub stages: Vec<StageReport>,
    /// The plan's stages, to be noted beside what they took.
    pub(super) planned: Vec<Stage>,
    /// Whether a stage has begun: until then what an earlier run did is as it was.
    pub began: bool,
    /// True while the workdir's manifest still says that the job is done.
    pub unsaved: bool,
    started: Instant,
}

/// Passes progress on, and a stop back.
pub struct Watched<'a>(pub &'a StageProgress);

impl Watch for Watched<'_> {
    fn advance(&self, amount: u64) -> Result<()> {
        self.0.advance(amount);
        signals::check()
    }

    fn wrote(&self, bytes: u64) {
        self.0.wrote(bytes);
    }
}

/// Bytes that this rank moved in a stage.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Session {
    /// A run of `job`, which goes on from `manifest`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] where `limits.host_memory` does not even hold the process.
    pub fn new(job: Job, manifest: Manifest, comm: Comm) -> Result<Self> {
        let started = Instant::now();
        let threads = ranks::threads(&job, &comm);
        let limit = ranks::host_memory(&job, &comm);
        if let Some(left) = addresses_left().filter(|&left| left < limit) {
            let cause = std::io::ErrorKind::OutOfMemory.into();
            return Err(Error::addresses(limit, "limits.host_memory", limit, Some(left), &cause));
        }
        let progress = Progress::new(job.run.log_interval);
        progress.set_memory_limit(limit);
        let budget = Budget::new(limit, threads)?;
        let moving = Moving::agreed(&comm, threads, limit);
        let standing = budget.reserve(moving.standing(), "MPI and what ranks do together")?;
        if comm.ranks() > 1 {
            let [mpi, all] = [comm.own_bytes(), moving.standing()];
            tracing::debug!(mpi, all, on_the_way = moving.on_the_way(), messages = ?moving.messages, "memory of ranks");
        }
        let (files, opens) = (matches!(job.input, InputSpec::Files { .. }), job.run.device != Device::Cpu);
        if files && opens && comm.leads() && manifest.stages.is_empty() {
            super::input::read_ahead(&job.input);
        }
        let stealing = WorkStealing::open(&comm);
        // What is done in parallel outside of a pool of its own keeps to these threads, too; only the first call counts.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        Ok(Session {
            budget,
            moving,
            _standing: standing,
            threads,
            peers: Peers::new(comm.clone()),
            opening: None,
            device: None,
            no_device: None,
            progress,
            ordered: None,
            syncer: Syncer::start()?,
            stages: Vec::new(),
            planned: Vec::new(),
            began: false,
            unsaved: false,
            started,
            job,
            manifest,
            comm,
            stealing,
        })
    }

    /// Saves what is done, with the time so far: a run that is killed can't add it later.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn save_manifest(&mut self) -> Result<()> {
        self.manifest_so_far();
        if self.comm.leads() { self.manifest.save(&self.job.workdir) } else { Ok(()) }
    }

    /// What `decide` says on the leader: ranks may see other things on the disk, and must do the same.
    ///
    /// # Errors
    /// Those of `decide`.
    pub fn agreed<T: Serialize + DeserializeOwned>(&self, decide: impl FnOnce() -> Result<T>) -> Result<T> {
        ranks::agreed(&self.comm, decide)
    }

    /// What is done, with the time so far.
    pub fn manifest_so_far(&mut self) -> &Manifest {
        self.manifest.unfinished = self.started.elapsed().as_secs_f64();
        self.manifest.spending = self.progress.spent();
        &self.manifest
    }

    /// The folder of the prepared graph.
    pub fn graph_folder(&self) -> PathBuf {
        self.job.workdir.join("graph")
    }

    /// Runs a stage and notes its figures.
    ///
    /// # Errors
    /// Those of the stage.
    pub fn stage<T>(
        &mut self,
        name: &'static str,
        total: u64,
        unit: Unit,
        work: impl FnOnce(&mut Self, &StageProgress) -> Result<(T, Moved)>,
    ) -> Result<T> {
        self.began = true;
        if std::mem::take(&mut self.unsaved) {
            self.save_manifest()?;
        }
        let progress = self.progress.stage(name, total, unit);
        let (value, moved) = work(self, &progress)?;
        let end = progress.finish();
        let (mut sums, mut most) = ([moved.read, moved.written], [end.peak_memory]);
        self.comm.all_sum(&mut sums);
        self.comm.all_max(&mut most);
        let ([read, written], [host_memory_peak]) = (sums, most);
        let figures = Figures { seconds: end.seconds, read, written, host_memory_peak };
        self.progress.add_spent(name, &figures);
        self.stages.push(StageReport { name, figures, resumed: false });
        Ok(value)
    }

    /// Notes a stage that an earlier run did.
    pub fn skipped(&mut self, name: &'static str) {
        let figures = self.manifest.stages.get(name).map(|stage| stage.figures.clone()).unwrap_or_default();
        self.stages.push(StageReport { name, figures, resumed: true });
    }

    /// Figures of the last stage that ran.
    pub fn last_figures(&self) -> Figures {
        self.stages.last().map(|stage| stage.figures.clone()).unwrap_or_default()
    }
}

/// Threads to use where the job file says `configured`: 0 is all that this process has.
pub fn threads(configured: usize) -> usize {
    if configured == 0 { host::cores() } else { configured }
}

/// The limit in bytes: the job's, or 80 % of what the machine or cgroup has free.
pub fn host_memory(job: &Job) -> u64 {
    job.limits.host_memory.unwrap_or_else(|| host::memory().free / 5 * 4)
}
