//! One GPU in use: its context, the memory it may have, its queues of work.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::Arena;
use super::program::Program;
use super::queue::Queue;
use super::{Gpu, driver, sources};
use crate::config::size;
use crate::error::{Error, Result};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, DriverError, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A GPU of this process.
#[derive(Debug, Clone)]
pub struct Device(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Arc<CudaContext>,
    gpu: Gpu,
    multiprocessors: u32,
    limit: u64,
    /// Bytes in use by everybody before this process took any but for its context.
    before: u64,
    peak: AtomicU64,
}

impl Device {
    /// Opens GPU `index`, or the first. Of its memory at most `limit` bytes are used, or 90 % of what is free.
    ///
    /// # Errors
    /// [`Error::Usage`], saying what to install or load, where there is no such GPU; [`Error::Lost`] where it does not
    /// answer.
    pub fn open(index: Option<u32>, limit: Option<u64>) -> Result<Device> {
        let found = driver::probe();
        let index = index.unwrap_or(0);
        let Some(gpu) = found.gpus.iter().find(|gpu| gpu.index == index).cloned() else {
            let missing = found.missing.iter().find(|what| !what.starts_with("NVRTC")).cloned();
            let gpus = found.gpus.len();
            let why = missing.unwrap_or_else(|| format!("GPU {index}: the driver has {gpus}, numbered from 0"));
            return Err(Error::Usage(format!("no GPU to compute with: missing {why}")));
        };
        let context = CudaContext::new(index as usize).map_err(|e| lost(&gpu, "open it", e))?;
        // Every order between queues is made by events of this crate.
        // SAFETY: nothing was allocated yet whose use the context would have to track.
        unsafe { context.disable_event_tracking() };
        let attribute = |which| context.attribute(which).map_err(|e| lost(&gpu, "ask what it has", e));
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let (free, total) = context.mem_get_info().map_err(|e| lost(&gpu, "ask for its memory", e))?;
        let limit = limit.unwrap_or(free as u64 / 10 * 9);
        let before = (total - free) as u64;
        let inner = Inner { context, gpu, multiprocessors, limit, before, peak: AtomicU64::new(0) };
        Ok(Device(Arc::new(inner)))
    }

    /// What it is.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// `limits.gpu_memory` in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    /// Most bytes that were in use at once beyond those of the context, as the driver saw it when asked.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// The arena that all memory on this GPU comes from: the limit, or what is left of it if another process took some.
    ///
    /// # Errors
    /// [`Error::Limit`] if less than `least` bytes are to be had, [`Error::Lost`].
    pub fn arena(&self, least: u64) -> Result<Arena> {
        let short = |given: u64| Error::Limit {
            limit: "gpu_memory",
            given: size::show(given),
            needed: crate::memory::at_least(least),
            purpose: format!("this graph on GPU {} ({})", self.0.gpu.index, self.0.gpu.name),
        };
        if self.0.limit < least {
            return Err(short(self.0.limit));
        }
        let mut bytes = self.0.limit;
        loop {
            match Arena::new(self, bytes) {
                Ok(arena) => {
                    self.look();
                    return Ok(arena);
                }
                Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) if bytes > least => {
                    // The largest piece may be smaller than all that is free.
                    let free = self.0.context.mem_get_info().map_or(0, |(free, _)| free as u64);
                    bytes = free.min(bytes / 8 * 7).max(least);
                    let index = self.0.gpu.index;
                    tracing::warn!(
                        "GPU {index} has less than limits.gpu_memory free: going on with {}",
                        size::show(bytes)
                    );
                }
                Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => return Err(short(bytes)),
                Err(e) => return Err(self.lost("take memory", e)),
            }
        }
    }

    /// Compiles what will be needed, or finds it compiled.
    ///
    /// # Errors
    /// [`Error::Usage`] where NVRTC is missing, [`Error::Lost`].
    pub fn check_kernels(&self) -> Result<()> {
        sources::ALL.iter().try_for_each(|source| Program::load(self, source).map(drop))
    }

    /// A queue of work on it.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn queue(&self) -> Result<Queue> {
        let stream = self.0.context.new_stream().map_err(|e| self.lost("make a queue", e))?;
        Ok(Queue::new(self.clone(), stream))
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// Takes the memory in use now into the peak.
    fn look(&self) {
        if let Ok((free, total)) = self.0.context.mem_get_info() {
            let used = ((total - free) as u64).saturating_sub(self.0.before);
            self.0.peak.fetch_max(used, Ordering::Relaxed);
        }
    }

    /// A driver's error as this crate's: the context can't be used any more, what is on disk can.
    pub(super) fn lost(&self, doing: &str, error: DriverError) -> Error {
        lost(&self.0.gpu, doing, error)
    }
}

fn lost(gpu: &Gpu, doing: &str, error: DriverError) -> Error {
    let name = error.error_name().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    Error::Lost(format!("GPU {} ({}) failed to {doing}: {name}", gpu.index, gpu.name))
}
