//! The context in which stages run: the job, its ranks, threads, memory and GPU.

use crate::comm::{Comm, WorkStealing, on_leader};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::job::device::GpuSession;
use crate::job::plan::comm_memory::CommMemory;
use crate::job::plan::limits;
use crate::job::plan::resources::Resources;
use crate::job::ranks;
use crate::memory::{Budget, Reservation};
use crate::process::progress::StageProgress;
use crate::process::signals;
use crate::process::threads::start_global_pool;
use crate::store::sync::Syncer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The resources that all stages of a job share: ranks, threads, memory, GPU and disk. `RunRecord` contains what a run
/// records.
pub struct Context {
    /// The job, as the job file and the command line configure it.
    pub job: Job,
    /// The MPI ranks that share the work. All of them run the same stages in the same order.
    pub comm: Comm,
    /// Shared counters through which fast ranks take over chunks of the input from slow ranks. `None` if the ranks
    /// can't share counters.
    pub stealing: Option<WorkStealing>,
    /// Budget of host memory.
    pub budget: Budget,
    /// Host memory of this rank for communication with other ranks.
    pub comm_memory: CommMemory,
    _standing: Reservation,
    /// Number of threads to use.
    pub threads: usize,
    /// The GPU, if the job uses one.
    pub gpu: GpuSession,
    /// Writes files through to the disk (fsync) in the background.
    pub syncer: Syncer,
}

/// Progress of a stage, which passes over the data update. A pass ends with an error once the job has been asked to
/// stop.
impl Watch for StageProgress {
    fn advance(&self, amount: u64) -> Result<()> {
        StageProgress::advance(self, amount);
        signals::check()
    }

    fn wrote(&self, bytes: u64) {
        StageProgress::wrote(self, bytes);
    }
}

impl Context {
    /// Creates the context of `job` on this machine, with the job's limits on threads and memory. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if `limits.host_memory` is too small for the process itself.
    pub fn new(job: &Job, comm: &Comm) -> Result<Self> {
        let threads = ranks::threads(job, comm);
        let limit = ranks::host_memory(job, comm)?;
        limits::check_addresses(limit)?;
        let budget = Budget::new(limit, threads)?;
        let comm_memory = CommMemory::agreed(comm, threads, limit);
        let standing = budget.reserve(comm_memory.permanent_bytes(), "MPI and what ranks do together")?;
        if comm.ranks() > 1 {
            let [mpi, all] = [comm.own_bytes(), comm_memory.permanent_bytes()];
            tracing::debug!(mpi, all, messages = comm_memory.messages(), messages = ?comm_memory.messages, "memory of ranks");
        }
        let stealing = WorkStealing::open(comm);
        start_global_pool(threads)?;
        let (gpu, syncer) = (GpuSession::new(job, comm), Syncer::start()?);
        let (job, comm) = (job.clone(), comm.clone());
        Ok(Context { job, comm, stealing, budget, comm_memory, _standing: standing, threads, gpu, syncer })
    }

    /// Calls `decide` on the leader, and returns its result on all ranks. Ranks may see different states of the file
    /// system, but must make the same decision. Collective.
    ///
    /// # Errors
    /// Errors of `decide`.
    pub fn on_leader<T: Serialize + DeserializeOwned>(&self, decide: impl FnOnce() -> Result<T>) -> Result<T> {
        on_leader(&self.comm, decide)
    }

    /// Calls `open` on the leader to open a stored file, and returns true if this succeeds. If the file is damaged or
    /// missing, returns false and logs a warning that the job repeats the work that produced the file. `again` names
    /// this work, such as `counting degrees`. Collective.
    ///
    /// # Errors
    /// Other errors of `open`.
    pub fn opens<T>(&self, again: &str, open: impl FnOnce() -> Result<T>) -> Result<bool> {
        self.on_leader(|| match open() {
            Err(e @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                tracing::warn!("{e}: {again} again");
                Ok(false)
            }
            other => other.map(|_| true),
        })
    }

    /// Starts to open the job's GPU in the background, unless it computes on the CPU. Collective.
    ///
    /// # Errors
    /// [`Error::Io`] if no thread can be started.
    pub fn begin_gpu(&mut self) -> Result<()> {
        self.gpu.begin(&self.job, self.threads, &self.budget)
    }

    /// Waits until the GPU is open, if it is being opened.
    ///
    /// # Errors
    /// Errors of [`GpuSession::wait`]; one about the limit on GPU memory names the limit that is enough for the job.
    pub fn wait_for_gpu(&mut self) -> Result<()> {
        let (job, comm) = (&self.job, &self.comm);
        self.gpu.wait().map_err(|e| limits::for_all_stages(e, job, comm.ranks(), comm.nodes()))
    }

    /// Returns the folder that stores the prepared graph.
    pub fn graph_folder(&self) -> PathBuf {
        self.job.workdir.join("graph")
    }

    /// Returns the memory, threads, ranks and GPU of this run, for which its plan is made.
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

    /// Opens a file that another rank wrote. On a network file system the file may become visible with a delay, so
    /// `open` is retried while the file is missing.
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
}
