//! The phases of a search for strongly connected components on a GPU. `kernels/strong.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::Phase;
use super::search::LIVE;
use crate::algo::Lease;
use crate::algo::rows::{FEW, SPARSE};
use crate::algo::searches::gpu::{BARRIER_BYTES, FRONTIER, GRID_BARRIER, check_barrier, fetch};
use crate::error::Result;
use crate::gpu::{
    Arguments, COMMON, CopySource, DeviceSlice, Grid, Kernel, ProgramSource, THREADS, constant, slice_bytes,
    slices_bytes,
};
use crate::graph::BlockStore;
use crate::memory::{Budget, Buffer, Plain, bytes_of};
use crate::process::signals;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::{self, VertexRows, Windows};

pub(in crate::algo::components) static PROGRAM: ProgramSource =
    ProgramSource { name: "strong.cu", text: TEXT, headers: &[COMMON, FRONTIER, GRID_BARRIER, ROW_PARTS] };
const TEXT: &str = include_str!("../../../../kernels/strong.cu");

/// Purpose of the GPU memory, as named in error messages.
const PURPOSE: &str = "strong [components] on this graph, with all its rows";
/// Minimum number of row entries with which kernels put a vertex into a separate list.
const LONG: u64 = constant(FRONTIER.1, "LONG") as u64;
/// Maximum number of vertices in a step that a single thread block executes alone.
const NARROW: u32 = constant(TEXT, "NARROW");
/// Values of the kernel argument that otherwise contains a [`Phase`]: one for the step that counts neighbours before
/// trimming, and one for the step that lists the live vertices before the first phase.
const COUNT: u32 = constant(TEXT, "COUNT");
const START: u32 = constant(TEXT, "START");

/// Time that a narrow step takes, in nanoseconds.
const NARROW_STEP: u64 = 5_000;
/// Minimum number of narrow steps before a phase is given up.
const PATIENCE: u64 = 3 << 10;
/// Time per row entry in which CPUs execute a phase, in nanoseconds on one thread.
const CPU_ENTRY: u64 = 20;

const _: () = assert!(
    LIVE == constant(TEXT, "LIVE")
        && FEW == constant(TEXT, "FEW") as u64
        && SPARSE == constant(TEXT, "SPARSE") as u64
        && Phase::Trim as u32 == constant(TEXT, "TRIM")
        && Phase::Colour as u32 == constant(TEXT, "COLOUR")
        && Phase::Assign as u32 == constant(TEXT, "ASSIGN"),
    "as in the kernels"
);

/// Returns the minimum GPU memory in bytes for a graph of `vertices` vertices and `edges` edges in up to `blocks`
/// blocks.
pub(in crate::algo::components) fn least_bytes(vertices: u64, edges: u64, blocks: u64) -> u64 {
    // A vertex has two rows.
    let rows = windows::most_resident_bytes(2 * vertices, edges, blocks);
    (state_bytes(vertices, 2 * edges) + rows).next_multiple_of(1 << 20)
}

fn state_bytes(vertices: u64, entries: u64) -> u64 {
    slices_bytes(lengths(vertices, entries)) + slice_bytes::<StrongState>(1)
}

/// Returns the lengths of the arrays in [`StrongArguments`], from `of` to `queued`, in 32-bit words.
fn lengths(vertices: u64, entries: u64) -> [u64; 6] {
    [vertices, 2 * vertices, vertices, 2 * vertices, entries / LONG, 2 * vertices.div_ceil(32)]
}

/// Progress of a phase. The memory layout must match `StrongState` in the kernels.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct StrongState {
    arrived: u64,
    broken: u32,
    unused: u32,
    size: u32,
    list: u32,
    step: u32,
    root: u32,
    entries: u64,
    left: u64,
    slots: [[u64; 2]; 3],
    pivot: u64,
    live: u32,
    padding: u32,
}

// SAFETY: integers without padding between them.
unsafe impl Plain for StrongState {}

