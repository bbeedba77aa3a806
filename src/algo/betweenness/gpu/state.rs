//! The graph and the state of a search in GPU memory, and the functions that launch kernels on them.
#![allow(unsafe_code)] // kernel launches

use super::super::arithmetic::PIECE;
use crate::algo::Lease;
use crate::algo::searches::gpu::{fetch, joined};
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Grid, Kernel, ProgramSource, Queue, THREADS, constant, slice_bytes};
use crate::graph::BlockStore;
use crate::graph::direction::Direction;
use crate::memory::{Plain, bytes_of};
use crate::process::signals;
use crate::stream::passes::ROW_PARTS;
use crate::stream::windows::{self, VertexRows, Windows};
use std::ops::Range;

static PROGRAM: ProgramSource = ProgramSource { name: "betweenness.cu", text: TEXT, headers: &[COMMON, ROW_PARTS] };
const TEXT: &str = include_str!("../../../../kernels/betweenness.cu");

/// All GPU programs that betweenness launches.
pub(in super::super) static PROGRAMS: [&ProgramSource; 1] = [&PROGRAM];

/// Purpose of the GPU memory, which error messages name.
const PURPOSE: &str = "[betweenness] on this graph, with all its rows";
/// Number of sources that are searched together.
pub(in super::super) const SOURCES: usize = GROUP as usize;
/// Number of threads that add up a short row.
const GROUP: u32 = constant(TEXT, "SOURCES");
/// Number of entries of a row that a whole block of threads adds up.
const LONG: u32 = constant(TEXT, "LONG");
const _: () = assert!(constant(TEXT, "PIECE") as usize == PIECE, "the order of sums on CPUs");
/// Values that tell the kernel `betweenness_settle` what to compute from sums: counts, shares or nothing.
const COUNTS: u32 = constant(TEXT, "COUNTS");
pub(super) const SHARES: u32 = constant(TEXT, "SHARES");
const NOTHING: u32 = constant(TEXT, "NOTHING");
/// The number of vertices that may have long rows is rounded up to a multiple of this.
const LONGS: usize = 256;

/// Returns the minimum number of bytes of GPU memory for a graph of `vertices` vertices, `rows` rows and `edges` edges
/// in up to `blocks` blocks.
pub(in super::super) fn least_bytes(vertices: u64, rows: u64, edges: u64, blocks: u64) -> u64 {
    let longs = vertices.min(2 * edges / u64::from(LONG) + LONGS as u64);
    let of_rows = windows::most_resident_bytes(rows, edges, blocks);
    (state_bytes(vertices, rows, longs) + of_rows).next_multiple_of(1 << 20)
}

/// Returns the bytes of the state of a search. `longs` vertices may have long rows.
fn state_bytes(vertices: u64, rows: u64, longs: u64) -> u64 {
    let of_sources = |count: u64| SOURCES as u64 * count;
    3 * slice_bytes::<f64>(of_sources(vertices))
        + slice_bytes::<u32>(vertices)
        + 2 * slice_bytes::<u32>(vertices.div_ceil(8))
        + [longs, vertices]
            .map(|count| slice_bytes::<u32>(of_sources(count)) + slice_bytes::<u8>(of_sources(count)))
            .iter()
            .sum::<u64>()
        + slice_bytes::<u32>(rows)
        + slice_bytes::<f64>(vertices)
        + slice_bytes::<Found>(1)
}

/// Totals that a step adds up; the kernels describe them. The memory layout must match `Found` in the kernels.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Found {
    pub longs: u32,
    pub shorts: u32,
    pub inexact: u32,
    too_large: u32,
    pub span: u32,
    unused: u32,
    pub reached: [u64; SOURCES],
    pub leaving: [u64; SOURCES],
    pub entering: [u64; SOURCES],
}

// SAFETY: integers without padding between them.
unsafe impl Plain for Found {}

