//! Chooses the device of a task: the GPU of this rank, or its CPU. All ranks decide together.

use crate::comm::{Comm, reports_for_node};
use crate::error::{Error, Result};
use crate::gpu::{Peers, Workspace};
use crate::process::host;
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;

/// The GPU and the CPU of this rank, between which tasks of a job choose.
pub struct Devices<'a> {
    /// Communicator of all ranks.
    pub comm: &'a Comm,
    /// The GPU of this rank, if it uses one.
    pub workspace: Option<&'a Mutex<Workspace>>,
    /// Access to the GPU memory of the other ranks.
    pub peers: &'a Peers,
    /// Whether a task may run on the CPU if a GPU is too small for it (`run.device = "auto"`).
    pub auto: bool,
    on_gpu: Cell<bool>,
}

/// Exclusive use of this rank's GPU while a task computes on it.
pub struct Lease<'a> {
    /// Memory, queues and programs of the GPU.
    pub workspace: MutexGuard<'a, Workspace>,
    /// Size in bytes of the smallest GPU cache among all ranks.
    pub cache: u64,
}

/// The device that was chosen for a task, with the state of the algorithm on this device (its engine).
pub enum ChosenDevice<G, C> {
    /// The GPU of this rank, with the algorithm's state there.
    Gpu(G),
    /// The CPU of this rank, with the algorithm's state there. All ranks compute on their CPUs.
    Cpu(C),
    /// No device: other ranks compute on GPUs. This rank has no GPU and computes nothing, because its CPU would hardly
    /// help.
    Nothing,
}

impl<'a> Devices<'a> {
    /// Creates the devices of a job. Until a task has chosen a device, [`Self::name`] returns `cpu`.
    pub fn new(comm: &'a Comm, workspace: Option<&'a Mutex<Workspace>>, peers: &'a Peers, auto: bool) -> Devices<'a> {
        Devices { comm, workspace, peers, auto, on_gpu: Cell::new(false) }
    }

    /// Returns the name of the device that a task chose last, as the report shows it: `gpu` or `cpu`.
    pub fn name(&self) -> &'static str {
        if self.on_gpu.get() { "gpu" } else { "cpu" }
    }

    /// Chooses the device of a task like [`Self::choose`], but always calls `cpu` if there are several ranks. `on_gpu`
    /// converts the value that `gpu` returns into the algorithm's state (its engine). Collective.
    ///
    /// # Errors
    /// Errors of `gpu` and `cpu`.
    pub fn choose_alone<G, E>(
        &self,
        is_local: bool,
        gpu: impl FnOnce(Lease<'a>) -> Result<G>,
        on_gpu: impl FnOnce(Box<G>) -> E,
        cpu: impl FnOnce() -> Result<E>,
    ) -> Result<E> {
        if self.comm.ranks() > 1 {
            return cpu();
        }
        match self.choose(is_local, gpu, cpu)? {
            ChosenDevice::Gpu(gpu) => Ok(on_gpu(Box::new(gpu))),
            ChosenDevice::Cpu(engine) => Ok(engine),
            ChosenDevice::Nothing => Err(Error::internal("choose a device", "the only rank has none")),
        }
    }

    /// Chooses the device of a task, and prepares the state of the algorithm there: by calling `gpu` if any ranks have
    /// GPUs that can run the task, and by calling `cpu` otherwise. With `run.device = "auto"`, also calls `cpu` if a
    /// GPU is too small. `is_local` says whether the CPU can read the graph. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of `gpu` and `cpu`.
    pub fn choose<G, C>(
        &self,
        is_local: bool,
        gpu: impl FnOnce(Lease<'a>) -> Result<G>,
        cpu: impl FnOnce() -> Result<C>,
    ) -> Result<ChosenDevice<G, C>> {
        let comm = self.comm;
        let workspace = self.workspace.map(|workspace| workspace.lock());
        let some = comm.any(workspace.is_some());
        let least = workspace.as_ref().map(|workspace| [workspace.arena.bytes(), workspace.device.cache()]);
        let mut least = least.unwrap_or([u64::MAX; 2]);
        comm.all_min(&mut least);
        let gpu = workspace.map(|mut workspace| {
            // All ranks work on the same list of batches of rows. A batch must fit the smallest GPU memory and the
            // smallest cache.
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
                let why = || Error::internal("compute on the GPU", "a graph on other ranks, and too little GPU memory");
                return Err(gpu.and_then(Result::err).unwrap_or_else(why));
            }
            drop(gpu);
            return cpu().map(ChosenDevice::Cpu);
        }
        let reports = reports_for_node(comm, gpu.is_none());
        match gpu {
            Some(gpu) => gpu.map(ChosenDevice::Gpu),
            None => {
                if reports {
                    tracing::warn!("no GPU on {}: computing is left to the ranks that have one", host::name());
                }
                Ok(ChosenDevice::Nothing)
            }
        }
    }
}