/// Arguments of the kernels. The memory layout must match `Strong` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct StrongArguments {
    rows: VertexRows,
    of: u64,
    values: u64,
    live: u64,
    lists: u64,
    longs: u64,
    queued: u64,
    state: u64,
    vertices: u32,
    /// Number of live vertices.
    count: u32,
}

const _: () = assert!(size_of::<StrongState>() == 112 && size_of::<StrongArguments>() == 88, "as in the kernels");

/// A search in GPU memory.
pub(super) struct GpuSearch<'g> {
    gpu: Lease<'g>,
    begin: Kernel,
    end: Kernel,
    pivot: Kernel,
    trim: Kernel,
    spread: Kernel,
    arguments: StrongArguments,
    of: DeviceSlice<u32>,
    values: DeviceSlice<u32>,
    live: DeviceSlice<u32>,
    lists: DeviceSlice<u32>,
    queued: DeviceSlice<u32>,
    state: DeviceSlice<StrongState>,
    /// Number of row entries of live vertices; an upper bound except in the phases of the first round.
    left: u64,
    /// Maximum number of narrow steps in a phase, after which CPUs are probably faster.
    patience: u64,
    /// Host memory into which `of` is copied.
    host: Buffer<u32>,
}

impl<'g> GpuSearch<'g> {
    /// Copies the rows to GPU memory, and the components and classes `saved` by an earlier run. If `saved` is empty,
    /// every vertex is live (in no component yet). `threads` is the number of CPU threads that could execute the phases
    /// instead; 0 if the CPU has no rows.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks;
    /// [`crate::Error::Stopped`].
    pub(super) fn new(
        halves: [&'g BlockStore; 2],
        count: usize,
        saved: &[u32],
        threads: usize,
        mut gpu: Lease<'g>,
        budget: &Budget,
    ) -> Result<GpuSearch<'g>> {
        let workspace = &mut *gpu.workspace;
        let names = ["strong_begin", "strong_end", "strong_pivot", "strong_trim", "strong_spread"];
        let [begin, end, pivot, trim, spread] = workspace.kernels(&PROGRAM, names)?;
        let mut host: Buffer<u32> = budget.zeroed(count, "classes of vertices (4 bytes each)")?;
        match saved {
            [] => host.fill(LIVE),
            saved => host.copy_from_slice(saved),
        }
        let (vertices, entries) = (count as u64, halves.iter().map(|half| half.edges()).sum::<u64>());
        let on_cpus = (CPU_ENTRY * entries).checked_div(threads as u64);
        let patience = on_cpus.map_or(u64::MAX, |nanos| (nanos / NARROW_STEP).max(PATIENCE));
        let arena = &mut workspace.arena;
        arena.reset(0);
        let needed = state_bytes(vertices, entries) + windows::resident_bytes(halves);
        arena.check_size(needed.next_multiple_of(1 << 20), PURPOSE)?;
        let slices = arena.take_all(lengths(vertices, entries))?;
        let state: DeviceSlice<StrongState> = arena.take_planned(1)?;
        let copy = (CopySource::Memory(bytes_of(&host)), slices[0].as_bytes());
        workspace.uploader.upload(&[copy], &signals::check)?.wait()?;
        let (vertices, count) = (count as u32, count as u32);
        let rows = Windows::all_rows(workspace, halves, count, PURPOSE)?;
        let [of, values, live, lists, longs, queued] = slices.map(DeviceSlice::address);
        let at = state.address();
        let arguments = StrongArguments { rows, of, values, live, lists, longs, queued, state: at, vertices, count };
        let [of, values, live, lists, _, queued] = slices;
        let mut search = GpuSearch {
            gpu,
            begin,
            end,
            pivot,
            trim,
            spread,
            arguments,
            of,
            values,
            live,
            lists,
            queued,
            state,
            left: entries,
            patience,
            host,
        };
        search.restart(0, 0)?;
        search.end(START)?;
        Ok(search)
    }

    /// Returns the number of live vertices.
    pub(super) fn left(&self) -> usize {
        self.arguments.count as usize
    }

