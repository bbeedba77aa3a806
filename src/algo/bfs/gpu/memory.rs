//! The memory of searches on a GPU, without the graph.

use super::room::Room;
use super::twins::{Meeting, Queue, Record, State};
use crate::error::Result;
use crate::gpu::{Arena, DeviceSlice};

/// The memory in which searches work.
pub(super) struct Memory {
    pub state: DeviceSlice<State>,
    pub records: DeviceSlice<Record>,
    pub parents: DeviceSlice<u32>,
    /// Two bitmaps of reached vertices.
    pub reached: [DeviceSlice<u32>; 2],
    pub queues: [Queue; 2],
    /// Barriers of all GPUs; empty for a single GPU.
    pub meeting: DeviceSlice<Meeting>,
}

impl Memory {
    /// Reserves the memory in an arena, with barriers if the search `is_shared` by GPUs.
    ///
    /// # Errors
    /// [`crate::Error::internal`] if the arena has less than `room` planned.
    pub fn take(arena: &mut Arena, room: &Room, is_shared: bool) -> Result<Memory> {
        let (state, records) = (arena.take_planned(1)?, arena.take_planned(room.records.into())?);
        let parents = arena.take_planned(room.vertices)?;
        let reached = [arena.take_planned(room.words())?, arena.take_planned(room.words())?];
        let queues = [queue(arena, room.capacity)?, queue(arena, room.capacity)?];
        let meeting = if is_shared { arena.take_planned(1)? } else { DeviceSlice::default() };
        Ok(Memory { state, records, parents, reached, queues, meeting })
    }
}

fn queue(arena: &mut Arena, entries: u64) -> Result<Queue> {
    let [starts, vertices] = [arena.take_planned::<u32>(entries)?, arena.take_planned(entries)?];
    let rows = arena.take_planned::<u64>(entries)?.address();
    Ok(Queue { starts: starts.address(), vertices: vertices.address(), rows })
}
