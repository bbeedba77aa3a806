//! How the memory limit is shared out between the map, the bins and sorting; the same for a plan and for the run.

use super::blocks::Builder;
use super::partition::{EDGE_BYTES, LINE, Scatter, WORDS};
use super::sort::Sorter;
use crate::graph::degrees;
use crate::graph::layout::{Bins, Layout};

/// Most bins: the lines of a thread (512 bytes a bin) should stay in its core's L2.
const MAX_BINS: u64 = 2048;
/// Entries of a bin that sorts within L2.
const CACHED_BIN: u64 = 1 << 17;
/// Lines of a chunk, from a page or so to what makes sequential disk access fast.
const CHUNK: std::ops::RangeInclusive<u64> = 8..=512;

/// What preparation works with. Block contents do not depend on it.
#[derive(Debug, Clone)]
pub struct Shares {
    /// Rows in bins.
    pub bins: Bins,
    /// Lines of a chunk.
    pub chunk: usize,
    /// Words of all chunks together.
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
        let line = LINE as u64 * EDGE_BYTES;
        let smallest = beside(1, *CHUNK.start()) + count * CHUNK.start() * line;
        if smallest > free {
            return Err(smallest);
        }
        // Two blocks in flight keep all threads busy; they are worth less than the bins' memory only where it is scarce.
        let in_flight = if beside(2, *CHUNK.end()) <= free / 2 { 2 } else { 1 };
        let room = |chunk: u64| (free - beside(in_flight, chunk).min(free)) / line;
        // Every thread ends with a line for each bin that is not full.
        let lines = needs.edges / LINE as u64 + threads * count;
        // The last chunk of every bin is half empty: all of these together should waste little.
        let spread = lines.min(room(*CHUNK.start())) / (32 * count.max(1));
        let chunk = 1 << spread.clamp(*CHUNK.start(), *CHUNK.end()).ilog2();
        let wanted = (lines + count * chunk).next_multiple_of(chunk);
        let pool = wanted.min((room(chunk) / chunk * chunk).max(count * chunk));
        let spill = if pool == wanted { 0 } else { (lines - (pool - count * chunk).min(lines)) * line };
        let peak = beside(in_flight, chunk) + pool * line;
        Ok(Shares { bins, chunk: chunk as usize, pool: pool as usize * WORDS, in_flight, spill, peak })
    }
}
