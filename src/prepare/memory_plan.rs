//! Divides the memory within the limit among the map from ids to vertices, the bins, and sorting. The planner and the
//! run of a job call the same functions, so that they agree.

use super::blocks::Builder;
use super::partition::scatter::Scatter;
use super::partition::{LINE, edge_bytes, line_words};
use super::sort;
use crate::formats::InputCache;
use crate::graph::{BIN_ROWS, Bins, BlockSize, Direction, Layout, degrees};

/// Target number of bins of a large graph. Each thread has a line (buffer of 64 edges) of 384 bytes (640 with weights)
/// for each bin. All lines of a thread should stay in the L2 cache.
const MAX_BINS: u64 = 2048;
/// Maximum number of entries (neighbours) of a bin that can be sorted within the L2 cache.
const CACHED_BIN: u64 = 1 << 17;
/// Minimum and maximum number of lines (groups of 64 edges) in a chunk, the unit by which bins grow. The smallest chunk
/// is about a page; the largest is long enough for fast sequential disk access.
const CHUNK: std::ops::RangeInclusive<u64> = 8..=512;
/// Choices for the number of blocks whose rows may be in memory at once. With few blocks, threads wait while others
/// write.
const IN_FLIGHT: [usize; 3] = [1, 2, 16];
/// Size in bytes of the bookkeeping for each chunk of a bin's memory.
const PER_CHUNK: u64 = 3 * size_of::<&[u64]>() as u64;

/// Sizes of a graph's division into blocks and bins, on which the division of memory depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutShape {
    /// Number of bins into which the rows are divided.
    pub bins: u64,
    /// Upper bound on the number of entries (neighbours) of any bin.
    pub largest_bin: u64,
    /// Maximum number of rows in a bin.
    pub most_rows: u64,
    /// Total number of rows.
    pub rows: u64,
    /// Maximum size in bytes of the sorted rows in memory, if rows do not reuse the memory of bins. There is a value
    /// for each number of blocks in `IN_FLIGHT`.
    pub in_flight: [u64; IN_FLIGHT.len()],
    /// Maximum size in bytes of the sorted rows that do not fit the memory of their bins, if no edge is spilled. There
    /// is a value for each number of blocks in `IN_FLIGHT`.
    pub tails: [u64; IN_FLIGHT.len()],
}

/// Returns the size in bytes of a block's sorted rows, including the row offsets that are written with them.
fn rows_bytes(block: BlockSize) -> u64 {
    4 * (block.entries + 2 * block.rows)
}

/// Returns the maximum size in bytes of the part of a block's sorted rows that does not fit the memory of its bins.
/// Targets always fit, because an edge has more bytes in a bin than in a row. Row lengths (4 bytes each) may not fit.
/// The lists of the memory slices that contain the rows may need as much memory again.
fn tails_bytes(block: BlockSize) -> u64 {
    8 * block.rows
}

impl LayoutShape {
    /// Divides `layout` into bins. Returns the sizes of the division, and the bins.
    pub fn and_bins(layout: &Layout) -> (Self, Bins) {
        let bins = layout.bins((layout.bound() / MAX_BINS).max(CACHED_BIN));
        let shape = LayoutShape {
            bins: bins.spans.len() as u64,
            largest_bin: bins.largest(),
            most_rows: bins.most_rows(),
            rows: layout.rows(),
            in_flight: IN_FLIGHT.map(|n| Builder::in_flight_bytes(layout, n, rows_bytes)),
            tails: IN_FLIGHT.map(|n| Builder::in_flight_bytes(layout, n, tails_bytes)),
        };
        (shape, bins)
    }

