//! Sorts bins into rows that stay in GPU memory or host memory for the tasks of the job. The rows are not written to
//! files, so a job that is restarted must prepare its graph again.
#![allow(unsafe_code)] // kernel launches

use super::{SortLane, SortedOnGpu, Sorters};
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::gpu::{DeviceSlice, slice_bytes};
use crate::graph::{Bins, BlockSize, DegreeSummary, HostBlock, Layout};
use crate::prepare::gate::Gate;
use crate::prepare::partition::{LINE, Partition};
use crate::process::threads::on_threads;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// The bins to sort, and the blocks that contain the bins.
#[derive(Clone, Copy)]
pub struct Build<'a, 'p> {
    /// Bins, which must already contain all edges.
    pub partition: &'a Partition<'p>,
    /// Division of the rows into bins.
    pub bins: &'a Bins,
    /// Division of the rows into blocks.
    pub layout: &'a Layout,
    /// For each block, whether this rank builds it.
    pub wanted: &'a [bool],
}

/// Returns, for each block, its number of rows and an upper bound on its number of entries; `lines` is the number of
/// lines (groups of 64 edges) in each bin.
pub fn most_sizes(layout: &Layout, bins: &Bins, lines: &[u64]) -> Vec<BlockSize> {
    let mut entries = vec![0; layout.blocks()];
    bins.block_of.iter().zip(lines).for_each(|(&block, lines)| entries[block] += lines * LINE as u64);
    let size = |(block, entries)| BlockSize { rows: layout.block(block).len() as u64, entries };
    entries.into_iter().enumerate().map(size).collect()
}

/// Maximum number of moves of memory pages from bins to rows. Each move creates a separate mapping, and Linux limits a
/// process to 65,530 mappings.
const MOST_MOVES: usize = 1 << 14;

/// Number of u64 values in the summary of degrees that a kernel returns: the sum of all degrees, the largest degree,
/// and the 128-bit number of wedges.
pub(super) const SUMS: u64 = 4;

