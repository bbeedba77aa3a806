//! Structs that are passed to kernels; `kernels/partition.cu` declares the same fields.

/// Host version of the kernels' struct `Bins`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct KernelBins {
    pub(super) map: u64,
    pub(super) ids: u32,
    pub(super) mantissa: u32,
    pub(super) of_granule: u64,
    pub(super) starts: u64,
    pub(super) count: u32,
    pub(super) shift: u32,
}

const _: () = assert!(size_of::<KernelBins>() == 40, "the kernels have a static_assert of the same size");

/// Host version of the kernels' struct `Gathered`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct KernelGathered {
    pub(super) edges: u64,
    pub(super) counts: u64,
    pub(super) line_starts: u64,
    pub(super) rest_starts: u64,
    pub(super) placed: u64,
    pub(super) lines: u64,
    pub(super) rest: u64,
    pub(super) words: u64,
}

const _: () = assert!(size_of::<KernelGathered>() == 64, "the kernels have a static_assert of the same size");
