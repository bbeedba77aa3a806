//! The common part of searches on a GPU: places of rows there, rows in pinned host memory, and the way of results to the host.

mod fetch;
mod rows;

pub use fetch::fetch;
pub use rows::{Rows, join_starts, pin, place_starts, targets};

use crate::gpu::{COMMON, ProgramSource};

/// Is asked while rows are copied and between launches: an error ends the work.
pub type GoOn<'a> = &'a (dyn Fn() -> crate::error::Result<()> + Sync);

/// The header of rows in reach of a GPU.
pub const ROWS: (&str, &str) = ("rows.cuh", include_str!("../../../../kernels/rows.cuh"));
/// The header of barriers of all blocks.
pub const GRID_BARRIER: (&str, &str) = ("grid_barrier.cuh", include_str!("../../../../kernels/grid_barrier.cuh"));

/// The program that places rows.
pub static PROGRAM: ProgramSource =
    ProgramSource { name: "rows.cu", text: include_str!("../../../../kernels/rows.cu"), headers: &[COMMON, ROWS] };
