//! The GPU memory of a traversal.

use super::buffer_sizes::{SUMS, TraverseBufferSizes};
use super::kernel_structs::Owned;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice};

/// All GPU arrays of a rank: arrays for the vertices that the rank owns, and arrays for the candidates (neighbours of
/// the frontier) that are expanded at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraverseMemory {
    /// Start of the row of each vertex of this rank in the array `targets`, followed by the end of the last row.
    pub starts: DeviceSlice<u32>,
    /// Neighbours in the rows of this rank's vertices, one row after another.
    pub targets: DeviceSlice<u32>,
    /// Number of candidates (edges) before each vertex of the frontier, followed by the number of all candidates.
    pub offsets: DeviceSlice<u32>,
    pub frontier: DeviceSlice<u32>,
    pub parents: DeviceSlice<u32>,
    /// Two bitmaps of this rank's vertices: of the vertices that were reached before the step, and of those that the
    /// step reaches.
    pub bits: [DeviceSlice<u32>; 2],
    /// Number of newly reached vertices in each bitmap word, which is later replaced by the prefix sums of these
    /// numbers.
    pub words: DeviceSlice<u32>,
    /// End of each rank's pairs in the outbox (the array of pairs that other ranks read).
    pub ends: DeviceSlice<u32>,
    pub sums: DeviceSlice<u64>,
    /// Pairs (a vertex and its proposed parent) that arrived from other ranks through the host.
    pub inbox: DeviceSlice<u64>,
    /// Two arrays of pairs (a vertex and its proposed parent). Each pass of a sort moves the pairs from one array to
    /// the other.
    pub pairs: [DeviceSlice<u64>; 2],
    /// Counters of a sorting pass: one for each value of a digit and each tile (a range of pairs that a thread block
    /// sorts).
    pub counts: DeviceSlice<u32>,
    /// Scratch memory for prefix sums.
    pub scratch: DeviceSlice<u32>,
}

impl TraverseMemory {
    /// Allocates the arrays in an arena (the GPU memory of a rank).
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena is smaller than `sizes` requires.
    pub fn take(arena: &mut Arena, sizes: &TraverseBufferSizes, ownership: &VertexOwnership) -> Result<TraverseMemory> {
        let own = ownership.len() as u64;
        Ok(TraverseMemory {
            sums: arena.take_planned(SUMS)?,
            starts: arena.take_planned(own + 1)?,
            offsets: arena.take_planned(own + 1)?,
            targets: arena.take_planned(sizes.entries)?,
            frontier: arena.take_planned(own)?,
            parents: arena.take_planned(own)?,
            bits: [arena.take_planned(sizes.words())?, arena.take_planned(sizes.words())?],
            words: arena.take_planned(sizes.words())?,
            ends: arena.take_planned(ownership.ranks as u64)?,
            inbox: arena.take_planned(sizes.inbox())?,
            pairs: [arena.take_planned(sizes.piece)?, arena.take_planned(sizes.piece)?],
            counts: arena.take_planned(sizes.counts())?,
            scratch: arena.take_planned(sizes.scratch())?,
        })
    }

    /// Returns the kernel argument that describes the vertices that the rank owns.
    pub fn owned(&self, ownership: &VertexOwnership) -> Owned {
        let (reciprocal, shift) = ownership.division();
        let [reached, fresh] = self.bits.map(DeviceSlice::address);
        Owned {
            starts: self.starts.address(),
            targets: self.targets.address(),
            offsets: self.offsets.address(),
            frontier: self.frontier.address(),
            parents: self.parents.address(),
            reached,
            fresh,
            sums: self.sums.address(),
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
