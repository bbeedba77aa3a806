//! How the memory limit is shared out between the map, the bins and sorting; the same for a plan and for the run.

use super::blocks::Builder;
use super::partition::{EDGE_BYTES, LINE, Scatter, WORDS};
use super::sort::Sorter;
use crate::formats::Kept;
use crate::graph::degrees;
use crate::graph::layout::{BIN_ROWS, Bins, Layout};

/// Most bins: the lines of a thread (512 bytes a bin) should stay in its core's L2.
const MAX_BINS: u64 = 2048;
/// Entries of a bin that sorts within L2.
const CACHED_BIN: u64 = 1 << 17;
/// Lines of a chunk, from a page or so to what makes sequential disk access fast.
const CHUNK: std::ops::RangeInclusive<u64> = 8..=512;
/// Blocks that may be in memory at once: with few, threads wait for each other's writing.
const IN_FLIGHT: [usize; 3] = [1, 2, 16];
/// Bytes of what keeps track of a chunk.
const PER_CHUNK: u64 = 3 * size_of::<&[u64]>() as u64;

/// What of a layout decides how memory is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of bins.
    pub bins: u64,
    /// Entries of the largest bin.
    pub largest_bin: u64,
    /// Rows of the bin with most.
    pub most_rows: u64,
    /// Rows of all.
    pub rows: u64,
    /// Bytes of sorted rows where as many blocks are in flight as may be: one, two, many.
    pub in_flight: [u64; IN_FLIGHT.len()],
}

impl Shape {
    /// Of this layout, cut into bins.
    pub fn and_bins(layout: &Layout) -> (Self, Bins) {
        let bins = layout.bins((layout.bound() / MAX_BINS).max(CACHED_BIN));
        let shape = Shape {
            bins: bins.spans.len() as u64,
            largest_bin: bins.largest(),
            most_rows: bins.most_rows(),
            rows: layout.rows(),
            in_flight: IN_FLIGHT.map(|n| Builder::in_flight_bytes(layout, n)),
        };
        (shape, bins)
    }

    /// No layout of a graph of `edges` edges and `rows` connected vertices needs more.
    ///
    /// Rows are ordered by degree, so vertex `v` has at most `2·edges / v` neighbours, and a granule, a 1024th of its
    /// ids wide, holds at most `edges / 512` entries. Every row but the first has at least one, so rows are no more
    /// than entries.
    pub fn at_most(edges: u64, rows: u64) -> Self {
        let bound = 2 * edges;
        let granule = edges / 512 + 2048;
        let bin = (bound / MAX_BINS).max(CACHED_BIN).max(granule).min(bound);
        let block = Layout::block_target(edges).max(granule).min(bound);
        // Fewer edges may be cut finer, by the eighth.
        let blocks = 2 * bound / Layout::block_target(edges) + 33;
        let one = 4 * (block + 2 * (block + 1).min(rows));
        Shape {
            // Two bins in a row hold more entries or rows than one may, unless they are of different blocks.
            bins: 2 * (bound / (bound / MAX_BINS).max(CACHED_BIN) + rows / BIN_ROWS) + 2 * blocks + 1,
            largest_bin: bin,
            most_rows: (bin + 1).min(rows).min(BIN_ROWS),
            rows,
            in_flight: IN_FLIGHT.map(|n| (n as u64).min(blocks) * one),
        }
    }
}

/// What preparation works with. Block contents do not depend on it.
#[derive(Debug, Clone)]
pub struct Shares {
    /// Rows in bins.
    pub bins: Bins,
    /// Bytes and entries.
    pub sizes: Sizes,
}

impl Shares {
    /// Shares `free` bytes for a graph of this layout.
    ///
    /// # Errors
    /// The smallest number of free bytes that would do.
    pub fn new(layout: &Layout, needs: Needs, free: u64) -> Result<Self, u64> {
        let (shape, bins) = Shape::and_bins(layout);
        let sizes = Sizes::new(shape, needs, free)?;
        Ok(Shares { bins, sizes })
    }
}

