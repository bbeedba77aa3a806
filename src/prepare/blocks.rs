//! Bins into stored blocks: threads sort bins in the order of rows, and whoever finishes the last bin of a block
//! writes it, while the others go on with the next block.

use super::partition::Partition;
use super::partition::stowed::Stowed;
use super::sort::{SortBin, SortedRows};
use crate::error::Result;
use crate::formats::Watch;
use crate::graph::degrees::Degrees;
use crate::graph::layout::{Bins, Layout};
use crate::graph::stored;
use crate::store::sync::Syncer;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// What all threads share while bins become blocks.
pub struct Builder<'a, 'p> {
    /// The filled bins.
    pub partition: &'a Partition<'p>,
    /// Their rows.
    pub bins: &'a Bins,
    /// The blocks.
    pub layout: &'a Layout,
    /// Blocks to build; the others are stored already.
    pub wanted: &'a [bool],
    /// Receives the degrees of the simple graph.
    pub degrees: &'a Degrees,
    /// Where blocks go, and the key of their graph.
    pub folder: &'a Path,
    /// Key of the graph.
    pub key: u64,
    /// Blocks whose sorted bins may be in memory at once: with two, one is sorted while another is written.
    pub in_flight: usize,
    /// Makes them durable in the background.
    pub syncer: &'a Syncer,
}

/// Sums over all blocks built.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Built {
    /// Entries stored: distinct edges.
    pub entries: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl<'p> Builder<'_, 'p> {
    /// Bytes of sorted rows that `in_flight` blocks in a row hold, at most, and of the offsets of the one being written.
    pub fn in_flight_bytes(layout: &Layout, in_flight: usize) -> u64 {
        let blocks: Vec<u64> =
            (0..layout.blocks()).map(|b| layout.block(b)).map(|s| 4 * (s.bound + 2 * s.len() as u64)).collect();
        blocks.windows(in_flight.min(blocks.len()).max(1)).map(|w| w.iter().sum()).max().unwrap_or(0)
    }

    /// Builds all wanted blocks, with a thread for each of `sorters`. `watch` advances by entries taken from the bins.
    ///
    /// # Errors
    /// Those of disk and spill, and of a stop that `watch` reports.
    pub fn build(&self, sorters: Vec<Box<dyn SortBin + '_>>, watch: &dyn Watch) -> Result<Built> {
        let shared = Shared {
            next: AtomicUsize::new(0),
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            slots: (0..self.layout.blocks()).map(|_| Mutex::default()).collect(),
            front: Mutex::new(0),
            moved: Condvar::new(),
            spare: Mutex::default(),
        };
        // A block that is stored already has nothing to wait for.
        self.pass_stored(&shared);
        std::thread::scope(|scope| {
            let work = |sorter| self.work(sorter, &shared, watch);
            let workers: Vec<_> = sorters.into_iter().map(|sorter| scope.spawn(move || work(sorter))).collect();
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        Ok(Built { entries: shared.entries.into_inner(), bytes: shared.bytes.into_inner() })
    }

    fn work(&self, mut sorter: Box<dyn SortBin + '_>, shared: &Shared<'p>, watch: &dyn Watch) -> Result<()> {
        let alarm = Alarm(shared);
        self.sort_bins(&mut *sorter, shared, watch)?;
        std::mem::forget(alarm);
        Ok(())
    }

    fn sort_bins(&self, sorter: &mut dyn SortBin, shared: &Shared<'p>, watch: &dyn Watch) -> Result<()> {
        let mut degrees = self.degrees.counter();
        loop {
            let bin = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(span) = self.bins.spans.get(bin) else { return Ok(()) };
            let block = self.bins.block_of[bin];
            if !self.wanted[block] {
                continue;
            }
            if !shared.wait_for_room(block, self.in_flight) {
                return Ok(());
            }
            let mut rows = shared.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let part = self.partition.part(bin);
            let first_row = span.rows.start as u32;
            let sorted = sorter.sort(&part, first_row, span.len(), &mut rows)?;
            drop(part);
            watch.advance(sorted.edges)?;
            if !sorted.counted {
                degrees.rows(first_row, rows.lengths.iter().copied(), &rows.targets);
            }
            // A device hands rows over at the speed of memory, and whether one more copy pays there was not measured.
            let stowed = match sorted.counted {
                true => None,
                false => self.partition.stow(block, &rows.lengths, &rows.targets),
            };
            let part = match stowed {
                Some(stowed) => {
                    shared.spare.lock().unwrap_or_else(PoisonError::into_inner).push(rows);
                    Part::Stowed(stowed)
                }
                None => Part::Rows(rows),
            };
            self.deliver(shared, block, bin, part, watch)?;
        }
    }

    /// Puts a sorted bin to its block; writes the block if it was the last one.
    fn deliver(&self, shared: &Shared<'p>, block: usize, bin: usize, part: Part<'p>, watch: &dyn Watch) -> Result<()> {
        let first = self.bins.block_of.partition_point(|&b| b < block);
        let bins = self.bins.block_of.partition_point(|&b| b <= block) - first;
        let parts = {
            let mut slot = shared.slots[block].lock().unwrap_or_else(PoisonError::into_inner);
            slot.parts.resize_with(bins, || None);
            slot.parts[bin - first] = Some(part);
            slot.ready += 1;
            if slot.ready < bins {
                return Ok(());
            }
            std::mem::take(&mut slot.parts)
        };
        let parts: Vec<Part<'p>> = parts.into_iter().flatten().collect();
        if !parts.iter().any(|part| matches!(part, Part::Stowed(_))) {
            // What is written to the disk then finds pages in use a moment ago, rather than ones that the system has to get.
            self.partition.release(block, Vec::new());
        }
        let mut slices: Vec<(&[u32], &[u32])> = Vec::new();
        for part in &parts {
            match part {
                Part::Rows(rows) => slices.push((&rows.lengths, &rows.targets)),
                Part::Stowed(rows) => slices.extend(rows.pieces()),
            }
        }
        let start = self.layout.block(block).rows.start;
        let pending = stored::write(self.folder, self.key, block, start, &slices)?;
        let entries = slices.iter().map(|(_, targets)| targets.len() as u64).sum();
        shared.entries.fetch_add(entries, Ordering::Relaxed);
        let bytes = self.syncer.push(pending).bytes;
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        watch.wrote(bytes);
        let (mut stowed, mut spare) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Rows(rows) => spare.push(rows),
                Part::Stowed(rows) => stowed.push(rows),
            }
        }
        self.partition.release(block, stowed);
        shared.spare.lock().unwrap_or_else(PoisonError::into_inner).extend(spare);
        shared.slots[block].lock().unwrap_or_else(PoisonError::into_inner).written = true;
        self.pass_stored(shared);
        Ok(())
    }

    /// Moves the front past blocks that are done.
    fn pass_stored(&self, shared: &Shared<'p>) {
        let mut front = shared.front.lock().unwrap_or_else(PoisonError::into_inner);
        while *front < shared.slots.len()
            && (!self.wanted[*front] || shared.slots[*front].lock().unwrap_or_else(PoisonError::into_inner).written)
        {
            *front += 1;
        }
        shared.moved.notify_all();
    }
}

