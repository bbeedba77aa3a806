//! Copies successors to the GPU and ranks to the host, with all threads, through pinned slots.

use super::index::{as_words, indices, indices_mut, words_per_index};
use super::{CancelCheck, ListOnGpu, RankSink, SuccessorSource};
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Lane, on_threads};
use std::sync::atomic::{AtomicU64, Ordering};

/// Copies all successors from `source` to the GPU.
pub(super) fn fill<I: Index>(
    gpu: &mut ListOnGpu<'_, I>,
    source: SuccessorSource<'_, I>,
    go_on: CancelCheck<'_>,
) -> Result<()> {
    let (next, list, length) = (AtomicU64::new(0), gpu.list, gpu.length);
    // Pieces are small enough that every thread has some even in a short list.
    with_lanes(gpu, |lane, piece| {
        loop {
            let first = next.fetch_add(piece, Ordering::Relaxed);
            if first >= length {
                return lane.finish();
            }
            let filled = go_on().and_then(|()| fill_slot(lane, list.part(first..first + piece), first, source));
            if filled.is_err() {
                next.store(length, Ordering::Relaxed);
                return filled;
            }
        }
    })
}

/// Passes all ranks to `take`.
pub(super) fn fetch<I: Index>(gpu: &mut ListOnGpu<'_, I>, take: RankSink<'_, I>, go_on: CancelCheck<'_>) -> Result<()> {
    let (next, list, length) = (AtomicU64::new(0), gpu.list, gpu.length);
    with_lanes(gpu, |lane, piece| {
        // A thread waits for its first and its last piece, so it takes many pieces at a time.
        let share = piece * 16;
        loop {
            let start = next.fetch_add(share, Ordering::Relaxed);
            if start >= length {
                return Ok(());
            }
            let mut first = start;
            let part = as_words(list.part(start..start + share));
            let fetched = lane.receive(part, words_per_index::<I>() as usize, |words| {
                go_on()?;
                let ranks = indices(words);
                take(first, ranks)?;
                first += ranks.len() as u64;
                Ok(())
            });
            if fetched.is_err() {
                next.store(length, Ordering::Relaxed);
                return fetched;
            }
        }
    })
}

/// Runs `work` on one thread per lane, with the piece size in elements. Returns the first error.
fn with_lanes<I: Index>(
    gpu: &mut ListOnGpu<'_, I>,
    work: impl Fn(&mut Lane<'_>, u64) -> Result<()> + Sync,
) -> Result<()> {
    let mut lanes = gpu.workspace.uploader.lanes()?;
    on_threads(lanes.iter_mut(), |lane| {
        let piece = lane.slot_words() as u64 / words_per_index::<I>();
        work(lane, piece)
    })
}

/// Fills the current slot from `source` and queues its copy.
fn fill_slot<I: Index>(
    lane: &mut Lane<'_>,
    to: DeviceSlice<I>,
    first: u64,
    source: SuccessorSource<'_, I>,
) -> Result<()> {
    let words = as_words(to);
    let slot = &mut lane.slot()?[..words.len() as usize];
    source(first, indices_mut(slot))?;
    lane.send_slot(words)?;
    lane.pass()
}