/// What the shares are made from.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Edges to partition: all of the input but loops.
    pub edges: u64,
    /// Input ids in the map.
    pub ids: u64,
    /// Bytes that reading the input and looking its ids up takes.
    pub reading: u64,
    /// Bytes of edges on their way between ranks while they are partitioned.
    pub moving: u64,
    /// Threads.
    pub threads: usize,
}

/// The shares of memory, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Lines of a chunk.
    pub chunk: usize,
    /// Words of all chunks together.
    pub pool: usize,
    /// Blocks in memory at once.
    pub in_flight: usize,
    /// Most bytes that go to the spill file.
    pub spill: u64,
    /// Words of the pool that must be there before the input is read: a chunk for every bin.
    pub start: usize,
    /// Bytes that partitioning and sorting take beside the pool.
    pub beside: [u64; 2],
    /// Most bytes that partitioning takes, map and pool included.
    pub partitioning: u64,
    /// Most bytes that sorting takes, the pool included.
    pub sorting: u64,
}

/// Bytes of a chunk of so many lines and of what keeps track of it.
fn chunk_bytes(lines: u64) -> u64 {
    lines * LINE as u64 * EDGE_BYTES + PER_CHUNK
}

impl Needs {
    /// Bytes that partitioning takes beside bins and what is on the way between ranks.
    fn partitioning(&self, shape: &Shape) -> u64 {
        4 * self.ids + self.threads as u64 * Scatter::bytes(shape.bins as usize) + self.reading
    }

    /// Bytes that sorting takes beside bins in chunks of so many lines, by how many blocks are in flight.
    fn sorting(&self, shape: &Shape, in_flight: usize, chunk: u64) -> u64 {
        let scratch = Sorter::bytes(shape.largest_bin, shape.most_rows, chunk as usize);
        4 * shape.rows + shape.in_flight[in_flight] + self.threads as u64 * (scratch + degrees::Counter::BYTES)
    }

    /// Fewest free bytes that do for partitioning, beside what is on the way between ranks, and for sorting.
    pub fn least(&self, shape: &Shape) -> [u64; 2] {
        let bins = shape.bins * chunk_bytes(*CHUNK.start());
        [self.partitioning(shape), self.sorting(shape, 0, *CHUNK.start())].map(|beside| beside + bins)
    }
}

impl Sizes {
    /// Shares `free` bytes.
    ///
    /// # Errors
    /// The smallest number of free bytes that would do.
    pub fn new(shape: Shape, needs: Needs, free: u64) -> Result<Self, u64> {
        let threads = needs.threads as u64;
        let count = shape.bins;
        let partitioning = needs.partitioning(&shape) + needs.moving;
        let sorting = |in_flight: usize, chunk: u64| needs.sorting(&shape, in_flight, chunk);
        let beside = |in_flight, chunk| partitioning.max(sorting(in_flight, chunk));
        let line = LINE as u64 * EDGE_BYTES;
        let bytes_of = chunk_bytes;
        let [partition, sort] = needs.least(&shape);
        let smallest = (partition + needs.moving).max(sort);
        if smallest > free {
            return Err(smallest);
        }
        // Every thread ends with a line for each bin that is not full.
        let lines = needs.edges / LINE as u64 + threads * count;
        // Blocks in flight are worth less than the bins' memory where that is scarce.
        let all_lines = (lines / CHUNK.end() + count + 1) * bytes_of(*CHUNK.end());
        // Few threads have nobody to wait for.
        let in_flight = match () {
            () if threads == 1 => 0,
            () if beside(2, *CHUNK.end()) + all_lines <= free => 2,
            () if beside(1, *CHUNK.end()) <= free / 2 => 1,
            () => 0,
        };
        let room = |chunk: u64| (free - beside(in_flight, chunk).min(free)) / bytes_of(chunk) * chunk;
        // The last chunk of every bin is half empty: all of these together should waste little.
        let spread = lines.min(room(*CHUNK.start())) / (32 * count.max(1));
        let mut chunk = 1 << spread.clamp(*CHUNK.start(), *CHUNK.end()).ilog2();
        // Reading chunks back takes memory, too.
        while chunk > *CHUNK.start() && room(chunk) < count * chunk {
            chunk /= 2;
        }
        let wanted = (lines + count * chunk).next_multiple_of(chunk);
        let pool = wanted.min(room(chunk).max(count * chunk));
        let spill = if pool == wanted { 0 } else { (lines - (pool - count * chunk).min(lines)) * line };
        let memory = pool / chunk * bytes_of(chunk);
        Ok(Sizes {
            chunk: chunk as usize,
            pool: pool as usize * WORDS,
            in_flight: IN_FLIGHT[in_flight],
            spill,
            start: (count * chunk) as usize * WORDS,
            beside: [partitioning, sorting(in_flight, chunk)].map(|bytes| bytes + pool / chunk * PER_CHUNK),
            partitioning: partitioning + memory,
            sorting: sorting(in_flight, chunk) + memory,
        })
    }
}

