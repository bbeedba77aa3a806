//! Searches for an element on a cycle, in a list that is known to have one.
#![allow(unsafe_code)] // kernel launches

use super::ListOnGpu;
use super::buffer_sizes::{cycle_sublists, seen_words, spacing};
use super::jumping::jump_all;
use super::ruling::Sublists;
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::DeviceSlice;
use crate::process::signals;

/// Returns the smallest element on a cycle of an input whose list begins at `head`; `None` if there is no cycle.
pub(super) fn smallest<I: Index>(gpu: &ListOnGpu<'_, I>, head: u64) -> Result<Option<u64>> {
    let (words, at) = gpu.span::<u64>(0, cycle_sublists(gpu.length));
    let (seen, _) = gpu.span::<u32>(at, seen_words(gpu.length));
    let (counters, shift) = (gpu.counters.address(), spacing(gpu.length));
    let sublists = Sublists { length: gpu.length, head, words: words.address(), counters, shift, most: 0 };
    let queue = &gpu.workspace.queue;
    queue.fill(words, 0xff)?;
    let arguments = (sublists, gpu.list.address());
    // SAFETY: the arguments match the kernel's; the list was checked, and there is a word for every sublist.
    unsafe {
        queue.launch(
            &gpu.kernel_by_width(["measure_sublists", "measure_sublists_wide"])?,
            queue.grid(words.len()),
            arguments,
        )?
    };
    jump_all(gpu, "jump_sublists", words)?;
    for from in (0..gpu.length).step_by(gpu.seen as usize) {
        signals::check()?;
        let smallest = outside(gpu, sublists, seen, from, (from + gpu.seen).min(gpu.length))?;
        if smallest.is_some() {
            return Ok(smallest);
        }
    }
    Ok(None)
}

/// Returns the smallest element in from..to from which the end of the list can't be reached.
fn outside<I: Index>(
    gpu: &ListOnGpu<'_, I>,
    sublists: Sublists,
    seen: DeviceSlice<u32>,
    from: u64,
    to: u64,
) -> Result<Option<u64>> {
    let queue = &gpu.workspace.queue;
    let found = gpu.found.part(0..1);
    let mut smallest = [u64::MAX];
    queue.write(&smallest, found)?;
    queue.fill(seen, 0)?;
    let arguments = (sublists, gpu.list.address(), seen.address(), from, to);
    let grid = queue.grid(cycle_sublists(gpu.length));
    // SAFETY: the arguments match the kernels'; `seen` has a bit for each element of from..to.
    unsafe {
        queue.launch(&gpu.kernel_by_width(["mark_ending", "mark_ending_wide"])?, grid, arguments)?;
        let arguments = (seen.address(), from, to, found.address());
        queue.launch(&gpu.kernel("find_unseen")?, queue.grid(to - from), arguments)?;
    }
    queue.read(found, &mut smallest)?;
    Ok(Some(smallest[0]).filter(|&element| element != u64::MAX))
}