    /// Returns upper bounds on the sizes for any graph with `edges` edges and `vertices` connected vertices.
    /// `direction` says whether its edges are directed.
    ///
    /// Rows are ordered by degree, so vertex `v` has at most `2·edges / v` neighbours. A granule (range of rows that is
    /// never divided) that begins at row `v` has at most `v / 1024` rows, rounded up. So it has at most `edges / 512`
    /// entries. Every vertex but the first has an entry, so there are no more vertices than entries.
    pub fn at_most(edges: u64, vertices: u64, direction: Direction) -> Self {
        let rows = direction.rows(vertices);
        let bound = 2 * edges;
        let granule = edges / 512 + 2048;
        let bin = (bound / MAX_BINS).max(CACHED_BIN).max(granule).min(bound);
        let block = Layout::block_target(edges).max(granule).min(bound);
        // The constant allows for graphs with fewer edges, which may be divided into blocks of an eighth of their
        // edges.
        let blocks = 2 * bound / Layout::block_target(edges) + 33;
        let block = BlockSize { rows: direction.rows(block + 1).min(rows), entries: block };
        let of_blocks = |n: usize, of_block: fn(BlockSize) -> u64| (n as u64).min(blocks) * of_block(block);
        LayoutShape {
            // Two consecutive bins of a block together exceed the maximum number of entries or of rows of a bin.
            bins: 2 * (bound / (bound / MAX_BINS).max(CACHED_BIN) + rows / BIN_ROWS) + 2 * blocks + 1,
            largest_bin: bin,
            most_rows: direction.rows(bin + 1).min(rows).min(BIN_ROWS),
            rows,
            in_flight: IN_FLIGHT.map(|n| of_blocks(n, rows_bytes)),
            tails: IN_FLIGHT.map(|n| of_blocks(n, tails_bytes).min(8 * rows)),
        }
    }
}

/// Sizes of the input and settings of the run, on which the division of memory depends in addition to [`LayoutShape`].
#[derive(Debug, Clone, Copy)]
pub struct MemoryDemand {
    /// Number of edges to partition. With one rank these are all edges of the input except self-loops; with several
    /// ranks, the maximum number that this rank should be able to store.
    pub edges: u64,
    /// Expected number of edges that this rank stores.
    pub likely: u64,
    /// Number of dense ids in the map from ids to vertices.
    pub ids: u64,
    /// Number of bytes of memory for reading the input and looking up ids.
    pub reading: u64,
    /// Number of bytes of memory for messages in flight between ranks during `partition`.
    pub messages: u64,
    /// Number of threads that partition and sort.
    pub threads: usize,
    /// Whether edges have weights.
    pub weighted: bool,
}

/// Division of memory: the sizes of its parts. A line is a group of 64 edges of one bin. A chunk is a group of lines,
/// the unit by which the memory of a bin grows. The contents of blocks do not depend on these sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Number of 32-bit words of a line (group of 64 edges).
    pub line: usize,
    /// Number of lines in a chunk, the unit by which bins grow.
    pub chunk: usize,
    /// Number of 32-bit words of the pool, which consists of all chunks and from which bins grow.
    pub pool: usize,
    /// Number of blocks whose rows may be in memory at once.
    pub in_flight: usize,
    /// Maximum size of the spill file in bytes.
    pub spill: u64,
    /// Number of 32-bit words of the pool that are needed before the input is read: one chunk for every bin.
    pub start: usize,
    /// Memory needed in addition to the pool, in bytes: the first element is for partitioning, the second for sorting.
    pub fixed: [u64; 2],
    /// Maximum number of bytes of memory for partitioning, including the map and the pool.
    pub partitioning: u64,
    /// Maximum number of bytes of memory for sorting, including the pool.
    pub sorting: u64,
}

impl MemoryDemand {
    /// Returns the size in bytes of a line (group of 64 edges).
    fn line_bytes(&self) -> u64 {
        LINE as u64 * edge_bytes(self.weighted)
    }

    /// Returns the size in bytes of a chunk of `lines` lines (groups of 64 edges), including bookkeeping.
    fn chunk_bytes(&self, lines: u64) -> u64 {
        lines * self.line_bytes() + PER_CHUNK
    }

    /// Returns the number of bytes of memory that partitioning needs in addition to the bins and the messages in
    /// flight.
    fn partitioning(&self, shape: &LayoutShape) -> u64 {
        let bins = shape.bins as usize;
        let placing = if self.weighted { Scatter::<true>::bytes(bins) } else { Scatter::<false>::bytes(bins) };
        4 * self.ids + self.threads as u64 * placing + self.reading
    }

