//! GPU memory of shortest-path searches, not counting the graph.

use super::buffer_sizes::SsspBufferSizes;
use super::kernel_structs::{Pile, SsspQueue};
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice};

/// Arrays of a search in GPU memory.
pub(super) struct SsspMemory {
    /// The distance of each vertex, in 32 or 64 bits.
    pub distances: DeviceSlice<u64>,
    pub parents: DeviceSlice<u32>,
    /// Bitmap of the vertices that did not fit in a queue (vertices to push from) or in a pile (vertices that wait
    /// until the search comes close to their distances).
    pub pending: DeviceSlice<u32>,
    pub queues: [SsspQueue; 2],
    pub piles: [Pile; 2],
    /// The memory of queues and piles, as one array. Moore's algorithm and the baseline, which need neither queues nor
    /// piles, use `3 * vertices + 64` 32-bit words of it for other arrays.
    pub words: DeviceSlice<u32>,
}

impl SsspMemory {
    /// Allocates the arrays of a search in an arena (the GPU memory of a rank).
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena is smaller than `sizes` requires.
    pub fn take(arena: &mut Arena, sizes: &SsspBufferSizes) -> Result<SsspMemory> {
        let distances = arena.take_planned(sizes.vertices)?;
        let (parents, pending) = (arena.take_planned(sizes.vertices)?, arena.take_planned(sizes.words())?);
        let mark = arena.mark();
        let queues = [queue(arena, sizes.queued)?, queue(arena, sizes.queued)?];
        let piles = [pile(arena, sizes.piled)?, pile(arena, sizes.piled)?];
        let end = arena.mark();
        arena.reset(mark);
        let words = arena.take_planned((end - mark) / 4)?;
        Ok(SsspMemory { distances, parents, pending, queues, piles, words })
    }
}

fn queue(arena: &mut Arena, entries: u64) -> Result<SsspQueue> {
    let bases = arena.take_planned::<u64>(entries)?.address();
    let distances = arena.take_planned::<u64>(entries)?.address();
    let [slots, vertices] = [arena.take_planned::<u32>(entries)?, arena.take_planned(entries)?];
    Ok(SsspQueue { slots: slots.address(), vertices: vertices.address(), bases, distances })
}

fn pile(arena: &mut Arena, entries: u64) -> Result<Pile> {
    let distances = arena.take_planned::<u64>(entries)?.address();
    Ok(Pile { vertices: arena.take_planned::<u32>(entries)?.address(), distances })
}
