//! Sorts candidates (pairs of a key and a parent) on a GPU and drops repeats. A stable radix sort orders the pairs by
//! key in passes of 8 bits. Then the first pair of each key is kept.
#![allow(unsafe_code)] // kernel launches

use super::PROGRAM;
use super::buffer_sizes::{DIGIT, DIGITS, TILE};
use super::kernel_structs::Owned;
use super::memory::TraverseMemory;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Grid, Kernel, Queue, Scan, THREADS, Workspace};

/// Kernels that sort pairs (a key and a parent) and drop repeats, and the GPU memory of the pairs.
pub(super) struct PairSorter {
    count: Kernel,
    scatter: Kernel,
    firsts: Kernel,
    unique: Kernel,
    ends: Kernel,
    memory: TraverseMemory,
    /// Number of sorting passes, one for each digit of a key.
    passes: u32,
}

impl PairSorter {
    /// Loads the kernels that sort pairs. All keys are below `keys`.
    pub fn load(workspace: &Workspace, memory: TraverseMemory, keys: u64) -> Result<PairSorter> {
        let names = ["traverse_count", "traverse_scatter", "traverse_firsts", "traverse_unique", "traverse_ends"];
        let [count, scatter, firsts, unique, ends] = workspace.kernels(&PROGRAM, names)?;
        let bits = 64 - keys.saturating_sub(1).leading_zeros();
        Ok(PairSorter { count, scatter, firsts, unique, ends, memory, passes: bits.div_ceil(DIGIT) })
    }

    /// Returns the array into which pairs are written before they are sorted.
    pub fn input(&self) -> DeviceSlice<u64> {
        self.memory.pairs[0]
    }

    /// Returns the array that contains the pairs after they were sorted and repeats were dropped.
    pub fn output(&self) -> DeviceSlice<u64> {
        self.memory.pairs[1 - self.sorted()]
    }

    /// Returns the index of the array that contains the pairs after the last sorting pass. Each pass moves the pairs
    /// from one array to the other.
    fn sorted(&self) -> usize {
        self.passes as usize % 2
    }

    /// Returns the number of tiles and the launch grid for sorting `count` pairs. One thread block sorts a tile at a
    /// time. The grid has one block per tile, but at most as many blocks as fill the GPU.
    fn tiles(queue: &Queue, count: u32) -> (u32, Grid) {
        let tiles = u64::from(count).div_ceil(TILE) as u32;
        (tiles, queue.grid(u64::from(tiles) * u64::from(THREADS)))
    }

    /// Sorts the first `count` pairs of [`Self::input`] by key. Pairs with the same key stay in order.
    pub fn sort(&self, queue: &Queue, scan: &Scan, count: u32) -> Result<()> {
        let (tiles, grid) = Self::tiles(queue, count);
        let TraverseMemory { pairs, counts, scratch, .. } = self.memory;
        let counts = counts.part(0..DIGITS * u64::from(tiles));
        for pass in 0..self.passes {
            let from = pass as usize % 2;
            let (input, output) = (pairs[from].address(), pairs[1 - from].address());
            let (bit, counted) = (pass * DIGIT, counts.address());
            // SAFETY: the arguments match the kernels'; each tile has a count for each digit, and both arrays are large
            // enough for all pairs.
            unsafe { queue.launch(&self.count, grid, (input, count, bit, tiles, counted))? };
            scan.launch(queue, counts, scratch)?;
            // SAFETY: as above.
            unsafe { queue.launch(&self.scatter, grid, (input, count, bit, tiles, counted, output))? };
        }
        Ok(())
    }

    /// Writes the first pair of each key among the first `count` sorted pairs to [`Self::output`], and the number of
    /// these pairs to the array `sums`.
    pub fn unique(&self, queue: &Queue, scan: &Scan, count: u32) -> Result<()> {
        let (tiles, grid) = Self::tiles(queue, count);
        let TraverseMemory { pairs, counts, scratch, sums, .. } = self.memory;
        let counts = counts.part(0..tiles.into());
        let (input, output) = (pairs[self.sorted()].address(), self.output().address());
        // SAFETY: the arguments match the kernels'; each tile has a count, and the output is large enough for all
        // pairs.
        unsafe { queue.launch(&self.firsts, grid, (input, count, tiles, counts.address()))? };
        scan.launch(queue, counts, scratch)?;
        let arguments = (input, count, tiles, counts.address(), output, sums.address());
        // SAFETY: as above.
        unsafe { queue.launch(&self.unique, grid, arguments) }
    }

    /// Writes the end of each rank's group of pairs in [`Self::output`] to the array `ends`. Reads the number of pairs
    /// from the array `sums`. Adds to this array the number of pairs for this rank's vertices and the number of pairs
    /// to send.
    pub fn ends(&self, queue: &Queue, &Owned { rank, ranks, stride, .. }: &Owned) -> Result<()> {
        let TraverseMemory { sums, ends, .. } = self.memory;
        let arguments = (self.output().address(), sums.address(), rank, ranks, stride, ends.address());
        // SAFETY: the arguments match the kernel's; each rank has an end.
        unsafe { queue.launch(&self.ends, queue.grid(ranks.into()), arguments) }
    }
}
