//! Appends batches of entries of the lower half, in order, to the upper rows of a window (the rows that one pass
//! builds) in GPU memory.
#![allow(unsafe_code)] // kernel launches

use super::super::TransposeWork;
use super::super::batch::Batch;
use super::{TransposeKernels, TransposeLane, WindowRows, on_all_lanes};
use crate::error::Result;
use crate::gpu::{CopySource, Event};
use crate::graph::{BlockLocation, BlockStore};
use crate::memory::{bytes_of, bytes_of_mut};
use crate::prepare::gate::Gate;
use std::sync::atomic::Ordering::Relaxed;

/// State shared by the lanes (GPU queues of threads) for appending their batches in order.
#[derive(Default)]
struct AppendTurn {
    next: usize,
    /// Event that is recorded after the batches before `next` are appended.
    last: Option<Event>,
}

/// Appends, in order, the batches that may contain entries of the window (the rows that this pass builds).
pub(super) fn append(
    lanes: &mut [TransposeLane<'_>],
    kernels: &TransposeKernels,
    work: TransposeWork<'_, '_>,
    rows: WindowRows,
) -> Result<()> {
    let (lower, batches) = (work.transpose.lower, batches_of(work, rows));
    let all: u64 = batches.iter().map(|batch| batch.len() as u64).sum();
    let gate = Gate::new(AppendTurn::default());
    let one = |on_gpu: &mut TransposeLane<'_>, number: usize, batch: &Batch| {
        let words = copy(lower, batch, on_gpu.lane.slot()?)?;
        let slot = on_gpu.slots[on_gpu.lane.turn()];
        on_gpu.lane.send_slot(slot.part(0..words as u64))?;
        let queue = on_gpu.lane.queue();
        let appended = gate.take(
            |turn| turn.next == number,
            |turn| {
                if let Some(last) = turn.last.take() {
                    queue.after(&last)?;
                }
                let arguments = (rows, slot.address(), batch.rows_len() as u32, batch.rows[0]);
                // SAFETY: the arguments are as the kernel declares them. The slot (GPU buffer) belongs to this queue.
                // Other queues use the window's rows before or after this launch.
                unsafe { queue.launch(&kernels.append_entries, queue.grid(batch.len() as u64 / 4 + 1), arguments)? };
                (turn.last, turn.next) = (Some(queue.record()?), number + 1);
                Ok(())
            },
        );
        let Some(()) = appended.transpose()? else { return Ok(()) };
        on_gpu.lane.pass()?;
        let share = u128::from(rows.count) * batch.len() as u128 / u128::from(2 * all.max(1));
        work.advance(share as u64)
    };
    on_all_lanes(lanes, |on_gpu, next| {
        gate.run(|| {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(batch) = batches.get(number) else { return Ok(()) };
                one(on_gpu, number, batch)?;
            }
        })
    })
}

/// Returns the batches that may contain entries of the window. The window's entries come from lower rows of vertices
/// with larger ids than the window's first vertex, so earlier batches contain none of these entries.
pub(super) fn batches_of<'t>(work: TransposeWork<'t, '_>, rows: WindowRows) -> &'t [Batch] {
    &work.batches[work.batches.partition_point(|batch| batch.rows[1] <= rows.first_row)..]
}

/// Copies a batch to `out`: for each row, the index of its first entry in the batch; then the end of the last row; then
/// the entries. Returns the number of 32-bit words.
pub(super) fn copy(lower: &BlockStore, batch: &Batch, out: &mut [u32]) -> Result<usize> {
    let (block, entries) = (lower.block(batch.block), &batch.entries);
    let (starts, rest) = out.split_at_mut(batch.rows_len() + 1);
    let offsets = &block.offsets[batch.rows[0].abs_diff(block.first_row) as usize..];
    let here = |offset: u32| (offset as usize).clamp(entries.start, entries.end) - entries.start;
    starts.iter_mut().zip(offsets).for_each(|(start, &offset)| *start = here(offset) as u32);
    let source = match lower.location(batch.block) {
        BlockLocation::InFile(file) => {
            let (path, _, first) = file.place();
            CopySource::File { path, start: first + 4 * entries.start as u64, bytes: 4 * entries.len() as u64 }
        }
        _ => CopySource::Memory(bytes_of(&block.targets[entries.clone()])),
    };
    source.read(bytes_of_mut(&mut rest[..batch.len()]))?;
    Ok(starts.len() + batch.len())
}
