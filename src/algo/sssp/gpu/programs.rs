//! GPU programs of shortest paths.

use crate::algo::searches::gpu::{self as shared, GRID_BARRIER, ROWS};
use crate::gpu::{COMMON, ProgramSource};

pub(super) const SSSP: (&str, &str) = ("sssp.cuh", include_str!("../../../../kernels/sssp.cuh"));

/// The program of the search.
pub(super) static PROGRAM: ProgramSource = ProgramSource {
    name: "sssp.cu",
    text: include_str!("../../../../kernels/sssp.cu"),
    headers: &[
        COMMON,
        GRID_BARRIER,
        ROWS,
        SSSP,
        ("sssp_queue.cuh", include_str!("../../../../kernels/sssp_queue.cuh")),
        ("sssp_deep.cuh", include_str!("../../../../kernels/sssp_deep.cuh")),
        ("sssp_walk.cuh", include_str!("../../../../kernels/sssp_walk.cuh")),
        ("sssp_pull.cuh", include_str!("../../../../kernels/sssp_pull.cuh")),
        ("sssp_parents.cuh", include_str!("../../../../kernels/sssp_parents.cuh")),
    ],
};

/// The program that places rows.
pub(super) static PREPARE: ProgramSource = ProgramSource {
    name: "sssp_prepare.cu",
    text: include_str!("../../../../kernels/sssp_prepare.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SSSP],
};

pub(super) const MOORE_HEADER: (&str, &str) = ("sssp_moore.cuh", include_str!("../../../../kernels/sssp_moore.cuh"));

/// The program of Moore's algorithm and its baseline.
pub(super) static MOORE: ProgramSource = ProgramSource {
    name: "sssp_moore.cu",
    text: include_str!("../../../../kernels/sssp_moore.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SSSP, MOORE_HEADER],
};

/// All programs that a search launches.
pub static PROGRAMS: [&ProgramSource; 4] = [&PROGRAM, &PREPARE, &MOORE, &shared::PROGRAM];
