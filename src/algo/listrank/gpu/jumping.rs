//! Pointer jumping on a GPU (Wyllie, The Complexity of Parallel Computations, 1979). It ranks the elements of a list,
//! or the sublists of a list.
#![allow(unsafe_code)] // kernel launches

use super::ListOnGpu;
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::DeviceSlice;
use crate::process::signals;

/// Ranks a list by pointer jumping from every element. A 64-bit word contains an element's pointer and its distance to
/// the target. Returns the number of elements from the head to the end of the list, or 0 if the end is not reached.
pub(super) fn jump<I: Index>(gpu: &mut ListOnGpu<'_, I>, head: u64) -> Result<u64> {
    let (words, _) = gpu.span::<u64>(0, gpu.length);
    gpu.rounds.time("make words", gpu.length, || {
        make_words(gpu, words)?;
        gpu.workspace.queue.finish()
    })?;
    jump_all(gpu, "jump_elements", words)?;
    let [of_head] = gpu.workspace.queue.read_first(words.part(head..head + 1))?;
    keep_distances(gpu, words)?;
    gpu.workspace.queue.finish()?;
    let (next, distance) = (of_head >> 32, of_head & u64::from(u32::MAX));
    Ok(if next == u64::from(u32::MAX) { distance + 1 } else { 0 })
}

/// Runs rounds of pointer jumping until all pointers have reached the end of the list. Pointers on a cycle never reach
/// it, so there are at most as many rounds as a list without cycles needs.
pub(super) fn jump_all<I: Index>(gpu: &ListOnGpu<'_, I>, name: &'static str, words: DeviceSlice<u64>) -> Result<()> {
    let step = if name == "jump_sublists" { "jump links" } else { "jump" };
    let kernel = gpu.kernel(name)?;
    let queue = &gpu.workspace.queue;
    let is_left = gpu.counters.part(0..1);
    // Each round doubles the distances. One more round finds out that all pointers have reached the end.
    for _ in 0..=u64::BITS - words.len().leading_zeros() {
        signals::check()?;
        let mut left = [0];
        gpu.rounds.time(step, words.len(), || {
            queue.fill(is_left, 0)?;
            let arguments = (words.address(), words.len(), is_left.address());
            // SAFETY: the arguments match the kernel's; word indices are below the number of words; only this queue is
            // in use.
            unsafe { queue.launch(&kernel, queue.grid(words.len()), arguments)? };
            queue.read(is_left, &mut left)
        })?;
        if left[0] == 0 {
            break;
        }
    }
    Ok(())
}

/// Converts successors to 64-bit words. The successors are in the second half of the words' memory. Each step converts
/// half of the successors that are left, from the start on. Their words overwrite only converted successors.
fn make_words<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>) -> Result<()> {
    let kernel = gpu.kernel("words_of_elements")?;
    let queue = &gpu.workspace.queue;
    let mut from = 0;
    while from < gpu.length {
        let to = from + ((gpu.length - from) / 2).max(1);
        let arguments = (gpu.list.address(), from, to, words.address());
        // SAFETY: the arguments match the kernel's; words before `to` end where successors from `from` on begin, or
        // overlap only the successor of the same element.
        unsafe { queue.launch(&kernel, queue.grid(to - from), arguments)? };
        from = to;
    }
    Ok(())
}

/// Extracts the distance from each word, and packs the distances at the start of the words' memory. Each step doubles
/// the number of distances. They overwrite only words whose distances are already extracted.
fn keep_distances<I: Index>(gpu: &mut ListOnGpu<'_, I>, words: DeviceSlice<u64>) -> Result<()> {
    let kernel = gpu.kernel("ranks_of_words")?;
    let queue = &gpu.workspace.queue;
    let mut from = 0;
    while from < gpu.length {
        let to = (2 * from).max(1).min(gpu.length);
        let arguments = (words.address(), from, to, words.address());
        // SAFETY: the arguments match the kernel's; ranks before 2 * `from` end where words from `from` on begin.
        unsafe { queue.launch(&kernel, queue.grid(to - from), arguments)? };
        from = to;
    }
    gpu.list = DeviceSlice::at(words.address(), gpu.length);
    Ok(())
}