    /// Returns the number of bytes of memory that sorting needs in addition to the bins. `in_flight` is an index into
    /// `IN_FLIGHT`, and selects the number of blocks in memory at once. `chunk` is the number of lines per chunk;
    /// `spills` says whether any edges are spilled.
    fn sorting(&self, shape: &LayoutShape, in_flight: usize, chunk: u64, spills: bool) -> u64 {
        let chunk = chunk * self.line_bytes();
        let scratch = sort::bytes(shape.largest_bin, shape.most_rows, chunk, self.weighted);
        let in_flight = match (spills, self.weighted) {
            (false, _) => shape.tails[in_flight],
            (true, false) => shape.in_flight[in_flight],
            (true, true) => 2 * shape.in_flight[in_flight],
        };
        4 * shape.rows + in_flight + self.threads as u64 * (scratch + degrees::DegreeCounter::bytes(shape.rows))
    }

    /// Returns the minimum amount of free memory in bytes. The first element is for partitioning, without messages in
    /// flight; the second is for sorting.
    pub fn least(&self, shape: &LayoutShape) -> [u64; 2] {
        let bins = shape.bins * self.chunk_bytes(*CHUNK.start());
        [self.partitioning(shape), self.sorting(shape, 0, *CHUNK.start(), true)].map(|fixed| fixed + bins)
    }
}

/// Sources of the memory for the pool, from which bins grow. After all edges in a cached part of the input have been
/// put in bins, the memory of this part is added to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSources {
    /// Number of 32-bit words that are allocated for the pool.
    pub own: usize,
    /// Number of 32-bit words that are reused from cached parts of the input.
    pub adopted: usize,
}

impl Sizes {
    /// Divides `free` bytes of memory for a graph whose blocks and bins have the sizes `shape`.
    ///
    /// # Errors
    /// The minimum number of free bytes that is enough.
    pub fn new(shape: LayoutShape, needs: MemoryDemand, free: u64) -> Result<Self, u64> {
        let threads = needs.threads as u64;
        let count = shape.bins;
        let partitioning = needs.partitioning(&shape) + needs.messages;
        let (line, words) = (needs.line_bytes(), line_words(needs.weighted));
        let [partition, sort] = needs.least(&shape);
        let smallest = (partition + needs.messages).max(sort);
        if smallest > free {
            return Err(smallest);
        }
        let made = |chunk: u64, pool: u64, in_flight: usize, spill: u64| {
            let sorting = needs.sorting(&shape, in_flight, chunk, spill > 0);
            let memory = pool / chunk * needs.chunk_bytes(chunk);
            Sizes {
                line: words,
                chunk: chunk as usize,
                pool: pool as usize * words,
                in_flight: IN_FLIGHT[in_flight],
                spill,
                start: (count * chunk) as usize * words,
                fixed: [partitioning, sorting].map(|bytes| bytes + pool / chunk * PER_CHUNK),
                partitioning: partitioning + memory,
                sorting: sorting + memory,
            }
        };
        // At the end of partitioning, every thread may have a partly filled line for each bin.
        let lines_of = |edges: u64| edges / LINE as u64 + threads * count;
        let lines = lines_of(needs.edges);
        // The last chunk of every bin is half empty on average. Small chunks reduce this waste.
        let chunk_for = |lines: u64| 1 << (lines / (32 * count.max(1))).clamp(*CHUNK.start(), *CHUNK.end()).ilog2();
        let pool_for = |lines: u64, chunk: u64| (lines + count * chunk).next_multiple_of(chunk);
        // A single thread never waits for another, so one block in flight is enough.
        let most_in_flight = if threads == 1 { 0 } else { IN_FLIGHT.len() - 1 };
        let chunks =
            || std::iter::successors(Some(chunk_for(lines)), |chunk| Some(chunk / 2)).take_while(|c| CHUNK.contains(c));
        for (in_flight, chunk) in (0..=most_in_flight).rev().flat_map(|n| chunks().map(move |chunk| (n, chunk))) {
            let fixed = partitioning.max(needs.sorting(&shape, in_flight, chunk, false));
            let room = free.saturating_sub(fixed) / needs.chunk_bytes(chunk) * chunk;
            if room >= pool_for(lines_of(needs.likely), chunk) {
                return Ok(made(chunk, room.min(pool_for(lines, chunk)), in_flight, 0));
            }
        }
        let fixed = |in_flight, chunk| partitioning.max(needs.sorting(&shape, in_flight, chunk, true));
        // If memory is scarce, memory for bins saves more time than another block in flight.
        let in_flight = usize::from(threads > 1 && fixed(1, *CHUNK.end()) <= free / 2);
        let room = |chunk: u64| (free - fixed(in_flight, chunk).min(free)) / needs.chunk_bytes(chunk) * chunk;
        let mut chunk = chunk_for(lines.min(room(*CHUNK.start())));
        // Every bin needs a chunk, in addition to the memory for reading spilled chunks back.
        while chunk > *CHUNK.start() && room(chunk) < count * chunk {
            chunk /= 2;
        }
        let pool = pool_for(lines, chunk).min(room(chunk).max(count * chunk));
        let spill = (lines - (pool - count * chunk).min(lines)) * line;
        Ok(made(chunk, pool, in_flight, spill))
    }

