//! Triangle counts in GPU memory: per vertex, which are added to the counts on the host from time to time, and per
//! edge.

use crate::algo::searches::gpu::{joined, receive};
use crate::error::Result;
use crate::gpu::{DeviceSlice, Queue, Uploader};
use crate::graph::block_store::BlockStore;
use crate::process::signals;
use crate::stream::RowBatch;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Number of triangle counts that are copied at once.
const AT_ONCE: usize = 1 << 20;
/// Minimum time between two moves of the counts to the host, as a multiple of the time that a move takes.
const STAYING: u32 = 20;
/// Assumed transfer rate to the host in bytes per second, until the first move is measured.
const MOVED_A_SECOND: f64 = 4e9;

/// Triangle counts per vertex.
pub struct VertexCounts<'a> {
    on_host: &'a [AtomicU64],
    pub on_gpu: DeviceSlice<u64>,
    /// Time at which counts were last moved to the host (or the count began), and duration of the last move (an
    /// estimate before the first).
    moved: (Instant, Duration),
}

impl<'a> VertexCounts<'a> {
    /// Creates counts that begin with the values on the host. `on_gpu` must contain a zero for each vertex.
    pub fn new(on_host: &'a [AtomicU64], on_gpu: DeviceSlice<u64>) -> VertexCounts<'a> {
        let guess = Duration::from_secs_f64(size_of_val(on_host) as f64 / MOVED_A_SECOND);
        VertexCounts { on_host, on_gpu, moved: (Instant::now(), guess) }
    }

    /// Returns true if it is time to move the counts to the host, so that units can be reported: if the last move was
    /// long enough ago, or if the job must stop.
    pub fn is_due(&self) -> bool {
        let (end, took) = self.moved;
        signals::stop_requested().is_some() || end.elapsed() >= STAYING * took
    }

    /// Adds the counts on the GPU to those on the host, and sets them to zero on the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn move_to_host(&mut self, queue: &Queue) -> Result<()> {
        let started = Instant::now();
        let mut some = vec![0u64; AT_ONCE.min(self.on_host.len())];
        for (i, counts) in self.on_host.chunks(AT_ONCE).enumerate() {
            let some = &mut some[..counts.len()];
            queue.read(self.on_gpu.part((i * AT_ONCE) as u64..u64::MAX), some)?;
            counts.par_iter().zip(some.par_iter()).for_each(|(count, &more)| add(count, more));
        }
        queue.fill(self.on_gpu, 0)?;
        self.moved = (Instant::now(), started.elapsed());
        Ok(())
    }

    /// Faster variant of [`Self::move_to_host`]. The queue must have finished all work, and nothing else may be copied
    /// at the same time.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn move_to_host_alone(&mut self, queue: &Queue, uploader: &mut Uploader) -> Result<()> {
        let words = DeviceSlice::at(self.on_gpu.address(), 2 * self.on_gpu.len());
        let parts = |share| self.on_host.chunks(share).map(|part| part.iter());
        receive(uploader, words, self.on_host.len(), parts, |count, more| add(count, joined(more)))?;
        queue.fill(self.on_gpu, 0)
    }
}

/// Triangle counts per edge, for the edges of consecutive blocks.
pub struct EdgeCounts {
    blocks: Range<usize>,
    /// Index of the first triangle count of each block, followed by the total number of counts.
    starts: Vec<u64>,
    on_gpu: DeviceSlice<u32>,
}

/// Triangle counts of the entries of a batch, as passed to kernels. The layout must match `EdgeCounts` in the
/// kernels.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct DeviceEdgeCounts {
    counts: u64,
    first: u32,
    count: u32,
}

const _: () = assert!(size_of::<DeviceEdgeCounts>() == 16, "the kernels have a static_assert of the same size");

impl EdgeCounts {
    /// Divides `on_gpu` among the blocks `blocks` of `graph`, with one count per edge.
    pub fn new(graph: &BlockStore, blocks: Range<usize>, on_gpu: DeviceSlice<u32>) -> EdgeCounts {
        let sizes = blocks.clone().map(|block| graph.size(block).entries);
        let ends = sizes.scan(0, |sum, entries| {
            *sum += entries;
            Some(*sum)
        });
        EdgeCounts { blocks, starts: [0].into_iter().chain(ends).collect(), on_gpu }
    }

    /// Returns the counts per edge of `block`, which must be one of the counted blocks.
    pub fn of_block(&self, block: usize) -> DeviceSlice<u32> {
        let at = block - self.blocks.start;
        self.on_gpu.part(self.starts[at]..self.starts[at + 1])
    }

    /// Returns the counts of those entries of `batch` that belong to the counted blocks.
    pub fn of_batch(&self, batch: &RowBatch) -> DeviceEdgeCounts {
        let (mut counts, mut before) = (DeviceEdgeCounts::default(), 0);
        for segment in &batch.segments {
            let entries = segment.entries.len() as u32;
            if self.blocks.contains(&segment.block) {
                if counts.count == 0 {
                    let of_segment = self.of_block(segment.block).part(segment.entries.start as u64..u64::MAX);
                    counts = DeviceEdgeCounts { counts: of_segment.address(), first: before, count: 0 };
                }
                counts.count += entries;
            }
            before += entries;
        }
        counts
    }
}

fn add(count: &AtomicU64, more: u64) {
    if more > 0 {
        count.fetch_add(more, Relaxed);
    }
}
