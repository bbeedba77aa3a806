//! Sizes of what a search keeps in GPU memory. Plans and runs call the same functions.

use super::twins::State;
use crate::gpu::slice_bytes;
use crate::graph::direction::Direction;

// These have the values of the kernels' constants.
/// Threads of a block of a search.
pub(super) const THREADS: u32 = 1024;

/// Fewest entries of a queue and of a pile.
const LEAST_QUEUED: u64 = 1 << 12;
/// Most entries of a queue: the blocks that find it full at the same time count no more than as many again.
const MOST_QUEUED: u64 = 1 << 23;
/// Fewest words of a piece of a half's neighbours on the way into rows.
pub(super) const LEAST_PIECE: u64 = 1 << 12;
/// Bytes of a vertex's first edges.
pub(super) const HEAD_BYTES: u64 = 32;
/// Words for bounds of degrees, bounds and the sum of weights, and a counter.
pub(super) const BOUNDS: u64 = 16;
/// Words for the rows that begin beyond 2^32 entries.
const CROSSINGS: u64 = 16;

/// Sizes of all that a search needs in GPU memory, beside rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub vertices: u64,
    /// Rows of all vertices.
    pub rows: u64,
    /// Entries of a queue and of a pile.
    pub queued: u64,
    pub piled: u64,
}

impl Room {
    /// Plans the room for a graph.
    pub fn of(vertices: u64, direction: Direction) -> Room {
        let wanted = (vertices / 8 + 8).max(LEAST_QUEUED.min(2 * vertices)).max(32);
        let queued = wanted.min(MOST_QUEUED);
        // A queue's entry takes as much as two of a pile. Both together are memory of other methods, which need three words for each vertex and 64.
        Room { vertices, rows: direction.rows(vertices), queued, piled: 2 * wanted + 2 * (wanted - queued) }
    }

    /// Returns the bytes that stay while a graph is searched: places of rows and bounds.
    fn kept(&self) -> u64 {
        slice_bytes::<State>(1) + slice_bytes::<u32>(self.rows + 1) + slice_bytes::<u64>(BOUNDS)
    }

    /// Returns the bytes that searches work in.
    pub fn working(&self) -> u64 {
        let entry = slice_bytes::<u64>(self.queued) * 2 + slice_bytes::<u32>(self.queued) * 2;
        let pile = slice_bytes::<u64>(self.piled) + slice_bytes::<u32>(self.piled);
        let vertices = slice_bytes::<u64>(self.vertices) + slice_bytes::<u32>(self.vertices);
        vertices + slice_bytes::<u32>(self.words()) + 2 * (entry + pile)
    }

    /// Returns the bytes that bringing rows into place takes with pieces of `piece` words.
    pub fn placing(&self, piece: u64) -> u64 {
        let starts = 2 * slice_bytes::<u32>(self.rows + 1);
        starts + slice_bytes::<u32>(CROSSINGS) + slice_bytes::<u64>(self.vertices) + 2 * slice_bytes::<u32>(piece)
    }

    /// Returns the words of a bitmap of vertices.
    pub fn words(&self) -> u64 {
        self.vertices.div_ceil(32)
    }

    /// Returns the bytes of all but rows.
    pub fn bytes(&self) -> u64 {
        self.kept() + self.working().max(self.placing(LEAST_PIECE))
    }
}

/// Returns the fewest bytes of GPU memory with which a graph of `vertices` vertices is searched. Rows stay in host memory then.
pub fn least_bytes(vertices: u64, direction: Direction) -> u64 {
    Room::of(vertices, direction).bytes()
}

/// Returns the bytes of host memory that rows of `edges` edges take which have no room in `gpu_memory` bytes.
pub fn host_bytes(vertices: u64, edges: u64, direction: Direction, gpu_memory: u64) -> u64 {
    let rows = slice_bytes::<u64>(2 * edges);
    if least_bytes(vertices, direction) + rows <= gpu_memory { 0 } else { rows.next_multiple_of(4096) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::sssp::gpu::PROGRAM;
    use crate::algo::sssp::gpu::twins::MARKS;

    #[test]
    fn constants_are_those_of_the_kernels() {
        assert_eq!(["SSSP_THREADS", "SSSP_MARKS"].map(|name| PROGRAM.constant(name)), [THREADS.into(), MARKS as u64]);
        // The first is that of the stand-in for tests.
        let all = PROGRAM.everything();
        let bits = all.split("constexpr u32 SSSP_SLOT_BITS = ").nth(2).and_then(|rest| rest.split(';').next());
        let bits: u64 = bits.expect("a constant").parse().expect("a number");
        assert!(2 * MOST_QUEUED <= 1 << (64 - bits), "{bits}");
    }

    #[test]
    fn queues_and_piles_are_memory_of_other_methods() {
        for vertices in [1, 100, 1 << 15, 1 << 26, (1 << 26) + 9, u64::from(u32::MAX)] {
            let Room { queued, piled, .. } = Room::of(vertices, Direction::Undirected);
            assert!(2 * (24 * queued + 12 * piled) >= 4 * (3 * vertices + 64), "{vertices}");
            assert!(queued <= MOST_QUEUED && piled <= u64::from(u32::MAX), "{vertices}");
        }
    }
}