/// Arguments of the kernels. The memory layout must match `Search` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct SearchArguments {
    rows: VertexRows,
    paths: u64,
    sums: u64,
    shares: u64,
    small: u64,
    reached: u64,
    found: u64,
    longs: u64,
    shorts: u64,
    masks_of_longs: u64,
    masks_of_shorts: u64,
    degrees: u64,
    step: u64,
    vertices: u32,
    long_end: u32,
}

/// The vertices that a launch visits. The memory layout must match `Visited` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Visited {
    list: u64,
    masks: u64,
    first: u32,
    count: u32,
    sources: u32,
    unused: u32,
}

const _: () = assert!(
    size_of::<Found>() == 120 && size_of::<SearchArguments>() == 128 && size_of::<Visited>() == 32,
    "as in the kernels"
);

struct Kernels {
    begin: Kernel,
    count_long: Kernel,
    count_short: Kernel,
    pull_long: Kernel,
    pull_short: Kernel,
    push: Kernel,
    collect: Kernel,
    settle: Kernel,
    add: Kernel,
}

/// The vertices that some sources reached in the same step.
pub(super) struct Step {
    /// Ranges of the step's vertices in the list of vertices with long rows, and in the list of vertices with short
    /// rows.
    pub places: [Range<u32>; 2],
    /// The mask of the sources.
    pub sources: u32,
    /// Index of the first vertex.
    pub first: u32,
    /// Number of entries in the rows of out-neighbours of the vertices, for all sources.
    pub leaving: u64,
    /// Number of entries in the rows of in-neighbours of the vertices, for all sources.
    pub entering: u64,
}

/// Values that a pull adds up.
#[derive(Clone, Copy)]
pub(super) enum Pull {
    /// Counts of in-neighbours.
    Counts,
    /// Shares of out-neighbours. Vertices before `first` have no share. The sums of the sources in the mask `leaves`
    /// are 0. `looks` is true if few neighbours have shares.
    Shares { leaves: u32, first: u32, looks: bool },
}

/// The graph and a search in GPU memory.
pub(super) struct State<'g> {
    gpu: Lease<'g>,
    kernels: Kernels,
    search: SearchArguments,
    /// The arrays that are 0 when a search begins.
    zeros: [DeviceSlice<u8>; 6],
    step: DeviceSlice<Found>,
    totals: DeviceSlice<f64>,
}

