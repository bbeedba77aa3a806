//! Counts triangles per edge, which is the support of each edge. The count proceeds in groups of blocks whose edge
//! counters fit in memory together. The counts are stored in one file per block.
//!
//! A triangle changes counters in two blocks: those that contain the rows of its largest corner and of its middle
//! corner. A group therefore counts all units (pairs of blocks) that contain one of its blocks. After that, its counts
//! are final. A unit whose two blocks are in different groups is counted twice, once for each. A stored count is never
//! added to, so no count depends on when a job was killed.
//!
//! Ranks take whole groups as work items. Once the files of a group are stored, the rank reports the units whose
//! partner block is in the group, so each unit is reported once. A block is complete if the journal contains all units
//! of which it is the partner block, and its file is intact.

use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::cpu::edges::EdgeCounters;
use crate::algo::triangle::gpu::{self, Counted, Gpu};
use crate::algo::triangle::output::{EdgeSupport, PairTimes, SupportBin};
use crate::algo::triangle::per_vertex::{self, VERTEX_COUNTS, VertexTotals};
use crate::algo::triangle::units::{Backend, Part, ReportParts, Stop, Sum, Work, number};
use crate::algo::triangle::work_queue::WorkQueue;
use crate::algo::triangle::{PairCount, Triangle, driver};
use crate::algo::{ChosenDevice, GraphSize, RankResources, Run};
use crate::comm::{Comm, on_leader};
use crate::error::{Error, Result};
use crate::graph::bins::{Bin, Bins};
use crate::graph::block_store::BlockStore;
use crate::graph::layout::Layout;
use crate::memory::{Budget, Buffer, bytes_of};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::results::edges::EdgeValues;
use crate::store::checkpoint::{Checkpoint, Saved};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Maximum number of edges in a group of several blocks. If a job is killed, it loses the groups that are in progress.
const CPU_GROUP: u64 = 1 << 28;
/// Purpose of the memory for counters, as named in error messages.
const EDGE_COUNTS: &str = "counts of edges (4 bytes each)";
/// Target number of groups of blocks per rank, if there are several ranks.
const GROUPS_PER_RANK: u64 = 4;

/// The result of counting triangles per edge.
pub(super) struct EdgeTotals {
    /// Sum over all units (pairs of blocks).
    pub(super) sum: Sum,
    /// Counting time in seconds.
    pub(super) seconds: f64,
    /// Time of each pair of blocks.
    pub(super) pairs: PairTimes,
    /// Statistics of the triangles per edge.
    pub(super) support: EdgeSupport,
    /// Totals of the triangle counts per vertex, if they are written as well.
    pub(super) vertices: Option<VertexTotals>,
}

/// Counts the triangles of each edge and writes the results. Also writes the triangles of each vertex if `table` asks
/// for them.
///
/// # Errors
/// [`Error::Limit`] if the counters of the largest block do not fit the budget; errors of counting; disk errors.
pub(super) fn count(table: &Triangle, graph: &Graph, run: &mut Run<'_>) -> Result<EdgeTotals> {
    let files = SupportFiles { folder: run.units.files()?, key: run.units.key };
    let (sum, seconds, pairs) = driver::count(graph, run, Some(&files))?;
    let (support, vertices) = on_leader(run.comm, || finish(table, graph, run, &files, sum))?;
    Ok(EdgeTotals { sum, seconds, pairs, support, vertices })
}

/// Checks that the triangle counts of all edges add up to three times the triangles in `sum`. In the last trial, also
/// writes the columns.
fn finish(
    table: &Triangle,
    graph: &Graph,
    run: &mut Run<'_>,
    files: &SupportFiles,
    sum: Sum,
) -> Result<(EdgeSupport, Option<VertexTotals>)> {
    let blocks = &graph.block_store;
    let mut support = SupportSums::default();
    for block in 0..blocks.len() {
        signals::check()?;
        support.add(files.open(blocks, block)?.words_u32(0)?);
    }
    let (found, expected) = (support.sum, 3 * sum.triangles);
    if found != expected {
        return Err(Error::Validation(format!("the counts of all edges add up to {found}, not {expected}")));
    }
    if run.is_last {
        let ids = InputIds::open(graph, run.budget)?;
        let block = |block: usize| {
            block.checked_sub(1).into_iter().for_each(|before| blocks.release(before));
            Ok((blocks.block(block), files.open(blocks, block)?))
        };
        run.columns.put_edges(&EdgeValues { edges: blocks.edges(), blocks: blocks.len(), block: &block, ids: &ids })?;
    }
    let of_vertices = table.per_vertex.then(|| {
        let counts = per_vertex(graph, run.budget, files)?;
        per_vertex::finish(table, graph, run, &counts, sum)
    });
    let of_vertices = of_vertices.transpose()?;
    run.units.remove_files()?;
    Ok((support.finish(), of_vertices))
}

