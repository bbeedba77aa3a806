//! Makes a graph accessible to a GPU: row offsets, adjacency rows and first neighbours.
#![allow(unsafe_code)] // kernel launches

use super::buffer_sizes::{BOUNDS, BfsBufferSizes};
use super::kernel_structs::{BfsGraph, MOST_HEADS, SpreadGraph, SpreadRows};
use super::programs::{PACKED, PREPARE, SPREAD};
use super::spread::RowParts;
use super::{Tuning, buffer_sizes};
use crate::algo::searches::gpu::{CancelCheck, pin, place_starts, targets};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::gpu::{CopySource, DeviceSlice, Kernel, Pinned, Workspace, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::packed::chunk::WORDS;
use crate::memory::{Budget, bytes_of};
use crate::stream::copies_from_host;
use rayon::prelude::*;
use std::ops::Range;

/// A graph that a GPU can access.
#[derive(Debug)]
pub(super) struct BfsDeviceGraph<'a> {
    /// The graph in the form in which kernels take it as an argument.
    pub graph: BfsGraph,
    /// Number of slots in all rows of out-edges. A slot is a neighbour or, if rows are packed (compressed), a chunk of
    /// packed neighbours.
    pub slots: u64,
    /// Adjacency rows that stay in host memory. Kernels read them over the bus.
    pub on_host: Vec<RowsOnHost<'a>>,
    /// Whether adjacency rows are packed (compressed).
    pub is_packed: bool,
    /// Division of each half of the rows among the GPUs, if rows are spread over several GPUs.
    pub parts: Option<[RowParts; 2]>,
    /// For each vertex with many edges, the number of neighbours that are leaves (vertices with one edge).
    /// [`look_ahead`] fills this array.
    many: DeviceSlice<u32>,
}

/// Rows of one half of the adjacency (smaller or larger neighbours) in host memory, which kernels read over the bus.
#[derive(Debug)]
#[expect(dead_code, reason = "it keeps what kernels read")]
pub(super) enum RowsOnHost<'a> {
    /// Rows that were copied to pinned memory.
    Pinned(Pinned),
    /// Packed (compressed) rows that were pinned in place, without a copy.
    Packed(Pinned<&'a [u8]>),
}