impl<'g> State<'g> {
    /// Copies the rows to GPU memory, and the `totals` of earlier searches.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks; [`crate::Error::Stopped`].
    pub(super) fn new(
        halves: [&'g BlockStore; 2],
        (degrees, direction): (&[u32], Direction),
        totals: &[f64],
        mut gpu: Lease<'g>,
    ) -> Result<State<'g>> {
        let workspace = &mut *gpu.workspace;
        let kernel = |name| workspace.kernel(&PROGRAM, name);
        let kernels = Kernels {
            begin: kernel("betweenness_begin")?,
            count_long: kernel("betweenness_count_long")?,
            count_short: kernel("betweenness_count_short")?,
            pull_long: kernel("betweenness_pull_long")?,
            pull_short: kernel("betweenness_pull_short")?,
            push: kernel("betweenness_push")?,
            collect: kernel("betweenness_collect")?,
            settle: kernel("betweenness_settle")?,
            add: kernel("betweenness_add")?,
        };
        let vertices = totals.len() as u64;
        let long_end =
            degrees.iter().rposition(|&degree| degree >= LONG).map_or(0, |row| (row >> direction.shift()) + 1);
        let long_end = long_end.next_multiple_of(LONGS).min(totals.len());
        let arena = &mut workspace.arena;
        arena.reset(0);
        let state = state_bytes(vertices, degrees.len() as u64, long_end as u64);
        let needed = state + windows::resident_bytes(halves);
        arena.check_size(needed.next_multiple_of(1 << 20), PURPOSE)?;
        let of_sources = |count: u64| SOURCES as u64 * count;
        let mut values = || arena.take_planned::<f64>(of_sources(vertices));
        let [paths, sums, shares] = [values()?, values()?, values()?];
        let [small, reached, found] = arena.take_all([vertices, vertices.div_ceil(8), vertices.div_ceil(8)])?;
        let [longs, shorts] = arena.take_all([of_sources(long_end as u64), of_sources(vertices)])?;
        let mut masks = |count| arena.take_planned::<u8>(of_sources(count));
        let (masks_of_longs, masks_of_shorts) = (masks(long_end as u64)?, masks(vertices)?);
        let [degrees_there] = arena.take_all([degrees.len() as u64])?;
        let (totals_there, step) = (arena.take_planned::<f64>(vertices)?, arena.take_planned::<Found>(1)?);
        let copies = [
            (CopySource::Memory(bytes_of(degrees)), degrees_there.as_bytes()),
            (CopySource::Memory(bytes_of(totals)), totals_there.as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        let rows = Windows::all_rows(workspace, halves, vertices as u32, PURPOSE)?;
        let search = SearchArguments {
            rows,
            paths: paths.address(),
            sums: sums.address(),
            shares: shares.address(),
            small: small.address(),
            reached: reached.address(),
            found: found.address(),
            longs: longs.address(),
            shorts: shorts.address(),
            masks_of_longs: masks_of_longs.address(),
            masks_of_shorts: masks_of_shorts.address(),
            degrees: degrees_there.address(),
            step: step.address(),
            vertices: vertices as u32,
            long_end: long_end as u32,
        };
        let zeros = [
            paths.as_bytes(),
            sums.as_bytes(),
            shares.as_bytes(),
            small.as_bytes(),
            reached.as_bytes(),
            found.as_bytes(),
        ];
        Ok(State { gpu, kernels, search, zeros, step, totals: totals_there })
    }

    /// Begins a search from the sources in the mask `all`. `roots` has the vertex of each source.
    pub(super) fn begin(&self, roots: [u32; SOURCES], all: u32) -> Result<()> {
        self.zeros.into_iter().try_for_each(|zeros| self.queue().fill(zeros, 0))?;
        self.queue().fill(self.step, 0)?;
        // SAFETY: the arguments match the kernel's, and name memory that only this search uses.
        unsafe { self.queue().launch(&self.kernels.begin, self.queue().grid(1), (self.search, roots, all)) }
    }

    /// Returns the number of vertices of the graph that have an edge.
    pub(super) fn vertices(&self) -> u32 {
        self.search.vertices
    }

    /// Waits until all launched kernels have finished.
    pub(super) fn finish(&self) -> Result<()> {
        self.queue().finish()
    }

    /// Adds the dependency of every vertex to its total, source after source.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn add(&self) -> Result<()> {
        let (queue, arguments) = (self.queue(), (self.search, self.totals.address()));
        // SAFETY: the arguments match the kernel's; there is a total for each vertex.
        unsafe { queue.launch(&self.kernels.add, queue.grid(self.search.vertices.into()), arguments)? };
        queue.finish()
    }

    /// Copies the sum of dependencies of every vertex from GPU memory to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [f64]) -> Result<()> {
        let words = DeviceSlice::at(self.totals.address(), 2 * self.totals.len());
        fetch(&mut self.gpu.workspace.uploader, words, to, |words| f64::from_bits(joined(words)))
    }

    fn queue(&self) -> &Queue {
        &self.gpu.workspace.queue
    }

