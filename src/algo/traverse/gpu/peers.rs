//! The exchange of pairs between GPUs that can access each other's memory. A pair is a vertex and its proposed parent.
//!
//! A rank's pairs stay in its GPU memory, in an array that is called its *outbox*. They are grouped by the ranks that
//! are to read them, and a second array contains the end of each group. Once all outboxes are filled, the GPU of each
//! rank reads its groups from the outboxes of other ranks, and claims the vertices in them. Only the message that an
//! outbox is filled goes through the host. No rank needs memory for incoming pairs. An outbox is refilled only after
//! all ranks have read it.

use crate::gpu::{DeviceSlice, PeerMemory};

/// GPU addresses of an outbox, an array of pairs that other ranks read: of its pairs, and of the array with the end of
/// each rank's group of pairs.
#[derive(Debug, Clone, Copy)]
pub(super) struct GpuOutbox {
    pub pairs: u64,
    pub ends: u64,
}

/// The outboxes of all other ranks. An outbox is an array of pairs that other ranks read.
pub(super) struct PeerOutboxes<'a> {
    /// One outbox for each other rank.
    pub all: Vec<GpuOutbox>,
    /// The memory that contains the outboxes.
    _memory: PeerMemory<'a>,
}

impl<'a> PeerOutboxes<'a> {
    /// Exchanges the addresses of the outboxes of all ranks. `mine` is the outbox of this rank, in GPU memory `arena`.
    /// Collective: all ranks must call it.
    pub fn join(memory: PeerMemory<'a>, arena: DeviceSlice<u32>, mine: GpuOutbox) -> Option<PeerOutboxes<'a>> {
        let comm = memory.comm;
        let outboxes = memory.exchange(Some((arena, [mine.pairs, mine.ends])))?;
        // Each rank starts with a different peer, so that not all ranks read from the same one.
        let others = (1..comm.ranks()).map(|turn| outboxes[(comm.rank() + turn) % comm.ranks()]);
        Some(PeerOutboxes { all: others.map(|[pairs, ends]| GpuOutbox { pairs, ends }).collect(), _memory: memory })
    }
}