/// Where the pool's memory comes from when the input is in memory, too: a chunk of the input is memory for bins as soon
/// as its edges are in some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pooled {
    /// Words to allocate.
    pub own: usize,
    /// Words that come from the input's chunks.
    pub adopted: usize,
}

impl Sizes {
    /// Takes `words` words from the pool, or as many as it can spare: those of lines that stay elsewhere.
    pub fn spare(&mut self, words: usize) {
        let (chunk, lacking) = (self.chunk * WORDS, (self.spill / 4) as usize);
        self.pool -= words.saturating_sub(lacking).min(self.pool - self.start) / chunk * chunk;
    }

    /// Bytes of the pool that must be there before the input is read by `threads` threads in chunks of `slab` bytes: an
    /// input that is sorted fills few bins while its first chunks are not done.
    pub fn at_start(&self, threads: usize, slab: u64) -> u64 {
        (4 * self.start as u64 + 2 * threads as u64 * slab).min(4 * self.pool as u64)
    }

    /// Most bytes that partitioning and sorting take with `kept` bytes of the input in slabs of `slab` bytes.
    pub fn with_kept(&self, kept: u64, threads: usize, slab: u64) -> u64 {
        let chunk = (4 * self.chunk * WORDS) as u64;
        let pool = 4 * self.pool as u64 + kept / slab.max(1) * (slab % chunk) + slab;
        let [partitioning, sorting] = self.beside;
        (partitioning + pool.max(kept + self.at_start(threads, slab) + slab)).max(sorting + pool)
    }

    /// Shares `free` bytes, those of `kept` among them; `kept` gives back what does not fit.
    pub fn pooled(&self, kept: &Kept<'_>, threads: usize, free: u64) -> Pooled {
        let slab = kept.slab_bytes();
        while kept.chunks() > 0 {
            if let Some(pooled) = self.pool_of(kept.spare(), kept.chunks(), threads, slab, free) {
                return pooled;
            }
            kept.release_one();
        }
        kept.release_all();
        Pooled { own: self.pool, adopted: 0 }
    }

