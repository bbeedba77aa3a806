//! An open GPU: its context, its memory limit, its queues.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::arena::{Arena, at_least, whole_pieces};
use super::queue::Queue;
use super::users::{default_limit, other_users};
use super::visible::{self, VisibleGpu};
use super::{Cuda, Gpu, driver};
use crate::error::{Error, Result};
use crate::size;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, DriverError, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A GPU that this process has opened.
#[derive(Debug, Clone)]
pub struct Device(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Arc<CudaContext>,
    gpu: Gpu,
    multiprocessors: u32,
    shared_memory: u32,
    cache: u64,
    limit: u64,
    /// Bytes that all processes used on the GPU right after this process made its context.
    before: u64,
    peak: AtomicU64,
    beside: AtomicU64,
}

impl Device {
    /// Opens GPU `index` of those in `found`, or the first one. The job uses at most `limit` bytes of its memory; the
    /// default is [`default_limit`] of the free bytes.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such GPU; the message says what to install or load. [`Error::GpuFull`] if the
    /// GPU has no memory for a context; [`Error::Lost`] if it does not answer.
    pub fn open(found: &Cuda, index: Option<u32>, limit: Option<u64>) -> Result<Device> {
        let index = index.or(found.gpus.first().map(|gpu| gpu.index)).unwrap_or(0);
        let Some(gpu) = found.gpus.iter().find(|gpu| gpu.index == index).cloned() else {
            let missing = found.missing.iter().find(|what| !what.starts_with("NVRTC")).cloned();
            let gpus = found.gpus.len();
            let why = missing.unwrap_or_else(|| format!("GPU {index}: the driver has {gpus}, numbered from 0"));
            let why = match visible::visible_gpu() {
                Some(VisibleGpu { index, of }) => {
                    format!(
                        "{why}; gpugraph lets CUDA see only GPU {index} of {of}: list the GPUs that work in CUDA_VISIBLE_DEVICES"
                    )
                }
                None => why,
            };
            return Err(Error::Usage(format!("no GPU to compute with: missing {why}")));
        };
        let context = CudaContext::new(driver::ordinal(index)).map_err(|e| failed(&gpu, None, "open a context", e))?;
        // This crate orders all work between queues by its own events. SAFETY: nothing has been allocated yet whose use
        // the context would have to track.
        unsafe { context.disable_event_tracking() };
        let attribute = |which| context.attribute(which).map_err(|e| failed(&gpu, None, "report its properties", e));
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let shared_memory = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32;
        let cache = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u64;
        let (free, total) = context.mem_get_info().map_err(|e| failed(&gpu, None, "report its memory", e))?;
        let limit = limit.unwrap_or_else(|| default_limit(free as u64));
        let before = (total - free) as u64;
        let inner = Inner {
            context,
            gpu,
            multiprocessors,
            shared_memory,
            cache,
            limit,
            before,
            peak: 0.into(),
            beside: 0.into(),
        };
        Ok(Device(Arc::new(inner)))
    }

    /// Returns the description of the GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// Returns the limit of GPU memory (`limits.gpu_memory`) in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    /// Returns the most shared memory that a block can have, in bytes.
    pub fn shared_memory(&self) -> u32 {
        self.0.shared_memory
    }

    /// Returns the size of the L2 cache, which all multiprocessors share, in bytes.
    pub fn cache(&self) -> u64 {
        self.0.cache
    }

    /// Returns the bytes of the arena, from which all GPU memory of the job comes; 0 before it is allocated.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// Estimates the bytes that the driver took in addition to the arena and the context, for kernels and queues.
    pub fn beside(&self) -> u64 {
        self.0.beside.load(Ordering::Relaxed)
    }

