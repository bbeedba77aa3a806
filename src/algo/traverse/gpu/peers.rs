//! The exchange between GPUs that reach each other's memory.
//!
//! The pairs of a piece stay where they were made, in the *outbox* of their rank, beside where those for each rank end. Once all outboxes are filled, each rank
//! claims its own vertices by the pairs for it, which its GPU reads from the outboxes of the others. So nothing goes by way of the host but the word that an
//! outbox is filled, and nobody needs room for what comes. An outbox is not filled again before all have read it.

use crate::gpu::{DeviceSlice, PeerMemory};
use crate::memory::{bytes_of, numbers_of};

/// An outbox, by the addresses of its pairs, and of where those for each rank end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outbox {
    pub pairs: u64,
    pub ends: u64,
}

/// The outboxes of all other ranks.
pub(super) struct PeerOutboxes<'a> {
    outboxes: Vec<Outbox>,
    /// The memory that they lie in.
    _memory: PeerMemory<'a>,
}

impl<'a> PeerOutboxes<'a> {
    /// Has the GPUs of all ranks know each other's outboxes; `mine` is in the `arena` of this one. Collective.
    pub fn join(memory: PeerMemory<'a>, arena: DeviceSlice<u32>, mine: Outbox) -> Option<PeerOutboxes<'a>> {
        let comm = memory.comm;
        let offsets = comm.all_gather(bytes_of(&[mine.pairs, mine.ends].map(|address| address - arena.address())));
        let outbox = |rank: usize| {
            let [pairs, ends] = numbers_of::<u64>(&offsets[rank]).try_into().ok()?;
            let address = |offset| memory.span(rank, offset, 0, arena).address();
            Some(Outbox { pairs: address(pairs), ends: address(ends) })
        };
        // Ranks begin with different others, so that not all read from one.
        let others = (1..comm.ranks()).map(|turn| (comm.rank() + turn) % comm.ranks());
        Some(PeerOutboxes { outboxes: others.map(outbox).collect::<Option<_>>()?, _memory: memory })
    }

    /// Returns them.
    pub fn all(&self) -> &[Outbox] {
        &self.outboxes
    }
}
