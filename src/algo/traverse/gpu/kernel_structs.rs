//! Rust definition of a struct in `kernels/traverse.cu`, which kernels take as an argument. The layouts must match.

/// Kernel argument that describes the vertices that a rank owns: GPU addresses and sizes of their arrays.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Owned {
    pub starts: u64,
    pub targets: u64,
    pub offsets: u64,
    pub frontier: u64,
    pub parents: u64,
    pub reached: u64,
    pub fresh: u64,
    pub sums: u64,
    pub reciprocal: u64,
    pub own: u32,
    pub rank: u32,
    pub ranks: u32,
    pub stride: u32,
    pub shift: u32,
    pub unused: u32,
}

const _: () = assert!(size_of::<Owned>() == 96);
