//! The GPU memory of a traversal.

use super::buffer_sizes::{SUMS, TraverseBufferSizes};
use super::kernel_structs::Owned;
use super::launches::StepArrays;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice};

/// All GPU arrays of a rank: arrays for the vertices that the rank owns, and arrays for a piece of candidates.
pub(super) struct TraverseMemory {
    /// Start of each row in `targets`, and the end of the last row. The rows are those of this rank's vertices.
    pub starts: DeviceSlice<u32>,
    /// Neighbours in the rows of this rank's vertices, one row after another.
    pub targets: DeviceSlice<u32>,
    pub frontier: DeviceSlice<u32>,
    pub parents: DeviceSlice<u32>,
    /// Two bitmaps of this rank's vertices: vertices reached before the step, and vertices that the step reaches.
    pub bits: [DeviceSlice<u32>; 2],
    pub arrays: StepArrays,
    /// Pairs that arrived from the host.
    pub inbox: DeviceSlice<u64>,
    /// Two arrays of pairs. Each pass of a sort moves pairs from one array to the other.
    pub pairs: [DeviceSlice<u64>; 2],
    /// For each digit and tile (a run of pairs that a thread block sorts), a count.
    pub counts: DeviceSlice<u32>,
}

impl TraverseMemory {
    /// Reserves the arrays in an arena (the GPU memory of a rank).
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena is smaller than `sizes` requires.
    pub fn take(arena: &mut Arena, sizes: &TraverseBufferSizes, ownership: &VertexOwnership) -> Result<TraverseMemory> {
        let own = ownership.len() as u64;
        let sums = arena.take_planned(SUMS)?;
        let [starts, offsets] = [arena.take_planned(own + 1)?, arena.take_planned(own + 1)?];
        let targets = arena.take_planned(sizes.entries)?;
        let [frontier, parents] = [arena.take_planned(own)?, arena.take_planned(own)?];
        let bits = [arena.take_planned(sizes.words())?, arena.take_planned(sizes.words())?];
        let words = arena.take_planned(sizes.words())?;
        let ends = arena.take_planned(ownership.ranks as u64)?;
        let inbox = arena.take_planned(sizes.inbox())?;
        let pairs = [arena.take_planned(sizes.piece)?, arena.take_planned(sizes.piece)?];
        let counts = arena.take_planned(sizes.counts())?;
        let scratch = arena.take_planned(sizes.scratch())?;
        let arrays = StepArrays { offsets, words, scratch, sums, ends };
        Ok(TraverseMemory { starts, targets, frontier, parents, bits, arrays, inbox, pairs, counts })
    }

    /// Returns the rank's arrays in the form that kernels read.
    pub fn owned(&self, ownership: &VertexOwnership) -> Owned {
        let (reciprocal, shift) = ownership.division();
        let [reached, fresh] = self.bits.map(DeviceSlice::address);
        Owned {
            starts: self.starts.address(),
            targets: self.targets.address(),
            offsets: self.arrays.offsets.address(),
            frontier: self.frontier.address(),
            parents: self.parents.address(),
            reached,
            fresh,
            sums: self.arrays.sums.address(),
            reciprocal,
            own: ownership.len() as u32,
            rank: ownership.rank as u32,
            ranks: ownership.ranks as u32,
            stride: ownership.stride,
            shift,
            unused: 0,
        }
    }
}
