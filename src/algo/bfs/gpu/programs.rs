//! The CUDA programs that breadth-first searches launch.

use crate::algo::searches;
use crate::algo::searches::gpu::{BLOCK_SCAN, GRID_BARRIER, ROWS};
use crate::gpu::{COMMON, ProgramSource};

pub(super) const BFS: (&str, &str) = ("bfs.cuh", include_str!("../../../../kernels/bfs.cuh"));
const BOTTOM_UP: (&str, &str) = ("bfs_bottom_up.cuh", include_str!("../../../../kernels/bfs_bottom_up.cuh"));
const HEADS: (&str, &str) = ("bfs_heads.cuh", include_str!("../../../../kernels/bfs_heads.cuh"));
const NARROW: (&str, &str) = ("bfs_narrow.cuh", include_str!("../../../../kernels/bfs_narrow.cuh"));
const OF_PEERS: (&str, &str) = ("bfs_peers.cuh", include_str!("../../../../kernels/bfs_peers.cuh"));
const SEARCH: (&str, &str) = ("bfs_search.cuh", include_str!("../../../../kernels/bfs_search.cuh"));
const TOP_DOWN: (&str, &str) = ("bfs_top_down.cuh", include_str!("../../../../kernels/bfs_top_down.cuh"));
const TOGETHER: (&str, &str) = ("bfs_peers.cu", include_str!("../../../../kernels/bfs_peers.cu"));

/// The files that programs which search include. Some of these programs do not need the last two.
const HEADERS: &[(&str, &str)] =
    &[COMMON, BLOCK_SCAN, GRID_BARRIER, ROWS, BFS, OF_PEERS, BOTTOM_UP, NARROW, TOP_DOWN, SEARCH, HEADS, TOGETHER];

/// CUDA program for a search on one GPU.
pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "bfs.cu", text: include_str!("../../../../kernels/bfs.cu"), headers: HEADERS };

/// CUDA program for a search by several GPUs, each of which stores all rows.
pub(super) static PEERS: ProgramSource = ProgramSource { name: TOGETHER.0, text: TOGETHER.1, headers: HEADERS };

/// CUDA program for adjacency rows that are spread over several GPUs. It fills the arrays of first neighbours, and
/// searches.
pub(super) static SPREAD: ProgramSource =
    ProgramSource { name: "bfs_spread.cu", text: include_str!("../../../../kernels/bfs_spread.cu"), headers: HEADERS };

/// CUDA program that prepares a graph before the first search.
pub(super) static PREPARE: ProgramSource = ProgramSource {
    name: "bfs_prepare.cu",
    text: include_str!("../../../../kernels/bfs_prepare.cu"),
    headers: &[COMMON, GRID_BARRIER, ROWS, BFS, HEADS],
};

/// CUDA program for packed (compressed) adjacency rows. It fills the arrays of first neighbours, and searches.
pub(super) static PACKED: ProgramSource =
    ProgramSource { name: "bfs_packed.cu", text: include_str!("../../../../kernels/bfs_packed.cu"), headers: HEADERS };

/// CUDA program that checks breadth-first trees.
pub(super) static CHECK: ProgramSource = ProgramSource {
    name: "bfs_check.cu",
    text: include_str!("../../../../kernels/bfs_check.cu"),
    headers: &[COMMON, ROWS],
};

/// Returns the CUDA programs that a search on the GPUs of `ranks` ranks may launch, in the order in which they are
/// used. `checks` says whether trees are checked.
pub fn programs(ranks: usize, checks: bool) -> Vec<&'static ProgramSource> {
    let mut programs = vec![&searches::gpu::PROGRAM, &PREPARE, &PROGRAM];
    match ranks {
        1 => programs.extend(checks.then_some(&CHECK)),
        _ => programs.extend([&PEERS, &SPREAD]),
    }
    programs
}

/// CUDA programs for graphs that fit neither in GPU memory nor in host memory unless they are packed (compressed).
pub static RARE_PROGRAMS: [&ProgramSource; 1] = [&PACKED];
