//! Peeling on a GPU: removes layers of vertices. `kernels/cores.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::peeling::Begin;
use crate::algo::Lease;
use crate::algo::searches::gpu::{BARRIER_BYTES, FRONTIER, GRID_BARRIER, check_barrier, fetch};
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Grid, Kernel, ProgramSource, THREADS, constant, slice_bytes};
use crate::graph::BlockStore;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer, Plain, bytes_of};
use crate::process::signals;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::{self, VertexRows, Windows};

pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "cores.cu", text: TEXT, headers: &[COMMON, FRONTIER, GRID_BARRIER, ROW_PARTS] };
const TEXT: &str = include_str!("../../../kernels/cores.cu");

/// Purpose of the GPU memory for core numbers, as named in error messages.
const PURPOSE: &str = "[cores] on this graph, with all its rows";
/// Minimum number of neighbours of a vertex that a whole thread block removes.
const LONG: u64 = constant(FRONTIER.1, "LONG") as u64;
/// Maximum number of layers that one kernel launch removes.
const LAYERS: u32 = 256;

/// Returns the minimum GPU memory, in bytes, for the core numbers of a graph with `vertices` vertices, `rows` rows and
/// `edges` edges in up to `blocks` blocks.
pub(super) fn least_bytes(vertices: u64, rows: u64, edges: u64, blocks: u64) -> u64 {
    (state_bytes(vertices, 2 * edges) + windows::most_resident_bytes(rows, edges, blocks)).next_multiple_of(1 << 20)
}

fn state_bytes(vertices: u64, entries: u64) -> u64 {
    3 * slice_bytes::<u32>(vertices) + slice_bytes::<u32>(entries / LONG) + slice_bytes::<PeelingState>(1)
}

/// Progress of a peeling on a GPU. The memory layout must match `PeelingState` in the kernel.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct PeelingState {
    arrived: u64,
    broken: u32,
    unused: u32,
    level: u32,
    layer: u32,
    first: u32,
    size: u32,
    end: u32,
    step: u32,
    finished: u32,
    padding: u32,
    slots: [[u32; 4]; 3],
}

// SAFETY: integers without padding between them.
unsafe impl Plain for PeelingState {}

/// Arguments of the peeling kernel. The memory layout must match `Peeling` in the kernel.
#[derive(Clone, Copy)]
#[repr(C)]
struct PeelingArguments {
    rows: VertexRows,
    left: u64,
    layers: u64,
    queue: u64,
    longs: u64,
    state: u64,
    most_layers: u32,
    unused: u32,
}

const _: () = assert!(size_of::<PeelingState>() == 96 && size_of::<PeelingArguments>() == 72, "as in the kernel");

/// State of a peeling in GPU memory: the graph, and which of its vertices are left.
pub(super) struct GpuPeeling<'g> {
    gpu: Lease<'g>,
    kernel: Kernel,
    grid: Grid,
    arguments: PeelingArguments,
    /// Two arrays over all vertices. The first contains the number of remaining neighbours or, for a removed vertex,
    /// the core number. The second contains the layer.
    arrays: [DeviceSlice<u32>; 2],
    on_gpu: DeviceSlice<PeelingState>,
    /// State of the peeling after the last kernel launch.
    at: PeelingState,
    /// Host copies of the two arrays over all vertices.
    all: [Buffer<u32>; 2],
}

