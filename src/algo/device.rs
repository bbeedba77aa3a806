//! The device of a task: the GPU of this rank or the CPU, as the job and all ranks together decide.

use crate::comm::{Comm, reports_for_node};
use crate::error::{Error, Result};
use crate::gpu::{Peers, Workspace};
use crate::process::host;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The devices that a job has opened.
pub struct Devices<'a> {
    /// All ranks.
    pub comm: &'a Comm,
    /// The GPU of this rank.
    pub workspace: Option<&'a Mutex<Workspace>>,
    /// GPU memory of the other ranks.
    pub peers: &'a Peers,
    /// True if a CPU may take the place of a GPU that does not do.
    pub auto: bool,
    on_gpu: Cell<bool>,
}

/// The GPU of this rank, for as long as a task computes on it.
pub struct Lease<'a> {
    /// Its memory, queues and programs.
    pub workspace: MutexGuard<'a, Workspace>,
    /// Bytes that the caches of all ranks' GPUs hold, at least.
    pub cache: u64,
}

/// The device that was chosen, with what was made for it.
pub enum Chosen<G, C> {
    /// This rank computes on its GPU.
    Gpu(G),
    /// All ranks compute on their CPUs.
    Cpu(C),
    /// Other ranks have GPUs and this one has none, which would hardly help.
    Nothing,
}

impl<'a> Devices<'a> {
    /// Lends these.
    pub fn new(comm: &'a Comm, workspace: Option<&'a Mutex<Workspace>>, peers: &'a Peers, auto: bool) -> Devices<'a> {
        Devices { comm, workspace, peers, auto, on_gpu: Cell::new(false) }
    }

    /// Returns the name of the device that the last choice fell on, as the report has it.
    pub fn name(&self) -> &'static str {
        if self.on_gpu.get() { "gpu" } else { "cpu" }
    }

    /// Makes what computes with `gpu` where ranks have GPUs that do, else with `cpu`: with `run.device = "auto"` a GPU that is too
    /// small is no error. `is_local` says whether a CPU reaches the graph. Collective.
    ///
    /// # Errors
    /// Those of `gpu` and `cpu`.
    pub fn choose<G, C>(
        &self,
        is_local: bool,
        gpu: impl FnOnce(Lease<'a>) -> Result<G>,
        cpu: impl FnOnce() -> Result<C>,
    ) -> Result<Chosen<G, C>> {
        let comm = self.comm;
        let workspace = self.workspace.map(|workspace| workspace.lock().unwrap_or_else(PoisonError::into_inner));
        let some = comm.any(workspace.is_some());
        let least = workspace.as_ref().map(|workspace| [workspace.arena.bytes(), workspace.device.cache()]);
        let mut least = least.unwrap_or([u64::MAX; 2]);
        comm.all_min(&mut least);
        let gpu = workspace.map(|mut workspace| {
            // Ranks take turns with one list of batches, which is cut by the memory and the cache there is.
            workspace.arena.trim(least[0]);
            gpu(Lease { workspace, cache: least[1] })
        });
        let declines =
            matches!(&gpu, Some(Err(Error::Limit { .. } | Error::GpuFull(_) | Error::Usage(_))) if self.auto);
        let declined = comm.any(declines);
        self.on_gpu.set(some && !declined);
        if !self.on_gpu.get() {
            let reports = reports_for_node(comm, declines);
            if let Some(Err(e)) = gpu.as_ref().filter(|_| reports) {
                tracing::warn!("computing on the CPU: {e}");
            }
            if !is_local {
                let why = || Error::internal("compute on the GPU", "a graph that is not here, and too little room");
                return Err(gpu.and_then(Result::err).unwrap_or_else(why));
            }
            drop(gpu);
            return cpu().map(Chosen::Cpu);
        }
        let reports = reports_for_node(comm, gpu.is_none());
        match gpu {
            Some(gpu) => gpu.map(Chosen::Gpu),
            None => {
                if reports {
                    tracing::warn!("no GPU on {}: computing is left to the ranks that have one", host::name());
                }
                Ok(Chosen::Nothing)
            }
        }
    }
}
