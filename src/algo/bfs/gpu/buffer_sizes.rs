//! Sizes of the arrays that a breadth-first search allocates in GPU memory. Plans and runs call the same functions.

use super::kernel_structs::{BfsState, LevelRecord, MOST_HEADS};
use super::programs::BFS;
use crate::gpu::{constant, slice_bytes};
use crate::graph::direction::Direction;

/// Number of vertices that a warp processes together.
pub(super) const CHUNK: u64 = constant(BFS.1, "BFS_CHUNK") as u64;
/// Number of threads per thread block in a search.
pub(super) const THREADS: u32 = constant(BFS.1, "BFS_THREADS");
/// Minimum degree of vertices whose number of leaves is stored in 32 bits. Leaves are neighbours with one edge. For
/// other vertices one byte is enough.
pub(super) const MANY: u64 = 256;

/// Maximum number of levels per kernel launch. After each launch the host reads the records of these levels and calls
/// the cancellation check.
pub(super) const RECORDS: u32 = 1 << 12;
/// Maximum number of entries of a queue. If a frontier does not fit in a queue, the next step is bottom-up.
const MOST_QUEUED: u64 = 1 << 21;
/// Number of entries of a queue in small graphs. It is enough for every frontier of such a graph.
const SMALL_QUEUED: u64 = 1 << 14;
/// Minimum number of entries of a queue. It is at least twice the number of slots that a warp expands at a time. A slot
/// is a neighbour, or a chunk of packed (compressed) neighbours.
pub(super) const LEAST_QUEUED: u64 = 1 << 10;
const _: () = assert!(LEAST_QUEUED >= 2 * constant(BFS.1, "BFS_NARROW") as u64);

/// Sizes of the arrays that every search needs in GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BfsBufferSizes {
    pub vertices: u64,
    /// Number of rows in a half of the adjacency (smaller or larger neighbours).
    pub rows: u64,
    /// Number of entries of a queue.
    pub capacity: u64,
    pub records: u32,
}

impl BfsBufferSizes {
    /// Returns the array sizes for a graph of `vertices` vertices.
    pub fn of(vertices: u64, direction: Direction) -> BfsBufferSizes {
        let capacity = (vertices / 8).max(SMALL_QUEUED.min(2 * vertices)).clamp(LEAST_QUEUED, MOST_QUEUED);
        BfsBufferSizes { vertices, rows: direction.rows(vertices), capacity, records: RECORDS }
    }

    /// Returns the number of 32-bit words of a bitmap of all vertices.
    pub fn words(&self) -> u64 {
        self.vertices.div_ceil(CHUNK) * CHUNK / 32
    }

    /// Returns the GPU memory, in bytes, that a search needs, not counting adjacency rows and head arrays (first
    /// neighbours), if `many` vertices have at least [`MANY`] edges.
    pub fn bytes(&self, many: u64) -> u64 {
        let queue = 2 * slice_bytes::<u32>(self.capacity) + slice_bytes::<u64>(self.capacity);
        let rows = 2 * slice_bytes::<u32>(self.rows + 1);
        let vertices = 2 * slice_bytes::<u32>(self.vertices) + slice_bytes::<u8>(self.vertices);
        let small =
            slice_bytes::<BfsState>(1) + slice_bytes::<LevelRecord>(self.records.into()) + slice_bytes::<u32>(BOUNDS);
        small + 2 * queue + rows + vertices + 2 * slice_bytes::<u32>(self.words()) + slice_bytes::<u32>(many)
    }
}

/// Number of 32-bit words for the results of the kernel `bfs_bounds`: the ends of groups of vertices.
pub(super) const BOUNDS: u64 = MOST_HEADS as u64 + 3;

/// Returns the minimum GPU memory, in bytes, for searching a graph of `vertices` vertices with `entries` row entries
/// per half (smaller or larger neighbours). With this minimum, adjacency rows stay in host memory.
pub fn least_bytes(vertices: u64, entries: u64, direction: Direction) -> u64 {
    BfsBufferSizes::of(vertices, direction).bytes(vertices.min(2 * entries / MANY))
}

/// Returns the host memory, in bytes, for adjacency rows that do not fit in GPU memory, as `[maximum, minimum]`. Each
/// of `gpus` GPUs has `gpu_memory` bytes. The minimum applies if the GPUs can access each other's memory, because rows
/// are then spread over them. Each half of the rows (smaller or larger neighbours) has `entries` entries.
pub fn host_bytes(vertices: u64, entries: u64, direction: Direction, gpu_memory: u64, gpus: u64) -> [u64; 2] {
    let fit = |entries: u64| {
        let free = gpu_memory.saturating_sub(least_bytes(vertices, entries, direction));
        2 * slice_bytes::<u32>(entries) <= free
    };
    let all = 2 * slice_bytes::<u32>(entries).next_multiple_of(4096);
    [fit(entries), fit(entries.div_ceil(gpus))].map(|fit| if fit { 0 } else { all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_takes_little_more_than_two_numbers_a_vertex_and_its_rows_ends() {
        // Graph500 graphs of scale 26 (in 2 GiB) and scale 30 (in 16 GiB).
        for (vertices, entries, most) in [(32_800_000, 1_050_000_000, 1 << 30), (460_000_000, 17_000_000_000, 10 << 30)]
        {
            let least = least_bytes(vertices, entries, Direction::Undirected);
            assert!(17 * vertices < least && least < most, "{least}");
            let of = |memory, gpus| host_bytes(vertices, entries, Direction::Undirected, memory, gpus);
            assert_eq!(of(least + 9 * entries, 1), [0; 2]);
            let [most, fewest] = of(least, 1);
            assert!(most >= 8 * entries && fewest == most);
            // Each of two GPUs can store half of the rows. Whether they can access each other is not known.
            assert_eq!(of(least + 5 * entries, 2), [most, 0]);
            assert_eq!(of(least + 3 * entries, 2), [most; 2]);
        }
        assert!(least_bytes(10_000, 80_000, Direction::Directed) < 1 << 20, "small jobs have an arena of this size");
    }
}
