//! A pass on a GPU: breadth-first searches from up to 64 sources at once. A word is a mask with one bit per source.
//! `kernels/distances.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::level::Found;
use super::search::{SOURCES, Step};
use crate::algo::Lease;
use crate::algo::searches::gpu::{fetch, joined};
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Grid, Kernel, ProgramSource, Queue, THREADS, constant, slice_bytes};
use crate::graph::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::Out;
use crate::memory::{Plain, bytes_of};
use crate::process::signals;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::{self, VertexRows, Windows};
use std::mem::swap;

pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "distances.cu", text: TEXT, headers: &[COMMON, ROW_PARTS] };
const TEXT: &str = include_str!("../../../kernels/distances.cu");

/// Purpose of the GPU memory for distances, as named in error messages.
const PURPOSE: &str = "[distances] on this graph, with all its rows";
const _: () = assert!(constant(TEXT, "SOURCES") as usize == SOURCES, "the bits of a word");
/// Minimum number of neighbours of a vertex that a whole thread block processes.
const LONG: u32 = constant(TEXT, "LONG");
/// Number of threads that together process a vertex with fewer than [`LONG`] neighbours.
const GROUP: u32 = constant(TEXT, "GROUP");
/// Total number of thread blocks in a push, divided among the vertices of the last level. `SHARING` / (number of these
/// vertices) blocks share a long row, but at least 1 and at most 64.
const SHARING: u32 = 4096;
/// Maximum number of vertices whose 64-bit words (masks of sources) are copied to the host at once.
const ASKED: usize = 1 << 16;

/// Returns the minimum GPU memory, in bytes, for the distances in a graph with `vertices` vertices, `rows` rows and
/// `edges` edges in up to `blocks` blocks.
pub(super) fn least_bytes(vertices: u64, rows: u64, edges: u64, blocks: u64) -> u64 {
    (state_bytes(vertices, rows) + windows::most_resident_bytes(rows, edges, blocks)).next_multiple_of(1 << 20)
}

fn state_bytes(vertices: u64, rows: u64) -> u64 {
    3 * slice_bytes::<u64>(vertices)
        + slice_bytes::<u64>(2 * vertices)
        + 2 * slice_bytes::<u32>(vertices)
        + slice_bytes::<u32>(rows)
        + slice_bytes::<LevelFound>(1)
        + slice_bytes::<u32>(ASKED as u64)
        + slice_bytes::<u64>(ASKED as u64)
}

/// Totals of one level of a search, as kernels store them. The memory layout must match `Found` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct LevelFound {
    vertices: u32,
    unused: u32,
    leaving: u64,
    full: u64,
    counts: [u64; SOURCES],
}

// SAFETY: integers without padding between them.
unsafe impl Plain for LevelFound {}

/// Kernel arguments of a pass (a search from up to 64 sources). The memory layout must match `Search` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct SearchArguments {
    rows: VertexRows,
    seen: u64,
    frontier: u64,
    next: u64,
    sums: u64,
    last: u64,
    list: u64,
    degrees: u64,
    found: u64,
    vertices: u32,
    long_end: u32,
}

const _: () = assert!(size_of::<LevelFound>() == 536 && size_of::<SearchArguments>() == 96, "as in the kernels");

struct Kernels {
    begin: Kernel,
    pull_long: Kernel,
    pull_short: Kernel,
    push: Kernel,
    add: Kernel,
    reaching: Kernel,
}

/// The graph in GPU memory, with a mask of sources and the sums of distances for each vertex.
pub(super) struct GpuSearch<'g> {
    gpu: Lease<'g>,
    kernels: Kernels,
    search: SearchArguments,
    /// Three arrays with one mask of sources per vertex (seen, frontier, next). They are zeroed when a pass begins.
    words: [DeviceSlice<u64>; 3],
    sums: DeviceSlice<u64>,
    found: DeviceSlice<LevelFound>,
    asked: (DeviceSlice<u32>, DeviceSlice<u64>),
    degrees: &'g [u32],
    direction: Direction,
    /// Number of neighbours in all out-rows.
    entries: u64,
}