/// Returns the number of triangles of each vertex. It is half the sum of the triangle counts of the vertex's edges,
/// because a triangle has two edges at each corner.
fn per_vertex(graph: &Graph, budget: &Budget, files: &SupportFiles) -> Result<Buffer<AtomicU64>> {
    let (blocks, vertices) = (&graph.block_store, graph.info.connected as usize);
    let mut counts: Buffer<AtomicU64> = budget.zeroed(vertices, VERTEX_COUNTS)?;
    for block in 0..blocks.len() {
        signals::check()?;
        let (rows, supports) = (blocks.block(block), files.open(blocks, block)?);
        let supports = supports.words_u32(0)?;
        for local in 0..rows.rows() {
            let mut of_row = 0;
            for (&u, &support) in rows.row(local).iter().zip(&supports[rows.entries(local)]) {
                *counts[u as usize].get_mut() += u64::from(support);
                of_row += u64::from(support);
            }
            *counts[rows.first_row as usize + local].get_mut() += of_row;
        }
        blocks.release(block);
    }
    counts.iter_mut().for_each(|count| *count.get_mut() /= 2);
    Ok(counts)
}

/// Files with the triangle counts of edges, one checkpoint file per finished block.
#[derive(Debug)]
pub(super) struct SupportFiles {
    folder: PathBuf,
    key: u64,
}

impl SupportFiles {
    fn place(&self, block: usize) -> (PathBuf, u64) {
        let key = self.key ^ (block as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (self.folder.join(format!("support.{block}")), key)
    }

    /// Opens the file with the triangle counts of the edges in block `block`, and verifies its checksum.
    fn open(&self, graph: &BlockStore, block: usize) -> Result<Saved> {
        let (path, key) = self.place(block);
        let saved = Saved::open(&path, key)?;
        if saved.words_u32(0)?.len() as u64 != graph.size(block).entries {
            return Err(saved.other("another number of edges than the block has"));
        }
        Ok(saved)
    }

    fn store(&self, block: usize, counts: &[u8]) -> Result<()> {
        let (path, key) = self.place(block);
        Checkpoint::new(path, key).save(1, 1, &[counts])
    }

    /// Returns for each block whether all its edges have been counted and stored. `units` are the ids of the units in
    /// the journal.
    pub(super) fn done(&self, graph: &BlockStore, units: &HashSet<u64>) -> Vec<bool> {
        let is_done = |partner: usize| {
            (0..=partner).all(|front| units.contains(&number(front, partner))) && self.open(graph, partner).is_ok()
        };
        (0..graph.len()).map(is_done).collect()
    }
}

/// Counts triangles per edge on one rank, in work items that are groups of blocks.
pub(super) struct EdgeGroups<'a> {
    graph: &'a BlockStore,
    vertices: u64,
    threads: usize,
    budget: &'a Budget,
    files: &'a SupportFiles,
    groups: Vec<Range<usize>>,
    /// The GPU of this rank, or `None` if the rank counts on CPUs.
    gpu: Option<Box<Gpu<'a>>>,
    stop: Stop<'a>,
}

