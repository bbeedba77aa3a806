//! How the memory limit is shared out between the map, the bins and sorting; the same for a plan and for the run.

use super::blocks::Builder;
use super::partition::{Entry, Scatter};
use super::sort::Sorter;
use crate::graph::degrees;
use crate::graph::layout::{Bins, Layout};

/// Most bins: the lines of a thread (512 bytes a bin) should stay in its core's L2.
const MAX_BINS: u64 = 2048;
/// Entries of a bin that sorts within L2.
const CACHED_BIN: u64 = 1 << 17;
/// Entries of a chunk, from a page to what makes sequential disk access fast.
const CHUNK: std::ops::RangeInclusive<u64> = 512..=32_768;

/// What preparation works with. Block contents do not depend on it.
#[derive(Debug, Clone)]
pub struct Shares {
    /// Rows in bins.
    pub bins: Bins,
    /// Entries of a chunk.
    pub chunk: usize,
    /// Entries of all chunks together.
    pub pool: usize,
    /// Blocks in memory at once.
    pub in_flight: usize,
    /// Most bytes that go to the spill file.
    pub spill: u64,
    /// Most bytes that partitioning and sorting take, the map included.
    pub peak: u64,
}

/// What the shares are made from.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Edges to partition: all of the input but loops.
    pub edges: u64,
    /// Input ids in the map.
    pub ids: u64,
    /// Bytes that reading the input takes.
    pub reading: u64,
    /// Threads.
    pub threads: usize,
}

impl Shares {
    /// Shares `free` bytes for a graph of this layout.
    ///
    /// # Errors
    /// The smallest number of free bytes that would do.
    pub fn new(layout: &Layout, needs: Needs, free: u64) -> Result<Self, u64> {
        let threads = needs.threads as u64;
        let bins = layout.bins((layout.bound() / MAX_BINS).max(CACHED_BIN));
        let count = bins.spans.len() as u64;
        let partitioning = 4 * needs.ids + threads * Scatter::bytes(bins.spans.len()) + needs.reading;
        let sorting = |in_flight: usize, chunk: u64| {
            let scratch = Sorter::bytes(bins.largest(), bins.most_rows(), chunk as usize);
            4 * layout.rows()
                + Builder::in_flight_bytes(layout, in_flight)
                + threads * (scratch + degrees::Counter::BYTES)
        };
        let beside = |in_flight, chunk| partitioning.max(sorting(in_flight, chunk));
        let smallest = beside(1, *CHUNK.start()) + count * CHUNK.start() * 8;
        if smallest > free {
            return Err(smallest);
        }
        // Two blocks in flight keep all threads busy; they are worth less than the bins' memory only where it is scarce.
        let in_flight = if beside(2, *CHUNK.end()) <= free / 2 { 2 } else { 1 };
        let pool_of = |chunk: u64| (free - beside(in_flight, chunk).min(free)) / (8 * chunk) * chunk;
        // The last chunk of every bin is half empty: all of these together should waste little.
        let entries = needs.edges.min(pool_of(*CHUNK.start()));
        let chunk = 1 << (entries / (32 * count.max(1))).clamp(*CHUNK.start(), *CHUNK.end()).ilog2();
        let wanted = (needs.edges + count * chunk).next_multiple_of(chunk);
        let pool = wanted.min(pool_of(chunk).max(count * chunk));
        let spill = if pool == wanted { 0 } else { (needs.edges - (pool - count * chunk)) * size_of::<Entry>() as u64 };
        let peak = beside(in_flight, chunk) + pool * size_of::<Entry>() as u64;
        Ok(Shares { bins, chunk: chunk as usize, pool: pool as usize, in_flight, spill, peak })
    }
}
