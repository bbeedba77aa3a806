//! Code that all GPU searches share: row offsets, adjacency rows in pinned host memory, and copying results to the
//! host.

mod fetch;
mod rows;

pub use fetch::{fetch, joined, receive};
pub use rows::{GpuRows, join_starts, pin, place_starts, targets};

use crate::error::{Error, Result};
use crate::gpu::{COMMON, ProgramSource};

/// Cancellation check, which is called while rows are copied and between kernel launches. If it returns an error, the
/// search or copy ends with this error.
pub type CancelCheck<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// CUDA header (name and text) for reading the adjacency rows of a graph in a kernel.
pub const ROWS: (&str, &str) = ("rows.cuh", include_str!("../../../../kernels/rows.cuh"));
/// CUDA header (name and text) for barriers across all thread blocks of a grid.
pub const GRID_BARRIER: (&str, &str) = ("grid_barrier.cuh", include_str!("../../../../kernels/grid_barrier.cuh"));
/// CUDA header (name and text) for the steps of a search. In each step, all thread blocks of a grid share the work on
/// the adjacency rows of the vertices in a list.
pub const FRONTIER: (&str, &str) = ("frontier.cuh", include_str!("../../../../kernels/frontier.cuh"));
/// CUDA header (name and text) for prefix sums over the threads of a block.
pub const BLOCK_SCAN: (&str, &str) = ("block_scan.cuh", include_str!("../../../../kernels/block_scan.cuh"));
/// Size in bytes of a barrier across all thread blocks of a grid. The barrier is at the beginning of a kernel's state,
/// and must be zero when the kernel is launched.
pub const BARRIER_BYTES: u64 = 16;

/// Checks that no thread block gave up waiting at a barrier. `broken` is the field of the barrier that becomes nonzero
/// if a block gives up.
///
/// # Errors
/// [`Error::Lost`].
pub fn check_barrier(broken: u32) -> Result<()> {
    match broken {
        0 => Ok(()),
        _ => Err(Error::Lost("blocks of threads on the GPU waited for each other in vain".into())),
    }
}

/// CUDA program that computes the offsets of adjacency rows in GPU memory.
pub static PROGRAM: ProgramSource =
    ProgramSource { name: "rows.cu", text: include_str!("../../../../kernels/rows.cu"), headers: &[COMMON, ROWS] };