    /// The pool where `chunks` slabs of `slab` bytes hold input and `spare` ones nothing; none if that is too much.
    fn pool_of(&self, spare: usize, chunks: usize, threads: usize, slab: u64, free: u64) -> Option<Pooled> {
        let [partitioning, sorting] = self.beside.map(|beside| free.saturating_sub(beside));
        let (chunk, start) = (self.chunk * WORDS, (self.at_start(threads, slab) / 4) as usize);
        let usable = slab as usize / 4 / chunk * chunk;
        let rest = start.saturating_sub(spare * usable).max(self.pool.saturating_sub((spare + chunks) * usable));
        let own = rest.next_multiple_of(chunk);
        let first = 4 * own as u64 + spare as u64 * slab;
        if spare > start.div_ceil(usable.max(1)) || first + chunks as u64 * slab > partitioning || first > sorting {
            return None;
        }
        let wanted = self.pool.saturating_sub(own + spare * usable).div_ceil(usable.max(1));
        let most = ((sorting - first) / slab) as usize;
        Some(Pooled { own, adopted: (spare + wanted.min(most)) * slab as usize / 4 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::order::DegreeRuns;
    use proptest::prelude::*;

    fn runs() -> impl Strategy<Value = DegreeRuns> {
        prop::collection::btree_map(1u32..50_000, 1u32..300_000, 1..40)
            .prop_map(|m| DegreeRuns::new(m.into_iter().rev().collect()))
    }

    proptest! {
        #[test]
        fn no_layout_exceeds_the_bound(runs in runs()) {
            let edges = runs.iter().map(|(d, from, to)| u64::from(d) * (to - from)).sum::<u64>().div_ceil(2);
            let layout = Layout::new(&runs, edges);
            let ((is, _), most) = (Shape::and_bins(&layout), Shape::at_most(edges, layout.rows()));
            prop_assert!(is.bins <= most.bins && is.rows <= most.rows, "{is:?} {most:?}");
            prop_assert!(is.largest_bin <= most.largest_bin && is.most_rows <= most.most_rows, "{is:?} {most:?}");
            prop_assert!(is.in_flight.iter().zip(&most.in_flight).all(|(is, most)| is <= most), "{is:?} {most:?}");
        }

        #[test]
        fn shares_keep_within_what_is_free(
            edges in 1u64..1 << 33, rows in 1u64..1 << 28, free in 1u64 << 20..1 << 36, moving in 0u64..1 << 27,
        ) {
            let needs = Needs { edges, ids: rows, reading: 1 << 20, moving, threads: 2 };
            match Sizes::new(Shape::at_most(edges, rows), needs, free) {
                Ok(sizes) => {
                    prop_assert!(sizes.partitioning <= free && sizes.sorting <= free, "{sizes:?}");
                    prop_assert!(sizes.pool as u64 * 4 + sizes.spill >= edges / LINE as u64 * LINE as u64 * EDGE_BYTES, "{sizes:?}");
                }
                Err(smallest) => {
                    prop_assert!(smallest > free);
                    prop_assert!(Sizes::new(Shape::at_most(edges, rows), needs, smallest).is_ok());
                }
            }
        }

        #[test]
        fn a_pool_of_the_inputs_chunks_keeps_within_what_is_free(
            edges in 1u64..1 << 33,
            rows in 1u64..1 << 28,
            free in 1u64 << 20..1 << 36,
            spare in 0usize..100,
            chunks in 1usize..6000,
            slab in prop_oneof![Just(8u64 << 20), Just(12_288)],
        ) {
            let needs = Needs { edges, ids: rows, reading: 1 << 20, moving: 0, threads: 2 };
            let Ok(sizes) = Sizes::new(Shape::at_most(edges, rows), needs, free) else { return Ok(()) };
            let held = |slabs: usize| slabs as u64 * slab;
            if let Some(Pooled { own, adopted }) = sizes.pool_of(spare, chunks, 2, slab, free) {
                let [partitioning, sorting] = sizes.beside;
                prop_assert!(partitioning + 4 * own as u64 + held(spare + chunks) <= free, "{sizes:?}");
                prop_assert!(sorting + 4 * (own + adopted) as u64 <= free, "{sizes:?}");
                prop_assert!(partitioning + 4 * own as u64 + held(spare + chunks) <= sizes.with_kept(held(spare + chunks), 2, slab));
                let (words, chunk) = (slab as usize / 4, sizes.chunk * WORDS);
                let usable = words / chunk * chunk;
                // A chunk for every bin from the start, and the whole pool at the end unless sorting has no room.
                prop_assert!(own + spare * usable >= sizes.start.min(sizes.pool), "{sizes:?}");
                let short = own + adopted / words * usable < sizes.pool;
                prop_assert!(!short || sorting + 4 * (own + adopted) as u64 + slab > free, "{sizes:?}");
            } else {
                let most = sizes.with_kept(held(spare + chunks), 2, slab);
                let start = sizes.at_start(2, slab) as usize / 4;
                prop_assert!(most > free || spare * (slab as usize / 4) > start || spare > 0 && slab < 100_000, "{sizes:?}");
            }
        }
    }
}
