//! The GPU program in `kernels/betweenness.cu`, and Rust definitions of its structs. The memory layouts must match.
#![allow(unsafe_code)] // structs of numbers that are copied from the GPU

use crate::gpu::{COMMON, ProgramSource, constant};
use crate::memory::Plain;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::VertexRows;

pub(super) static PROGRAM: ProgramSource = ProgramSource {
    name: "betweenness.cu",
    text: include_str!("../../../../kernels/betweenness.cu"),
    headers: &[COMMON, ROW_PARTS, ("betweenness.cuh", HEADER)],
};
/// Source text of the header with the constants of the betweenness kernels.
pub(super) const HEADER: &str = include_str!("../../../../kernels/betweenness.cuh");

/// All GPU programs that betweenness centrality launches.
pub(in super::super) static PROGRAMS: [&ProgramSource; 1] = [&PROGRAM];

/// Number of sources from which the GPU searches at the same time.
pub(in super::super) const SOURCES: usize = constant(HEADER, "SOURCES") as usize;

/// Totals of one step of a search. The kernel source describes the fields. The memory layout must match `Found` in the
/// kernels.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Found {
    pub longs: u32,
    pub shorts: u32,
    pub inexact: u32,
    pub too_large: u32,
    pub span: u32,
    unused: u32,
    pub reached: [u64; SOURCES],
    pub leaving: [u64; SOURCES],
    pub entering: [u64; SOURCES],
}

// SAFETY: integers without padding between them.
unsafe impl Plain for Found {}

/// Arguments of the betweenness kernels. The memory layout must match `Search` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct SearchArguments {
    pub rows: VertexRows,
    pub paths: u64,
    pub sums: u64,
    pub shares: u64,
    pub small: u64,
    pub reached: u64,
    pub found: u64,
    pub longs: u64,
    pub shorts: u64,
    pub masks_of_longs: u64,
    pub masks_of_shorts: u64,
    pub degrees: u64,
    pub step: u64,
    pub vertices: u32,
    pub long_end: u32,
}

/// List of the vertices that one kernel launch processes. The memory layout must match `Visited` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Visited {
    pub list: u64,
    pub masks: u64,
    pub first: u32,
    pub count: u32,
    pub sources: u32,
    pub unused: u32,
}

const _: () = assert!(
    size_of::<Found>() == 120 && size_of::<SearchArguments>() == 128 && size_of::<Visited>() == 32,
    "as in the kernels"
);
