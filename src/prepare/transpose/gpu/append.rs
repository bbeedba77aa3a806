//! Appends batches of the lower half, in order, to the rows of a window.
#![allow(unsafe_code)] // kernel launches

use super::super::Work;
use super::super::batch::Batch;
use super::{Kernels, OnGpu, Rows, on_all_lanes};
use crate::error::Result;
use crate::gpu::{CopySource, Event};
use crate::graph::catalogue::{BlockLocation, Catalogue};
use crate::memory::{bytes_of, bytes_of_mut};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, PoisonError};

/// The order in which batches are appended.
#[derive(Default)]
struct Turn {
    next: usize,
    /// Event that is done when the batches before `next` are appended.
    last: Option<Event>,
    failed: bool,
}

/// Appends the batches that may have entries of the window, in order.
pub(super) fn append(lanes: &mut [OnGpu<'_>], kernels: &Kernels, work: Work<'_, '_>, rows: Rows) -> Result<()> {
    let (lower, batches) = (work.transpose.lower, batches_of(work, rows));
    let all: u64 = batches.iter().map(|batch| batch.len() as u64).sum();
    let (turn, moved) = (Mutex::new(Turn::default()), Condvar::new());
    let lock = || turn.lock().unwrap_or_else(PoisonError::into_inner);
    let one = |on_gpu: &mut OnGpu<'_>, number: usize, batch: &Batch| {
        let words = copy(lower, batch, on_gpu.lane.slot()?)?;
        let slot = on_gpu.slots[on_gpu.lane.turn()];
        on_gpu.lane.send_slot(slot.part(0..words as u64))?;
        let queue = on_gpu.lane.queue();
        let mut turn = lock();
        while !turn.failed && turn.next != number {
            turn = moved.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if turn.failed {
            return Ok(());
        }
        if let Some(last) = turn.last.take() {
            queue.after(&last)?;
        }
        let first = batch.rows[0];
        let arguments = (rows, slot.address(), batch.rows_len() as u32, first);
        // SAFETY: the arguments are as the kernel declares them. The slot belongs to this queue. Other queues use the
        // window's rows before or after this launch.
        unsafe { queue.launch(&kernels.append_entries, queue.grid(batch.len() as u64 / 4 + 1), arguments)? };
        (turn.last, turn.next) = (Some(queue.record()?), number + 1);
        drop(turn);
        moved.notify_all();
        on_gpu.lane.pass()?;
        let share = u128::from(rows.count) * batch.len() as u128 / u128::from(2 * all.max(1));
        work.advance(share as u64)
    };
    on_all_lanes(lanes, |on_gpu, next| {
        let mut all = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(batch) = batches.get(number) else { return Ok(()) };
                one(on_gpu, number, batch)?;
            }
        };
        let guard = WakeOnFailure(&turn, &moved);
        all()?;
        std::mem::forget(guard);
        Ok(())
    })
}

/// Returns the batches that may have entries of the window. Only rows of larger vertices list the vertices of the
/// window.
pub(super) fn batches_of<'t>(work: Work<'t, '_>, rows: Rows) -> &'t [Batch] {
    &work.batches[work.batches.partition_point(|batch| batch.rows[1] <= rows.first_row)..]
}

/// Copies a batch to `out`: the start of each row among the batch's entries, the end of the last row, then the entries.
/// Returns the number of words.
pub(super) fn copy(lower: &Catalogue, batch: &Batch, out: &mut [u32]) -> Result<usize> {
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

/// Guard that wakes the lanes waiting for this one. An error or a panic drops it; a lane that succeeds forgets it.
struct WakeOnFailure<'t>(&'t Mutex<Turn>, &'t Condvar);

impl Drop for WakeOnFailure<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
        self.1.notify_all();
    }
}
