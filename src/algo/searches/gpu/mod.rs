//! Code that searches on a GPU share: positions of rows, rows in pinned host memory, and copying results to the host.

mod fetch;
mod rows;

pub use fetch::fetch;
pub use rows::{GpuRows, join_starts, pin, place_starts, targets};

use crate::gpu::{COMMON, ProgramSource};

/// A function that is called while rows are copied and between launches. If it returns an error, the work stops.
pub type GoOn<'a> = &'a (dyn Fn() -> crate::error::Result<()> + Sync);

/// Header with rows that a GPU can read.
pub const ROWS: (&str, &str) = ("rows.cuh", include_str!("../../../../kernels/rows.cuh"));
/// Header with barriers of all blocks of threads.
pub const GRID_BARRIER: (&str, &str) = ("grid_barrier.cuh", include_str!("../../../../kernels/grid_barrier.cuh"));

/// The program that places rows.
pub static PROGRAM: ProgramSource =
    ProgramSource { name: "rows.cu", text: include_str!("../../../../kernels/rows.cu"), headers: &[COMMON, ROWS] };
