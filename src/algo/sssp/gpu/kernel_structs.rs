//! Rust definitions of the structs that GPU kernels take as arguments. Their layouts must match `kernels/sssp.cuh`,
//! `kernels/sssp_moore.cuh` and `kernels/sssp_prepare.cu`.
#![allow(unsafe_code)] // structs of numbers that are copied from the GPU

use super::programs::SSSP;
use crate::algo::searches::gpu::GpuRows;
use crate::formats::WeightType;
use crate::gpu::constant;
use crate::memory::Plain;

/// Number of times that a search reads the GPU clock, to measure its phases.
pub(super) const MARKS: usize = constant(SSSP.1, "SSSP_MARKS") as usize;

/// A weighted graph that a GPU can read.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct SsspGraph {
    pub rows: GpuRows,
    pub vertices: u32,
    pub shift: u32,
    pub tail: u32,
    pub many: u32,
    pub near: u64,
    pub near_starts: u64,
    pub values: u64,
}

/// GPU addresses of the arrays of a queue. A queue contains vertices whose edges are to be relaxed, with the offsets of
/// their adjacency rows.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct SsspQueue {
    pub slots: u64,
    pub vertices: u64,
    pub bases: u64,
    pub distances: u64,
}

/// GPU addresses of the arrays of a pile. A pile contains vertices that wait until the search comes close to their
/// distances.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Pile {
    pub vertices: u64,
    pub distances: u64,
}

/// Arguments of the kernel that searches by buckets: addresses of GPU arrays, and parameters.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct SsspArguments {
    pub distances: u64,
    pub parents: u64,
    pub pending: u64,
    pub queues: [SsspQueue; 2],
    pub piles: [Pile; 2],
    pub state: u64,
    pub threshold: u64,
    pub coarse: u64,
    pub fine: u64,
    pub reach: u64,
    pub root: u32,
    pub queue_room: u32,
    pub pile_room: u32,
    pub most_steps: u32,
    pub begins: u32,
    pub plateaus: u32,
    pub hops: u32,
    pub unused: u32,
}

/// State of a search, which stays in GPU memory between kernel launches.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct SsspState {
    pub arrived: u64,
    pub broken: u32,
    pub unused: u32,
    pub queued: [u64; 3],
    pub limit: [u64; 3],
    pub piled: [u64; 3],
    pub least: [u64; 3],
    pub changed: [u64; 3],
    pub pending: [u64; 3],
    pub relaxations: u64,
    pub reached: u64,
    pub farthest: u64,
    pub adopted: [u64; 3],
    pub overflowed: u32,
    pub finished: u32,
    pub pushed: u64,
    pub steps: u64,
    pub rounds: u64,
    pub marks: [u64; MARKS],
    pub walk: [u64; 10],
}

/// Arguments of the kernels of Moore's algorithm: addresses of GPU arrays, and parameters.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Moore {
    pub distances: u64,
    pub found: u64,
    pub queues: [u64; 2],
    pub state: u64,
    pub reach: u64,
    pub most_rounds: u32,
    pub most_tasks: u32,
    pub many: u32,
    pub few: u32,
    pub is_small: u32,
    pub unused: u32,
}

/// State of Moore's algorithm, which stays in GPU memory between kernel launches.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct MooreState {
    pub arrived: u64,
    pub broken: u32,
    pub unused: u32,
    pub tasks: [u32; 3],
    pub overflowed: u32,
    pub rounds: u64,
    pub relaxations: u64,
}

/// Arguments of the kernels of the baseline: addresses of GPU arrays. The baseline marks the vertices to push from in a
/// mask.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Masked {
    pub distances: u64,
    pub found: u64,
    pub mask: u64,
    pub again: u64,
    pub relaxations: u64,
}

/// Arguments of the kernel that joins half rows (smaller or larger neighbours) to whole rows. The kernel copies the
/// neighbours in a half, with their weights, to their indices in whole rows.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct RowPlacing {
    pub edges: u64,
    pub own: u64,
    pub lower: u64,
    pub ids: u64,
    pub seed: u64,
    pub weights: u32,
    pub least: u32,
    pub most: u32,
    pub unused: u32,
}

/// Returns the code by which kernels identify a type of weights.
pub(super) fn scale_of(kind: WeightType) -> u32 {
    match kind {
        WeightType::U32 => 0,
        WeightType::F32 => 1,
        WeightType::U64 => 2,
        WeightType::F64 => 3,
    }
}

/// Arguments of the kernels that choose near edges: the first edges of each row, which are copied to GPU memory if rows
/// are in host memory.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Excess {
    pub distances: u64,
    pub values: u64,
    pub most: f64,
    pub steps: f64,
    pub scale: u32,
    pub is_wide: u32,
}

// SAFETY: the structs consist of numbers without padding, as the sizes below show.
unsafe impl Plain for SsspState {}
// SAFETY: as above.
unsafe impl Plain for MooreState {}

const _: () =
    assert!(size_of::<SsspGraph>() == 112 && size_of::<SsspArguments>() == 192 && size_of::<RowPlacing>() == 56);
const _: () = assert!(
    size_of::<SsspState>() == 384
        && size_of::<Moore>() == 72
        && size_of::<MooreState>() == 48
        && size_of::<Masked>() == 40
        && size_of::<Excess>() == 40
);
