//! Copies the adjacency rows of a weighted graph to a GPU: row offsets, and neighbours with weights. Each row is sorted
//! by ascending weight.
#![allow(unsafe_code)] // kernel launches

use super::buffer_sizes::{BOUNDS, LEAST_PIECE, SsspBufferSizes, THREADS};
use super::host_rows::{self, WeightSummary};
use super::kernel_structs::{RowPlacing, SsspGraph, scale_of};
use super::near::NearEdges;
use super::{PREPARE, Tuning, Weights};
use crate::algo::searches::gpu::{join_starts, place_starts, targets};
use crate::error::Result;
use crate::formats::WeightType;
use crate::gpu::{CopySource, DeviceSlice, Grid, Pinned, Workspace, fill_by_lanes, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::{Budget, bytes_of};
use crate::process::signals;
use crate::stream::copies_from_host;

/// A weighted graph that a GPU can read.
#[derive(Debug)]
pub(super) struct SsspDeviceGraph {
    /// The graph in the form in which kernels take it as an argument.
    pub graph: SsspGraph,
    /// Number of entries in all rows.
    pub entries: u64,
    /// The smallest weight, as a bit pattern: an integer, or the bits of an f32 or f64.
    pub lightest: u64,
    /// The largest weight, as a bit pattern: an integer, or the bits of an f32 or f64.
    pub heaviest: u64,
    /// The largest weight, as a number.
    pub most: f64,
    /// Mean of all weights, as a number.
    pub mean: f64,
    /// Number of entries in the longest row.
    pub longest: u32,
    /// Rows in pinned host memory, if they do not fit in GPU memory. Kernels read these rows over the bus.
    pub on_host: Option<Pinned>,
    /// GPU memory for near edges (the first edges of each row). `None` unless rows are in host memory and at least one
    /// edge fits.
    pub near: Option<NearEdges>,
    /// The list of 64-bit weights in pinned host memory, if it does not fit in GPU memory.
    pub _values: Option<Pinned>,
}

/// A weighted graph in host memory that is to be copied to a GPU, with the sizes of GPU arrays and other parameters.
pub(super) struct HostGraph<'a> {
    /// The lower half (smaller neighbours) and the upper half (larger neighbours) of the adjacency rows.
    pub halves: [&'a BlockStore; 2],
    pub weights: &'a Weights<'a>,
    /// Sizes of the arrays in GPU memory, not counting rows.
    pub sizes: SsspBufferSizes,
    pub tuning: Tuning,
    /// Budget of host memory.
    pub budget: &'a Budget,
}

impl HostGraph<'_> {
    /// Copies the adjacency rows to the GPU of `workspace`, joined into whole rows and sorted by weight. If they do not
    /// fit, copies them to pinned host memory instead, and allocates the free GPU memory for near edges (the first
    /// edges of each row). Frees temporary GPU memory before it returns.
    pub fn make_resident(&self, workspace: &mut Workspace) -> Result<SsspDeviceGraph> {
        let (sizes, scale) = (&self.sizes, self.weights.scale());
        let entries: u64 = self.halves.iter().map(|half| half.edges()).sum();
        let starts: DeviceSlice<u32> = workspace.arena.take_planned(sizes.rows + 1)?;
        let bounds: DeviceSlice<u64> = workspace.arena.take_planned(BOUNDS)?;
        // Copying rows and searching use the remaining memory, but not at the same time.
        let rest = sizes.working().max(sizes.placing(LEAST_PIECE));
        let (values, _values) = self.place_values(workspace, rest)?;
        let free = workspace.arena.free();
        let fits = slice_bytes::<u64>(entries) + rest <= free && self.tuning.most_near.is_none();
        let (edges, near): (DeviceSlice<u64>, _) = if fits {
            (workspace.arena.take_planned(entries)?, None)
        } else {
            let most = self.tuning.most_near.map_or(entries, |most| most.min(entries));
            (DeviceSlice::default(), NearEdges::take(&mut workspace.arena, sizes.rows, most, rest)?)
        };
        let mark = workspace.arena.mark();
        let own = [workspace.arena.take_planned(sizes.rows + 1)?, workspace.arena.take_planned(sizes.rows + 1)?];
        let (mut graph, [over_few, over_middle, longest]) = self.outline(workspace, own, starts, bounds)?;
        graph.values = values;
        let entries_at = |address: u64| address.wrapping_sub(8 * self.tuning.first_entry);
        let (weights, on_host) = if fits {
            graph.rows.entries = entries_at(edges.address());
            self.fill(workspace, own, &graph)?;
            let weights = summarize(workspace, edges, (scale.kind, values), bounds)?;
            let rows = |vertices: u32| u64::from(vertices) << graph.shift;
            if weights.least != weights.most {
                sort(workspace, &graph, [sizes.rows, rows(over_few), rows(over_middle)], bounds)?;
            }
            workspace.queue.finish()?;
            workspace.arena.reset(mark);
            (weights, None)
        } else {
            workspace.arena.reset(mark);
            let (rows, weights) = host_rows::pin(workspace, self.halves, self.weights, self.budget)?;
            graph.rows.entries = entries_at(rows.address());
            (weights, Some(rows))
        };
        let mean = weights.sum / entries.max(1) as f64;
        let [lightest, heaviest] = [weights.least, weights.most].map(|weight| scale.bits(weight));
        let most = scale.number(weights.most);
        Ok(SsspDeviceGraph { graph, entries, lightest, heaviest, most, mean, longest, on_host, near, _values })
    }

    /// Copies the list of 64-bit weights to the GPU if `rest` bytes of GPU memory remain free afterwards. Otherwise
    /// copies it to pinned host memory. Returns the address at which kernels read the list, and the pinned memory, if
    /// used.
    fn place_values(&self, workspace: &mut Workspace, rest: u64) -> Result<(u64, Option<Pinned>)> {
        let values = self.weights.scale().values;
        let (count, bytes) = (values.len() as u64, bytes_of(values));
        if bytes.is_empty() {
            return Ok((0, None));
        }
        if self.tuning.most_near.is_some() || slice_bytes::<u64>(count) + rest > workspace.arena.free() {
            let mut pinned = Pinned::new(&workspace.device, bytes.len(), self.budget)?;
            pinned.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            return Ok((pinned.address(), Some(pinned)));
        }
        let values: DeviceSlice<u64> = workspace.arena.take_planned(count)?;
        let copied = workspace.uploader.upload(&[(CopySource::Memory(bytes), values.as_bytes())], &signals::check)?;
        workspace.queue.after(&copied)?;
        Ok((values.address(), None))
    }

    /// Copies the row offsets to the GPU. Returns the graph without its row entries, and three numbers: the ends of the
    /// vertices whose rows have at least middle length and of the vertices with long rows, and the length of the
    /// longest row. Rows of middle length and long rows are sorted by separate kernels.
    fn outline(
        &self,
        workspace: &mut Workspace,
        own: [DeviceSlice<u32>; 2],
        starts: DeviceSlice<u32>,
        bounds: DeviceSlice<u64>,
    ) -> Result<(SsspGraph, [u32; 3])> {
        // The offset of a whole row is the sum of its offsets in both halves.
        let (halves, first_entry) = (self.halves, self.tuning.first_entry);
        place_starts(workspace, halves[0], own[0], first_entry, &signals::check)?;
        place_starts(workspace, halves[1], own[1], 0, &signals::check)?;
        let shift = halves[0].layout.direction().shift();
        let mut graph = SsspGraph { vertices: self.sizes.vertices as u32, shift, ..SsspGraph::default() };
        graph.rows = join_starts(workspace, own, starts, first_entry)?;
        let [tail, many, others @ ..] = bound(workspace, &graph, bounds)?;
        (graph.tail, graph.many) = (tail, many);
        Ok((graph, others))
    }

    /// Copies the neighbours in both halves of the rows to the GPU, joined into whole rows, with their weights.
    fn fill(&self, workspace: &mut Workspace, own: [DeviceSlice<u32>; 2], graph: &SsspGraph) -> Result<()> {
        let tuning = &self.tuning;
        let vertices = u64::from(graph.vertices);
        let ids: DeviceSlice<u64> = workspace.arena.take_planned(vertices)?;
        let mut placing = RowPlacing { edges: graph.rows.entries, ids: ids.address(), ..RowPlacing::default() };
        match self.weights {
            Weights::Stored(_) => {}
            Weights::Drawn(drawn, of) => {
                let (kind, least, most, seed) = match *drawn {
                    DrawnWeights::Unit => (1, 1, 1, 0),
                    DrawnWeights::Whole { least, most, seed } => (2, least, most, seed),
                    DrawnWeights::Decimal { least, most, seed } => (3, least.to_bits(), most.to_bits(), seed),
                };
                (placing.weights, placing.least, placing.most, placing.seed) = (kind, least, most, seed);
                if kind > 1 {
                    upload_ids(workspace, ids, *of)?;
                }
            }
        }
        // Neighbours are given half of the free memory, because their weights take as much.
        let piece = (workspace.arena.free() / 8).saturating_sub(128).clamp(1, tuning.piece);
        let (words, of_words) =
            (workspace.arena.take_planned::<u32>(piece)?, workspace.arena.take_planned::<u32>(piece)?);
        let kernel = workspace.kernel(&PREPARE, "sssp_place")?;
        for (half, graph_half) in self.halves.into_iter().enumerate() {
            let first_entry = if half == 0 { tuning.first_entry } else { 0 };
            let placing =
                RowPlacing { own: own[half].address(), lower: if half == 1 { own[0].address() } else { 0 }, ..placing };
            for (b, before, entries) in targets(graph_half) {
                let (first, rows) = (graph_half.first_row(b), graph_half.size(b).rows as u32);
                for from in (0..entries).step_by(piece as usize) {
                    let count = piece.min(entries - from);
                    let [_, copy] =
                        copies_from_host(graph_half, b, (0, DeviceSlice::default()), (from, words.part(0..count)));
                    let mut parts = vec![copy];
                    if placing.weights == 0 {
                        let some = &graph_half.weights(b)[from as usize..][..count as usize];
                        parts.push((CopySource::Memory(bytes_of(some)), of_words.part(0..count).as_bytes()));
                    }
                    let copied = workspace.uploader.upload(&parts, &signals::check)?;
                    let queue = &workspace.queue;
                    queue.after(&copied)?;
                    let (words, of_words) = (words.address(), of_words.address());
                    let at = (first_entry + before + from) as u32;
                    let arguments = (*graph, placing, words, of_words, count as u32, first, rows, at);
                    // SAFETY: the arguments match the kernel's. Rows are large enough for all entries of both halves,
                    // and these entries belong to that block.
                    unsafe { queue.launch(&kernel, queue.grid(count), arguments)? };
                    // The next neighbours use the same memory.
                    queue.finish()?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the exclusive ends of four groups of vertices, and the length of the longest row. The groups are: vertices
/// with more than one edge; vertices whose rows several threads share; vertices whose rows have at least middle length;
/// and vertices with long rows. Because vertices are in the order of descending degree, each group is at the start.
fn bound(workspace: &Workspace, graph: &SsspGraph, bounds: DeviceSlice<u64>) -> Result<[u32; 5]> {
    let queue = &workspace.queue;
    queue.fill(bounds, 0)?;
    let kernel = workspace.kernel(&PREPARE, "sssp_bounds")?;
    // SAFETY: the arguments match the kernel's; row offsets are in GPU memory.
    unsafe { queue.launch(&kernel, queue.grid(graph.vertices.into()), (*graph, bounds.address()))? };
    let found: [u64; 3] = queue.read_first(bounds)?;
    Ok([found[0] as u32, (found[0] >> 32) as u32, found[1] as u32, (found[1] >> 32) as u32, found[2] as u32])
}

/// Copies the input ids of all vertices to the GPU array `to`. `of` returns the input id of a vertex.
fn upload_ids(workspace: &mut Workspace, to: DeviceSlice<u64>, of: &(dyn Fn(Vertex) -> u64 + Sync)) -> Result<()> {
    let words = DeviceSlice::at(to.address(), 2 * to.len());
    fill_by_lanes(&mut workspace.uploader.lanes()?, words, 2, |first, slot| {
        signals::check()?;
        for (pair, v) in slot.chunks_exact_mut(2).zip((first / 2) as u32..) {
            let id = of(Vertex(v));
            pair.copy_from_slice(&[id as u32, (id >> 32) as u32]);
        }
        Ok(())
    })
}

/// Computes the smallest, the largest and the sum of all weights on the GPU. `values` is the GPU address of the list of
/// 64-bit weights.
fn summarize(
    workspace: &Workspace,
    edges: DeviceSlice<u64>,
    (kind, values): (WeightType, u64),
    bounds: DeviceSlice<u64>,
) -> Result<WeightSummary> {
    let queue = &workspace.queue;
    queue.write(&[u64::from(u32::MAX), 0], bounds)?;
    let kernel = workspace.kernel(&PREPARE, "sssp_weights")?;
    let sum = bounds.part(1..2).address();
    // SAFETY: the arguments match the kernel's; edges are in GPU memory.
    unsafe {
        let arguments = (edges.address(), edges.len(), scale_of(kind), values, bounds.address(), sum);
        queue.launch(&kernel, queue.grid(edges.len()), arguments)?;
    }
    let [least_most, sum] = queue.read_first(bounds)?;
    Ok(WeightSummary { least: least_most as u32, most: (least_most >> 32) as u32, sum: f64::from_bits(sum) })
}

/// Sorts the adjacency rows by weight on the GPU. Separate kernels sort short rows, rows of middle length, and long
/// rows. Vertices are in the order of descending degree. So rows of middle length are among the first `over_few` rows,
/// and long rows among the first `over_middle`.
fn sort(
    workspace: &Workspace,
    graph: &SsspGraph,
    [rows, over_few, over_middle]: [u64; 3],
    bounds: DeviceSlice<u64>,
) -> Result<()> {
    let queue = &workspace.queue;
    let next = bounds.part(0..1);
    queue.fill(next, 0)?;
    let kernel = |name| workspace.kernel(&PREPARE, name);
    let many = kernel("sssp_sort_many")?;
    let most = many.blocks_at_once(THREADS, 0)?;
    let blocks = |rows: u64, threads, most: u32| Grid { blocks: rows.min(most.into()) as u32, threads, shared: 0 };
    // SAFETY: the arguments match the kernels'; edges are in GPU memory, and each row is sorted by one kernel.
    unsafe {
        let (on, at) = (*graph, graph.rows.entries);
        queue.launch(&many, blocks(over_middle, THREADS, most), (on, at, over_middle, next.address()))?;
        queue.launch(&kernel("sssp_sort_middle")?, blocks(over_few, 256, 16 * most), (on, at, over_few))?;
        queue.launch(&kernel("sssp_sort_few")?, queue.grid(rows.saturating_mul(32)), (on, at, rows))
    }
}
