//! Pointer jumping on a GPU: of every element (Wyllie, The Complexity of Parallel Computations, 1979), or of sublists.
#![allow(unsafe_code)] // kernel launches

use super::{GoOn, Index, ListOnGpu};
use crate::error::Result;
use crate::gpu::DeviceSlice;

/// Ranks every element by itself, on words of 64 bits. Returns the number of elements from the head to the end of the list, or 0 if it
/// is not reached.
pub(super) fn jump<I: Index>(gpu: &mut ListOnGpu<'_, I>, head: u64, go_on: GoOn<'_>) -> Result<u64> {
    let (words, _) = gpu.span::<u64>(0, gpu.length);
    gpu.rounds.time("make words", gpu.length, || {
        make_words(gpu, words)?;
        gpu.workspace.queue.finish()
    })?;
    jump_all(gpu, "jump_elements", words, go_on)?;
    let mut of_head = [0];
    gpu.workspace.queue.read(words.part(head..head + 1), &mut of_head)?;
    keep_distances(gpu, words)?;
    gpu.workspace.queue.finish()?;
    let (next, distance) = (of_head[0] >> 32, of_head[0] & u64::from(u32::MAX));
    Ok(if next == u64::from(u32::MAX) { distance + 1 } else { 0 })
}

/// Lets all words jump until they are at the end. Those on a cycle never are, so there are no more rounds than a list takes.
pub(super) fn jump_all<I: Index>(
    gpu: &ListOnGpu<'_, I>,
    name: &'static str,
    words: DeviceSlice<u64>,
    go_on: GoOn<'_>,
) -> Result<()> {
    let step = if name == "jump_sublists" { "jump links" } else { "jump" };
    let kernel = gpu.kernel(name)?;
    let queue = &gpu.workspace.queue;
    let is_left = gpu.counters.part(0..1);
    // A round doubles the distance, and one more sees that nothing is left.
    for _ in 0..=u64::BITS - words.len().leading_zeros() {
        go_on()?;
        let mut left = [0];
        gpu.rounds.time(step, words.len(), || {
            queue.fill(is_left, 0)?;
            let arguments = (words.address(), words.len(), is_left.address());
            // SAFETY: the arguments match the kernel's; numbers of words are below their count; only this queue is in use.
            unsafe { queue.launch(&kernel, queue.grid(words.len()), arguments)? };
            queue.read(is_left, &mut left)
        })?;
        if left[0] == 0 {
            break;
        }
    }
    Ok(())
}

/// Makes words of the successors, which lie in the second half of the memory for words: always of the first half of those that are
/// left, whose words lie where successors are words already.
fn make_words<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>) -> Result<()> {
    let kernel = gpu.kernel("words_of_elements")?;
    let queue = &gpu.workspace.queue;
    let mut from = 0;
    while from < gpu.length {
        let to = from + ((gpu.length - from) / 2).max(1);
        let arguments = (gpu.list.address(), from, to, words.address());
        // SAFETY: the arguments match the kernel's; words before `to` end where successors from `from` on begin, or are one's own.
        unsafe { queue.launch(&kernel, queue.grid(to - from), arguments)? };
        from = to;
    }
    Ok(())
}

/// Keeps the distances of all words, at the start of their memory: twice as many as before go where the words before were.
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
