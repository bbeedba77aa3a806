//! Builds the upper half on a GPU. Batches of the lower half are copied to the GPU and appended there to the rows of a
//! window (the rows that one pass builds). The finished rows are sorted and copied back. Each host thread uses a
//! *lane*: a GPU queue with slots (buffers for one batch each).
//!
//! A GPU moves entries in its own memory a hundred times faster than the host can copy them to it. The lower half is
//! copied to the GPU for each window, so a window contains as many rows as fit. For E edges, 4·E bytes are copied to
//! the GPU for each window, and 4·E bytes are copied back in total. If edges have weights, the lower half is copied
//! again, with its weights, after rows are sorted. Each weight is then written to the position of its entry. That is
//! 8·E more bytes to the GPU for each window, and 4·E more bytes back.
#![allow(unsafe_code)] // kernel launches

mod append;
mod bounds;
mod weights;

use self::append::append;
use self::bounds::Position;
use self::weights::place_weights;
use super::batch::{GROUP_BITS, batches};
use super::lengths::Lengths;
use super::window::{RowWindow, windows};
use super::write::{Files, bins_of_block};
use super::{Transpose, TransposeWork, Transposed};
use crate::error::{Error, Result};
use crate::formats::Watch;
use crate::gpu::{DeviceSlice, Kernel, Lane, Workspace, constant, slice_bytes};
use crate::graph::BIN_ROWS;
use crate::prepare::gpu::{PrepareGpu, TRANSPOSE, TRANSPOSE_TEXT};
use crate::process::threads::on_threads;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Divisor that limits the memory of slots (buffers for one batch each): they use at most 1/`PART` of the GPU's memory.
const PART: u64 = 8;

/// Minimum number of 32-bit words of a slot (buffer for one batch).
const LEAST_SLOT: u64 = 1 << 10;

/// Maximum number of 32-bit words for the rows of a window, because the position of a word is a u32.
const MOST_WORDS: u64 = u32::MAX as u64;

/// Host version of the kernels' struct `Window`.
#[repr(C)]
#[derive(Clone, Copy)]
struct WindowRows {
    entries: u64,
    ends: u64,
    first_row: u32,
    rows: u32,
    count: u32,
    shift: u32,
    differs: u64,
}

const _: () = assert!(constant(TRANSPOSE_TEXT, "GROUP_BITS") == GROUP_BITS, "the kernels have the same constant");
const _: () = assert!(size_of::<WindowRows>() == 40, "the kernels have a static_assert of the same size");

struct TransposeKernels {
    append_entries: Kernel,
    place_weights: Kernel,
    check_ends: Kernel,
    sort_rows: Kernel,
}

/// A thread's lane (GPU queue), with a GPU buffer for each of the lane's slots (pinned buffers).
struct TransposeLane<'w> {
    lane: Lane<'w>,
    slots: Vec<DeviceSlice<u32>>,
}

/// The lanes (GPU queues of threads), and the GPU memory for the rows of a window.
struct Transposer<'w> {
    kernels: TransposeKernels,
    lanes: Vec<TransposeLane<'w>>,
    /// Number of 32-bit words that are used in each slot (buffer for one batch).
    slot: usize,
    rows: DeviceSlice<u32>,
    differs: DeviceSlice<u32>,
}

/// Builds the wanted blocks of the upper half on the GPU. Returns `None` if the GPU's memory is too small for the
/// largest bin with several rows.
///
/// # Errors
/// Errors of [`Transpose::build`], and [`Error::Lost`].
pub fn build(gpu: &mut PrepareGpu<'_>, transpose: &Transpose<'_>, watch: &dyn Watch) -> Result<Option<Transposed>> {
    let built = build_in(gpu.reset(), transpose, watch)?;
    if built.is_none() {
        gpu.log_fallback("transpose");
    }
    Ok(built)
}