impl<'a> EdgeGroups<'a> {
    /// Divides the blocks that are not complete into groups, which are the same on all ranks. `done` contains the ids
    /// of counted units. Returns `None` if other ranks have GPUs and this one does not. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`].
    pub(super) fn new(
        graph: &'a Graph,
        run: &Run<'a>,
        files: &'a SupportFiles,
        done: &HashSet<u64>,
        stop: Stop<'a>,
    ) -> Result<Option<EdgeGroups<'a>>> {
        let (blocks, vertices, budget) = (&graph.block_store, graph.info.connected, run.budget);
        let gpu = |lease| Gpu::new(blocks, vertices, lease, Counted::Edges, stop);
        let cpu = || {
            let most = blocks.extremes();
            let (_, scratch) = Cpu::edge_settings(run.threads, blocks.edges(), vertices, most.row, 0);
            Ok(edges_on_cpu(blocks.edges(), most.entries, scratch, budget.free()))
        };
        let device = run.devices.choose(blocks.is_local(), gpu, cpu)?;
        let mut room = [match &device {
            ChosenDevice::Gpu(gpu) => gpu.edges_at_once(blocks),
            ChosenDevice::Cpu(edges) => *edges,
            ChosenDevice::Nothing => u64::MAX,
        }];
        run.comm.all_min(&mut room);
        let gpu = match device {
            ChosenDevice::Gpu(gpu) => Some(Box::new(gpu)),
            ChosenDevice::Cpu(_) => None,
            ChosenDevice::Nothing => return Ok(None),
        };
        let most = largest_group(blocks.edges(), room[0], run.comm.ranks());
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut edges = 0;
        for block in (0..blocks.len()).filter(|&partner| !done.contains(&number(partner, partner))) {
            let of_block = blocks.size(block).entries;
            match groups.last_mut() {
                Some(group) if group.end == block && edges + of_block <= most => {
                    (group.end, edges) = (block + 1, edges + of_block);
                }
                _ => {
                    groups.push(block..block + 1);
                    edges = of_block;
                }
            }
        }
        Ok(Some(EdgeGroups { graph: blocks, vertices, threads: run.threads, budget, files, groups, gpu, stop }))
    }

    /// Counts the triangles of each edge in the blocks of `group`, and stores the counts. Returns the units whose
    /// partner block is in the group.
    fn count_group(&mut self, group: Range<usize>) -> Result<Vec<Part>> {
        let EdgeGroups { graph, vertices, threads, budget, files, stop, .. } = *self;
        // Units that have no block in the group.
        let others = (0..graph.len()).filter(|block| !group.contains(block)).flat_map(|partner| {
            (0..=partner).filter(|front| !group.contains(front)).map(move |front| number(front, partner))
        });
        let mut found = HashMap::new();
        let keep = &mut |units: &[(u64, PairCount)]| {
            found.extend(units.iter().copied());
            Ok(())
        };
        let queue = WorkQueue { comm: &Comm::Solo, graph, done: &others.collect() };
        let sizes = group.clone().map(|block| graph.size(block).entries as usize);
        if let Some(gpu) = self.gpu.as_deref_mut() {
            gpu.begin_edges(graph, group.clone())?;
            queue.count(Some(gpu), keep, None)?;
            let mut counts: Buffer<u32> = budget.zeroed(sizes.clone().max().unwrap_or(0), EDGE_COUNTS)?;
            for (block, edges) in group.clone().zip(sizes) {
                signals::check()?;
                gpu.read_edges(block, &mut counts[..edges])?;
                files.store(block, bytes_of(&counts[..edges]))?;
            }
        } else {
            let counts: Buffer<AtomicU32> = budget.zeroed(sizes.sum(), EDGE_COUNTS)?;
            let counters = EdgeCounters::new(graph, group.clone(), &counts);
            let mut cpu = Cpu::of_edges(graph, vertices, threads, budget, &counters, stop)?;
            queue.count(Some(&mut cpu), keep, None)?;
            for block in group.clone() {
                signals::check()?;
                files.store(block, bytes_of(counters.of(block).unwrap_or_default()))?;
            }
        }
        let units = group.clone().flat_map(|partner| (0..=partner).map(move |front| (front, partner)));
        let rows = |block: usize| graph.layout.block(block).len() as u64;
        let part = |(front, partner)| {
            let none = || Error::Validation(format!("blocks {front} and {partner} were not counted"));
            let count = found.get(&number(front, partner)).copied().ok_or_else(none)?;
            Ok(Part { front, partner, pairs: rows(front) * rows(partner), count })
        };
        units.map(part).collect()
    }
}

