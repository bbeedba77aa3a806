//! GPU memory of a breadth-first search, not counting the graph.

use super::buffer_sizes::BfsBufferSizes;
use super::kernel_structs::{BfsQueue, BfsState, GpuBarriers, LevelRecord};
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice};

/// Arrays of a search in GPU memory.
pub(super) struct BfsMemory {
    pub state: DeviceSlice<BfsState>,
    pub records: DeviceSlice<LevelRecord>,
    pub parents: DeviceSlice<u32>,
    /// Two bitmaps of reached vertices.
    pub reached: [DeviceSlice<u32>; 2],
    pub queues: [BfsQueue; 2],
    /// State of the barriers of all GPUs; empty if a single GPU searches.
    pub barriers: DeviceSlice<GpuBarriers>,
}

impl BfsMemory {
    /// Allocates the arrays of a search in an arena (the GPU memory of a rank). `is_shared` says whether several GPUs
    /// search together and so need barriers.
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena is smaller than `sizes` requires.
    pub fn take(arena: &mut Arena, sizes: &BfsBufferSizes, is_shared: bool) -> Result<BfsMemory> {
        let (state, records) = (arena.take_planned(1)?, arena.take_planned(sizes.records.into())?);
        let parents = arena.take_planned(sizes.vertices)?;
        let reached = [arena.take_planned(sizes.words())?, arena.take_planned(sizes.words())?];
        let queues = [queue(arena, sizes.capacity)?, queue(arena, sizes.capacity)?];
        let barriers = if is_shared { arena.take_planned(1)? } else { DeviceSlice::default() };
        Ok(BfsMemory { state, records, parents, reached, queues, barriers })
    }
}

fn queue(arena: &mut Arena, entries: u64) -> Result<BfsQueue> {
    let [starts, vertices] = [arena.take_planned::<u32>(entries)?, arena.take_planned(entries)?];
    let rows = arena.take_planned::<u64>(entries)?.address();
    Ok(BfsQueue { starts: starts.address(), vertices: vertices.address(), rows })
}
