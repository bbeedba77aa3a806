//! What a run computes with: the GPU that the job asks for or that is there, else the processor.

use super::host;
use super::machine::{Held, Machine};
use super::session::Session;
use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::driver::Backend;
use crate::algo::triangle::gpu::Gpu;
use crate::config::{Device as Asked, Job};
use crate::error::{Error, Result};
use crate::gpu::{Device, Workspace};
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, Reservation};
use crate::prepare::{self, Accelerator};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A GPU in use, and the host memory that its driver took.
pub struct InUse {
    /// The GPU.
    pub device: Device,
    /// What computes takes it, one after another.
    pub workspace: Mutex<Workspace>,
    /// All host memory that it holds: the driver's, and what is pinned for copies.
    pub host_memory: u64,
    /// Whether triangles were counted on the processor after all.
    declined: AtomicBool,
    _driver: Reservation,
}

/// Opens the GPU of the job. `None`: it computes on the processor.
///
/// # Errors
/// For `run.device = "gpu"`, what keeps it from being used. For `"auto"` that is a warning.
pub fn choose(job: &Job, threads: usize, budget: &Budget) -> Result<Option<InUse>> {
    if job.run.device == Asked::Cpu {
        return Ok(None);
    }
    let (before, free) = (host::process_memory(), budget.free());
    let opened = Workspace::open(job.run.gpu, job.limits.gpu_memory, threads, budget).and_then(|workspace| {
        // Beside what this crate takes from the budget by itself.
        let driver = (host::process_memory().saturating_sub(before)).saturating_sub(free - budget.free());
        let reserved = budget.reserve(driver, "the GPU's driver")?;
        Ok(InUse {
            device: workspace.device.clone(),
            workspace: Mutex::new(workspace),
            host_memory: free - budget.free(),
            declined: AtomicBool::new(false),
            _driver: reserved,
        })
    });
    match opened {
        Ok(device) => Ok(Some(device)),
        Err(e) if job.run.device == Asked::Auto && job.run.gpu.is_none() => {
            tracing::warn!("computing on the processor: {e}");
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Asked now and then by what counts: the signal that ends it.
pub type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

impl Session {
    /// What counts the triangles of `graph`, which has `vertices` vertices; those at each vertex too, if `per_vertex`.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`].
    pub(super) fn counter<'a>(
        &'a self,
        graph: &Catalogue,
        vertices: u64,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Box<dyn Backend + 'a>> {
        let Some(InUse { workspace, declined, .. }) = &self.device else {
            return Ok(Box::new(Cpu::new(graph, vertices, self.threads, &self.budget, per_vertex, stop)?));
        };
        let workspace = workspace.lock().unwrap_or_else(PoisonError::into_inner);
        match Gpu::new(graph, vertices, workspace, per_vertex, stop) {
            Ok(gpu) => Ok(Box::new(gpu)),
            Err(e @ (Error::Limit { .. } | Error::Usage(_))) if self.job.run.device == Asked::Auto => {
                tracing::warn!("counting on the processor: {e}");
                declined.store(true, Relaxed);
                Ok(Box::new(Cpu::new(graph, vertices, self.threads, &self.budget, per_vertex, stop)?))
            }
            Err(e) => Err(e),
        }
    }

    /// What the plan of this run is made for.
    pub(super) fn machine(&self) -> Machine {
        let gpu = self.device.as_ref().map(Held::of);
        Machine { host_memory: self.budget.limit(), threads: self.threads, gpu, missing: None }
    }

    /// What prepares graphs in place of the processor, if anything does.
    pub(super) fn accelerator(&self) -> Option<impl Accelerator + '_> {
        let InUse { workspace, .. } = self.device.as_ref()?;
        Some(prepare::gpu::Gpu::new(workspace.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// What the report calls the device.
    pub(super) fn device_name(&self) -> &'static str {
        if self.device.as_ref().is_some_and(|used| !used.declined.load(Relaxed)) { "gpu" } else { "cpu" }
    }

    /// `limits.gpu_memory` as used, and the most that was; both 0 without a GPU.
    pub(super) fn gpu_memory(&self) -> (u64, u64) {
        self.device.as_ref().map_or((0, 0), |used| (used.device.limit(), used.device.peak()))
    }
}