impl<'g> GpuSearch<'g> {
    /// Copies the rows of the graph, and the `sums` of distances over earlier passes, to GPU memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks;
    /// [`crate::Error::Stopped`].
    pub(super) fn new(
        halves: [&'g BlockStore; 2],
        (degrees, direction): (&'g [u32], Direction),
        sums: &[u64],
        mut gpu: Lease<'g>,
    ) -> Result<GpuSearch<'g>> {
        let workspace = &mut *gpu.workspace;
        let [begin, add, reaching] =
            workspace.kernels(&PROGRAM, ["distances_begin", "distances_add", "distances_reaching"])?;
        let [pull_long, pull_short, push] =
            workspace.kernels(&PROGRAM, ["distances_pull_long", "distances_pull_short", "distances_push"])?;
        let kernels = Kernels { begin, pull_long, pull_short, push, add, reaching };
        let vertices = sums.len() as u64 / 2;
        let long = degrees.iter().rposition(|&degree| degree >= LONG);
        let long_end = long.map_or(0, |row| (row >> direction.shift()) + 1);
        let arena = &mut workspace.arena;
        arena.reset(0);
        let needed = state_bytes(vertices, degrees.len() as u64) + windows::resident_bytes(halves);
        arena.check_size(needed.next_multiple_of(1 << 20), PURPOSE)?;
        let mut words = || arena.take_planned::<u64>(vertices);
        let words = [words()?, words()?, words()?];
        let sums_there = arena.take_planned::<u64>(2 * vertices)?;
        let [last, list, degrees_there] = arena.take_all([vertices, vertices, degrees.len() as u64])?;
        let found = arena.take_planned::<LevelFound>(1)?;
        let asked = (arena.take_planned::<u32>(ASKED as u64)?, arena.take_planned::<u64>(ASKED as u64)?);
        let copies = [
            (CopySource::Memory(bytes_of(degrees)), degrees_there.as_bytes()),
            (CopySource::Memory(bytes_of(sums)), sums_there.as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        let rows = Windows::all_rows(workspace, halves, vertices as u32, PURPOSE)?;
        let search = SearchArguments {
            rows,
            seen: words[0].address(),
            frontier: words[1].address(),
            next: words[2].address(),
            sums: sums_there.address(),
            last: last.address(),
            list: list.address(),
            degrees: degrees_there.address(),
            found: found.address(),
            vertices: vertices as u32,
            long_end: long_end as u32,
        };
        let entries = halves.iter().map(|half| half.edges()).sum::<u64>() >> direction.shift();
        Ok(GpuSearch { gpu, kernels, search, words, sums: sums_there, found, asked, degrees, direction, entries })
    }

    /// Returns the number of neighbours in all out-rows. In an undirected graph, all rows are out-rows.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Begins a pass from `sources`. Returns the totals of the first level, which consists of the sources.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn begin(&mut self, sources: &[u32]) -> Result<Found> {
        self.words.into_iter().try_for_each(|words| self.queue().fill(words, 0))?;
        let of: [u32; SOURCES] = std::array::from_fn(|bit| sources.get(bit).copied().unwrap_or(0));
        let arguments = (self.search, of, sources.len() as u32);
        // SAFETY: the arguments match the kernel's, and name memory that only this search uses.
        unsafe { self.queue().launch(&self.kernels.begin, self.queue().grid(1), arguments)? };
        let leaving = |&v: &u32| u64::from(self.degrees[self.direction.row(v, Out) as usize]);
        Ok(Found { vertices: sources.len(), leaving: sources.iter().map(leaving).sum(), ..Found::default() })
    }

    /// Expands the frontier by one level. For each vertex, adds the sources that now reach it to its mask, and the new
    /// distances to its sums. Returns the totals of the level.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn step(&mut self, step: &Step<'_>) -> Result<Found> {
        let (search, last, queue) = (self.search, step.last.vertices as u32, self.queue());
        queue.fill(self.found, 0)?;
        // SAFETY: the arguments match the kernels'. Lists are large enough for all vertices, and no vertex is listed
        // twice.
        unsafe {
            if step.is_sparse {
                let pieces = (SHARING / last).clamp(1, 64);
                for (threads, pieces) in [(GROUP, 1), (THREADS, pieces)] {
                    let grid = queue.grid(u64::from(last) * u64::from(threads * pieces));
                    queue.launch(&self.kernels.push, grid, (search, last, threads, pieces))?;
                }
            } else {
                let blocks = |blocks| Grid { blocks, threads: THREADS, shared: 0 };
                let groups = (search.vertices - search.long_end).div_ceil(THREADS / GROUP);
                queue.launch(&self.kernels.pull_long, blocks(search.long_end), (search, step.active))?;
                queue.launch(&self.kernels.pull_short, blocks(groups), (search, step.active))?;
            }
            let arguments = (search, step.active, step.distance, last, u32::from(step.is_sparse));
            queue.launch(&self.kernels.add, queue.grid(search.vertices.into()), arguments)?;
        }
        let mut found = [LevelFound { vertices: 0, unused: 0, leaving: 0, full: 0, counts: [0; SOURCES] }];
        queue.read(self.found, &mut found)?;
        swap(&mut self.search.frontier, &mut self.search.next);
        swap(&mut self.search.last, &mut self.search.list);
        let [LevelFound { vertices, leaving, full, counts, .. }] = found;
        Ok(Found { vertices: vertices as usize, leaving, full, counts: counts.to_vec() })
    }

    /// Returns a 64-bit word for each of `vertices`. Bit `i` is set if source `i` of the last pass reaches the vertex.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn reaching(&self, vertices: &[u32]) -> Result<Vec<u64>> {
        let (mut words, queue) = (vec![0; vertices.len()], self.queue());
        for (vertices, words) in vertices.chunks(ASKED).zip(words.chunks_mut(ASKED)) {
            let count = vertices.len() as u64;
            let (there, back) = (self.asked.0.part(0..count), self.asked.1.part(0..count));
            queue.write(vertices, there)?;
            let arguments = (self.search, there.address(), back.address(), count as u32);
            // SAFETY: the arguments match the kernel's.
            unsafe { queue.launch(&self.kernels.reaching, queue.grid(count), arguments)? };
            queue.read(back, words)?;
        }
        Ok(words)
    }

    /// Copies the sums of distances of all vertices from GPU memory to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [u64]) -> Result<()> {
        let words = DeviceSlice::at(self.sums.address(), 2 * self.sums.len());
        fetch(&mut self.gpu.workspace.uploader, words, to, joined)
    }

    fn queue(&self) -> &Queue {
        &self.gpu.workspace.queue
    }
}
