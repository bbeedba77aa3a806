//! Runs two methods on a GPU: Moore's algorithm with queues of vertices, and the baseline with masks of active
//! vertices. The kernels are in `kernels/sssp_moore.cuh`. After each launch the host chooses the kernel for the next
//! launch.
#![allow(unsafe_code)] // kernel launches

use super::GpuSearch;
use super::kernel_structs::{Masked, Moore, MooreState};
use super::programs::{MOORE, MOORE_CODED, MOORE_HEADER};
use crate::algo::searches::gpu::{BARRIER_BYTES, check_barrier, joined};
use crate::error::Result;
use crate::gpu::{DeviceSlice, Grid, Kernel, constant};
use crate::graph::ids::Vertex;
use crate::process::signals;

/// Number of threads per thread block, if several blocks run.
const THREADS: u32 = of_kernels("MOORE_THREADS");
/// Number of threads in a thread block that runs alone.
const ALONE: u32 = of_kernels("MOORE_ALONE");
/// Number of tasks (vertices to push from) that a thread block claims at a time, if several blocks run.
const TASKS: u32 = THREADS / of_kernels("MOORE_LANES");
/// Number of tasks (vertices to push from) above which a launch ends, if a single thread block runs and stores
/// distances in shared memory.
const MOST_IN_SHARED: u32 = 1024;
/// Number of tasks (vertices to push from) above which a launch ends, if a single thread block runs and stores
/// distances in global memory.
const MOST_OF_ONE: u32 = 512;
/// Number of tasks (vertices to push from) above which a launch ends, if several thread blocks run.
const MOST_OF_SEVERAL: u32 = 1 << 20;
const _: () = {
    let of_block = of_kernels("MOORE_OF_BLOCK");
    assert!(MOST_OF_ONE <= of_block);
    assert!(MOST_IN_SHARED <= of_block);
};
/// Number of rounds after which a kernel launch ends.
const ROUNDS: u32 = 1 << 14;
/// Number of threads per thread block in the baseline.
const MASKED_THREADS: u32 = 256;

const fn of_kernels(name: &str) -> u32 {
    constant(MOORE_HEADER.1, name)
}

/// Statistics of the rounds of one search.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundCounts {
    /// Number of rounds. A barrier of all threads ends each round.
    pub rounds: u64,
    /// Number of edges that were relaxed.
    pub relaxations: u64,
    /// Whether the length of some path did not fit in the type in which distances are stored.
    pub overflowed: bool,
}

/// Returns the kernel whose name begins with `name`, for the type in which `search` stores distances.
fn kernel(search: &GpuSearch<'_>, name: &str) -> Result<Kernel> {
    let program = if search.sums.is_coded() { &MOORE_CODED } else { &MOORE };
    search.gpu.workspace.kernel(program, &format!("{name}_{}", search.sums.name()))
}

