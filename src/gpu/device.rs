//! An open GPU: its context, its properties and its memory limit.
#![allow(unsafe_code)] // calls into the CUDA driver

use super::users::{default_limit, other_users};
use super::visible::{self, VisibleGpu};
use super::{Cuda, Gpu, driver};
use crate::error::{Error, Result};
use crate::size;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, DriverError, sys};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alignment of slices of an arena (the GPU memory of a job), in bytes. It is enough for a warp's 16-byte loads and for
/// all copies.
pub const ALIGN: u64 = 256;

/// Granularity with which drivers allocate GPU memory, in bytes. An arena whose size is not a multiple of this number
/// would occupy more memory than its size.
pub(super) const PIECE: u64 = 2 << 20;

/// Rounds `bytes` down to a multiple of the allocation granularity. A size below the granularity is rounded down to a
/// multiple of `ALIGN` instead.
pub fn whole_pieces(bytes: u64) -> u64 {
    let piece = if bytes < PIECE { ALIGN } else { PIECE };
    bytes / piece * piece
}

/// Returns a memory limit, formatted as in a job file, that is enough for an arena of `least` bytes.
pub fn at_least(least: u64) -> String {
    crate::memory::at_least(if least < PIECE { least } else { least.next_multiple_of(PIECE) })
}

/// A GPU that this process has opened.
#[derive(Debug, Clone)]
pub struct Device(Arc<OpenDevice>);

#[derive(Debug)]
struct OpenDevice {
    context: Arc<CudaContext>,
    gpu: Gpu,
    multiprocessors: u32,
    shared_memory: u32,
    cache: u64,
    limit: u64,
    /// Number of bytes that all processes used on the GPU right after this process had created its context.
    before: u64,
    peak: AtomicU64,
    driver_bytes: AtomicU64,
}

impl Device {
    /// Returns the GPU with the given `index` in `found`, or the first GPU if `index` is `None`. Returns `None` if
    /// there is no such GPU.
    pub(super) fn choose(found: &Cuda, index: Option<u32>) -> Option<&Gpu> {
        found.gpus.iter().find(|gpu| index.is_none_or(|index| gpu.index == index))
    }

    /// Opens the GPU with index `index` in `found`, or the first one. The job uses at most `limit` bytes of its memory;
    /// the default is [`default_limit`] of the free bytes.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such GPU; the message says what to install or load. [`Error::GpuFull`] if the
    /// GPU has no memory for a context; [`Error::Lost`] if it does not respond.
    pub fn open(found: &Cuda, index: Option<u32>, limit: Option<u64>) -> Result<Device> {
        let Some(gpu) = Device::choose(found, index).cloned() else {
            let index = index.unwrap_or(0);
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
        let context = CudaContext::new(driver::ordinal(gpu.index));
        let context = context.map_err(|e| failed(&gpu, None, "open a context", e))?;
        // Automatic event tracking is off, because this crate records its own events to order work between queues.
        // SAFETY: the context has no allocations yet whose use it would have to track.
        unsafe { context.disable_event_tracking() };
        let attribute = |which| context.attribute(which).map_err(|e| failed(&gpu, None, "report its properties", e));
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let shared_memory = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32;
        let cache = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u64;
        let (free, total) = context.mem_get_info().map_err(|e| failed(&gpu, None, "report its memory", e))?;
        let limit = limit.unwrap_or_else(|| default_limit(free as u64));
        let before = (total - free) as u64;
        let inner = OpenDevice {
            context,
            gpu,
            multiprocessors,
            shared_memory,
            cache,
            limit,
            before,
            peak: 0.into(),
            driver_bytes: 0.into(),
        };
        Ok(Device(Arc::new(inner)))
    }

    /// Returns the description of the GPU, such as its index, name and memory size.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// Returns the limit on GPU memory (`limits.gpu_memory`) in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the number of multiprocessors of the GPU.
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    /// Returns the maximum shared memory of a thread block, in bytes.
    pub fn shared_memory(&self) -> u32 {
        self.0.shared_memory
    }

    /// Returns the size of the L2 cache, which all multiprocessors share, in bytes.
    pub fn cache(&self) -> u64 {
        self.0.cache
    }

    /// Returns the size in bytes of the arena, which is all GPU memory of the job; 0 before it is allocated.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// Returns an estimate of the GPU memory in bytes that the driver allocated for kernels and queues. Arena and
    /// context are not included.
    pub fn driver_bytes(&self) -> u64 {
        self.0.driver_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// Makes the context of the GPU current on the calling thread. A thread must do this before it first uses the GPU.
    pub(super) fn bind(&self) -> Result<()> {
        self.0.context.bind_to_thread().map_err(|e| self.driver_error("attach a thread", e))
    }

    /// Returns the number of bytes that are free on the GPU; 0 if it does not respond.
    pub(super) fn free(&self) -> u64 {
        self.0.context.mem_get_info().map_or(0, |(free, _)| free as u64)
    }

    /// Records that an arena of `bytes` bytes was allocated, and how many bytes the driver uses now in addition to it.
    pub(super) fn record_memory(&self, bytes: u64) {
        self.0.peak.fetch_max(bytes, Ordering::Relaxed);
        if let Ok((free, total)) = self.0.context.mem_get_info() {
            let used = ((total - free) as u64).saturating_sub(self.0.before);
            self.0.driver_bytes.fetch_max(used.saturating_sub(bytes), Ordering::Relaxed);
        }
    }

    /// Converts an error of the driver: to [`Error::GpuFull`] if memory is lacking, otherwise to [`Error::Lost`]. After
    /// such an error the context can't be used any more, but files on the disk can.
    pub(super) fn driver_error(&self, doing: &str, error: DriverError) -> Error {
        failed(&self.0.gpu, Some(self), doing, error)
    }

    /// Returns the number of free bytes on the GPU, and a suggested fix for an error message about too little memory.
    fn remedy(&self) -> (u64, String) {
        let (free, limit) = (self.free(), self.0.limit);
        // The driver does not report how much memory is lacking.
        let fits = whole_pieces(default_limit(free + self.peak()).min(limit / 2)) >> 20;
        let wait = "wait for other processes";
        let remedy = match fits {
            0 => wait.to_owned(),
            _ => format!("set limits.gpu_memory = \"{fits}MiB\" (it is {}), {wait}", size::show(limit)),
        };
        (free, remedy)
    }
}

/// Converts a driver error on `gpu` to an [`Error`]. `device` is the open GPU, or `None` if it could not be opened.
fn failed(gpu: &Gpu, device: Option<&Device>, doing: &str, error: DriverError) -> Error {
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        // Without a context, only NVML knows how much memory is free.
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

#[cfg(test)]
mod tests {
    use super::{PIECE, at_least, whole_pieces};

    #[test]
    fn the_named_limit_makes_an_arena_that_is_large_enough() {
        for least in [1, 1000, 1 << 20, PIECE - 1, PIECE, PIECE + 1, 3 << 20, 123_456_789] {
            let named = crate::size::parse(&at_least(least)).expect("a size");
            assert!(whole_pieces(named) >= least, "{least}: {named}");
        }
        assert_eq!([whole_pieces(5 << 20), whole_pieces(1 << 20), whole_pieces(1000)], [4 << 20, 1 << 20, 768]);
    }
}