impl Sorters<'_> {
    /// Sorts all bins of this rank into `memory` on the GPU, and returns the number of entries of each block. `memory`
    /// must begin at the start of the arena, and must be large enough for blocks of the sizes that [`most_sizes`]
    /// returns. The plan must come from [`Sorters::plan_all`].
    ///
    /// # Errors
    /// [`Error::Lost`], and cancellation reported by `watch`.
    pub fn keep(&mut self, build: Build<'_, '_>, memory: DeviceSlice<u32>, watch: &dyn Watch) -> Result<Vec<u64>> {
        let Build { bins, layout, wanted, .. } = build;
        let mut end = 0;
        let offsets = (0..layout.blocks()).map(|block| {
            let start = end;
            end += if wanted[block] { slice_bytes::<u32>(layout.block(block).len() as u64 + 1) } else { 0 };
            start
        });
        let offsets: Vec<u64> = offsets.collect();
        // Byte offset in `memory` of the targets of the bin's block.
        let mut targets = end;
        let room = |placed: &PlacedBin, entries: &[u64]| {
            targets += placed.done.map_or(0, |done| slice_bytes::<u32>(entries[done]));
            targets + 4 * placed.before
        };
        let put = |lane: &mut SortLane<'_>,
                   sorted: &SortedOnGpu,
                   &PlacedBin { bin, block, before, done }: &PlacedBin,
                   targets: u64| {
            done.into_iter().for_each(|done| build.partition.release(done, Vec::new()));
            let (span, distinct) = (&bins.spans[bin], u64::from(sorted.distinct));
            let words = |byte: u64, len: u64| memory.part(byte / 4..byte / 4 + len);
            let queue = lane.lane.queue();
            queue.copy(lane.room.out.part(0..distinct), words(targets, distinct))?;
            let row = span.rows.start - layout.block(block).rows.start;
            let offsets = words(offsets[block] + 4 * row, span.len() as u64 + 1);
            let grid = queue.grid(span.len() as u64 + 1);
            // SAFETY: the arguments are as the kernel declares them. The kernel writes the offsets of this bin's
            // rows and the first offset of the next bin, which writes the same value there.
            unsafe { queue.launch(&lane.kernels.place_rows, grid, (sorted.unit, before as u32, offsets.address())) }
        };
        self.in_order(build, watch, room, put)
    }

    /// Sorts all bins of this rank into its `blocks` in host memory, and returns the number of entries of each block.
    /// The blocks must be allocated with the sizes that [`most_sizes`] returns. The plan must come from
    /// [`Sorters::plan_all`].
    ///
    /// # Errors
    /// Errors of [`Self::keep`].
    pub fn sort_to_host(
        &mut self,
        build: Build<'_, '_>,
        blocks: &mut [HostBlock],
        watch: &dyn Watch,
    ) -> Result<Vec<u64>> {
        let Build { bins, layout, wanted, .. } = build;
        // The part of each block's offsets and targets that is not written yet.
        let mut blocks = blocks.iter_mut();
        let part = |&wanted: &bool| if wanted { blocks.next() } else { None }.map(HostBlock::parts).unwrap_or_default();
        let mut left: Vec<_> = wanted.iter().map(part).collect();
        let mut moves = MOST_MOVES;
        let room = |&PlacedBin { bin, block, before, done }: &PlacedBin, entries: &[u64]| {
            let (offsets, targets) = &mut left[block];
            // The rows reuse the memory pages of the previous block's bins.
            if let Some(done) = done {
                moves -= build.partition.move_memory(done, targets, moves);
            }
            let rows = bins.spans[bin].rows.clone();
            // The last bin of a block also gets the element for the end of the block's last row.
            let last = rows.end == layout.block(block).rows.end;
            let offsets = offsets.split_off_mut(..(rows.end - rows.start) as usize + usize::from(last));
            let targets = targets.split_off_mut(..(entries[block] - before) as usize);
            (offsets.unwrap_or_default(), targets.unwrap_or_default())
        };
        let put =
            |lane: &mut SortLane<'_>, sorted: &SortedOnGpu, placed: &PlacedBin, room: (&mut [u32], &mut [u32])| {
                let (offsets, mut targets) = room;
                let (mut end, mut row) = (placed.before as u32, 0);
                let rows = u64::from(sorted.unit.rows);
                let SortLane { lane, room, .. } = lane;
                lane.receive(room.lengths.part(0..rows), 1, |lengths| {
                    for length in lengths {
                        offsets[row] = end;
                        end += length;
                        row += 1;
                    }
                    Ok(())
                })?;
                offsets[row..].fill(end);
                lane.receive(room.out.part(0..sorted.distinct.into()), 1, |words| {
                    targets.split_off_mut(..words.len()).unwrap_or_default().copy_from_slice(words);
                    Ok(())
                })
            };
        self.in_order(build, watch, room, put)
    }

    /// Returns the GPU memory that contains the degrees counted on the GPU.
    pub fn degrees(&self) -> DeviceSlice<u32> {
        self.degrees
    }

    /// Adds the degrees that other ranks counted for the rows in `share` to this rank's degrees; `others` are the
    /// degrees in the other ranks' GPU memory. Returns a summary of the resulting degrees, and the total number of edge
    /// ends. The plan must come from [`Sorters::plan_all`], and all bins must be sorted.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn sum_up(&mut self, others: &[DeviceSlice<u32>], share: Range<usize>) -> Result<(DegreeSummary, u64)> {
        let nobody = || Error::internal("sum up degrees", "no lane");
        let SortLane { kernels, lane, room, .. } = self.lanes.first_mut().ok_or_else(nobody)?;
        let (queue, len) = (lane.queue(), share.len() as u64);
        let share = share.start as u64..share.end as u64;
        let mine = self.degrees.part(share.clone());
        let sums = room.words.part(0..2 * SUMS);
        queue.fill(sums, 0)?;
        // SAFETY: the arguments are as the kernels declare them. Each rank writes only to its own share, and no other
        // rank reads that share.
        unsafe {
            for other in others {
                let arguments = (mine.address(), other.part(share.clone()).address(), len);
                queue.launch(&kernels.add_degrees, queue.grid(len), arguments)?;
            }
            queue.launch(&kernels.sum_up_degrees, queue.grid(len), (mine.address(), len, sums.address()))?;
        }
        let mut words = [0; 2 * SUMS as usize];
        queue.read(sums, &mut words)?;
        let number = |i: usize| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32;
        let wedges = u128::from(number(2)) | u128::from(number(3)) << 64;
        Ok((DegreeSummary { max_degree: number(1), wedges }, number(0)))
    }

    /// Sorts all bins of this rank. Calls `room` for each bin, in order, with two arguments: the bin, and the number of
    /// entries of each block so far, including this bin. `room` must return the memory for the bin's rows. Then calls
    /// `put`, which must copy the rows to this memory. Returns the number of entries of each block.
    fn in_order<R>(
        &mut self,
        build: Build<'_, '_>,
        watch: &dyn Watch,
        room: impl FnMut(&PlacedBin, &[u64]) -> R + Send,
        put: impl Fn(&mut SortLane<'_>, &SortedOnGpu, &PlacedBin, R) -> Result<()> + Sync,
    ) -> Result<Vec<u64>> {
        let Build { bins, layout, wanted, .. } = build;
        let entries = vec![0; layout.blocks()];
        let mine = (0..bins.spans.len()).filter(|&bin| wanted[bins.block_of[bin]]).collect();
        let gate = Gate::new(BinTurn { next: 0, last: None, entries, room });
        let shared = SharedBins { build, mine, next: AtomicUsize::new(0), gate };
        on_threads(self.lanes.iter_mut(), |lane| shared.gate.run(|| shared.work(lane, watch, &put)))?;
        Ok(shared.gate.into_inner().entries)
    }
}

