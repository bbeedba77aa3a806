//! The exchange between GPUs that can access each other's memory.
//!
//! The pairs of a piece stay where they were made, in the *outbox* of their rank, next to the ends of each rank's
//! pairs. Once all outboxes are filled, each rank claims its own vertices by the pairs that its GPU reads from the
//! outboxes of the others. Only the message that an outbox is filled goes through the host, and no rank needs memory
//! for incoming pairs. An outbox is not refilled before all ranks have read it.

use crate::gpu::{DeviceSlice, PeerMemory};
use crate::memory::{bytes_of, numbers_of};

/// An outbox: the addresses of its pairs and of the ends of each rank's pairs.
#[derive(Debug, Clone, Copy)]
pub(super) struct GpuOutbox {
    pub pairs: u64,
    pub ends: u64,
}

/// Addresses of the outboxes of all other ranks.
pub(super) struct PeerOutboxes<'a> {
    /// One outbox for each other rank.
    pub all: Vec<GpuOutbox>,
    /// The memory that contains the outboxes.
    _memory: PeerMemory<'a>,
}

impl<'a> PeerOutboxes<'a> {
    /// Exchanges the addresses of the outboxes of all ranks; `mine` is in the `arena` of this rank. Collective.
    pub fn join(memory: PeerMemory<'a>, arena: DeviceSlice<u32>, mine: GpuOutbox) -> Option<PeerOutboxes<'a>> {
        let comm = memory.comm;
        let offsets = comm.all_gather(bytes_of(&[mine.pairs, mine.ends].map(|address| address - arena.address())));
        let outbox = |rank: usize| {
            let [pairs, ends] = numbers_of::<u64>(&offsets[rank]).try_into().ok()?;
            let address = |offset| memory.span(rank, offset, 0, arena).address();
            Some(GpuOutbox { pairs: address(pairs), ends: address(ends) })
        };
        // Each rank starts with a different peer, so that not all read from the same one.
        let others = (1..comm.ranks()).map(|turn| (comm.rank() + turn) % comm.ranks());
        Some(PeerOutboxes { all: others.map(outbox).collect::<Option<_>>()?, _memory: memory })
    }
}
