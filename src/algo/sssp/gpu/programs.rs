//! CUDA programs for shortest paths on a GPU.

use crate::algo::searches::gpu::{self as shared, GRID_BARRIER, ROWS};
use crate::gpu::{COMMON, ProgramSource};

pub(super) const SSSP: (&str, &str) = ("sssp.cuh", include_str!("../../../../kernels/sssp.cuh"));

const SEARCH_HEADERS: &[(&str, &str)] = &[
    COMMON,
    GRID_BARRIER,
    ROWS,
    SSSP,
    ("sssp_queue.cuh", include_str!("../../../../kernels/sssp_queue.cuh")),
    ("sssp_deep.cuh", include_str!("../../../../kernels/sssp_deep.cuh")),
    ("sssp_walk.cuh", include_str!("../../../../kernels/sssp_walk.cuh")),
    ("sssp_pull.cuh", include_str!("../../../../kernels/sssp_pull.cuh")),
    ("sssp_parents.cuh", include_str!("../../../../kernels/sssp_parents.cuh")),
    ("sssp_search.cuh", include_str!("../../../../kernels/sssp_search.cuh")),
];

/// CUDA program that searches by buckets and finds parents.
pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "sssp.cu", text: include_str!("../../../../kernels/sssp.cu"), headers: SEARCH_HEADERS };

/// CUDA program that searches by buckets and finds parents, for weights of 64 bits. It is a separate program, so that
/// jobs that draw weights need not compile it.
pub(super) static CODED: ProgramSource = ProgramSource {
    name: "sssp_coded.cu",
    text: include_str!("../../../../kernels/sssp_coded.cu"),
    headers: SEARCH_HEADERS,
};

/// CUDA program that copies rows into place and sorts them by weight.
pub(super) static PREPARE: ProgramSource = ProgramSource {
    name: "sssp_prepare.cu",
    text: include_str!("../../../../kernels/sssp_prepare.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, SSSP],
};

pub(super) const MOORE_HEADER: (&str, &str) = ("sssp_moore.cuh", include_str!("../../../../kernels/sssp_moore.cuh"));

const MOORE_HEADERS: &[(&str, &str)] = &[COMMON, GRID_BARRIER, ROWS, SSSP, MOORE_HEADER];

/// CUDA program of Moore's algorithm and its baseline.
pub(super) static MOORE: ProgramSource = ProgramSource {
    name: "sssp_moore.cu",
    text: include_str!("../../../../kernels/sssp_moore.cu"),
    headers: MOORE_HEADERS,
};

/// CUDA program of Moore's algorithm and its baseline, for weights of 64 bits.
pub(super) static MOORE_CODED: ProgramSource = ProgramSource {
    name: "sssp_moore_coded.cu",
    text: include_str!("../../../../kernels/sssp_moore_coded.cu"),
    headers: MOORE_HEADERS,
};

/// All CUDA programs that a search launches. The last two are for weights of 64 bits.
pub static PROGRAMS: [&ProgramSource; 6] = [&PROGRAM, &PREPARE, &MOORE, &shared::PROGRAM, &CODED, &MOORE_CODED];
/// Number of programs that are for all weights.
const COMMON_PROGRAMS: usize = 4;

/// Returns the CUDA programs that a search launches. `may_be_wide` says whether weights may have 64 bits.
pub fn programs(may_be_wide: bool) -> &'static [&'static ProgramSource] {
    if may_be_wide { &PROGRAMS } else { &PROGRAMS[..COMMON_PROGRAMS] }
}
