//! Copies successors to a GPU and ranks to the host, with all threads, through buffers of pinned memory.

use super::index::{as_words, indices, indices_mut, words_per_index};
use super::{ListOnGpu, RankSink, SuccessorSource};
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::fill_by_lanes;
use crate::process::signals;
use crate::process::threads::on_threads;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of pinned buffers that a thread fills per fetch of ranks. A thread waits twice per fetch, for the first copy
/// and for the last, so fetches are large.
const SLOTS: u64 = 16;

/// Copies all successors from `source` to the GPU, with all threads.
pub(super) fn fill<I: Index>(gpu: &mut ListOnGpu<'_, I>, source: SuccessorSource<'_, I>) -> Result<()> {
    let (to, step) = (as_words(gpu.list.part(0..gpu.length)), words_per_index::<I>());
    fill_by_lanes(&mut gpu.workspace.uploader.lanes()?, to, step, |first, slot| {
        signals::check()?;
        source(first / step, indices_mut(slot))
    })
}

/// Copies all ranks from the GPU and passes them to `take`, with all threads. After an error no thread begins another
/// fetch.
pub(super) fn fetch<I: Index>(gpu: &mut ListOnGpu<'_, I>, take: RankSink<'_, I>) -> Result<()> {
    let (list, next, length) = (gpu.list, AtomicU64::new(0), gpu.length);
    let mut lanes = gpu.workspace.uploader.lanes()?;
    on_threads(lanes.iter_mut(), |lane| {
        let share = SLOTS * (lane.slot_words() as u64 / words_per_index::<I>());
        loop {
            let mut first = next.fetch_add(share, Ordering::Relaxed);
            if first >= length {
                return lane.finish();
            }
            let part = as_words(list.part(first..(first + share).min(length)));
            let received = lane.receive(part, words_per_index::<I>() as usize, |words| {
                signals::check()?;
                let ranks = indices(words);
                take(first, ranks)?;
                first += ranks.len() as u64;
                Ok(())
            });
            received.inspect_err(|_| next.store(length, Ordering::Relaxed))?;
        }
    })
}