/// Dropped by an error or a panic, it frees the threads that wait for this one.
struct Alarm<'a, 'p>(&'a Shared<'p>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Ordering::Release);
        let _front = self.0.front.lock();
        self.0.moved.notify_all();
    }
}

/// A sorted bin: in the memory of bins, or where that has no room for it, by itself.
#[derive(Debug)]
enum Part<'p> {
    Rows(SortedRows),
    Stowed(Stowed<'p>),
}

/// Sorted bins of one block.
#[derive(Debug, Default)]
struct Slot<'p> {
    parts: Vec<Option<Part<'p>>>,
    ready: usize,
    written: bool,
}

struct Shared<'p> {
    next: AtomicUsize,
    entries: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicBool,
    slots: Vec<Mutex<Slot<'p>>>,
    /// First block that is not written yet.
    front: Mutex<usize>,
    moved: Condvar,
    /// Used room, so that pages once touched are touched again.
    spare: Mutex<Vec<SortedRows>>,
}

impl Shared<'_> {
    /// Waits until `block` is among those that may be in memory; false if another thread failed meanwhile.
    fn wait_for_room(&self, block: usize, in_flight: usize) -> bool {
        let mut front = self.front.lock().unwrap_or_else(PoisonError::into_inner);
        while block >= *front + in_flight && !self.failed.load(Ordering::Acquire) {
            front = self.moved.wait(front).unwrap_or_else(PoisonError::into_inner);
        }
        !self.failed.load(Ordering::Acquire)
    }
}
