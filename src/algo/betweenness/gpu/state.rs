//! The graph and the arrays of a betweenness search in GPU memory, and the functions that launch kernels on them.
#![allow(unsafe_code)] // kernel launches

use super::super::arithmetic::PIECE;
use super::kernel_structs::{Found, HEADER, PROGRAM, SOURCES, SearchArguments, Visited};
use super::long_rows::LongRows;
use crate::algo::Lease;
use crate::algo::searches::gpu::{fetch, joined};
use crate::error::Result;
use crate::gpu::{CopySource, DeviceSlice, Grid, Kernel, Queue, THREADS, constant, slice_bytes, slices_bytes};
use crate::graph::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::direction::EdgeDirection::{In, Out};
use crate::memory::bytes_of;
use crate::process::signals;
use crate::stream::windows::{self, Windows};
use std::ops::Range;

/// Purpose of the GPU memory that betweenness centrality allocates, for error messages.
const PURPOSE: &str = "[betweenness] on this graph, with all its rows";
/// Number of GPU threads that together add up the neighbours in a short row.
const GROUP: u32 = SOURCES as u32;
/// Minimum number of neighbours of a long row, which a whole thread block adds up.
const LONG: u32 = constant(HEADER, "LONG");
const _: () = assert!(constant(HEADER, "PIECE") as usize == PIECE, "the order of sums on CPUs");
/// Codes for what the kernel `betweenness_settle` computes from sums: counts of shortest paths, shares (1 + dependency)
/// / count, or nothing.
const COUNTS: u32 = constant(HEADER, "COUNTS");
pub(super) const SHARES: u32 = constant(HEADER, "SHARES");
const NOTHING: u32 = constant(HEADER, "NOTHING");
/// Numbers of GPU threads that together push along one row: first for a long row, then for a short row.
const PUSHING: [u32; 2] = [32 * THREADS, 32];
/// Maximum number of neighbours of a row that a single GPU thread adds up.
const FEW: u32 = constant(HEADER, "FEW");
/// Inverse of the threshold for skipping neighbours without shares. If more than 1/`SEARCHES` of all vertices are
/// before [`Pull::Shares`]'s `first` and thus have no share, a pull searches each row that is not short for its first
/// neighbour with a share.
const SEARCHES: u32 = 256;
/// Granularity of the number of vertices that may have long rows. That number is rounded up to a multiple of `LONGS`.
const LONGS: usize = 256;

/// Returns the minimum GPU memory, in bytes, for betweenness centrality of a graph with `vertices` vertices, `rows`
/// rows and `edges` edges in up to `blocks` blocks.
pub(in super::super) fn least_bytes(vertices: u64, rows: u64, edges: u64, blocks: u64) -> u64 {
    let longs = vertices.min(2 * edges / u64::from(LONG) + LONGS as u64);
    let of_rows = windows::most_resident_bytes(rows, edges, blocks);
    (state_bytes(vertices, rows, longs) + LongRows::bytes(vertices, longs, 2 * edges) + of_rows)
        .next_multiple_of(1 << 20)
}

/// Returns the size, in bytes, of the arrays of a betweenness search. `longs` vertices may have long rows.
fn state_bytes(vertices: u64, rows: u64, longs: u64) -> u64 {
    slices_bytes(lengths(vertices, rows, longs)) + slice_bytes::<Found>(1)
}

/// Returns the lengths, in 32-bit words, of the arrays in [`SearchArguments`] from `paths` to `degrees`, and of the
/// totals. A vertex has an element for each source; elements of one byte fill a word.
fn lengths(vertices: u64, rows: u64, longs: u64) -> [u64; 12] {
    let (sources, masks) = (SOURCES as u64, vertices.div_ceil(8));
    let values = 2 * sources * vertices;
    let [long_list, short_list] = [longs, vertices].map(|count| sources * count);
    [values, values, values, vertices, masks, masks, long_list, short_list, longs, vertices, rows, 2 * vertices]
}