/// Makes the rows of `halves` accessible to the GPU of `workspace`, and copies as many of them as fit to GPU memory. If
/// `spread_over` is given, rows are spread over the GPUs of its ranks, and this GPU stores only its part. `degrees`
/// contains the degrees of all vertices; it is used only if rows are packed (compressed). Call [`look_ahead`] before a
/// search.
pub(super) fn make_resident<'a>(
    workspace: &mut Workspace,
    (halves, degrees): ([&'a BlockStore; 2], &[u32]),
    sizes: &BfsBufferSizes,
    spread_over: Option<&Comm>,
    tuning: &Tuning,
    budget: &Budget,
    check_cancelled: CancelCheck<'_>,
) -> Result<BfsDeviceGraph<'a>> {
    let direction = halves[0].layout.direction();
    let packed = [halves[0].packed(), halves[1].packed()];
    let is_packed = packed.iter().all(Option::is_some);
    let entries = halves.map(BlockStore::edges);
    let parts = spread_over.map(|comm| halves.map(|half| RowParts::of(half, comm.ranks())));
    let own = [0, 1].map(|half: usize| match (&parts, spread_over) {
        (Some(parts), Some(comm)) => parts[half].entries(comm.rank()),
        _ => 0..entries[half],
    });
    let mut graph = BfsGraph { vertices: sizes.vertices as u32, shift: direction.shift(), ..BfsGraph::default() };
    let mut starts = [DeviceSlice::default(); 2];
    for half in 0..2 {
        starts[half] = workspace.arena.take_planned(sizes.rows + 1)?;
        graph.halves[half] = place_starts(workspace, halves[half], starts[half], tuning.first_entry, check_cancelled)?;
    }
    if is_packed {
        bound_packed(degrees, &mut graph)
    } else {
        bound(workspace, &mut graph)?
    }
    let many: DeviceSlice<u32> =
        workspace.arena.take(graph.many.into()).ok_or_else(|| too_small(workspace, sizes, &graph))?;
    let first: DeviceSlice<u32> = workspace.arena.take_planned(sizes.vertices)?;
    let few: DeviceSlice<u8> = workspace.arena.take_planned(sizes.vertices)?;
    let mut placed = BfsDeviceGraph {
        graph,
        slots: match packed {
            [Some(lower), Some(upper)] => lower.chunks() + upper.chunks(),
            _ => entries[0] * if direction == Direction::Directed { 1 } else { 2 },
        },
        on_host: Vec::new(),
        is_packed,
        parts,
        many,
    };

    // If all rows fit, they are allocated first. Otherwise the head arrays are allocated first, because they save most
    // reads over the bus.
    let bytes = own.each_ref().map(|own| slice_bytes::<u32>(own.end - own.start));
    let stay = tuning.rows_on_host || is_packed;
    let all_fit = bytes[0] + bytes[1] <= workspace.arena.free() && !stay;
    if !all_fit && spread_over.is_some() {
        return Err(Error::internal("place a graph on GPUs", "less room than planned"));
    }
    if !all_fit {
        take_heads(workspace, &mut placed.graph, tuning.heads);
    }
    for half in 0..2 {
        if let Some(rows) = packed[half] {
            let rows = Pinned::of(&workspace.device, bytes_of(rows.words()), budget)?;
            placed.graph.halves[half].entries = rows.address().wrapping_sub(4 * WORDS as u64 * tuning.first_entry);
            placed.on_host.push(RowsOnHost::Packed(rows));
            continue;
        }
        let own = &own[half];
        let targets = if stay { None } else { workspace.arena.take::<u32>(own.end - own.start) };
        let address = match targets {
            Some(targets) => {
                upload(workspace, halves[half], own.clone(), targets, check_cancelled)?;
                targets.address().wrapping_sub(4 * own.start)
            }
            None => {
                let rows = pin(workspace, halves[half], budget, check_cancelled)?;
                let address = rows.address();
                placed.on_host.push(RowsOnHost::Pinned(rows));
                address
            }
        };
        placed.graph.halves[half].entries = address.wrapping_sub(4 * tuning.first_entry);
    }
    if all_fit {
        take_heads(workspace, &mut placed.graph, tuning.heads);
    }
    placed.graph.first = first.address();
    (placed.graph.few_leaves, placed.graph.many_leaves) = (few.address(), many.address());
    Ok(placed)
}

/// Allocates up to `most` head arrays in GPU memory. A head array stores up to four of the first neighbours of each
/// vertex.
fn take_heads(workspace: &mut Workspace, graph: &mut BfsGraph, most: usize) {
    for k in 0..most.min(MOST_HEADS) {
        let Some(heads) = workspace.arena.take::<[u32; 4]>(graph.wide[k].into()) else { break };
        graph.heads[k] = heads.address();
        graph.head_arrays = k as u32 + 1;
    }
}

/// Finds the ends of groups of vertices like [`bound`], but from degrees, for undirected graphs with packed
/// (compressed) rows.
fn bound_packed(degrees: &[u32], graph: &mut BfsGraph) {
    let upto = |least: u64| {
        let last = degrees.par_iter().with_min_len(1 << 16).position_last(|&degree| u64::from(degree) >= least);
        last.map_or(0, |last| last as u32 + 1)
    };
    graph.tail = u64::from(upto(2)).next_multiple_of(buffer_sizes::CHUNK).min(graph.vertices.into()) as u32;
    graph.many = upto(buffer_sizes::MANY);
    for (k, wide) in (0u64..).zip(&mut graph.wide) {
        *wide = upto(2 + 4 * k);
    }
}