    /// Shrinks the pool, from which bins grow, by up to `words` 32-bit words, because some edges are stored on GPUs
    /// instead. The pool stays so large that shrinking it does not cause spilling.
    pub fn spare(&mut self, words: usize) {
        let (chunk, lacking) = (self.chunk * self.line, (self.spill / 4) as usize);
        self.pool -= words.saturating_sub(lacking).min(self.pool - self.start) / chunk * chunk;
    }

    /// Returns the number of bytes of the pool that are needed before `threads` threads read the input in slabs
    /// (buffers) of `slab` bytes. Even a sorted input fills only a few bins before its first slabs are processed, and
    /// bins then reuse the memory of these slabs.
    pub fn at_start(&self, threads: usize, slab: u64) -> u64 {
        (4 * self.start as u64 + 2 * threads as u64 * slab).min(4 * self.pool as u64)
    }

    /// Returns the maximum number of bytes of memory for partitioning and sorting. `cached` bytes of the input are in
    /// memory, in slabs (buffers) of `slab` bytes.
    pub fn with_cached(&self, cached: u64, threads: usize, slab: u64) -> u64 {
        let chunk = (4 * self.chunk * self.line) as u64;
        let pool = 4 * self.pool as u64 + cached / slab.max(1) * (slab % chunk) + slab;
        let [partitioning, sorting] = self.fixed;
        (partitioning + pool.max(cached + self.at_start(threads, slab) + slab)).max(sorting + pool)
    }

    /// Returns the sources of the pool's memory if `free` bytes are available, including the memory of `cache`. Removes
    /// cached parts of the input from `cache` until everything fits.
    pub fn pooled(&self, cache: &InputCache<'_>, threads: usize, free: u64) -> PoolSources {
        let slab = cache.slab_bytes();
        while cache.chunks() + cache.spare() > 0 {
            if let Some(pooled) = self.pool_of(cache.spare(), cache.chunks(), threads, slab, free) {
                return pooled;
            }
            cache.release_one();
        }
        cache.release_all();
        PoolSources { own: self.pool, adopted: 0 }
    }

