//! GPUs: which there are, and one in use: memory, queues of work, kernels.
//!
//! CUDA is loaded at run time; nothing of it is needed to build this crate, or to run it on a processor.

mod arena;
mod device;
mod enabled;
mod lane;
mod peer;
mod program;
mod queue;
mod scan;
mod source;
mod staging;
mod visible;
mod workspace;

pub use arena::{Arena, DeviceSlice, at_least, slice_bytes, whole_pieces};
pub use device::Device;
pub use lane::Lane;
pub use peer::{Beside, Name, Peer, Peers};
pub use program::{Kernel, Program, cache};
pub use queue::{Arguments, Event, Grid, Queue, THREADS};
pub use scan::{PROGRAM as SCAN, Scan};
pub use source::{COMMON, ProgramSource};
pub use staging::{Pinned, Source, StopFlag, Uploader};
pub use visible::{see_one, seen, shorten_start};
pub use workspace::{Turn, Workspace};

use enabled as driver;

use serde::Serialize;
use std::path::PathBuf;

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Number among those of the machine that this process may use, as in `run.gpu`.
    pub index: u32,
    /// What it has of its own, wherever it is seen.
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// Compute capability, as in `9.0`.
    pub capability: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of it that nobody has, where that was asked for: it takes a context.
    pub memory_free: Option<u64>,
}

/// What of CUDA was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cuda {
    /// Version of the driver, as in `13.0`; none where there is no driver.
    pub driver: Option<String>,
    /// Whether the run-time compiler, NVRTC, is there.
    pub nvrtc: bool,
    /// Its version.
    pub nvrtc_version: Option<String>,
    /// The folder that compiled kernels are kept in; none without a home.
    pub kernels: Option<PathBuf>,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// What is missing, and how to get it.
    pub missing: Vec<String>,
}

/// Loads CUDA's libraries, without starting it. Whether its driver is there.
pub fn load() -> bool {
    driver::load().0
}

/// Looks for CUDA. Never fails: what is missing is said in words.
pub fn probe() -> Cuda {
    driver::probe()
}

/// The same, and what memory is free, which takes a moment for each GPU.
pub fn probe_memory() -> Cuda {
    let mut cuda = driver::probe();
    for gpu in &mut cuda.gpus {
        match driver::free_memory(gpu.index) {
            Ok(free) => gpu.memory_free = Some(free),
            Err(why) => cuda.missing.push(format!("GPU {} does not open: {why}", gpu.index)),
        }
    }
    cuda
}

/// Bytes that nobody has of the memory of GPU `index`.
///
/// # Errors
/// What keeps the GPU from being opened, in words.
pub fn free_memory(index: u32) -> Result<u64, String> {
    driver::free_memory(index)
}

/// How many GPUs of this machine there are for its ranks.
pub fn count() -> usize {
    visible::seen().map_or_else(|| probe().gpus.len(), |seen| seen.of)
}
