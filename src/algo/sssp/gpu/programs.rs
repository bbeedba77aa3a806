//! CUDA programs for shortest paths on a GPU.

use crate::algo::searches::gpu::{self as shared, GRID_BARRIER, ROWS};
use crate::gpu::{COMMON, ProgramSource};

pub(super) const SSSP: (&str, &str) = ("sssp.cuh", include_str!("../../../../kernels/sssp.cuh"));

/// CUDA program that searches by buckets and finds parents.
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

/// CUDA program that copies rows into place and sorts them by weight.
pub(super) static PREPARE: ProgramSource = ProgramSource {
    name: "sssp_prepare.cu",
    text: include_str!("../../../../kernels/sssp_prepare.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SSSP],
};

pub(super) const MOORE_HEADER: (&str, &str) = ("sssp_moore.cuh", include_str!("../../../../kernels/sssp_moore.cuh"));

/// CUDA program of Moore's algorithm and its baseline.
pub(super) static MOORE: ProgramSource = ProgramSource {
    name: "sssp_moore.cu",
    text: include_str!("../../../../kernels/sssp_moore.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SSSP, MOORE_HEADER],
};

/// All CUDA programs that a search launches.
pub static PROGRAMS: [&ProgramSource; 4] = [&PROGRAM, &PREPARE, &MOORE, &shared::PROGRAM];
