//! Memory of a rank for communication: MPI, collective operations and messages in flight. A plan and its run compute
//! this memory in the same way.

use crate::comm::{Comm, MessageLimits};
use crate::prepare::partition::route::Route;

/// Divisor: edges in flight use at most 1/`PART` of a rank's memory limit. With less memory, messages are shorter and
/// fewer.
const PART: u64 = 16;
/// Divisor: the buffer of collective operations uses at most 1/`SCRATCH_PART` of a rank's memory limit.
const SCRATCH_PART: u64 = 32;
/// Minimum size of the buffer of collective operations, in bytes. With a smaller buffer these operations are slow.
const LEAST_SCRATCH: u64 = 1 << 20;
/// Lengths of a message in 32-bit words: the shortest possible, the shortest efficient, and the longest.
const WORDS: [usize; 3] = [1 << 10, 1 << 12, 1 << 16];

/// Memory that a rank needs for MPI and for messages to other ranks.
#[derive(Debug, Clone, Copy)]
pub struct CommMemory {
    ranks: usize,
    nodes: usize,
    threads: usize,
    /// Memory in bytes that MPI itself uses.
    mpi: u64,
    /// The part of `mpi`, in bytes, that is estimated because MPI has not started. MPI may need less.
    estimated: u64,
    /// Size in bytes of the buffer for collective operations.
    scratch: u64,
    /// Length and number of the messages that carry edges.
    pub messages: MessageLimits,
}

impl CommMemory {
    /// Estimates the memory before the ranks are started, for `ranks` ranks on `nodes` nodes. Each rank has `threads`
    /// threads and a host memory limit of `host_memory` bytes.
    pub fn expected(ranks: usize, nodes: usize, threads: usize, host_memory: u64) -> CommMemory {
        let [start, later] = if ranks == 1 { [0; 2] } else { Comm::expected_bytes(ranks.div_ceil(nodes.max(1))) };
        CommMemory { estimated: start, ..CommMemory::new(ranks, nodes, threads, start + later, host_memory) }
    }

    /// Returns the memory for the ranks of `comm` if all of them have `threads` threads and a host memory limit of
    /// `host_memory` bytes.
    pub(crate) fn of(comm: &Comm, threads: usize, host_memory: u64) -> CommMemory {
        CommMemory::new(comm.ranks(), comm.nodes(), threads, comm.own_bytes(), host_memory)
    }

    /// Returns the memory for the ranks of `comm`. All ranks send messages of the same size, which is computed from
    /// the smallest memory limit and the largest number of threads of any rank. Collective.
    pub(crate) fn agreed(comm: &Comm, threads: usize, host_memory: u64) -> CommMemory {
        let (mut least, mut most) = ([host_memory], [threads as u64]);
        comm.all_min(&mut least);
        comm.all_max(&mut most);
        let comm_memory = CommMemory::of(comm, most[0] as usize, least[0]);
        comm.set_scratch(comm_memory.scratch as usize);
        comm_memory
    }

    fn new(ranks: usize, nodes: usize, threads: usize, mpi: u64, host_memory: u64) -> CommMemory {
        let scratch = (host_memory / SCRATCH_PART).clamp(LEAST_SCRATCH, Comm::SCRATCH as u64);
        let takers = threads.min(4);
        let words = ((16 << 20) / (ranks * threads)).clamp(WORDS[0], WORDS[2]);
        let (outgoing, incoming) = (threads + 4 * ranks.min(16), 2 * takers + ranks.min(16));
        let messages = MessageLimits { words, outgoing, incoming, takers };
        let mut comm_memory = CommMemory { ranks, nodes, threads, mpi, estimated: 0, scratch, messages };
        while comm_memory.messages() > host_memory / PART && comm_memory.shrink() {}
        comm_memory
    }

    /// Makes the messages between ranks smaller: first shorter, then fewer, then shorter still. Returns false if they
    /// are already as short and as few as possible.
    fn shrink(&mut self) -> bool {
        let MessageLimits { words, outgoing, incoming, takers } = &mut self.messages;
        if *words > WORDS[1] {
            *words = (*words / 2).max(WORDS[1]);
        } else if *outgoing + *incoming > 4 {
            (*outgoing, *incoming) = ((*outgoing / 2).max(2), (*incoming / 2).max(2));
            *takers = (*takers).min(*incoming);
        } else if *words > WORDS[0] {
            *words = (*words / 2).max(WORDS[0]);
        } else {
            return false;
        }
        true
    }

    /// Returns the communication memory of the same ranks under a limit of `host_memory` bytes each.
    pub(crate) fn at(&self, host_memory: u64) -> CommMemory {
        let CommMemory { ranks, nodes, threads, mpi, estimated, .. } = *self;
        CommMemory { estimated, ..CommMemory::new(ranks, nodes, threads, mpi, host_memory) }
    }

    /// Returns the communication memory without its estimated part; `None` if nothing is estimated.
    pub(crate) fn certain(&self) -> Option<CommMemory> {
        let certain = CommMemory { mpi: self.mpi - self.estimated, estimated: 0, ..*self };
        (self.estimated > 0).then_some(certain)
    }

    /// Returns the size in bytes of the memory that communication occupies from the start of a job to its end.
    pub fn permanent_bytes(&self) -> u64 {
        if self.ranks == 1 { 0 } else { self.mpi + self.scratch }
    }

    /// Returns the size in bytes of the memory for messages between ranks while edges are exchanged.
    pub fn messages(&self) -> u64 {
        let CommMemory { ranks, nodes, threads, messages, .. } = *self;
        messages.bytes(ranks, nodes) + Route::bytes(ranks, threads, messages.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_take_a_small_part_of_the_limit() {
        for ranks in [1, 2, 3, 8, 16, 64, 512] {
            for nodes in [1, 2, ranks] {
                for threads in [1, 2, 16, 64] {
                    let at = |limit| CommMemory::expected(ranks, nodes.min(ranks), threads, limit);
                    let least = at(0);
                    for limit in [64 << 20, 256 << 20, 2 << 30, 64 << 30, 1 << 40] {
                        let comm_memory = at(limit);
                        let most = (limit / PART).max(least.messages());
                        assert!(
                            comm_memory.messages() <= most,
                            "{ranks} on {nodes}, {threads} threads, {limit}: {comm_memory:?}"
                        );
                        let MessageLimits { words, outgoing, incoming, takers } = comm_memory.messages;
                        assert!(words >= 1024 && outgoing >= 1 && incoming >= takers.min(2) && takers >= 1);
                        assert_eq!(comm_memory.permanent_bytes() > 0, ranks > 1);
                        assert!(comm_memory.permanent_bytes() >= least.permanent_bytes());
                    }
                }
            }
        }
    }

    #[test]
    fn messages_are_long_with_much_memory_and_short_with_little() {
        let [large, small] = [16 << 30, 64 << 20].map(|limit| CommMemory::expected(4, 1, 16, limit));
        assert_eq!((large.messages.words, large.messages.outgoing), (1 << 16, 32));
        assert!(small.messages() <= 4 << 20, "{small:?}");
    }
}