fn build_in(workspace: &mut Workspace, transpose: &Transpose<'_>, watch: &dyn Watch) -> Result<Option<Transposed>> {
    let lengths = Lengths { lower: transpose.lower, degrees: transpose.degrees };
    let entries = lengths.of_bins(transpose.bins)?;
    let Some(mut on_gpu) = Transposer::new(workspace)? else { return Ok(None) };
    let rows = on_gpu.slot.min(4 * BIN_ROWS as usize) / 4;
    let entry_words = if transpose.weights.is_some() { 2 } else { 1 };
    let batches = batches(transpose.lower, (on_gpu.slot - rows - 1) / entry_words, rows as u64);
    let work = TransposeWork {
        transpose,
        lengths: &lengths,
        entries: &entries,
        batches: &batches,
        watch,
        advanced: &AtomicU64::new(0),
    };
    let bytes = |bin: usize| 4 * (transpose.bins.spans[bin].len() as u64 + entry_words as u64 * entries[bin]);
    let most = on_gpu.rows.bytes();
    let of_several_rows = |&bin: &usize| transpose.bins.spans[bin].len() > 1;
    if (0..entries.len()).filter(of_several_rows).any(|bin| bytes(bin) > most) {
        return Ok(None);
    }
    let windows = windows(transpose.layout, transpose.bins, bytes, transpose.wanted, most);
    let passes = windows.len() as u64;
    let mut files = Files::new(work);
    for window in windows {
        match window {
            RowWindow::Bins(range) => on_gpu.window(work, range, &mut files)?,
            RowWindow::Row(bin) => work.long_row(&mut files, bin)?,
        }
    }
    Ok(Some(work.end(Transposed { passes, ..files.written })?))
}

impl<'w> Transposer<'w> {
    /// Divides the GPU's memory among the lanes (GPU queues of threads) and the rows of a window. Returns `None` if the
    /// memory is too small for a single lane.
    fn new(workspace: &'w mut Workspace) -> Result<Option<Self>> {
        let names = ["append_entries", "place_weights", "check_ends", "sort_rows"];
        let [append_entries, place_weights, check_ends, sort_rows] = workspace.kernels(&TRANSPOSE, names)?;
        let kernels = TransposeKernels { append_entries, place_weights, check_ends, sort_rows };
        let Workspace { uploader, arena, .. } = workspace;
        let mut lanes = uploader.lanes()?;
        let room = arena.free() / PART;
        let slots = lanes.first().map_or(1, Lane::slots) as u64;
        let slot = lanes.first().map_or(0, Lane::slot_words) as u64;
        // If memory is scarce, slots (buffers) are shortened so that one lane fits, but not further to fit more lanes.
        let slot = slot.min(room / slots / 4);
        if slot < LEAST_SLOT {
            return Ok(None);
        }
        lanes.truncate(((room / slots / slice_bytes::<u32>(slot)) as usize).max(1));
        let differs = arena.take_planned(1)?;
        let lanes = lanes.into_iter().map(|lane| {
            let slots = (0..slots).map(|_| arena.take_planned(slot)).collect::<Result<Vec<_>>>()?;
            Ok(TransposeLane { lane, slots })
        });
        let lanes = lanes.collect::<Result<Vec<_>>>()?;
        let words = arena.free() / 4;
        let rows = arena.take_planned(words.min(MOST_WORDS))?;
        Ok(Some(Transposer { kernels, lanes, slot: slot as usize, rows, differs }))
    }

