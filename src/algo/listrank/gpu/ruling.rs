//! Ranks a list on a GPU by its sublists. A splitter is an element at which a sublist begins.
#![allow(unsafe_code)] // kernel launches

use super::ListOnGpu;
use super::index::LENGTH_BITS;
use super::jumping::jump_all;
use crate::algo::listrank::index::Index;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Grid, Kernel, THREADS};

const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
const NO_NEXT: u64 = u64::MAX >> LENGTH_BITS;

/// Kernel argument that describes a list divided into sublists. Its layout must match the struct in the kernels'
/// source.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Sublists {
    pub length: u64,
    pub head: u64,
    pub words: u64,
    pub counters: u64,
    pub shift: u32,
    pub most: u32,
}

/// Replaces the successors of a list by ranks. Returns the number of elements from the head to the end of the list, or
/// 0 if the end is not reached.
pub(super) fn rank<I: Index>(gpu: &mut ListOnGpu<'_, I>, head: u64) -> Result<u64> {
    let (words, at) = gpu.span::<u64>(0, gpu.sizes.parts);
    let (ranks, _) = gpu.span::<I>(at, gpu.sizes.parts);
    let used = gpu.rounds.time("walk", gpu.length, || walk(gpu, words, head))?;
    let in_list = rank_sublists(gpu, words.part(0..used), head)?;
    if in_list != gpu.length {
        return Ok(in_list);
    }
    gpu.rounds.time("rank", gpu.length, || finish(gpu, words.part(0..used), ranks))?;
    Ok(in_list)
}

/// Replaces the contents of each element's cell by the rank of the element. Before, the cell contains the index of a
/// part of a sublist, and the element's offset in that part.
fn finish<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>, ranks: DeviceSlice<I>) -> Result<()> {
    let (queue, used) = (&gpu.workspace.queue, words.len());
    let arguments = (words.address(), used, ranks.address());
    // SAFETY: the arguments match the kernel's; there is a rank for each word.
    unsafe {
        queue.launch(&gpu.kernel_by_width(["ranks_of_parts", "ranks_of_parts_wide"])?, queue.grid(used), arguments)?
    };
    let arguments = (gpu.list.address(), gpu.length, ranks.address());
    // SAFETY: as above; all elements were visited, so that each contains an index below `used`.
    unsafe {
        queue.launch(&gpu.kernel_by_width(["finish_ranks", "finish_ranks_wide"])?, queue.grid(gpu.length), arguments)?
    };
    queue.finish()
}

/// Walks all sublists. Replaces every successor by the index of a part of a sublist and the element's offset in it.
/// Writes a word for every part: its length and the index of the next part. Returns the exclusive end of the part
/// indices in use.
fn walk<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>, head: u64) -> Result<u64> {
    let queue = &gpu.workspace.queue;
    let counters = gpu.counters.part(0..2);
    queue.fill(words, 0xff)?;
    // The indices of further parts of sublists follow those of the sublists.
    queue.write(&[0, gpu.sizes.sublists as u32], counters)?;
    let kernel = gpu.kernel_by_width(["walk_sublists", "walk_sublists_wide"])?;
    let arguments = (sublists(gpu, words, head), gpu.list.address());
    // SAFETY: the arguments match the kernel's; the list was checked, and there are `most` words.
    unsafe { queue.launch(&kernel, walkers(gpu, &kernel)?, arguments)? };
    let [_, end] = queue.read_first(counters)?;
    Ok(u64::from(end).min(gpu.sizes.parts))
}

fn sublists<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>, head: u64) -> Sublists {
    let (shift, most) = (gpu.sizes.shift, gpu.sizes.parts as u32);
    let counters = gpu.counters.address();
    Sublists { length: gpu.length, head, words: words.address(), counters, shift, most }
}

/// Returns a launch grid that fills the GPU, or has a thread per sublist if there are fewer sublists.
fn walkers<I: Index>(gpu: &ListOnGpu<'_, I>, kernel: &Kernel) -> Result<Grid> {
    let most = kernel.blocks_at_once(THREADS, 0)?;
    let enough = gpu.sizes.sublists.div_ceil(u64::from(THREADS));
    Ok(Grid { blocks: enough.min(u64::from(most)) as u32, threads: THREADS, shared: 0 })
}

/// Replaces the length in the word of each part by the number of elements from the start of the part to the end of the
/// list. Returns this number for the head, or 0 if the list from the head has no end.
fn rank_sublists<I: Index>(gpu: &ListOnGpu<'_, I>, words: DeviceSlice<u64>, head: u64) -> Result<u64> {
    jump_all(gpu, "jump_sublists", words)?;
    // If the head is the splitter of its block, its sublist has the index of the block. Otherwise it is the last
    // sublist.
    let by_head = gpu.sizes.sublists - 1;
    let block = head >> gpu.sizes.shift;
    for number in [by_head, block] {
        let [word] = gpu.workspace.queue.read_first(words.part(number..number + 1))?;
        if word != u64::MAX {
            let ends = word >> LENGTH_BITS == NO_NEXT;
            return Ok(if ends { word & LENGTH_MASK } else { 0 });
        }
    }
    Ok(0)
}