struct Kernels {
    begin: Kernel,
    count_long: Kernel,
    count_short: Kernel,
    pull_short: Kernel,
    pull_few: Kernel,
    push: Kernel,
    collect: Kernel,
    settle: Kernel,
    add: Kernel,
}

/// The vertices that some sources reached in the same step of a search.
pub(super) struct Step {
    /// Index ranges of the step's vertices, first in the list of vertices with long rows, then in the list of vertices
    /// with short rows.
    pub places: [Range<u32>; 2],
    /// Bit mask of the sources that reached vertices in the step.
    pub sources: u32,
    /// Of the vertices that were reached in the step, the first in the order of vertices.
    pub first: u32,
    /// Total out-degree of the vertices that were reached in the step. A vertex counts once for each source that
    /// reached it.
    pub leaving: u64,
    /// Total in-degree of the vertices that were reached in the step. A vertex counts once for each source that reached
    /// it.
    pub entering: u64,
}

/// Values of neighbours that a pull adds up.
#[derive(Clone, Copy)]
pub(super) enum Pull {
    /// Numbers of shortest paths to the in-neighbours.
    Counts,
    /// Shares of the out-neighbours. The share of a vertex is (1 + dependency) / (number of shortest paths); vertices
    /// before `first` have none. If `looks` is true, the kernel tests whether a neighbour has a share before it reads
    /// the share. This pays off if few neighbours have shares.
    Shares { first: u32, looks: bool },
}

/// The graph and the arrays of a betweenness search in GPU memory.
pub(super) struct State<'g> {
    gpu: Lease<'g>,
    kernels: Kernels,
    search: SearchArguments,
    /// Arrays that are set to 0 when a search begins.
    zeros: [DeviceSlice<u32>; 6],
    /// The first vertex, in the order of vertices, from which on all rows have at most [`FEW`] neighbours.
    few_from: u32,
    long_rows: LongRows,
    direction: Direction,
    step: DeviceSlice<Found>,
    totals: DeviceSlice<u32>,
}

