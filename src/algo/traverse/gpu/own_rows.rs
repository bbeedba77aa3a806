//! Copies the adjacency rows of this rank's vertices to a GPU, without gaps between them.

use super::buffer_sizes::MOST_ENTRIES;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Workspace, fill_by_lanes};
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::{Budget, Buffer};
use crate::process::signals;

/// Returns the row offsets of the vertices that this rank owns: the start of each row, followed by the end of the last
/// row.
pub(super) fn starts(
    ownership: &VertexOwnership,
    degrees: &[u32],
    direction: Direction,
    budget: &Budget,
) -> Result<Buffer<u32>> {
    let own = ownership.len();
    let mut starts: Buffer<u32> = budget.zeroed(own + 1, "starts of rows (4 bytes a vertex)")?;
    let mut before = 0u64;
    for local_index in 0..own {
        let v = ownership.vertex(local_index as u32);
        before += u64::from(degrees[direction.row(v, EdgeDirection::Out) as usize]);
        if before > MOST_ENTRIES {
            return Err(super::too_many(before));
        }
        starts[local_index + 1] = before as u32;
    }
    Ok(starts)
}

/// The adjacency rows of this rank's vertices, which the GPU stores without gaps.
pub(super) struct OwnRows<'a> {
    pub rows: &'a Adjacency<'a>,
    pub ownership: &'a VertexOwnership,
    pub direction: Direction,
    /// Start of the row of each vertex that this rank owns in GPU memory, followed by the end of the last row.
    pub starts: &'a [u32],
}

impl OwnRows<'_> {
    /// Copies the rows of this rank's vertices to the GPU array `to`, without gaps between them.
    pub fn upload(&self, workspace: &mut Workspace, to: DeviceSlice<u32>) -> Result<()> {
        fill_by_lanes(&mut workspace.uploader.lanes()?, to, 1, |first, slot| {
            signals::check()?;
            self.fill(first as u32, slot);
            Ok(())
        })
    }

    /// Fills the buffer `slot` with consecutive row entries, from the entry with index `first` on.
    fn fill(&self, first: u32, mut slot: &mut [u32]) {
        let mut local_index = self.starts.partition_point(|&start| start <= first) - 1;
        let mut skip = (first - self.starts[local_index]) as usize;
        while !slot.is_empty() {
            let v = self.ownership.vertex(local_index as u32);
            for part in self.rows.row_from(self.direction.row(v, EdgeDirection::Out), skip) {
                let some = part.len().min(slot.len());
                let (now, later) = slot.split_at_mut(some);
                now.copy_from_slice(&part[..some]);
                slot = later;
            }
            (local_index, skip) = (local_index + 1, 0);
        }
    }
}