impl Backend for EdgeGroups<'_> {
    fn fronts(&self, graph: &BlockStore, _: usize) -> usize {
        graph.len()
    }

    fn count(&mut self, work: &Work<'_>, found: ReportParts<'_>) -> Result<()> {
        while let Some(group) = self.groups.get(work.next(0, 0, 1)?).cloned() {
            found(&self.count_group(group)?)?;
        }
        Ok(())
    }
}

/// Returns the number of edges whose triangles can be counted at a time with `free` bytes of memory. The largest block
/// has `block` edges, and `scratch` is the minimum scratch memory in bytes. Edge counters take at most half of the
/// memory, because rows need memory as well.
fn edges_on_cpu(edges: u64, block: u64, scratch: u64, free: u64) -> u64 {
    (free / 8).min(free.saturating_sub(scratch) / 4).clamp(block, CPU_GROUP.max(block)).min(edges)
}

/// Returns the host memory in bytes for the largest groups of blocks and the minimum, and the number of groups.
/// `resources` contains the number of threads and the free memory.
pub(super) fn host_memory(table: &Triangle, graph: &GraphSize<'_>, resources: &RankResources) -> ([u64; 2], u64) {
    let GraphSize { vertices, edges, longest_row, .. } = *graph;
    let block = largest_block(graph);
    let scratch = |free: u64| Cpu::edge_settings(resources.threads, edges, vertices, longest_row, free).1;
    let at_once = |free: u64| edges_on_cpu(edges, block, scratch(0), free);
    let counting = |free: u64| {
        let counts = 4 * at_once(free);
        if resources.on_gpu { 4 * block } else { counts + scratch(free.saturating_sub(counts)) }
    };
    let bytes =
        |free: u64| counting(free).max(InputIds::bytes(vertices)).max(if table.per_vertex { 8 * vertices } else { 0 });
    let at_once = match resources.gpu_memory {
        bytes if resources.on_gpu => gpu::edges_on_gpu(edges, block, graph.gpu_row.unwrap_or(0), bytes),
        _ => at_once(resources.free),
    };
    let most = largest_group(edges, at_once, resources.ranks);
    ([resources.free, 0].map(bytes), edges.div_ceil(most.max(block).max(1)).max(1))
}

/// Estimates the number of edges in the largest block.
pub(super) fn largest_block(graph: &GraphSize<'_>) -> u64 {
    let ends: u64 = graph.degrees.iter().map(|(degree, first, end)| u64::from(degree) * (end - first)).sum();
    // A block may be larger than the target size if it consists of a single granule (a small part of a large graph).
    Layout::block_target(ends / 2).max(graph.edges / 512).min(graph.edges)
}

/// Returns the maximum number of edges in a group of several blocks. It is so small that each rank gets several groups
/// if there are several ranks.
fn largest_group(edges: u64, at_once: u64, ranks: usize) -> u64 {
    if ranks == 1 { at_once } else { at_once.min(edges.div_ceil(GROUPS_PER_RANK * ranks as u64)) }
}

/// Statistics of the supports (numbers of triangles) of the edges that have been added so far.
#[derive(Default)]
pub(super) struct SupportSums {
    /// Sum of the supports.
    pub(super) sum: u128,
    edges: u64,
    largest: u32,
    bins: Bins,
}

impl SupportSums {
    /// Returns the number of edges added so far.
    pub(super) fn edges(&self) -> u64 {
        self.edges
    }

    /// Adds the supports of some edges.
    pub(super) fn add(&mut self, supports: &[u32]) {
        self.edges += supports.len() as u64;
        for &support in supports {
            self.sum += u128::from(support);
            self.largest = self.largest.max(support);
            self.bins.add(support, 1);
        }
    }

    /// Returns the statistics of all edges that have been added.
    pub(super) fn finish(&self) -> EdgeSupport {
        let bin = |&Bin { from, to, vertices: edges }: &Bin| SupportBin { from, to, edges };
        let bins: Vec<SupportBin> = self.bins.finish().iter().map(bin).collect();
        let in_triangles = bins.iter().filter(|bin| bin.from > 0).map(|bin| bin.edges).sum();
        EdgeSupport { edges: self.edges, in_triangles, largest: self.largest, bins }
    }
}