/// State that the lanes (GPU queues of threads) share while they sort.
struct SharedBins<'a, 'p, F> {
    build: Build<'a, 'p>,
    /// Indices of the bins of this rank.
    mine: Vec<usize>,
    next: AtomicUsize,
    gate: Gate<BinTurn<F>>,
}

/// State for assigning positions to bins, in order. The position of a bin depends on the number of entries in the bins
/// before it, which is unknown until these are sorted.
struct BinTurn<F> {
    next: usize,
    /// Index of the block that contains the previous bin.
    last: Option<usize>,
    /// For each block, the number of entries (neighbours) in the bins that already have a position.
    entries: Vec<u64>,
    room: F,
}

/// A bin with its position: its block, and the number of the block's entries (neighbours) before the bin.
struct PlacedBin {
    bin: usize,
    block: usize,
    before: u64,
    /// Index of the previous block, if this bin is the first of another block.
    done: Option<usize>,
}

impl<R, F: FnMut(&PlacedBin, &[u64]) -> R> SharedBins<'_, '_, F> {
    fn work(
        &self,
        lane: &mut SortLane<'_>,
        watch: &dyn Watch,
        put: &impl Fn(&mut SortLane<'_>, &SortedOnGpu, &PlacedBin, R) -> Result<()>,
    ) -> Result<()> {
        let Build { partition, bins, .. } = self.build;
        while let Some(&bin) = self.mine.get(self.next.fetch_add(1, Relaxed)) {
            let span = &bins.spans[bin];
            let started = Instant::now();
            let part = partition.part(bin);
            let sorted = lane.sort_on_gpu(&part, span.rows.start as u32, span.len())?;
            drop(part);
            let sorted = sorted.ok_or_else(|| Error::internal("sort a bin", "more edges than were counted"))?;
            let ready = started.elapsed();
            let Some((placed, room)) = self.place(bin, sorted.distinct.into()) else { return Ok(()) };
            let placed_at = started.elapsed();
            put(lane, &sorted, &placed, room)?;
            let (uploaded, done) = (sorted.uploaded, started.elapsed());
            lane.add_times([uploaded, ready - uploaded, placed_at - ready, done - placed_at]);
            watch.advance(sorted.edges.into())?;
        }
        lane.log_times();
        lane.lane.finish()
    }

    /// Waits until the bins before `bin` have their positions, and then assigns a position and memory for `entries`
    /// entries to `bin`. Returns `None` if another thread has failed.
    fn place(&self, bin: usize, entries: u64) -> Option<(PlacedBin, R)> {
        let block = self.build.bins.block_of[bin];
        let is_turn = |turn: &BinTurn<F>| self.mine[turn.next] == bin;
        self.gate.take(is_turn, |BinTurn { next, last, entries: of_blocks, room }| {
            let done = last.replace(block).filter(|&last| last != block);
            let placed = PlacedBin { bin, block, before: of_blocks[block], done };
            of_blocks[block] += entries;
            *next += 1;
            let room = room(&placed, of_blocks);
            (placed, room)
        })
    }
}
