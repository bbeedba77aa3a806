//! Builds the stored blocks of rows from bins of edges. Threads sort bins in the order of rows. The thread that sorts
//! the last bin of a block also writes the block, while the other threads sort the bins of the next one.

use super::gate::Gate;
use super::partition::Partition;
use super::partition::staged_rows::StagedRows;
use super::sort::{SortBin, SortedRows};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::Watch;
use crate::graph::weights::stored as stored_weights;
use crate::graph::{Bins, BlockSize, Degrees, GraphWeights, Half, Layout, WeightsWriter, stored};
use crate::process::threads::on_threads;
use crate::store::sync::Syncer;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Builder that sorts bins into rows, and writes the rows as stored blocks.
pub struct Builder<'a, 'p> {
    /// Bins, which must already contain all edges.
    pub partition: &'a Partition<'p>,
    /// Division of the rows into bins.
    pub bins: &'a Bins,
    /// For each block, whether it must be built; the others are stored already.
    pub wanted: &'a [bool],
    /// Array that receives the degrees of the simple graph.
    pub degrees: &'a Degrees,
    /// Destination of the blocks and of their weights.
    pub files: BlockFiles<'a>,
    /// Number of blocks whose sorted bins may be in memory at once. With two blocks, one is sorted while the other is
    /// written.
    pub in_flight: usize,
}

/// Destination of the blocks of a graph's lower half (for each vertex, its neighbours with smaller ids), and of their
/// weights.
#[derive(Clone, Copy)]
pub struct BlockFiles<'a> {
    /// Folder in which the files are written.
    pub folder: &'a Path,
    /// Key that identifies the graph in its files.
    pub key: u64,
    /// Division of the rows into blocks.
    pub layout: &'a Layout,
    /// Description of the edges' weights; `None` if edges have no weights.
    pub weights: Option<GraphWeights>,
    /// Thread that makes the written blocks durable in the background.
    pub syncer: &'a Syncer,
}

/// Total size of all blocks that were built.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct BuiltBlocks {
    /// Number of stored row entries (neighbours), one for each distinct edge.
    pub entries: u64,
    /// Number of bytes written.
    pub bytes: u64,
}