    /// Allocates the arena, from which all memory on this GPU comes. It has the size of the limit, or of the free
    /// memory if that is less.
    ///
    /// # Errors
    /// [`Error::Limit`] if less than `least` bytes are available, [`Error::Lost`].
    pub fn arena(&self, least: u64) -> Result<Arena> {
        let limit = self.0.limit;
        let short = |given: String| Error::Limit {
            limit: "gpu_memory",
            given,
            needed: at_least(least),
            purpose: format!(
                "this graph on GPU {} ({}){}",
                self.0.gpu.index,
                self.0.gpu.name,
                other_users(&self.0.gpu.uuid)
            ),
        };
        let whole = whole_pieces(limit);
        if whole < least {
            return Err(short(size::show(limit)));
        }
        let mut bytes = whole;
        loop {
            match Arena::new(self, bytes) {
                Ok(arena) => {
                    self.record_memory(bytes);
                    if bytes < whole {
                        let (index, bytes) = (self.0.gpu.index, size::show(bytes));
                        tracing::warn!("GPU {index} has less than limits.gpu_memory free: continuing with {bytes}");
                    }
                    return Ok(arena);
                }
                Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                    let free = self.0.context.mem_get_info().map_or(0, |(free, _)| free as u64);
                    if bytes <= least {
                        return Err(short(format!("{} ({} of it free)", size::show(limit), size::show(free))));
                    }
                    // The largest possible allocation may be smaller than the free memory.
                    bytes = whole_pieces(free.min(bytes / 8 * 7)).max(least);
                }
                Err(e) => return Err(self.lost("allocate memory", e)),
            }
        }
    }

    /// Makes a work queue on this GPU.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn queue(&self) -> Result<Queue> {
        let stream = self.0.context.new_stream().map_err(|e| self.lost("create a queue", e))?;
        Ok(Queue::new(self.clone(), stream))
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// Records the size of an arena of `bytes` bytes, and the memory that the driver uses in addition to it now.
    fn record_memory(&self, bytes: u64) {
        self.0.peak.fetch_max(bytes, Ordering::Relaxed);
        if let Ok((free, total)) = self.0.context.mem_get_info() {
            let used = ((total - free) as u64).saturating_sub(self.0.before);
            self.0.beside.fetch_max(used.saturating_sub(bytes), Ordering::Relaxed);
        }
    }

    /// Converts an error of the driver: to [`Error::GpuFull`] if memory is lacking, else to [`Error::Lost`]. The
    /// context can't be used any more, but files on the disk can.
    pub(super) fn lost(&self, doing: &str, error: DriverError) -> Error {
        failed(&self.0.gpu, Some(self), doing, error)
    }

    /// Returns the number of free bytes, and a remedy for messages that say they are too few.
    fn remedy(&self) -> (u64, String) {
        let (free, limit) = (self.0.context.mem_get_info().map_or(0, |(free, _)| free as u64), self.0.limit);
        // The driver does not say how much memory is lacking.
        let fits = whole_pieces(default_limit(free + self.peak()).min(limit / 2)) >> 20;
        let wait = "wait for other processes";
        let remedy = match fits {
            0 => wait.to_owned(),
            _ => format!("set limits.gpu_memory = \"{fits}MiB\" (it is {}), {wait}", size::show(limit)),
        };
        (free, remedy)
    }
}

/// Converts an error of the driver on `gpu`. `device` is the GPU if it is open.
fn failed(gpu: &Gpu, device: Option<&Device>, doing: &str, error: DriverError) -> Error {
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        // Without a context only NVML knows how much memory is free.
        let (free, remedy) = device.map_or((0, "wait for other processes".into()), Device::remedy);
        let (free, total) = (size::show(free), size::show(gpu.memory));
        return Error::GpuFull(format!(
            "GPU {} ({}) has no memory left ({doing}): {free} of {total} are free{}; {remedy}, or set run.device = \"cpu\"",
            gpu.index,
            gpu.name,
            other_users(&gpu.uuid)
        ));
    }
    let name = error.error_name().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    Error::Lost(format!("GPU {} ({}) failed to {doing}: {name}", gpu.index, gpu.name))
}