    /// Appends the vertices that were found to the two lists, at places `longs` and `shorts`. Marks them as reached.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn collect(&self, [longs, shorts]: [u32; 2]) -> Result<Found> {
        let grid = self.queue().grid(u64::from(self.search.vertices.div_ceil(8)));
        // SAFETY: the arguments match the kernel's. No vertex is found twice for a source, so the lists have room.
        unsafe { self.queue().launch(&self.kernels.collect, grid, (self.search, longs, shorts))? };
        self.found()
    }

    /// Returns the totals of the last step, and clears them.
    fn found(&self) -> Result<Found> {
        let mut found = [Found::default()];
        self.queue().read(self.step, &mut found)?;
        self.queue().fill(self.step, 0)?;
        Ok(found[0])
    }

    /// The vertices of a step for the sources in a mask: those with long rows, and those with short rows.
    pub(super) fn listed(&self, step: &Step, sources: u32) -> [Visited; 2] {
        let p = &self.search;
        let of = |list, masks, range: &Range<u32>| Visited {
            list,
            masks,
            first: range.start,
            count: range.len() as u32,
            sources,
            unused: 0,
        };
        let [longs, shorts] = &step.places;
        [of(p.longs, p.masks_of_longs, longs), of(p.shorts, p.masks_of_shorts, shorts)]
    }

    /// Takes a bottom-up step for the sources in the bit mask `sources`: finds the next level among the vertices that
    /// they have not reached, and counts the shortest paths to it.
    pub(super) fn count_unreached(&self, sources: u32) -> Result<()> {
        let SearchArguments { vertices, long_end, .. } = self.search;
        // SAFETY: the arguments match the kernels'.
        unsafe {
            self.queue().launch(&self.kernels.count_long, Self::blocks(long_end), (self.search, sources))?;
            let groups = Self::blocks((vertices - long_end).div_ceil(THREADS / GROUP));
            self.queue().launch(&self.kernels.count_short, groups, (self.search, sources))?;
        }
        Ok(())
    }

    /// Adds up counts or shares of neighbours of some vertices.
    pub(super) fn pull(&self, pull: Pull, [longs, shorts]: [Visited; 2]) -> Result<()> {
        let pull = match pull {
            Pull::Counts => [0; 4],
            Pull::Shares { leaves, first, looks } => [1, leaves, first, looks.into()],
        };
        let queue = self.queue();
        let groups = Self::blocks(shorts.count.div_ceil(THREADS / GROUP));
        // SAFETY: the arguments match the kernels'. The lists have the vertices.
        unsafe {
            queue.launch(&self.kernels.pull_long, Self::blocks(longs.count), (self.search, longs, pull))?;
            queue.launch(&self.kernels.pull_short, groups, (self.search, shorts, pull))?;
        }
        Ok(())
    }

    /// Counts the paths to the vertices of a step again, in the order in which CPUs add. A push adds in any order,
    /// which matters if the sum is rounded. Returns false if a count is too large for f64.
    pub(super) fn recount(&self, step: [Visited; 2]) -> Result<bool> {
        self.settle(step, NOTHING)?;
        self.pull(Pull::Counts, step)?;
        self.settle(step, COUNTS)?;
        Ok(self.found()?.too_large == 0)
    }

    /// Adds the counts of a level to those of the next one, along its rows.
    pub(super) fn push(&self, level: [Visited; 2]) -> Result<()> {
        for (visited, threads) in level.into_iter().zip([THREADS, GROUP]) {
            let arguments = (self.search, visited, threads);
            // SAFETY: as in `pull`.
            unsafe { self.queue().launch(&self.kernels.push, self.grid(visited.count, threads), arguments)? };
        }
        Ok(())
    }

    /// Computes counts, shares or nothing (as `makes` says) from the sums of a step.
    pub(super) fn settle(&self, step: [Visited; 2], makes: u32) -> Result<()> {
        for visited in step {
            let arguments = (self.search, visited, makes);
            // SAFETY: as in `pull`.
            unsafe { self.queue().launch(&self.kernels.settle, self.grid(visited.count, GROUP), arguments)? };
        }
        Ok(())
    }

    /// Returns a grid of `blocks` blocks. The GPU starts a block when another one ends.
    fn blocks(blocks: u32) -> Grid {
        Grid { blocks, threads: THREADS, shared: 0 }
    }

    /// Returns a grid with `threads` threads for each of `count` vertices.
    fn grid(&self, count: u32, threads: u32) -> Grid {
        self.queue().grid(u64::from(count) * u64::from(threads))
    }
}
