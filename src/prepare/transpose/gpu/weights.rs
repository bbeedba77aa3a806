//! Writes the weights of a window's entries to GPU memory, after the entries are sorted.
#![allow(unsafe_code)] // kernel launches

use super::super::TransposeWork;
use super::append::{batches_of, copy};
use super::{TransposeKernels, TransposeLane, WindowRows, on_all_lanes};
use crate::error::Result;
use crate::gpu::DeviceSlice;
use std::sync::atomic::Ordering::Relaxed;

/// Copies the lower half to the GPU again, with its weights. Writes the weight of each edge to the position of the
/// edge's entry in the window.
pub(super) fn place_weights(
    lanes: &mut [TransposeLane<'_>],
    kernels: &TransposeKernels,
    work: TransposeWork<'_, '_>,
    rows: WindowRows,
    weights: DeviceSlice<u32>,
) -> Result<()> {
    let (lower, batches) = (work.transpose.lower, batches_of(work, rows));
    on_all_lanes(lanes, |TransposeLane { lane, slots }, next| {
        while let Some(batch) = batches.get(next.fetch_add(1, Relaxed)) {
            let out = lane.slot()?;
            let words = copy(lower, batch, out)?;
            let of_batch = &lower.weights(batch.block)[batch.entries.clone()];
            out[words..words + of_batch.len()].copy_from_slice(of_batch);
            let slot = slots[lane.turn()];
            lane.send_slot(slot.part(0..(words + of_batch.len()) as u64))?;
            let arguments = (rows, weights.address(), slot.address(), batch.rows_len() as u32, batch.rows[0]);
            // SAFETY: the arguments are as the kernel declares them. The slot (GPU buffer) belongs to this queue, and
            // no two entries have the same position.
            unsafe { lane.queue().launch(&kernels.place_weights, lane.queue().grid(batch.len() as u64), arguments)? };
            lane.pass()?;
            work.watch.advance(0)?;
        }
        Ok(())
    })
}