    /// Executes a phase. In the first round, only one vertex has a label. Returns false if the phase was given up,
    /// with classes unchanged, because CPUs are probably faster: on long paths, even a step of one vertex takes as long
    /// as a barrier of the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`], with classes unchanged; [`crate::Error::Lost`].
    pub(super) fn advance(&mut self, phase: Phase, is_first: bool) -> Result<bool> {
        let StrongArguments { vertices, count, .. } = self.arguments;
        if phase == Phase::Trim && count < vertices {
            self.gpu.workspace.queue.fill(self.values, 0)?;
            self.restart(count, 0)?;
            self.take_steps(&self.trim, COUNT, u64::MAX)?;
        }
        let has_pivot = phase == Phase::Colour && is_first;
        self.restart(0, if has_pivot { 0 } else { self.left })?;
        if has_pivot {
            // The kernel also adds up the entries of live vertices.
            self.launch(&self.pivot, (self.arguments,))?;
            self.left = self.read()?.left;
        }
        self.launch(&self.begin, (self.arguments, phase as u32))?;
        let steps = if phase == Phase::Trim { &self.trim } else { &self.spread };
        let is_whole = self.take_steps(steps, phase as u32, self.patience)?;
        if is_whole {
            self.end(phase as u32)?;
        }
        Ok(is_whole)
    }

    /// Resets the state for steps that begin with a list of `size` vertices. `left` is the number of entries of live
    /// vertices, if values spread.
    fn restart(&self, size: u32, left: u64) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        queue.fill(self.queued, 0)?;
        queue.write(&[StrongState { size, left, ..StrongState::default() }], self.state)
    }

    /// Executes all steps of a phase. Returns false if it gave up, after more than `patience` narrow steps.
    fn take_steps(&self, kernel: &Kernel, phase: u32, patience: u64) -> Result<bool> {
        let (queue, most) = (&self.gpu.workspace.queue, kernel.blocks_at_once(THREADS, 0)?);
        let mut grid = Grid { blocks: most, threads: THREADS, shared: 0 };
        let (mut begun, mut narrow) = (0, 0);
        while narrow <= patience {
            signals::check()?;
            queue.fill(self.state.as_bytes().part(0..BARRIER_BYTES), 0)?;
            // SAFETY: the arguments match the kernel's, and name memory that only this search uses.
            unsafe { queue.launch_together(kernel, grid, (self.arguments, phase))? };
            let StrongState { broken, size, entries, step, .. } = self.read()?;
            check_barrier(broken)?;
            if size == 0 {
                return Ok(true);
            }
            if grid.blocks == 1 {
                narrow += u64::from(step - begun);
            }
            begun = step;
            grid.blocks = if size <= NARROW && entries <= FEW { 1 } else { most };
        }
        Ok(false)
    }

    /// Replaces the classes of live vertices by the classes and components that the phase found, and lists the
    /// vertices that are still live.
    fn end(&mut self, phase: u32) -> Result<()> {
        self.launch(&self.end, (self.arguments, phase))?;
        self.arguments.count = self.read()?.live;
        let live = self.lists.part(0..self.arguments.count.into());
        self.gpu.workspace.queue.copy(live, self.live)
    }

    /// Launches a kernel with a thread for each live vertex.
    fn launch(&self, kernel: &Kernel, arguments: impl Arguments) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        // SAFETY: the arguments match the kernel's, and name memory that only this search uses.
        unsafe { queue.launch(kernel, queue.grid(self.arguments.count.into()), arguments) }
    }

    fn read(&self) -> Result<StrongState> {
        self.gpu.workspace.queue.read_first(self.state).map(|[state]| state)
    }

    /// Copies the components and classes of all vertices to the host, and returns them.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn gather(&mut self) -> Result<&[u32]> {
        fetch(&mut self.gpu.workspace.uploader, self.of, &mut self.host, |[of]| of)?;
        Ok(&self.host)
    }

    /// Returns the components, and frees the GPU. Every vertex must be in a component.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn finish(mut self) -> Result<Buffer<u32>> {
        self.gather()?;
        Ok(self.host)
    }
}
