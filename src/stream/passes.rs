//! Passes over the rows of blocks on a GPU. [`place`] copies all rows to GPU memory, if they fit. Otherwise [`stream`]
//! copies them through slots (buffers), at most a block at a time.
#![allow(unsafe_code)] // rows as plain bytes

use super::batch::{Cut, RowBatch, batches};
use super::loader::{Arrival, Arriving, Loader, ResidentRows};
use super::location::copies_from_host;
use crate::error::{Error, Result};
use crate::gpu::{CopySource, DeviceSlice, Queue, Workspace, slice_bytes};
use crate::graph::{BlockStore, DeviceBlock, Placement};
use crate::memory::Plain;
use crate::process::signals;
use crate::process::threads::spawn;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

/// CUDA header (name, text) with the struct through which kernels read [`RowPart`]s.
pub const ROW_PARTS: (&str, &str) = ("row_parts.cuh", include_str!("../../kernels/row_parts.cuh"));

/// Number of slots (buffers in GPU memory): kernels work on one while the next is filled.
const SLOTS: u64 = 2;
/// Minimum size in bytes of a slot, a buffer for rows in GPU memory.
const LEAST_SLOT: u64 = 64 << 10;

/// Consecutive rows of a block in GPU memory, as passed to kernels. The memory layout must match `RowPart` in
/// `kernels/row_parts.cuh`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct RowPart {
    /// GPU address of the start of each row (index of its first entry in the block), followed by the end of the last
    /// row.
    starts: u64,
    /// GPU address of the first entry of the block. If only a part of the block is on the GPU, this is the address
    /// where the first entry would be.
    targets: u64,
    first_entry: u32,
    end_entry: u32,
    first_row: u32,
    /// Number of rows in this part of the block.
    pub rows: u32,
}

const _: () = assert!(size_of::<RowPart>() == 32, "the kernels have a static_assert of the same size");

// SAFETY: integers without padding between them.
unsafe impl Plain for RowPart {}

impl RowPart {
    /// Returns the number of entries (neighbours) in these rows.
    pub fn entries(&self) -> u64 {
        u64::from(self.end_entry - self.first_entry)
    }

    /// Returns the rows of `batch`, which has only one segment and is in `slot`, a buffer in GPU memory.
    pub(super) fn in_slot(slot: DeviceSlice<u32>, graph: &BlockStore, batch: &RowBatch) -> Option<RowPart> {
        let segment = batch.segments.first()?;
        let ResidentRows { starts, targets } = ResidentRows::in_slot(slot, batch);
        Some(RowPart {
            starts: starts.address(),
            targets: targets.address().wrapping_sub(4 * segment.entries.start as u64),
            first_entry: segment.entries.start as u32,
            end_entry: segment.entries.end as u32,
            first_row: segment.first_row(graph),
            rows: batch.rows as u32,
        })
    }

    fn of_block(graph: &BlockStore, b: usize, DeviceBlock { offsets, targets }: DeviceBlock) -> RowPart {
        RowPart {
            starts: offsets.address(),
            targets: targets.address(),
            first_entry: 0,
            end_entry: targets.len() as u32,
            first_row: graph.first_row(b),
            rows: graph.size(b).rows as u32,
        }
    }
}

/// Returns the minimum number of bytes of GPU memory for streaming rows, if blocks may be cut.
pub fn least_bytes() -> u64 {
    SLOTS * LEAST_SLOT
}

/// Returns the number of bytes of GPU memory for streaming rows of whole blocks. Blocks can't be cut if they are on
/// other GPUs or in other processes. `longest` is the maximum, over all blocks, of the number of entries plus the
/// number of rows.
pub fn uncut_bytes(longest: u64) -> u64 {
    SLOTS * (slice_bytes::<u32>(longest) + slice_bytes::<u32>(1)).max(LEAST_SLOT)
}

