//! What a run computes with: the GPU that the job asks for or that is there, else the processor.

use super::host;
use super::session::Session;
use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::driver::Backend;
use crate::algo::triangle::gpu::Gpu;
use crate::config::{Device as Asked, Job};
use crate::error::{Error, Result};
use crate::gpu::Device;
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, Reservation};
use std::sync::atomic::AtomicU64;

/// A GPU in use, and the host memory that its driver took.
pub struct InUse {
    /// The GPU.
    pub device: Device,
    _driver: Reservation,
}

/// Opens the GPU of the job. `None`: it computes on the processor.
///
/// # Errors
/// For `run.device = "gpu"`, what keeps it from being used. For `"auto"` that is a warning.
pub fn choose(job: &Job, budget: &Budget) -> Result<Option<InUse>> {
    if job.run.device == Asked::Cpu {
        return Ok(None);
    }
    let before = host::process_memory();
    let opened = Device::open(job.run.gpu, job.limits.gpu_memory).and_then(|device| {
        device.check_kernels()?;
        let driver = host::process_memory().saturating_sub(before);
        Ok(InUse { device, _driver: budget.reserve(driver, "the GPU's driver")? })
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
        &self,
        graph: &Catalogue,
        vertices: u64,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Box<dyn Backend + 'a>> {
        let Some(InUse { device, .. }) = &self.device else {
            return Ok(Box::new(Cpu::new(graph, vertices, self.threads, &self.budget, per_vertex, stop)?));
        };
        match Gpu::new(graph, vertices, device, self.threads, &self.budget, per_vertex, stop) {
            Ok(gpu) => Ok(Box::new(gpu)),
            Err(e @ (Error::Limit { .. } | Error::Usage(_))) if self.job.run.device == Asked::Auto => {
                tracing::warn!("counting on the processor: {e}");
                Ok(Box::new(Cpu::new(graph, vertices, self.threads, &self.budget, per_vertex, stop)?))
            }
            Err(e) => Err(e),
        }
    }

    /// What the report calls the device.
    pub(super) fn device_name(&self) -> &'static str {
        if self.device.is_some() { "gpu" } else { "cpu" }
    }

    /// `limits.gpu_memory` as used, and the most that was; both 0 without a GPU.
    pub(super) fn gpu_memory(&self) -> (u64, u64) {
        self.device.as_ref().map_or((0, 0), |used| (used.device.limit(), used.device.peak()))
    }
}
