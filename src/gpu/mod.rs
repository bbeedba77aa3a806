//! GPUs: which there are, and one in use: memory, queues of work, kernels.
//!
//! CUDA is loaded at run time; nothing of it is needed to build this crate, or to run it on a processor.

#[cfg(feature = "gpu")]
mod arena;
#[cfg(feature = "gpu")]
mod device;
pub mod devices;
#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;
#[cfg(feature = "gpu")]
mod lane;
#[cfg(feature = "gpu")]
mod program;
#[cfg(feature = "gpu")]
mod queue;
pub mod sources;
#[cfg(feature = "gpu")]
mod staging;
#[cfg(feature = "gpu")]
mod workspace;

#[cfg(feature = "gpu")]
pub use arena::{Arena, Span, span_bytes};
#[cfg(feature = "gpu")]
pub use device::Device;
#[cfg(feature = "gpu")]
pub use lane::Lane;
#[cfg(feature = "gpu")]
pub use program::{Kernel, Program};
#[cfg(feature = "gpu")]
pub use queue::{Arguments, Event, Grid, Queue};
#[cfg(feature = "gpu")]
pub use staging::{Pinned, Source, StopFlag, Uploader};
#[cfg(feature = "gpu")]
pub use workspace::Workspace;

#[cfg(not(feature = "gpu"))]
use disabled as driver;
#[cfg(feature = "gpu")]
use enabled as driver;

use serde::Serialize;

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Number to the driver, as in `run.gpu`.
    pub index: u32,
    /// Product name.
    pub name: String,
    /// Compute capability, as in `9.0`.
    pub capability: String,
    /// Bytes of memory.
    pub memory: u64,
}

/// What of CUDA was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cuda {
    /// Version of the driver, as in `13.0`; none where there is no driver.
    pub driver: Option<String>,
    /// Whether the run-time compiler, NVRTC, is there.
    pub nvrtc: bool,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// What is missing, and how to get it.
    pub missing: Vec<String>,
}

/// Looks for CUDA. Never fails: what is missing is said in words.
pub fn probe() -> Cuda {
    driver::probe()
}

/// Names of all GPUs.
pub fn names() -> Vec<String> {
    probe().gpus.into_iter().map(|gpu| gpu.name).collect()
}