/// Copies all rows of `blocks` to this rank's GPU, except those that are already there. Returns `None` if they do not
/// fit.
///
/// # Errors
/// [`Error::Lost`], [`Error::Stopped`]; errors of reading blocks.
pub fn place(workspace: &mut Workspace, graph: &BlockStore, blocks: &[usize]) -> Result<Option<Vec<RowPart>>> {
    let arena = workspace.arena.words();
    let own = arena.address()..arena.address() + arena.bytes();
    let here = |b| graph.placement().map(|at| at.of(b)).filter(|at| own.contains(&at.offsets.address()));
    let sizes = blocks.iter().filter(|&&b| here(b).is_none()).map(|&b| graph.size(b));
    if Placement::bytes(sizes) > workspace.arena.free() {
        return Ok(None);
    }
    let mut copies: Vec<(CopySource<'_>, DeviceSlice<u8>)> = Vec::new();
    let mut parts = Vec::new();
    for &b in blocks {
        let block = match here(b) {
            Some(block) => block,
            None => {
                let size = graph.size(b);
                let [offsets, targets] = [size.rows + 1, size.entries].map(|words| workspace.arena.take_planned(words));
                let (offsets, targets) = (offsets?, targets?);
                match graph.placement() {
                    Some(at) => {
                        copies.push((CopySource::Gpu(at.of(b).offsets.as_bytes()), offsets.as_bytes()));
                        copies.push((CopySource::Gpu(at.of(b).targets.as_bytes()), targets.as_bytes()));
                    }
                    None => copies.extend(copies_from_host(graph, b, (0, offsets), (0, targets))),
                }
                DeviceBlock { offsets, targets }
            }
        };
        parts.push(RowPart::of_block(graph, b, block));
    }
    workspace.uploader.upload(&copies, &signals::check)?.wait()?;
    Ok(Some(parts))
}

/// Calls `visit` for the rows of `blocks`, part by part, while the next part is copied. Uses all free GPU memory until
/// it returns. A part's memory is reused only after the work that `visit` queued has finished.
///
/// # Errors
/// [`Error::Limit`], which names `purpose`, if a part does not fit GPU memory; [`Error::Lost`]; [`Error::Stopped`];
/// errors of reading blocks and of `visit`.
pub fn stream(
    workspace: &mut Workspace,
    graph: &BlockStore,
    blocks: &[usize],
    purpose: &str,
    visit: &mut dyn FnMut(&Queue, RowPart) -> Result<()>,
) -> Result<()> {
    let mark = workspace.arena.mark();
    let slot_words = workspace.arena.free() / SLOTS / slice_bytes::<u32>(1) * slice_bytes::<u32>(1) / 4;
    let fits = |batch: &RowBatch| batch.segments.len() <= 1 && ResidentRows::slot_bytes(batch) <= 4 * slot_words;
    let mut all = Vec::new();
    for &b in blocks {
        let Some(parts) = batches(graph, b..b + 1, Cut::Entries, fits) else {
            let size = graph.size(b);
            let needed = workspace.arena.bytes() - workspace.arena.free() + uncut_bytes(size.entries + size.rows);
            workspace.arena.check_size(needed.max(workspace.arena.bytes() + 1), purpose)?;
            return Err(Error::internal("divide rows", "a part that does not fit"));
        };
        all.extend(parts);
    }
    let slots = (0..SLOTS).map(|_| workspace.arena.take_planned(slot_words)).collect::<Result<Vec<_>>>()?;
    let Workspace { arena, queue, uploader, .. } = workspace;
    let number = AtomicUsize::new(0);
    let next = || Ok(number.fetch_add(1, Relaxed));
    let ended = || Error::Lost("copying to the GPU ended early".into());
    let visited = std::thread::scope(|scope| {
        let (empty, free_slots) = channel();
        let (arrivals, arrived) = channel();
        slots.iter().try_for_each(|&slot| empty.send(slot)).map_err(|_| ended())?;
        let uploader = &mut *uploader;
        let (placement, relay, check_cancelled) = (graph.placement(), None, &signals::check);
        let loader = Loader { graph, placement, relay, uploader, next: &next, check_cancelled, free_slots, arrivals };
        let all = &all;
        spawn(scope, move || loader.run(&[], all))?;
        while let Ok(arrival) = arrived.recv() {
            let Arrival { copied, rows: Arriving::Passing(number, slot) } = arrival? else { return Err(ended()) };
            queue.after(&copied)?;
            visit(queue, RowPart::in_slot(slot, graph, &all[number]).ok_or_else(ended)?)?;
            queue.finish()?;
            // Ignore the error: the loader stops receiving once it has started the last copy.
            let _ = empty.send(slot);
        }
        Ok(())
    });
    // Wait until nothing uses the memory that the caller may use next.
    let finished = uploader.finish().and(queue.finish());
    arena.reset(mark);
    visited.and(finished)
}
