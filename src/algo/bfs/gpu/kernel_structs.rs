//! Rust definitions of the structs in `kernels/bfs.cuh`, which GPU kernels take as arguments. The layouts must match.
#![allow(unsafe_code)] // structs of numbers that are copied from the GPU

use super::programs::BFS;
use crate::algo::searches::gpu::GpuRows;
use crate::gpu::constant;
use crate::memory::Plain;

/// Maximum number of head arrays. Each of these arrays stores up to four neighbours of a vertex, after the first
/// neighbour.
pub(super) const MOST_HEADS: usize = constant(BFS.1, "BFS_MOST_HEADS") as usize;
/// Maximum number of GPUs that search together.
pub(super) const MOST_GPUS: usize = constant(BFS.1, "BFS_MOST_GPUS") as usize;

/// A graph in GPU memory, in the form in which kernels take it as an argument. Addresses are 64-bit numbers.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BfsGraph {
    pub halves: [GpuRows; 2],
    pub first: u64,
    pub heads: [u64; MOST_HEADS],
    pub few_leaves: u64,
    pub many_leaves: u64,
    pub vertices: u32,
    pub shift: u32,
    pub tail: u32,
    pub many: u32,
    pub head_arrays: u32,
    pub wide: [u32; MOST_HEADS + 1],
}

/// One half of the rows (smaller or larger neighbours), spread over several GPUs: the address and the first row of each
/// GPU's part.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct SpreadRows {
    pub entries: [u64; MOST_GPUS],
    pub first: [u32; MOST_GPUS],
}

/// A graph whose rows are spread over several GPUs.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct SpreadGraph {
    pub graph: BfsGraph,
    pub spread: [SpreadRows; 2],
}

/// GPU addresses of the arrays of a queue. A queue contains the rows of the frontier's vertices.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BfsQueue {
    pub starts: u64,
    pub vertices: u64,
    pub rows: u64,
}

/// Argument of the search kernels: GPU addresses and parameters of a search.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct BfsArguments {
    pub reached: [u64; 2],
    pub parents: u64,
    pub queues: [BfsQueue; 2],
    pub state: u64,
    pub records: u64,
    pub alpha: f64,
    pub beta: f64,
    pub slots: u64,
    pub root: u32,
    pub capacity: u32,
    pub most_records: u32,
    pub begins: u32,
    pub least_unqueued: u32,
    pub least_shared: u32,
}

/// State of a search, which stays in GPU memory between kernel launches.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BfsState {
    pub arrived: u64,
    pub broken: u32,
    pub unused: u32,
    pub counts: [[u64; 8]; 3],
    pub level: u64,
    pub step: u64,
    pub left: u64,
    pub current: u32,
    pub found: u32,
    pub few: u64,
    pub open: u64,
    pub records: u32,
    pub finished: u32,
}

/// Statistics of one level of a search, as kernels write them.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct LevelRecord {
    pub vertices: u64,
    pub leaves: u64,
    pub checked: u64,
    pub nanoseconds: u64,
    pub up: u64,
}

/// Counts that a GPU sends to another GPU at a barrier, with the sequence number of the barrier.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BarrierCounts {
    pub counts: [u64; 8],
    pub number: u64,
}

/// State of the barriers of all GPUs, in the memory of one GPU: the counts that other GPUs send to this GPU, and the
/// counts of this GPU itself.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct GpuBarriers {
    pub reported: [[BarrierCounts; 2]; MOST_GPUS],
    pub passed: u64,
    pub part: [u64; 8],
    pub pieces: u64,
}

/// GPU addresses of the bitmaps and barriers of all GPUs that search together.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct PeerAddresses {
    pub reached: [[u64; 2]; MOST_GPUS],
    pub barriers: [u64; MOST_GPUS],
    pub rank: u32,
    pub gpus: u32,
}

/// Arguments of the search kernels on each GPU, if several GPUs search together.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct SharedSearch {
    pub search: BfsArguments,
    pub peers: PeerAddresses,
}

// SAFETY: numbers without padding between them, as the sizes below show.
unsafe impl Plain for BfsState {}
// SAFETY: as above.
unsafe impl Plain for LevelRecord {}
// SAFETY: as above.
unsafe impl Plain for GpuBarriers {}

const _: () = assert!(size_of::<BfsGraph>() == 288 && size_of::<BfsArguments>() == 136);
const _: () = assert!(size_of::<SpreadRows>() == 96 && size_of::<SpreadGraph>() == 288 + 2 * 96);
const _: () = assert!(size_of::<GpuBarriers>() == 1232 && size_of::<SharedSearch>() == 136 + 200);
const _: () = assert!(size_of::<BfsState>() == 264 && size_of::<LevelRecord>() == 40);
