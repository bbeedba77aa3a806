//! One run of a job: the state that its stages share.

use crate::algo;
use crate::comm::{Comm, WorkStealing, agreed};
use crate::config::{Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::job::device::GpuSession;
use crate::job::plan::comm_memory::CommMemory;
use crate::job::plan::estimate::Stage;
use crate::job::plan::limits::check_addresses;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds;
use crate::job::ranks;
use crate::job::results::report::StageReport;
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::{Ordered, Storing};
use crate::memory::{Budget, Reservation};
use crate::process::figures::Figures;
use crate::process::gpu_use;
use crate::process::progress::{Progress, StageProgress, Unit};
use crate::process::signals;
use crate::store::os;
use crate::store::sync::Syncer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Instant;

/// State of a run.
pub struct Session {
    /// The job as configured.
    pub job: Job,
    /// The manifest: stages and tasks that are done.
    pub manifest: Manifest,
    /// The ranks that share the work. All of them run the same stages in the same order.
    pub comm: Comm,
    /// Chunks of the input that ranks have started, if ranks can see each other's.
    pub stealing: Option<WorkStealing>,
    /// Budget of host memory.
    pub budget: Budget,
    /// Memory for communication between ranks.
    pub comm_memory: CommMemory,
    _standing: Reservation,
    /// Number of threads to use.
    pub threads: usize,
    /// The GPU, if the job uses one.
    pub gpu: GpuSession,
    /// The order of vertices, while it is written in the background.
    pub ordered: Option<Storing>,
    /// Progress bars, log lines and memory peaks.
    pub progress: Progress,
    /// Makes files durable in the background.
    pub syncer: Syncer,
    /// Stages for the report, in order.
    pub stages: Vec<StageReport>,
    /// Stages of the plan, to be recorded with the time that they took.
    pub(crate) planned: Vec<Stage>,
    /// True once a stage has started. Until then, what earlier runs did is unchanged.
    pub began: bool,
    /// True while the manifest on the disk still says that the job is done.
    pub unsaved: bool,
    /// True once the metrics have the GPU's meter.
    metered: bool,
    started: Instant,
}

/// Reports progress, and returns an error when the job must stop.
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

/// Bytes that this rank read and wrote in a stage.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Session {
    /// Creates a run of `job` that continues from `manifest`.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if `limits.host_memory` is too small for the process itself.
    pub fn new(job: Job, manifest: Manifest, comm: Comm) -> Result<Self> {
        let started = Instant::now();
        let threads = ranks::threads(&job, &comm);
        let limit = ranks::host_memory(&job, &comm)?;
        check_addresses(limit)?;
        let progress = Progress::new(job.run.log_interval);
        progress.set_memory_limit(limit);
        progress.metrics().set_crew(comm.ranks(), threads, limit);
        let budget = Budget::new(limit, threads)?;
        let comm_memory = CommMemory::agreed(&comm, threads, limit);
        let standing = budget.reserve(comm_memory.standing(), "MPI and what ranks do together")?;
        if comm.ranks() > 1 {
            let [mpi, all] = [comm.own_bytes(), comm_memory.standing()];
            tracing::debug!(mpi, all, messages = comm_memory.messages(), messages = ?comm_memory.messages, "memory of ranks");
        }
        let (files, opens) = (matches!(job.input, InputSpec::Files { .. }), job.run.device != Device::Cpu);
        if files && opens && comm.leads() && manifest.stages.is_empty() {
            crate::job::input::read_ahead(&job.input);
        }
        let stealing = WorkStealing::open(&comm);
        // Parallel work outside of its own thread pool uses the same number of threads. Only the first call has an
        // effect.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        Ok(Session {
            budget,
            comm_memory,
            _standing: standing,
            threads,
            gpu: GpuSession::new(&job, &comm),
            progress,
            ordered: None,
            syncer: Syncer::start()?,
            stages: Vec::new(),
            planned: Vec::new(),
            began: false,
            unsaved: false,
            metered: false,
            started,
            job,
            manifest,
            comm,
            stealing,
        })
    }

    /// Saves the manifest with the time so far, because a run that is killed can't add it later.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn save_manifest(&mut self) -> Result<()> {
        self.manifest_so_far();
        if self.comm.leads() { self.manifest.save(&self.job.workdir) } else { Ok(()) }
    }

    /// Returns on all ranks what `decide` returns on the leader. Ranks may see different things on the disk, and must
    /// act alike. Collective.
    ///
    /// # Errors
    /// Errors of `decide`.
    pub fn agreed<T: Serialize + DeserializeOwned>(&self, decide: impl FnOnce() -> Result<T>) -> Result<T> {
        agreed(&self.comm, decide)
    }

    /// Updates the manifest with the time spent so far, and returns it.
    pub fn manifest_so_far(&mut self) -> &Manifest {
        self.manifest.unfinished = self.started.elapsed().as_secs_f64();
        self.manifest.spending = self.progress.spent();
        &self.manifest
    }

    /// Returns the folder of the prepared graph.
    pub fn graph_folder(&self) -> PathBuf {
        self.job.workdir.join("graph")
    }

    /// Runs a stage and records its figures.
    ///
    /// # Errors
    /// Errors of the stage.
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
        self.record_gpu();
        let progress = self.progress.stage(name, total, unit);
        self.progress.metrics().look();
        let (before, computed) = (os::processor_time(), gpu_use::busy());
        let (value, moved) = work(self, &progress)?;
        self.record_gpu();
        let end = progress.finish();
        let (ranks, rank) = (self.comm.ranks(), self.comm.rank());
        self.progress.metrics().look();
        // After the two sums, each rank has two entries: its processor time and its GPU time.
        let (mut sums, mut most) = (vec![0; 2 + 2 * ranks], [end.peak_memory]);
        (sums[0], sums[1]) = (moved.read, moved.written);
        sums[2 + rank] = os::processor_time().saturating_sub(before).as_micros() as u64;
        sums[2 + ranks + rank] = (gpu_use::busy() - computed).as_micros() as u64;
        self.comm.all_sum(&mut sums);
        self.comm.all_max(&mut most);
        let (read, written, [host_memory_peak]) = (sums[0], sums[1], most);
        let seconds: Vec<f64> = sums[2..].iter().map(|&micros| micros as f64 / 1e6).collect();
        let (cpu_seconds, gpu_seconds) = (seconds[..ranks].to_vec(), seconds[ranks..].to_vec());
        // Empty if no GPU reported a time: the time can't be read, or the CPU did all the work.
        let gpu_seconds = if gpu_seconds.iter().any(|&time| time > 0.0) { gpu_seconds } else { Vec::new() };
        let figures = Figures { seconds: end.seconds, read, written, host_memory_peak };
        self.progress.add_spent(name, &figures);
        self.stages.push(StageReport { name, figures, resumed: false, cpu_seconds, gpu_seconds });
        Ok(value)
    }

    /// Adds the GPU to the metrics, once it is open.
    fn record_gpu(&mut self) {
        if !self.gpu.is_open() {
            return;
        }
        self.progress.metrics().set_gpu_memory(self.gpu.memory()[0]);
        if let Some(open) = self.gpu.meter().filter(|_| !std::mem::replace(&mut self.metered, true)) {
            self.progress.metrics().set_meter(open);
        }
    }

    /// Records a stage that an earlier run completed.
    pub fn skipped(&mut self, name: &'static str) {
        let Manifest { stages, tasks, .. } = &self.manifest;
        let figures = stages.get(name).map(|stage| &stage.figures).or(tasks.get(name).map(|task| &task.figures));
        let figures = figures.cloned().unwrap_or_default();
        self.stages.push(StageReport {
            name,
            figures,
            resumed: true,
            cpu_seconds: Vec::new(),
            gpu_seconds: Vec::new(),
        });
    }

    /// Returns the seconds of all stages that prepared the graph.
    pub fn seconds_of_stages(&self) -> f64 {
        let prepare = self.stages.iter().filter(|stage| algo::find(stage.name).is_none());
        prepare.map(|stage| stage.figures.seconds).sum()
    }

    /// Returns the figures of the last run of stage `name` in this session.
    pub fn figures_of(&self, name: &str) -> Figures {
        self.stages.iter().rev().find(|stage| stage.name == name).map(|stage| stage.figures.clone()).unwrap_or_default()
    }

    /// Records how long stages took, for later plans.
    pub fn remember_speeds(&mut self) {
        let planned = std::mem::take(&mut self.planned);
        // In a resumed job, an earlier run may have done a part of a stage.
        if self.manifest.resumes == 0 && self.comm.leads() {
            speeds::record_times(planned, &self.stages);
        }
    }

    /// Returns the resources that the plan of this run is based on.
    pub fn machine(&self) -> Resources {
        Resources {
            host_memory: self.budget.limit(),
            threads: self.threads,
            ranks: self.comm.ranks(),
            local_ranks: self.comm.local_ranks(),
            comm_memory: self.comm_memory,
            gpu: self.gpu.held(),
            missing: None,
        }
    }

    /// Opens a file that another rank wrote. On a network file system it may become visible a little later, so this
    /// retries.
    ///
    /// # Errors
    /// Errors of `open`.
    pub fn retry_until_visible<T>(&self, open: impl Fn() -> Result<T>) -> Result<T> {
        let there = |opened: &Result<T>| !opened.as_ref().is_err_and(Error::is_missing);
        match open() {
            Err(_) if self.comm.nodes() > 1 => {
                ranks::wait_for(ranks::OUT_OF_SIGHT, || Some(open()).filter(there)).unwrap_or_else(open)
            }
            opened => opened,
        }
    }

    /// Starts to store the order of vertices, on the leader.
    ///
    /// # Errors
    /// [`Error::Io`] if the system allows no more threads.
    pub fn store_order(&mut self, order: &mut Ordered, content: u64) -> Result<()> {
        if !self.comm.leads() {
            return Ok(());
        }
        let manifest = self.manifest_so_far().clone();
        order.store(content, manifest, &self.job.workdir)
    }

    /// Returns true if stored degrees are needed: some tasks read them, and so do jobs on a kept graph.
    pub fn needs_degrees(&self) -> bool {
        self.job.needs_degrees()
    }

    /// Returns the names of the job's tasks.
    pub fn tasks(&self) -> Vec<&'static str> {
        self.job.tasks.iter().map(|task| task.name()).collect()
    }

    /// Returns true if tasks need the stored order of vertices to write results.
    pub fn needs_order(&self) -> bool {
        self.job.tasks.iter().any(|task| task.needs().order)
    }
}