impl<'g> GpuPeeling<'g> {
    /// Copies the rows of the graph, and the saved state of an earlier run, to GPU memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks;
    /// [`crate::Error::Stopped`].
    pub(super) fn new(
        halves: [&'g BlockStore; 2],
        (degrees, direction): (&[u32], Direction),
        begin: &Begin<'_>,
        mut gpu: Lease<'g>,
        budget: &Budget,
    ) -> Result<GpuPeeling<'g>> {
        let workspace = &mut *gpu.workspace;
        let kernel = workspace.kernel(&PROGRAM, "cores_peel")?;
        let count = degrees.len() >> direction.shift();
        let (vertices, entries) = (count as u64, halves.iter().map(|half| half.edges()).sum::<u64>());
        let purpose = "neighbours that are left, and layers (8 bytes for each vertex)";
        let mut all: [Buffer<u32>; 2] = [budget.zeroed(count, purpose)?, budget.zeroed(count, purpose)?];
        let [left, layers] = &mut all;
        let (mut next, mut removed) = (Vec::new(), 0);
        if begin.layer > 0 {
            left.copy_from_slice(begin.saved[0]);
            layers.copy_from_slice(begin.saved[1]);
            removed = layers.iter().filter(|&&layer| layer > 0).count() as u64;
            let is_next = |&v: &u32| layers[v as usize] == 0 && left[v as usize] <= begin.level;
            next.extend((0..count as u32).filter(is_next));
        }
        let arena = &mut workspace.arena;
        arena.reset(0);
        let needed = state_bytes(vertices, entries) + windows::resident_bytes(halves);
        arena.check_size(needed.next_multiple_of(1 << 20), PURPOSE)?;
        let [left_there, layers_there, queue] = arena.take_all([vertices; 3])?;
        let (longs, on_gpu) = (arena.take_planned::<u32>(entries / LONG)?, arena.take_planned(1)?);
        let at = PeelingState {
            level: begin.level,
            layer: begin.layer,
            first: removed as u32,
            size: next.len() as u32,
            end: count as u32,
            ..PeelingState::default()
        };
        let copies = [
            (CopySource::Memory(bytes_of(left)), left_there.as_bytes()),
            (CopySource::Memory(bytes_of(layers)), layers_there.as_bytes()),
            (CopySource::Memory(bytes_of(&next)), queue.part(removed..removed + next.len() as u64).as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        workspace.queue.write(&[at], on_gpu)?;
        let rows = Windows::all_rows(workspace, halves, count as u32, PURPOSE)?;
        let arguments = PeelingArguments {
            rows,
            left: left_there.address(),
            layers: layers_there.address(),
            queue: queue.address(),
            longs: longs.address(),
            state: on_gpu.address(),
            most_layers: LAYERS,
            unused: 0,
        };
        if begin.layer == 0 {
            let begin = workspace.kernel(&PROGRAM, "cores_begin")?;
            let queue = &workspace.queue;
            // SAFETY: the arguments match the kernel's, and name memory that only this peeling uses.
            unsafe { queue.launch(&begin, queue.grid(32 * vertices), (arguments, count as u32))? };
        }
        let grid = Grid { blocks: kernel.blocks_at_once(THREADS, 0)?, threads: THREADS, shared: 0 };
        Ok(GpuPeeling { gpu, kernel, grid, arguments, arrays: [left_there, layers_there], on_gpu, at, all })
    }

    /// Removes up to `LAYERS` layers of vertices. Returns whether vertices are left.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn remove(&mut self) -> Result<bool> {
        let queue = &self.gpu.workspace.queue;
        queue.fill(self.on_gpu.as_bytes().part(0..BARRIER_BYTES), 0)?;
        // SAFETY: the arguments match the kernel's, and name memory that only this peeling uses.
        unsafe { queue.launch_together(&self.kernel, self.grid, (self.arguments,))? };
        [self.at] = queue.read_first(self.on_gpu)?;
        check_barrier(self.at.broken)?;
        Ok(self.at.finished == 0)
    }

    /// Returns the current level, the number of removed layers, and the number of vertices in these layers.
    pub(super) fn place(&self) -> (u32, u32, u64) {
        (self.at.level, self.at.layer, self.at.first.into())
    }

    /// Copies two arrays over all vertices to the host, and returns them: remaining neighbours or core numbers, and
    /// layers.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn gather(&mut self) -> Result<[&[u32]; 2]> {
        for (from, to) in self.arrays.into_iter().zip(&mut self.all) {
            fetch(&mut self.gpu.workspace.uploader, from, to, |[number]| number)?;
        }
        Ok(self.all.each_ref().map(|all| &**all))
    }

    /// Returns the core numbers and the layers of all vertices. Ends the use of the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn finish(mut self) -> Result<[Buffer<u32>; 2]> {
        self.gather()?;
        Ok(self.all)
    }
}