    /// Builds the rows of `bins` and writes them.
    fn window(&mut self, work: TransposeWork<'_, '_>, bins: Range<usize>, files: &mut Files<'_, '_>) -> Result<()> {
        let spans = &work.transpose.bins.spans;
        let (first, end) = (spans[bins.start].rows.start, spans[bins.end - 1].rows.end);
        let count: u64 = work.entries[bins.clone()].iter().sum();
        // No padding is needed, because all parts are arrays of 32-bit words.
        let ends = self.rows.part(0..end - first);
        let entries = self.rows.part(end - first..end - first + count);
        let weights = self.rows.part(end - first + count..end - first + 2 * count);
        let weights = work.transpose.weights.map(|_| weights);
        let rows = WindowRows {
            entries: entries.address(),
            ends: ends.address(),
            first_row: first as u32,
            rows: (end - first) as u32,
            count: count as u32,
            shift: work.transpose.layout.direction().shift(),
            differs: self.differs.address(),
        };
        let nobody = || Error::internal("transpose on the GPU", "no lane");
        let kernels = &self.kernels;
        let at = Position { work, bins: bins.clone(), first, slot: self.slot };
        on_all_lanes(&mut self.lanes, |on_gpu, next| {
            at.bounds(on_gpu, next, 0, |TransposeLane { lane, .. }, row, _| lane.send(ends.part(row..u64::MAX)))
        })?;
        append(&mut self.lanes, kernels, work, rows)?;
        let queue = self.lanes.first().ok_or_else(nobody)?.lane.queue();
        queue.fill(self.differs, 0xff)?;
        queue.finish()?;
        on_all_lanes(&mut self.lanes, |on_gpu, next| {
            at.bounds(on_gpu, next, 1, |TransposeLane { lane, slots }, row, count| {
                let slot = slots[lane.turn()];
                lane.send(slot)?;
                let (grid, row, count) = (lane.queue().grid(count), row as u32, count as u32);
                // SAFETY: the arguments are as the kernel declares them; the slot is used by this queue alone.
                unsafe { lane.queue().launch(&kernels.check_ends, grid, (rows, row, slot.address(), count)) }
            })
        })?;
        let queue = self.lanes.first().ok_or_else(nobody)?.lane.queue();
        let mut differs = [0];
        queue.read(self.differs, &mut differs)?;
        if differs[0] != u32::MAX {
            return Err(work.lengths.mismatch(first as u32 + differs[0]));
        }
        // SAFETY: the arguments are as the kernel declares them, and every row has its entries.
        unsafe { queue.launch(&kernels.sort_rows, queue.grid(count.div_ceil(4)), (rows,))? };
        queue.finish()?;
        if let Some(weights) = weights {
            place_weights(&mut self.lanes, &self.kernels, work, rows, weights)?;
        }
        let lower = work.transpose.lower;
        (0..lower.len()).for_each(|block| lower.release(block));
        self.write(work, bins, entries, weights, files)
    }

    /// Copies the entries of a window, and their weights if edges have weights, from the GPU to their files. Several
    /// blocks are written in parallel, one block at a time per lane (thread).
    fn write(
        &mut self,
        work: TransposeWork<'_, '_>,
        bins: Range<usize>,
        entries: DeviceSlice<u32>,
        weights: Option<DeviceSlice<u32>>,
        files: &mut Files<'_, '_>,
    ) -> Result<()> {
        let block_of = &work.transpose.bins.block_of;
        let blocks = block_of[bins.start]..block_of[bins.end - 1] + 1;
        let sum = |bins: Range<usize>| work.entries[bins].iter().sum::<u64>();
        let bring = |on_gpu: &mut TransposeLane<'_>, files: &mut Files<'_, '_>, of: Range<usize>| {
            let start = sum(bins.start..of.start);
            let range = start..start + sum(of.clone());
            let part = entries.part(range.clone());
            // Appending nothing begins the block, which matters if it has no entries.
            files.append(of.start, &[], &[])?;
            let mut append = |targets: &[u32], weights: &[u32]| {
                files.append(of.start, targets, weights)?;
                work.advance(targets.len() as u64 / 2)
            };
            match weights {
                None => on_gpu.lane.receive(part, 1, |targets| append(targets, &[]))?,
                Some(weights) => {
                    let parts = [part, weights.part(range)];
                    on_gpu.lane.receive_slices(parts, 1, |[targets, weights]| append(targets, weights))?;
                }
            }
            files.end_of_bin(of.end - 1)
        };
        if let ([lane, ..], 1) = (&mut self.lanes[..], blocks.len()) {
            return bring(lane, files, bins.clone());
        }
        let written = Mutex::new(Transposed::default());
        on_all_lanes(&mut self.lanes, |on_gpu, next| {
            let mut files = Files::new(work);
            while let Some(block) = blocks.clone().nth(next.fetch_add(1, Relaxed)) {
                bring(on_gpu, &mut files, bins_of_block(work, block))?;
            }
            written.lock().add(files.written);
            Ok(())
        })?;
        files.written.add(written.into_inner());
        Ok(())
    }
}

/// Runs `work` for every lane (GPU queue) on its own thread, with a counter shared by all lanes. When this returns, all
/// work that the lanes queued on the GPU is complete.
fn on_all_lanes(
    lanes: &mut [TransposeLane<'_>],
    work: impl Fn(&mut TransposeLane<'_>, &AtomicUsize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    on_threads(lanes.iter_mut(), |lane| {
        // If one lane fails, make the others find no work left. With half of the maximum, the counter can't overflow.
        work(lane, &next).inspect_err(|_| next.store(usize::MAX / 2, Relaxed))?;
        lane.lane.finish()
    })
}
