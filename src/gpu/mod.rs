//! GPUs: which there are. Counting on them is not in this version.

pub mod devices;
#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;

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
