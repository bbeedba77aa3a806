//! Copies successors to the GPU and ranks to the host, with all threads, through buffers of pinned memory.

use super::index::{as_words, indices, indices_mut, words_per_index};
use super::{ListOnGpu, RankSink, SuccessorSource};
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::{Lane, on_threads};
use crate::process::signals;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Copies all successors from `source` to the GPU, with all threads.
pub(super) fn fill<I: Index>(gpu: &mut ListOnGpu<'_, I>, source: SuccessorSource<'_, I>) -> Result<()> {
    let list = gpu.list;
    // Parts are small enough that every thread gets some even in a short list.
    each_share(gpu, 1, |lane, elements| {
        signals::check()?;
        let (first, words) = (elements.start, as_words(list.part(elements)));
        let slot = &mut lane.slot()?[..words.len() as usize];
        source(first, indices_mut(slot))?;
        lane.send_slot(words)?;
        lane.pass()
    })
}

/// Copies all ranks from the GPU and passes them to `take`, with all threads.
pub(super) fn fetch<I: Index>(gpu: &mut ListOnGpu<'_, I>, take: RankSink<'_, I>) -> Result<()> {
    let list = gpu.list;
    // A thread waits for its first and its last copy, so it takes many buffers' worth of elements at a time.
    each_share(gpu, 16, |lane, elements| {
        let mut first = elements.start;
        lane.receive(as_words(list.part(elements)), words_per_index::<I>() as usize, |words| {
            signals::check()?;
            let ranks = indices(words);
            take(first, ranks)?;
            first += ranks.len() as u64;
            Ok(())
        })
    })
}

/// Divides all elements among one thread per lane, and calls `work` with each part. A lane is a GPU queue with pinned
/// buffers, called slots. A part has as many elements as fit `slots` slots. Returns the first error, after which no
/// thread takes another part.
fn each_share<I: Index>(
    gpu: &mut ListOnGpu<'_, I>,
    slots: u64,
    work: impl Fn(&mut Lane<'_>, Range<u64>) -> Result<()> + Sync,
) -> Result<()> {
    let (next, length) = (AtomicU64::new(0), gpu.length);
    let mut lanes = gpu.workspace.uploader.lanes()?;
    on_threads(lanes.iter_mut(), |lane| {
        let share = slots * (lane.slot_words() as u64 / words_per_index::<I>());
        loop {
            let first = next.fetch_add(share, Ordering::Relaxed);
            if first >= length {
                return lane.finish();
            }
            work(lane, first..first + share).inspect_err(|_| next.store(length, Ordering::Relaxed))?;
        }
    })
}