/// Finds the exclusive ends of groups of vertices: of those with more than one edge, of those with many edges, and, for
/// each head array, of those with neighbours in the array. Vertices are in the order of descending degree, so each of
/// these groups is at the start.
fn bound(workspace: &mut Workspace, graph: &mut BfsGraph) -> Result<()> {
    let bounds: DeviceSlice<u32> = workspace.arena.take_planned(BOUNDS)?;
    let queue = &workspace.queue;
    queue.fill(bounds, 0)?;
    let kernel = workspace.kernel(&PREPARE, "bfs_bounds")?;
    let vertices = u64::from(graph.vertices);
    // SAFETY: the arguments match the kernel's; row offsets are in GPU memory.
    unsafe { queue.launch(&kernel, queue.grid(vertices), (*graph, bounds.address()))? };
    let found: [u32; BOUNDS as usize] = queue.read_first(bounds)?;
    let [tail, many, wide @ ..] = found;
    (graph.many, graph.wide) = (many, wide);
    graph.tail = u64::from(tail).next_multiple_of(buffer_sizes::CHUNK).min(vertices) as u32;
    Ok(())
}

/// Copies the entries with the indices `wanted` in one half of the rows to the GPU array `to`.
fn upload(
    workspace: &mut Workspace,
    graph: &BlockStore,
    wanted: Range<u64>,
    to: DeviceSlice<u32>,
    check_cancelled: CancelCheck<'_>,
) -> Result<()> {
    let parts = targets(graph).filter_map(|(b, before, entries)| {
        let (from, end) = (wanted.start.max(before), wanted.end.min(before + entries));
        (from < end).then(|| {
            let part = to.part(from - wanted.start..end - wanted.start);
            let [_, targets] = copies_from_host(graph, b, (0, DeviceSlice::default()), (from - before, part));
            targets
        })
    });
    let parts: Vec<(CopySource<'_>, DeviceSlice<u8>)> = parts.collect();
    workspace.uploader.upload(&parts, check_cancelled)?.wait()
}

/// Fills the arrays of first neighbours, and counts the neighbours of each vertex that are leaves (vertices with one
/// edge). All rows must have been copied before, on all GPUs if rows are spread over several. `scratch` has one 32-bit
/// word per vertex.
pub(super) fn look_ahead(
    workspace: &Workspace,
    placed: &BfsDeviceGraph<'_>,
    spread: Option<[SpreadRows; 2]>,
    scratch: DeviceSlice<u32>,
) -> Result<()> {
    let (graph, many) = (placed.graph, placed.many);
    let queue = &workspace.queue;
    let kernel = |program, name| -> Result<Kernel> { workspace.kernel(program, name) };
    let grid = queue.grid(graph.vertices.into());
    queue.fill(scratch, 0)?;
    // SAFETY: the arguments match the kernels'; rows are in place, and arrays have an element for each vertex that is written.
    unsafe {
        match spread {
            Some(spread) => {
                queue.launch(&kernel(&SPREAD, "bfs_heads")?, grid, (SpreadGraph { graph, spread }, graph.first))?;
            }
            None => {
                let program = if placed.is_packed { &PACKED } else { &PREPARE };
                queue.launch(&kernel(program, "bfs_heads")?, grid, (graph, graph.first))?;
            }
        }
        queue.launch(&kernel(&PREPARE, "bfs_leaves")?, grid, (graph, scratch.address()))?;
        queue.launch(
            &kernel(&PREPARE, "bfs_few_leaves")?,
            grid,
            (scratch.address(), graph.vertices, graph.few_leaves),
        )?;
    }
    queue.copy(scratch.part(0..many.len()), many)?;
    queue.finish()
}

/// Returns the error for a graph with so many vertices of large degree that counters of their leaves (neighbours with
/// one edge) do not fit in GPU memory.
fn too_small(workspace: &Workspace, sizes: &BfsBufferSizes, graph: &BfsGraph) -> Error {
    let needed = sizes.bytes(graph.many.into());
    match workspace.arena.check_size(needed, super::PURPOSE) {
        Err(e) => e,
        Ok(()) => Error::internal("place a graph on the GPU", "less room than planned"),
    }
}
