//! Checks on a GPU that successors form a list, except that there may be cycles apart from it.
#![allow(unsafe_code)] // kernel launches

use super::ListOnGpu;
use super::buffer_sizes::{FOUND, seen_words};
use crate::algo::listrank::faults::ListFault;
use crate::algo::listrank::index::Index;
use crate::algo::listrank::read;
use crate::error::Result;
use crate::process::signals;

const NONE: u64 = u64::MAX;

/// Checks all successors and finds the head of the list. Returns the faults of the list, but does not detect cycles.
pub(super) fn check<I: Index>(gpu: &mut ListOnGpu<'_, I>) -> Result<Vec<ListFault>> {
    let kernel = gpu.kernel_by_width(["check_list", "check_list_wide"])?;
    let queue = &gpu.workspace.queue;
    let mut found = [NONE, NONE, 0, NONE, 0, 0, 0, 0];
    debug_assert_eq!(found.len() as u64, FOUND);
    queue.write(&found, gpu.found)?;
    let (seen, _) = gpu.span::<u32>(0, seen_words(gpu.length));
    for from in (0..gpu.length).step_by(gpu.seen as usize) {
        signals::check()?;
        let to = (from + gpu.seen).min(gpu.length);
        queue.fill(seen, 0)?;
        let (list, seen, found) = (gpu.list.address(), seen.address(), gpu.found.address());
        // SAFETY: the arguments match the kernel's; `seen` has a bit for each element of from..to, and only this queue
        // is in use.
        unsafe { queue.launch(&kernel, queue.grid(gpu.length), (list, gpu.length, seen, from, to, found))? };
        queue.finish()?;
    }
    queue.read(gpu.found, &mut found)?;
    let [range, twice, ends, first_end, sum, ..] = found;
    let mut faults = Vec::new();
    if range != NONE {
        faults.push(ListFault::Range { element: range });
    }
    if twice != NONE {
        faults.push(ListFault::Twice { successor: twice });
    }
    if ends != 1 {
        faults.push(ListFault::Tails { count: ends, element: (ends > 0).then_some(first_end) });
    }
    if faults.is_empty() {
        gpu.head = Some(read::head(gpu.length, sum));
    }
    Ok(faults)
}