/// Finds the distances from `root` by Moore's algorithm, with queues of vertices. The caller must have marked all
/// vertices as unreached. Records two of the CUDA events in `search.clock`: the first one after arrays are cleared, and
/// the third one when distances are known.
pub(super) fn queued(search: &GpuSearch<'_>, root: Vertex) -> Result<RoundCounts> {
    let GpuSearch { memory, tuning, sums, clock: [begun, _, known], .. } = search;
    let (workspace, graph) = (&*search.gpu.workspace, search.placed.graph);
    let queue = &workspace.queue;
    let vertices = u64::from(graph.vertices);
    let part = |nth: u64| memory.words.part(64 + nth * vertices..64 + (nth + 1) * vertices);
    let state: DeviceSlice<MooreState> = DeviceSlice::at(memory.words.address(), 1);
    queue.fill(memory.words.part(0..64 + vertices), 0)?;
    let mut one = kernel(search, "moore_one")?;
    let (several, any) = (kernel(search, "moore_several")?, kernel(search, "moore_any")?);
    let (begin, end) = (workspace.kernel(&MOORE, "moore_begin")?, workspace.kernel(&MOORE, "moore_end")?);
    // In a small graph, the distances and rounds of all vertices fit in the shared memory of one block.
    let small = 4 * (sums.words() + 1) * vertices;
    let is_small = u32::try_from(small).map_or(Ok(false), |bytes| one.allow_shared(bytes))?;
    let (shared, most_of_one) = if is_small { (small as u32, MOST_IN_SHARED) } else { (0, MOST_OF_ONE) };
    let moore = Moore {
        distances: memory.distances.address(),
        found: part(0).address(),
        queues: [part(1).address(), part(2).address()],
        state: state.address(),
        reach: search.search.reach,
        most_rounds: ROUNDS.min(tuning.steps),
        most_tasks: 0,
        many: tuning.many,
        few: tuning.many / 4,
        is_small: u32::from(is_small),
        unused: 0,
    };
    // More blocks than tasks would only wait for each other.
    let most = vertices.div_ceil(TASKS.into()) as u32;
    let together = several.blocks_at_once(THREADS, 0)?.min(tuning.blocks).min(most).max(1);
    let grid = |blocks| Grid { blocks, threads: THREADS, shared: 0 };
    let alone = Grid { blocks: 1, threads: 1, shared: 0 };
    // SAFETY: the arguments match the kernels'. Every array has an element for each vertex, and no queue holds a vertex
    // twice.
    unsafe { queue.launch(&begin, alone, (moore, root.0, u32::from(sums.is_wide())))? };
    queue.mark(begun)?;
    let mut found = [MooreState { tasks: [1, 0, 0], ..MooreState::default() }];
    loop {
        let [state_now] = found;
        let tasks = state_now.tasks[(state_now.rounds % 3) as usize];
        check_barrier(state_now.broken)?;
        if tasks == 0 || state_now.overflowed != 0 {
            let MooreState { rounds, relaxations, overflowed, .. } = state_now;
            return Ok(RoundCounts { rounds, relaxations, overflowed: overflowed != 0 });
        }
        signals::check()?;
        let most_tasks = if tasks <= most_of_one { most_of_one } else { MOST_OF_SEVERAL };
        let arguments = (graph, Moore { most_tasks, ..moore });
        // SAFETY: as above.
        unsafe {
            if tasks <= most_of_one {
                queue.launch(&one, Grid { blocks: 1, threads: ALONE, shared }, arguments)?;
            } else if tasks <= MOST_OF_SEVERAL {
                queue.fill(state.as_bytes().part(0..BARRIER_BYTES), 0)?;
                queue.launch_together(&several, grid(together), arguments)?;
            } else {
                queue.launch(&any, grid(tasks.div_ceil(TASKS).min(MOST_OF_SEVERAL / TASKS)), arguments)?;
                queue.launch(&end, alone, (moore,))?;
            }
        }
        queue.mark(known)?;
        queue.read(state, &mut found)?;
    }
}

/// Finds the distances from `root` by the baseline, in rounds over all vertices. Records the same CUDA events as
/// [`queued`].
pub(super) fn masked(search: &GpuSearch<'_>, root: Vertex) -> Result<RoundCounts> {
    let GpuSearch { memory, sums, clock: [begun, _, known], .. } = search;
    let (workspace, graph) = (&*search.gpu.workspace, search.placed.graph);
    let queue = &workspace.queue;
    let vertices = u64::from(graph.vertices);
    let of_each = sums.words();
    let found = memory.words.part(64..64 + of_each * vertices);
    let mask = memory.words.part(64 + of_each * vertices..u64::MAX).as_bytes().part(0..vertices);
    let flags = memory.words.part(0..4);
    queue.fill(found, 0xff)?;
    queue.fill(mask, 0)?;
    queue.fill(flags, 0)?;
    // Only the root is in the mask, at distance 0.
    let at = u64::from(root.0);
    queue.fill(found.part(at * of_each..(at + 1) * of_each), 0)?;
    let distances = DeviceSlice::<u32>::at(memory.distances.address(), of_each * vertices);
    queue.fill(distances.part(at * of_each..(at + 1) * of_each), 0)?;
    queue.fill(mask.part(at..at + 1), 1)?;
    let masked = Masked {
        distances: distances.address(),
        found: found.address(),
        mask: mask.address(),
        again: flags.address(),
        relaxations: flags.part(2..4).address(),
    };
    let (round, next) = (kernel(search, "masked_round")?, kernel(search, "masked_next")?);
    let grid = Grid { blocks: vertices.div_ceil(MASKED_THREADS.into()) as u32, threads: MASKED_THREADS, shared: 0 };
    queue.mark(begun)?;
    let mut totals = RoundCounts::default();
    loop {
        signals::check()?;
        queue.fill(flags.part(0..1), 0)?;
        // SAFETY: the arguments match the kernels'. Every array has an element for each vertex.
        unsafe {
            queue.launch(&round, grid, (graph, masked))?;
            queue.launch(&next, grid, (graph, masked))?;
        }
        queue.mark(known)?;
        let [again, overflowed, low, high] = queue.read_first(flags)?;
        totals.rounds += 1;
        totals.relaxations = joined([low, high]);
        totals.overflowed = overflowed != 0;
        if again == 0 || totals.overflowed {
            return Ok(totals);
        }
    }
}
