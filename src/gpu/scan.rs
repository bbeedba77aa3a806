//! Prefix sums on a GPU, in three launches of `kernels/scan.cu`.
#![allow(unsafe_code)] // kernel launches

use super::Workspace;
use super::arena::DeviceSlice;
use super::program::Kernel;
use super::queue::{Grid, Queue, THREADS};
use super::source::{COMMON, ProgramSource, constant};
use crate::error::Result;

/// GPU program of prefix sums.
pub static PROGRAM: ProgramSource = ProgramSource { name: "scan.cu", text: TEXT, headers: &[COMMON] };
const TEXT: &str = include_str!("../../kernels/scan.cu");

/// Number of values of a prefix sum that one thread block sums (a tile).
const TILE: u64 = (constant(TEXT, "SCAN_THREADS") * constant(TEXT, "SCAN_EACH")) as u64;
/// Number of threads of the thread block that adds up the sums of all tiles.
const SUM_THREADS: u32 = 1024;

/// Kernels that compute prefix sums in place.
#[derive(Debug)]
pub struct Scan {
    sums: Kernel,
    tiles: Kernel,
    values: Kernel,
}

impl Scan {
    /// Loads the kernels of prefix sums from `workspace`.
    ///
    /// # Errors
    /// Errors of [`Workspace::kernel`].
    pub fn load(workspace: &Workspace) -> Result<Scan> {
        let [sums, tiles, values] = workspace.kernels(&PROGRAM, ["scan_sums", "scan_tiles", "scan_values"])?;
        Ok(Scan { sums, tiles, values })
    }

    /// Returns the number of scratch elements that prefix sums of `len` values need: one for each tile of values.
    pub fn scratch(len: u64) -> u64 {
        len.div_ceil(TILE)
    }

    /// Queues kernels that replace each of `values` by the sum of the values before it. There must be fewer than 2^32
    /// values. `scratch` must have at least [`Self::scratch`] elements, and must not be used for anything else until
    /// the kernels are complete.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn launch(&self, queue: &Queue, values: DeviceSlice<u32>, scratch: DeviceSlice<u32>) -> Result<()> {
        let tiles = Self::scratch(values.len());
        debug_assert!(scratch.len() >= tiles && values.len() <= u64::from(u32::MAX));
        let (count, tiles) = (values.len() as u32, tiles as u32);
        let (values, sums) = (values.address(), scratch.address());
        let grid = |blocks, threads| Grid { blocks, threads, shared: 0 };
        // SAFETY: the arguments match the kernels' parameters; slices lie in their arenas, whose use queues order;
        // every tile has a sum.
        unsafe {
            queue.launch(&self.sums, grid(tiles, THREADS), (values, count, sums))?;
            queue.launch(&self.tiles, grid(1, SUM_THREADS), (sums, tiles))?;
            queue.launch(&self.values, grid(tiles, THREADS), (values, count, sums))
        }
    }
}