    /// Returns the sources of the pool's memory if the cache of the input has `chunks` full and `spare` empty slabs
    /// (buffers) of `slab` bytes. Returns `None` if they do not fit `free` bytes.
    fn pool_of(&self, spare: usize, chunks: usize, threads: usize, slab: u64, free: u64) -> Option<PoolSources> {
        let [partitioning, sorting] = self.fixed.map(|fixed| free.saturating_sub(fixed));
        let (chunk, start) = (self.chunk * self.line, (self.at_start(threads, slab) / 4) as usize);
        let usable = slab as usize / 4 / chunk * chunk;
        let rest = start.saturating_sub(spare * usable).max(self.pool.saturating_sub((spare + chunks) * usable));
        let own = rest.next_multiple_of(chunk);
        let first = 4 * own as u64 + spare as u64 * slab;
        // Without full slabs, the whole pool may come from empty ones.
        let most_spare = if chunks == 0 { self.pool / usable.max(1) } else { start.div_ceil(usable.max(1)) };
        if spare > most_spare || first + chunks as u64 * slab > partitioning || first > sorting {
            return None;
        }
        let wanted = self.pool.saturating_sub(own + spare * usable).div_ceil(usable.max(1));
        let most = ((sorting - first) / slab) as usize;
        Some(PoolSources { own, adopted: (spare + wanted.min(most)) * slab as usize / 4 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DegreeRuns;
    use proptest::prelude::*;

    fn runs() -> impl Strategy<Value = DegreeRuns> {
        prop::collection::btree_map(1u32..50_000, 1u32..300_000, 1..40)
            .prop_map(|m| DegreeRuns::new(m.into_iter().rev().collect()))
    }

    proptest! {
        #[test]
        fn no_layout_exceeds_the_bound(runs in runs(), directed in any::<bool>()) {
            let direction = Direction::of(directed);
            let edges = runs.iter().map(|(d, from, to)| u64::from(d) * (to - from)).sum::<u64>().div_ceil(2);
            let layout = Layout::new(&runs, edges, direction);
            let ((is, _), most) = (LayoutShape::and_bins(&layout), LayoutShape::at_most(edges, runs.vertices(), direction));
            prop_assert!(is.bins <= most.bins && is.rows <= most.rows, "{is:?} {most:?}");
            prop_assert!(is.largest_bin <= most.largest_bin && is.most_rows <= most.most_rows, "{is:?} {most:?}");
            prop_assert!(is.in_flight.iter().zip(&most.in_flight).all(|(is, most)| is <= most), "{is:?} {most:?}");
        }

        #[test]
        fn shares_keep_within_what_is_free(
            edges in 1u64..1 << 33, rows in 1u64..1 << 28, free in 1u64 << 20..1 << 36, messages in 0u64..1 << 27,
            weighted in any::<bool>(),
        ) {
            let needs = MemoryDemand { edges, likely: edges, ids: rows, reading: 1 << 20, messages, threads: 2, weighted };
            match Sizes::new(LayoutShape::at_most(edges, rows, Direction::Undirected), needs, free) {
                Ok(sizes) => {
                    prop_assert!(sizes.partitioning <= free && sizes.sorting <= free, "{sizes:?}");
                    prop_assert!(sizes.pool as u64 * 4 + sizes.spill >= edges / LINE as u64 * needs.line_bytes(), "{sizes:?}");
                }
                Err(smallest) => {
                    prop_assert!(smallest > free);
                    prop_assert!(Sizes::new(LayoutShape::at_most(edges, rows, Direction::Undirected), needs, smallest).is_ok());
                }
            }
        }

        #[test]
        fn a_pool_of_the_inputs_chunks_keeps_within_what_is_free(
            edges in 1u64..1 << 33,
            rows in 1u64..1 << 28,
            free in 1u64 << 20..1 << 36,
            spare in 0usize..100,
            chunks in prop_oneof![Just(0usize), 1usize..6000],
            slab in prop_oneof![Just(8u64 << 20), Just(12_288)],
            weighted in any::<bool>(),
        ) {
            let needs = MemoryDemand { edges, likely: edges, ids: rows, reading: 1 << 20, messages: 0, threads: 2, weighted };
            let Ok(sizes) = Sizes::new(LayoutShape::at_most(edges, rows, Direction::Undirected), needs, free) else { return Ok(()) };
            let held = |slabs: usize| slabs as u64 * slab;
            if let Some(PoolSources { own, adopted }) = sizes.pool_of(spare, chunks, 2, slab, free) {
                let [partitioning, sorting] = sizes.fixed;
                prop_assert!(partitioning + 4 * own as u64 + held(spare + chunks) <= free, "{sizes:?}");
                prop_assert!(sorting + 4 * (own + adopted) as u64 <= free, "{sizes:?}");
                prop_assert!(partitioning + 4 * own as u64 + held(spare + chunks) <= sizes.with_cached(held(spare + chunks), 2, slab));
                let (words, chunk) = (slab as usize / 4, sizes.chunk * sizes.line);
                let usable = words / chunk * chunk;
                // Every bin has a chunk from the start. In the end the pool has its planned size, unless sorting leaves
                // too little memory.
                prop_assert!(own + spare * usable >= sizes.start.min(sizes.pool), "{sizes:?}");
                let short = own + adopted / words * usable < sizes.pool;
                prop_assert!(!short || sorting + 4 * (own + adopted) as u64 + slab > free, "{sizes:?}");
            } else {
                let most = sizes.with_cached(held(spare + chunks), 2, slab);
                let start = sizes.at_start(2, slab) as usize / 4;
                prop_assert!(most > free || spare * (slab as usize / 4) > start || spare > 0 && slab < 100_000, "{sizes:?}");
            }
        }
    }
}
