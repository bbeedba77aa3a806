//! Sorted rows that stay where they were sorted, for what counts them there. They are in no file then: a job that dies
//! prepares its graph anew.
#![allow(unsafe_code)] // kernel launches

use super::{OnGpu, Sorters, Told};
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::gpu::{Span, span_bytes};
use crate::graph::homes::Size;
use crate::graph::layout::{Bins, Layout};
use crate::prepare::partition::{LINE, Partition};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

/// What is sorted, and where to.
pub struct Build<'a, 'p> {
    /// The filled bins.
    pub partition: &'a Partition<'p>,
    /// Their rows.
    pub bins: &'a Bins,
    /// The blocks.
    pub layout: &'a Layout,
    /// Blocks that are this rank's.
    pub wanted: &'a [bool],
    /// Memory from the start of the arena on, for blocks of the sizes that [`most_sizes`] tells.
    pub memory: Span<u32>,
}

/// Rows, and most entries, of each block whose bins have so many lines.
pub fn most_sizes(layout: &Layout, bins: &Bins, lines: &[u64]) -> Vec<Size> {
    let mut entries = vec![0; layout.blocks()];
    bins.block_of.iter().zip(lines).for_each(|(&block, lines)| entries[block] += lines * LINE as u64);
    let size = |(block, entries)| Size { rows: layout.block(block).len() as u64, entries };
    entries.into_iter().enumerate().map(size).collect()
}

impl Sorters<'_> {
    /// Sorts all bins that are this rank's; the entries of each block. The plan must be one of [`Sorters::plan_all`].
    ///
    /// # Errors
    /// [`Error::Lost`], and of a stop that `watch` reports.
    pub fn keep(&mut self, build: &Build<'_, '_>, watch: &dyn Watch) -> Result<Vec<u64>> {
        let Build { bins, layout, wanted, .. } = *build;
        let mut end = 0;
        let offsets = (0..layout.blocks()).map(|block| {
            let start = end;
            end += if wanted[block] { span_bytes::<u32>(layout.block(block).len() as u64 + 1) } else { 0 };
            start
        });
        let offsets: Vec<u64> = offsets.collect();
        let shared = Shared {
            build,
            mine: (0..bins.spans.len()).filter(|&bin| wanted[bins.block_of[bin]]).collect(),
            offsets,
            next: AtomicUsize::new(0),
            turn: Mutex::new(Turn {
                next: 0,
                block: None,
                targets: end,
                entries: vec![0; layout.blocks()],
                failed: false,
            }),
            moved: Condvar::new(),
        };
        std::thread::scope(|scope| {
            let lanes = self.lanes.iter_mut().map(|lane| {
                let work = || {
                    let alarm = Alarm(&shared);
                    shared.work(lane, watch)?;
                    std::mem::forget(alarm);
                    Ok(())
                };
                scope.spawn(work)
            });
            let lanes: Vec<_> = lanes.collect();
            lanes.into_iter().try_for_each(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        Ok(shared.turn.into_inner().unwrap_or_else(PoisonError::into_inner).entries)
    }
}

/// What the lanes share.
struct Shared<'a, 'p> {
    build: &'a Build<'a, 'p>,
    /// Bins of this rank.
    mine: Vec<usize>,
    /// By block, the byte of the memory where its offsets begin.
    offsets: Vec<u64>,
    next: AtomicUsize,
    turn: Mutex<Turn>,
    moved: Condvar,
}

/// Which bin of `mine` gets its place next: how many entries those before it have is known once they are sorted.
struct Turn {
    next: usize,
    /// The block of the bin before it.
    block: Option<usize>,
    /// Byte of the memory where that block's targets begin.
    targets: u64,
    /// By block, entries that have their place.
    entries: Vec<u64>,
    failed: bool,
}

/// Where a bin's rows go: the byte of its targets, and the entries of its block before it.
struct Place {
    targets: u64,
    before: u64,
}

impl Shared<'_, '_> {
    fn work(&self, lane: &mut OnGpu<'_>, watch: &dyn Watch) -> Result<()> {
        let Build { partition, bins, layout, memory, .. } = *self.build;
        while let Some(&bin) = self.mine.get(self.next.fetch_add(1, Relaxed)) {
            let (span, block) = (&bins.spans[bin], bins.block_of[bin]);
            let part = partition.part(bin);
            let told = lane.sort_there(&part, span.rows.start as u32, span.len())?;
            drop(part);
            let Told { unit, edges, distinct, .. } =
                told.ok_or_else(|| Error::internal("sort a bin", "more edges than were counted"))?;
            let Some(Place { targets, before }) = self.place(bin, distinct.into()) else { return Ok(()) };
            let words = |byte: u64, len: u64| memory.part(byte / 4..byte / 4 + len);
            let queue = lane.lane.queue();
            queue.copy(lane.room.out.part(0..distinct.into()), words(targets, distinct.into()))?;
            let row = span.rows.start - layout.block(block).rows.start;
            let offsets = words(self.offsets[block] + 4 * row, span.len() as u64 + 1);
            let grid = queue.grid(span.len() as u64 + 1);
            // SAFETY: as the kernel declares them; the offsets are those of this bin's rows, and of the next one's first,
            // which is given the same.
            unsafe { queue.launch(&lane.kernels.place_rows, grid, (unit, before as u32, offsets.address()))? };
            lane.bins += 1;
            watch.advance(edges.into())?;
        }
        lane.lane.finish()
    }

    /// Waits until the bins before `bin` have their places, then gives it one for its entries. Nothing if a lane has failed.
    fn place(&self, bin: usize, entries: u64) -> Option<Place> {
        let block = self.build.bins.block_of[bin];
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while !turn.failed && self.mine[turn.next] != bin {
            turn = self.moved.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if turn.failed {
            return None;
        }
        if let Some(last) = turn.block.replace(block).filter(|&last| last != block) {
            turn.targets += span_bytes::<u32>(turn.entries[last]);
            self.build.partition.release(last, Vec::new());
        }
        let before = turn.entries[block];
        turn.entries[block] += entries;
        turn.next += 1;
        self.moved.notify_all();
        Some(Place { targets: turn.targets + 4 * before, before })
    }
}

/// Dropped by an error or a panic, it frees the lanes that wait for this one.
struct Alarm<'a, 'b, 'p>(&'a Shared<'b, 'p>);

impl Drop for Alarm<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
        self.0.moved.notify_all();
    }
}
