//! GPUs: the list of the machine's GPUs, and the memory, work queues and kernels of the GPU in use.
//!
//! CUDA is loaded at run time, so the crate builds without it, and runs on the CPU if CUDA is missing. A job opens one
//! GPU as a [`Workspace`]. Tasks lock it one after another.
//!
//! | module | contents |
//! |---|---|
//! | `driver`, `visible` | CUDA, and the GPUs that it shows to this process |
//! | `device`, `workspace` | a GPU in use, and everything that a job has allocated on it |
//! | `arena` | GPU memory: one allocation, from which slices are allocated |
//! | `queue`, `lane`, `staging` | queues of work, and copies from host memory through pinned buffers |
//! | `source`, `program`, `scan` | kernels: their sources, their compilation, and prefix sums |
//! | `peer` | memory of other ranks' GPUs |
//! | `users` | processes that use a GPU's memory, and the default memory limit |
//! | `energy` | meters of energy and utilisation |

mod arena;
mod device;
mod driver;
mod energy;
mod lane;
mod peer;
mod program;
mod queue;
mod scan;
mod source;
mod staging;
mod users;
mod visible;
mod workspace;

pub use arena::{Arena, DeviceSlice, slice_bytes, slices_bytes};
pub use device::{Device, at_least, whole_pieces};
pub use driver::{free_memory, load, probe};
pub use energy::GpuMeter;
pub use lane::{Lane, fill_by_lanes};
pub use peer::{IpcHandle, PeerMemory, Peers, ipc_handle};
pub use program::Kernel;
pub use queue::{Arguments, Event, Grid, Queue, THREADS};
pub use scan::{PROGRAM as SCAN, Scan};
pub use source::{COMMON, ProgramSource, SPLITMIX, cache, constant};
pub use staging::{CopySource, Pinned, StopFlag, Uploader};
pub use users::default_limit;
pub use visible::{restrict_to_one, shorten_start, visible_gpu};
pub use workspace::{LEAST_MEMORY, StartTurn, Workspace, compiler_memory};

use serde::Serialize;
use std::path::PathBuf;

/// True in a statically linked build. Such a build can't load libraries, so it uses CPUs only.
const STATIC: bool = cfg!(target_feature = "crt-static");

/// A GPU that this process may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Index of the GPU among the GPUs of the machine that this process may use, as in `run.gpu`.
    pub index: u32,
    /// Unique identifier of the GPU, the same in every process.
    pub uuid: String,
    /// Product name of the GPU.
    pub name: String,
    /// Compute capability of the GPU, as in `9.0`.
    pub capability: String,
    /// Size of the GPU's memory, in bytes.
    pub memory: u64,
    /// Number of free bytes of the GPU's memory. `None` unless [`probe_memory`] has set it, because querying it takes a
    /// CUDA context.
    pub memory_free: Option<u64>,
}

/// The components of CUDA that this process found, and a list of the missing components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cuda {
    /// Version of the CUDA driver, as in `13.0`; `None` without a driver.
    pub driver: Option<String>,
    /// Whether NVRTC, the run-time compiler, is present.
    pub nvrtc: bool,
    /// Version of NVRTC (CUDA's run-time compiler).
    pub nvrtc_version: Option<String>,
    /// Folder in which compiled kernels are cached; `None` without a home directory.
    pub kernels: Option<PathBuf>,
    /// GPUs that the CUDA driver lists.
    pub gpus: Vec<Gpu>,
    /// Missing components of CUDA, each with a suggested fix.
    pub missing: Vec<String>,
}

/// Looks for CUDA and its GPUs like [`probe`], and also determines the free memory of each GPU. This takes a moment,
/// because it opens each GPU.
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

/// Returns the number of GPUs that the ranks of this machine share.
pub fn count() -> usize {
    visible::visible_gpu().map_or_else(|| probe().gpus.len(), |seen| seen.of)
}