impl<'g> State<'g> {
    /// Copies the rows of the graph, and the `totals` of earlier searches, to GPU memory.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if the rows do not fit; [`crate::Error::Lost`]; errors of reading blocks;
    /// [`crate::Error::Stopped`].
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
            pull_short: kernel("betweenness_pull_short")?,
            pull_few: kernel("betweenness_pull_few")?,
            push: kernel("betweenness_push")?,
            collect: kernel("betweenness_collect")?,
            settle: kernel("betweenness_settle")?,
            add: kernel("betweenness_add")?,
        };
        let vertices = totals.len() as u64;
        // Returns the end of the vertices (exclusive) that have at least `least` entries in a row.
        let upto = |least: u32| {
            let last = degrees.iter().rposition(|&degree| degree >= least);
            last.map_or(0, |row| direction.vertex(row as u32) as usize + 1)
        };
        let long_end = upto(LONG).next_multiple_of(LONGS).min(totals.len());
        let few_from = upto(FEW + 1).max(long_end) as u32;
        let arena = &mut workspace.arena;
        arena.reset(0);
        let longs = long_end as u64;
        let entries = |way| (0..long_end as u32).map(move |v| u64::from(degrees[direction.row(v, way) as usize])).sum();
        let entries = u64::max(entries(Out), entries(In));
        let long_bytes = LongRows::bytes(vertices, longs, entries);
        let state = state_bytes(vertices, degrees.len() as u64, longs) + long_bytes;
        let needed = state + windows::resident_bytes(halves);
        arena.check_size(needed.next_multiple_of(1 << 20), PURPOSE)?;
        let slices = arena.take_all(lengths(vertices, degrees.len() as u64, longs))?;
        let [.., degrees_there, totals_there] = slices;
        let step_there: DeviceSlice<Found> = arena.take_planned(1)?;
        let copies = [
            (CopySource::Memory(bytes_of(degrees)), degrees_there.as_bytes()),
            (CopySource::Memory(bytes_of(totals)), totals_there.as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        let long_rows = LongRows::new(workspace, vertices, longs, entries)?;
        let rows = Windows::all_rows(workspace, halves, vertices as u32, PURPOSE)?;
        let [paths, sums, shares, small, reached, found, longs, shorts, masks_of_longs, masks_of_shorts, degrees, _] =
            slices.map(DeviceSlice::address);
        let search = SearchArguments {
            rows,
            paths,
            sums,
            shares,
            small,
            reached,
            found,
            longs,
            shorts,
            masks_of_longs,
            masks_of_shorts,
            degrees,
            step: step_there.address(),
            vertices: vertices as u32,
            long_end: long_end as u32,
        };
        let [paths, sums, shares, small, reached, found, ..] = slices;
        let (zeros, step, totals) = ([paths, sums, shares, small, reached, found], step_there, totals_there);
        let mut state = State { gpu, kernels, search, zeros, few_from, long_rows, direction, step, totals };
        state.long_rows.list(&state.gpu.workspace.queue, &state.search, direction.row(0, Out))?;
        Ok(state)
    }

    /// Begins a search from the sources in the bit mask `all`. `roots` contains the vertex of each source.
    pub(super) fn begin(&self, roots: [u32; SOURCES], all: u32) -> Result<()> {
        self.zeros.into_iter().try_for_each(|zeros| self.queue().fill(zeros, 0))?;
        self.queue().fill(self.step, 0)?;
        // SAFETY: the arguments match the kernel's, and refer to memory that only this search uses.
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

    /// Adds the dependency of every vertex on each source to the vertex's total, for one source after the other.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn add(&self) -> Result<()> {
        let (queue, arguments) = (self.queue(), (self.search, self.totals.address()));
        // SAFETY: the arguments match the kernel's; there is a total for each vertex.
        unsafe { queue.launch(&self.kernels.add, queue.grid(self.search.vertices.into()), arguments)? };
        queue.finish()
    }

    /// Copies the sum of the dependencies of every vertex from GPU memory to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [f64]) -> Result<()> {
        fetch(&mut self.gpu.workspace.uploader, self.totals, to, |words| f64::from_bits(joined(words)))
    }

    fn queue(&self) -> &Queue {
        &self.gpu.workspace.queue
    }

    /// Appends the vertices that a step has found to the lists of vertices with long rows and with short rows, at the
    /// offsets `longs` and `shorts`. Marks them as reached.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn collect(&self, [longs, shorts]: [u32; 2]) -> Result<Found> {
        let grid = self.queue().grid(u64::from(self.search.vertices.div_ceil(8)));
        // SAFETY: the arguments match the kernel's. No vertex is found twice for a source, so the lists are large
        // enough.
        unsafe { self.queue().launch(&self.kernels.collect, grid, (self.search, longs, shorts))? };
        self.found()
    }

    /// Returns the totals of the last step of the search, and sets them to 0.
    fn found(&self) -> Result<Found> {
        let [found] = self.queue().read_first(self.step)?;
        self.queue().fill(self.step, 0)?;
        Ok(found)
    }

    /// Returns the vertices of a step for the sources in the bit mask `sources`: first the list of those with long
    /// rows, then the list of those with short rows.
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

    /// Performs a bottom-up step for the sources in the bit mask `sources`: finds the next level among the vertices
    /// that they have not reached, and counts the shortest paths to it. If `looks` is true, the kernel tests whether a
    /// neighbour is reached before it reads the neighbour's count. This pays off if few neighbours are reached.
    pub(super) fn count_unreached(&self, sources: u32, looks: bool) -> Result<()> {
        let (SearchArguments { vertices, long_end, .. }, looks) = (self.search, u32::from(looks));
        // SAFETY: the arguments match the kernels'.
        unsafe {
            self.queue().launch(&self.kernels.count_long, blocks(long_end), (self.search, sources, looks))?;
            for (vertices, lanes) in [(long_end..self.few_from, GROUP), (self.few_from..vertices, 1)] {
                let blocks = blocks((vertices.len() as u32).div_ceil(THREADS / lanes));
                let arguments = (self.search, sources, looks, vertices.start, vertices.end, lanes);
                self.queue().launch(&self.kernels.count_short, blocks, arguments)?;
            }
        }
        Ok(())
    }

    /// Adds up, for each vertex in the two lists, the values of its neighbours that `pull` selects (counts of shortest
    /// paths, or shares). The first list contains vertices with long rows, the second vertices with short rows.
    pub(super) fn pull(&mut self, pull: Pull, [longs, shorts]: [Visited; 2]) -> Result<()> {
        let (way, pull) = match pull {
            Pull::Counts => (In, [0, 0, 1, 0]),
            Pull::Shares { first, looks } => {
                let searches = first > self.search.vertices / SEARCHES;
                (Out, [1, first, looks.into(), searches.into()])
            }
        };
        let queue = &self.gpu.workspace.queue;
        if longs.count > 0 {
            self.long_rows.pull(queue, &self.search, (longs, self.direction.row(0, way)), pull)?;
        }
        // SAFETY: the arguments match the kernel's. The vertices are in the list.
        unsafe {
            let warps = THREADS / 32;
            let each = each_warp(shorts.count, warps * queue.grid(u64::MAX).blocks);
            let blocks = blocks(shorts.count.div_ceil(warps * each));
            let kernel = if each < 32 / GROUP { &self.kernels.pull_few } else { &self.kernels.pull_short };
            queue.launch(kernel, blocks, (self.search, shorts, pull, each))?;
        }
        Ok(())
    }

    /// Counts the shortest paths to the vertices of a step again, in the order in which CPUs add. A push adds them in
    /// any order, and the order matters if the sum is rounded. Returns false if a count is too large for f64.
    pub(super) fn recount(&mut self, step: [Visited; 2]) -> Result<bool> {
        self.settle(step, NOTHING, 0)?;
        self.pull(Pull::Counts, step)?;
        self.settle(step, COUNTS, 0)?;
        Ok(self.found()?.too_large == 0)
    }

    /// Adds the path counts of the vertices in `level` to the counts of their out-neighbours in the next level.
    pub(super) fn push(&self, level: [Visited; 2]) -> Result<()> {
        for (visited, threads) in level.into_iter().zip(PUSHING) {
            let arguments = (self.search, visited, threads);
            let all = u64::from(visited.count) * u64::from(threads);
            // SAFETY: as in `pull`.
            unsafe { self.queue().launch(&self.kernels.push, blocks(all.div_ceil(THREADS.into()) as u32), arguments)? };
        }
        Ok(())
    }

    /// Computes path counts, shares or nothing (selected by the code `makes`) from the sums of the vertices of a step.
    /// For the sources in the bit mask `leaves`, the sums are 0.
    pub(super) fn settle(&self, step: [Visited; 2], makes: u32, leaves: u32) -> Result<()> {
        for visited in step {
            let arguments = (self.search, visited, makes, leaves);
            let threads = u64::from(visited.count) * SOURCES as u64;
            // SAFETY: as in `pull`.
            unsafe { self.queue().launch(&self.kernels.settle, self.queue().grid(threads), arguments)? };
        }
        Ok(())
    }
}

/// Returns the number of vertices for which a warp pulls at a time, if there are `count` vertices and the GPU runs
/// about `warps` warps at once. For fewer vertices the number is smaller, so that all warps share the longest rows.
fn each_warp(count: u32, warps: u32) -> u32 {
    match count / warps {
        0 => 1,
        1 => 2,
        2..4 => 4,
        4..64 => 8,
        _ => 32,
    }
}

/// Returns the launch dimensions for `blocks` thread blocks, which may be more than the GPU runs at once.
pub(super) fn blocks(blocks: u32) -> Grid {
    Grid { blocks, threads: THREADS, shared: 0 }
}
