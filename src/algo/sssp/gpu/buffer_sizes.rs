//! Sizes of the arrays that a shortest-path search allocates in GPU memory. Plans and runs call the same functions.

use super::kernel_structs::SsspState;
use super::programs::SSSP;
use crate::gpu::{constant, slice_bytes};
use crate::graph::direction::Direction;

/// Number of threads per thread block in a search.
pub(super) const THREADS: u32 = constant(SSSP.1, "SSSP_THREADS");

/// Minimum capacity, in entries, of a queue (vertices to push from) and of a pile (vertices that wait until the search
/// comes close to their distances).
const LEAST_QUEUED: u64 = 1 << 12;
/// Maximum capacity of a queue, in entries. Thread blocks that find a queue full at the same time may raise its counter
/// to about twice the capacity, and the counter must not overflow.
const MOST_QUEUED: u64 = 1 << 23;
/// Minimum number of neighbours that are copied to the GPU at a time.
pub(super) const LEAST_PIECE: u64 = 1 << 12;
/// Number of 64-bit words for results of the kernels that prepare a graph. These results are the ends of groups of
/// vertices, the smallest and the largest weight, the sum of weights, and a counter.
pub(super) const BOUNDS: u64 = 16;
/// Number of 32-bit words for crossings. A crossing is the first row that begins at or after a multiple of 2^32 row
/// entries.
const CROSSINGS: u64 = 16;

/// Sizes of the arrays of a search in GPU memory, not counting adjacency rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SsspBufferSizes {
    pub vertices: u64,
    /// Number of adjacency rows.
    pub rows: u64,
    /// Capacity of a queue (vertices to push from), in entries.
    pub queued: u64,
    /// Capacity of a pile (vertices that wait until the search comes close to their distances), in entries.
    pub piled: u64,
}

impl SsspBufferSizes {
    /// Chooses the array sizes for a graph of `vertices` vertices.
    pub fn of(vertices: u64, direction: Direction) -> SsspBufferSizes {
        let wanted = (vertices / 8 + 8).max(LEAST_QUEUED.min(2 * vertices)).max(32);
        let queued = wanted.min(MOST_QUEUED);
        // An entry of a queue takes as much memory as two entries of a pile. Other methods use queues and piles as one
        // array, which needs three words per vertex and 64 more.
        SsspBufferSizes { vertices, rows: direction.rows(vertices), queued, piled: 2 * wanted + 2 * (wanted - queued) }
    }

    /// Returns the GPU memory, in bytes, that stays in use between searches: for the state of a search, the row
    /// offsets, and [`BOUNDS`] words for results of kernels.
    fn kept(&self) -> u64 {
        slice_bytes::<SsspState>(1) + slice_bytes::<u32>(self.rows + 1) + slice_bytes::<u64>(BOUNDS)
    }

    /// Returns the GPU memory, in bytes, for the arrays that a search writes: distances, parents, queues, piles and a
    /// bitmap.
    pub fn working(&self) -> u64 {
        let entry = slice_bytes::<u64>(self.queued) * 2 + slice_bytes::<u32>(self.queued) * 2;
        let pile = slice_bytes::<u64>(self.piled) + slice_bytes::<u32>(self.piled);
        let vertices = slice_bytes::<u64>(self.vertices) + slice_bytes::<u32>(self.vertices);
        vertices + slice_bytes::<u32>(self.words()) + 2 * (entry + pile)
    }

    /// Returns the GPU memory, in bytes, that is needed temporarily while rows are copied to the GPU, if `piece` 32-bit
    /// words are copied at a time.
    pub fn placing(&self, piece: u64) -> u64 {
        let starts = 2 * slice_bytes::<u32>(self.rows + 1);
        starts + slice_bytes::<u32>(CROSSINGS) + slice_bytes::<u64>(self.vertices) + 2 * slice_bytes::<u32>(piece)
    }

    /// Returns the number of 32-bit words in a bitmap of all vertices.
    pub fn words(&self) -> u64 {
        self.vertices.div_ceil(32)
    }

    /// Returns the total GPU memory, in bytes, that searches need, not counting adjacency rows.
    pub fn bytes(&self) -> u64 {
        self.kept() + self.working().max(self.placing(LEAST_PIECE))
    }
}

/// Returns the minimum GPU memory, in bytes, with which a graph of `vertices` vertices can be searched. Adjacency rows
/// then stay in host memory.
pub fn least_bytes(vertices: u64, direction: Direction) -> u64 {
    SsspBufferSizes::of(vertices, direction).bytes()
}

/// Returns the pinned host memory, in bytes, for the adjacency rows of `edges` edges, or 0 if the rows fit in GPU
/// memory of `gpu_memory` bytes.
pub fn host_bytes(vertices: u64, edges: u64, direction: Direction, gpu_memory: u64) -> u64 {
    let rows = slice_bytes::<u64>(2 * edges);
    if least_bytes(vertices, direction) + rows <= gpu_memory { 0 } else { rows.next_multiple_of(4096) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::sssp::gpu::programs::search;
    use crate::algo::sssp::gpu::sums::SumKind;

    #[test]
    fn counters_of_queues_have_room_for_the_longest() {
        // The first definition belongs to the substitute for CUDA that tests use.
        let all = search(SumKind::Whole).everything();
        let bits = all.split("constexpr u32 SSSP_SLOT_BITS = ").nth(2).and_then(|rest| rest.split(';').next());
        let bits: u64 = bits.expect("a constant").parse().expect("a number");
        assert!(2 * MOST_QUEUED <= 1 << (64 - bits), "{bits}");
    }

    #[test]
    fn queues_and_piles_hold_the_arrays_of_other_methods() {
        for vertices in [1, 100, 1 << 15, 1 << 26, (1 << 26) + 9, u64::from(u32::MAX)] {
            let SsspBufferSizes { queued, piled, .. } = SsspBufferSizes::of(vertices, Direction::Undirected);
            assert!(2 * (24 * queued + 12 * piled) >= 4 * (3 * vertices + 64), "{vertices}");
            assert!(queued <= MOST_QUEUED && piled <= u64::from(u32::MAX), "{vertices}");
        }
    }
}
