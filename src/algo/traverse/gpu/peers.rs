//! The exchange between GPUs that reach each other's memory.
//!
//! A rank leaves the pairs of a piece where they were made, beside where those of each rank end. Once all have done so, each claims its own vertices by the
//! pairs that it reads from the memory of the others. So nothing goes by way of the host but the word that a rank is as far, and nobody needs room for
//! what comes. What was left stays until all have read it.

use crate::gpu::{DeviceSlice, PeerMemory};
use crate::memory::{bytes_of, numbers_of};

/// The addresses of what a rank leaves for others: its pairs, and where those of each rank end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub pairs: u64,
    pub ends: u64,
}

/// The other ranks, by what each leaves.
pub(super) struct Others<'a> {
    left: Vec<Left>,
    /// The memory that it lies in.
    _memory: PeerMemory<'a>,
}

impl<'a> Others<'a> {
    /// Has the GPUs of all ranks know where each leaves pairs: this one in its `arena`. Collective.
    pub fn join(memory: PeerMemory<'a>, arena: DeviceSlice<u32>, mine: Left) -> Option<Others<'a>> {
        let comm = memory.comm;
        let told = comm.all_gather(bytes_of(&[mine.pairs, mine.ends].map(|address| address - arena.address())));
        // Ranks begin with different others, so that not all read from one.
        let others = (1..comm.ranks()).map(|turn| (comm.rank() + turn) % comm.ranks());
        let of = |rank: usize| {
            let [pairs, ends] = numbers_of::<u64>(&told[rank]).try_into().ok()?;
            let address = |at| memory.span(rank, at, 0, arena).address();
            Some(Left { pairs: address(pairs), ends: address(ends) })
        };
        Some(Others { left: others.map(of).collect::<Option<_>>()?, _memory: memory })
    }

    /// Returns what each of them leaves.
    pub fn left(&self) -> &[Left] {
        &self.left
    }
}