impl BlockFiles<'_> {
    /// Writes block `block`, and the file of its weights if edges have weights. Each of the `parts` contains
    /// consecutive rows, as (row lengths, targets, weights).
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`]; [`Error::Input`] if the block would have 2^32 entries or more.
    pub(super) fn write(&self, block: usize, parts: &[[&[u32]; 3]]) -> Result<BuiltBlocks> {
        let rows: Vec<(&[u32], &[u32])> = parts.iter().map(|&[lengths, targets, _]| (lengths, targets)).collect();
        let pending = stored::write(self.folder, self.key, self.layout, block, &rows)?;
        let entries = rows.iter().map(|(_, targets)| targets.len() as u64).sum();
        let mut bytes = self.syncer.push(pending).bytes;
        if let Some(weights) = self.weights {
            failpoint::hit("weights.block")
                .map_err(|e| Error::io("write", stored_weights::path(self.folder, Half::Lower, block), e))?;
            let mut file = WeightsWriter::create(self.folder, weights, Half::Lower, self.layout, block, entries)?;
            parts.iter().try_for_each(|&[_, _, weights]| file.append(weights))?;
            bytes += self.syncer.push(file.finish()?).bytes;
        }
        Ok(BuiltBlocks { entries, bytes })
    }
}

impl<'p> Builder<'_, 'p> {
    /// Returns the maximum total size in bytes of any `in_flight` consecutive blocks. `of_block` returns the size of
    /// one block.
    pub fn in_flight_bytes(layout: &Layout, in_flight: usize, of_block: fn(BlockSize) -> u64) -> u64 {
        let size = |b: usize| BlockSize { rows: layout.block(b).len() as u64, entries: layout.block(b).bound };
        let blocks: Vec<u64> = (0..layout.blocks()).map(|b| of_block(size(b))).collect();
        blocks.windows(in_flight.min(blocks.len()).max(1)).map(|w| w.iter().sum()).max().unwrap_or(0)
    }

    /// Builds all wanted blocks, with one thread for each of the `sorters`. `watch` advances by the number of edges
    /// read from bins.
    ///
    /// # Errors
    /// Errors of the disk and of the spill file, and cancellation reported by `watch`.
    pub fn build(&self, sorters: Vec<Box<dyn SortBin + '_>>, watch: &dyn Watch) -> Result<BuiltBlocks> {
        let shared = SharedBlocks {
            next: AtomicUsize::new(0),
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            slots: (0..self.files.layout.blocks()).map(|_| Mutex::default()).collect(),
            front: Gate::new(0),
            spare: Mutex::default(),
        };
        // Start after the blocks that are stored already, so that no thread waits for them.
        self.advance_front(&shared);
        on_threads(sorters.into_iter(), |mut sorter| {
            shared.front.run(|| self.sort_bins(&mut *sorter, &shared, watch))
        })?;
        Ok(BuiltBlocks { entries: shared.entries.into_inner(), bytes: shared.bytes.into_inner() })
    }

    fn sort_bins(&self, sorter: &mut dyn SortBin, shared: &SharedBlocks<'p>, watch: &dyn Watch) -> Result<()> {
        let mut degrees = self.degrees.counter(self.files.layout.direction());
        loop {
            let bin = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(span) = self.bins.spans.get(bin) else { return Ok(()) };
            let block = self.bins.block_of[bin];
            if !self.wanted[block] {
                continue;
            }
            // Wait until few enough unfinished blocks precede this one, or until another thread has failed.
            if !shared.front.wait(|front| block < front + self.in_flight) {
                return Ok(());
            }
            let mut rows = shared.spare.lock().pop().unwrap_or_default();
            let part = self.partition.part(bin);
            let first_row = span.rows.start as u32;
            let sorted = sorter.sort(&part, first_row, span.len(), &mut rows)?;
            watch.advance(sorted.edges)?;
            if !sorted.counted {
                degrees.rows(first_row, rows.lengths.iter().copied(), &rows.targets);
            }
            // If all edges of the bin are on a GPU, keep its rows in the buffer: the GPU delivers them at the speed of
            // memory, so copying them would cost as much again.
            let part = if sorted.counted && !part.has_lines_here() {
                SortedBin::Rows(rows)
            } else {
                let staged = part.stage(rows.slices())?;
                shared.spare.lock().push(rows);
                SortedBin::StagedRows(staged)
            };
            self.deliver(shared, block, bin, part, watch)?;
        }
    }

    /// Adds a sorted bin to its block, and writes the block if all its bins are now sorted.
    fn deliver(
        &self,
        shared: &SharedBlocks<'p>,
        block: usize,
        bin: usize,
        part: SortedBin<'p>,
        watch: &dyn Watch,
    ) -> Result<()> {
        let first = self.bins.block_of.partition_point(|&b| b < block);
        let bins = self.bins.block_of.partition_point(|&b| b <= block) - first;
        let parts = {
            let mut slot = shared.slots[block].lock();
            slot.parts.resize_with(bins, || None);
            slot.parts[bin - first] = Some(part);
            slot.ready += 1;
            if slot.ready < bins {
                return Ok(());
            }
            std::mem::take(&mut slot.parts)
        };
        let parts: Vec<SortedBin<'p>> = parts.into_iter().flatten().collect();
        if !parts.iter().any(|part| matches!(part, SortedBin::StagedRows(_))) {
            // Release the bins' memory before the file is written, so that the kernel can reuse these pages for the
            // file cache.
            self.partition.release(block, Vec::new());
        }
        let mut slices: Vec<[&[u32]; 3]> = Vec::new();
        for part in &parts {
            match part {
                SortedBin::Rows(rows) => slices.push(rows.slices()),
                SortedBin::StagedRows(rows) => slices.extend(rows.pieces()),
            }
        }
        let BuiltBlocks { entries, bytes } = self.files.write(block, &slices)?;
        shared.entries.fetch_add(entries, Ordering::Relaxed);
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        watch.wrote(bytes);
        let (mut staged, mut spare) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                SortedBin::Rows(rows) => spare.push(rows),
                SortedBin::StagedRows(rows) => staged.push(rows),
            }
        }
        self.partition.release(block, staged);
        shared.spare.lock().extend(spare);
        shared.slots[block].lock().written = true;
        self.advance_front(shared);
        Ok(())
    }

    /// Advances `shared.front`, the index of the first block that is not stored, past all blocks that are stored now.
    fn advance_front(&self, shared: &SharedBlocks<'p>) {
        let is_stored = |b: usize| !self.wanted[b] || shared.slots[b].lock().written;
        let more = |front: &mut usize| (*front..shared.slots.len()).take_while(|&b| is_stored(b)).count();
        shared.front.take(|_| true, |front| *front += more(front));
    }
}

/// The rows of a sorted bin: in the buffer into which they were sorted, or copied to memory of the block's bins.
#[derive(Debug)]
enum SortedBin<'p> {
    Rows(SortedRows),
    StagedRows(StagedRows<'p>),
}

/// Sorted bins of one block that is not complete yet.
#[derive(Debug, Default)]
struct BlockSlot<'p> {
    parts: Vec<Option<SortedBin<'p>>>,
    ready: usize,
    written: bool,
}

struct SharedBlocks<'p> {
    next: AtomicUsize,
    entries: AtomicU64,
    bytes: AtomicU64,
    slots: Vec<Mutex<BlockSlot<'p>>>,
    /// Index of the first block that is not stored yet.
    front: Gate<usize>,
    /// Free buffers for sorted rows. They are reused, because the kernel has already allocated their pages.
    spare: Mutex<Vec<SortedRows>>,
}
