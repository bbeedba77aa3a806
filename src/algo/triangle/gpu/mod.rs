//! Counts units, which are pairs of a front block and a partner block, on a GPU. `kernels/triangle.cu` describes the
//! method. This module allocates the memory, and runs the steps in order.
//!
//! A front batch (rows of one or more blocks) stays in GPU memory while partner batches [stream](crate::stream) past.
//! The next partner batch is copied while the current one is counted. For each pair of batches, the heads are grouped
//! by row of the front. A head is the part of a partner's row before an entry whose own row is in the front. Then one
//! kernel counts the rows with many heads and another the rows with few (`pair`). Counts are returned per pair of
//! stored blocks, so that units do not depend on the batches.

mod arena_plan;
mod counts;
mod pair;
mod partners;
mod programs;

use crate::algo::Lease;
use crate::algo::triangle::units::{Backend, PairCount, Part, PartialUnits, ReportParts, Stop, Work};
use crate::error::{Error, Result};
use crate::gpu::{DeviceSlice, Event, PeerMemory, Workspace, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::layout::Layout;
use crate::graph::placement::{BlockSize, Placement};
use crate::memory::at_least;
use crate::process::threads::spawn;
use crate::stream::loader::Arriving;
use crate::stream::location::SegmentPlace;
use crate::stream::spread::spread;
use crate::stream::{Arrival, Cut, Loader, Relay, ResidentRows, RowBatch, Segment, batches};
use arena_plan::ArenaPlan;
use counts::{EdgeCounts, VertexCounts};
use pair::{CountingContext, Front, Kernels, LONGEST_HEAD};
use parking_lot::MutexGuard;
use partners::{BatchDivision, Partners, entry_in_front, steps};
pub use programs::{Counted, programs};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Maximum number of edges of several blocks whose triangles are counted at a time. If a job is killed, these counts
/// are lost. Storing them takes a few seconds.
const GPU_GROUP: u64 = 1 << 30;
/// Number of partner batches in GPU memory at a time: one is counted while the next is copied.
const SLOTS: usize = 2;

/// The backend that counts triangles on a GPU.
pub struct Gpu<'a> {
    gpu: MutexGuard<'a, Workspace>,
    kernels: Kernels,
    per_vertex: Option<VertexCounts<'a>>,
    per_edge: Option<EdgeCounts>,
    /// Location of each block in the memory of this GPU or of another rank's GPU.
    placement: Option<Placement>,
    /// Relay through which the ranks share the copying of front batches from the host.
    relay: Option<Relay<'a>>,
    stop: Stop<'a>,
    /// Total cache size of the GPUs of all ranks, in bytes.
    cache: u64,
    begun: Instant,
    /// Total time in which the GPU did not wait for copies from the host or other GPUs.
    busy: Duration,
    /// CUDA events at the start and the end of the interval being measured.
    clock: [Event; 2],
}

impl Drop for Gpu<'_> {
    fn drop(&mut self) {
        let busy = self.busy.as_secs_f64() / self.begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        tracing::debug!(busy = (1000.0 * busy).round() / 1000.0, "a GPU's counting");
    }
}

impl<'a> Gpu<'a> {
    /// Returns the minimum GPU memory in bytes for counting a graph of `vertices` vertices, whose longest row has
    /// `row` entries and whose largest block has `block` entries.
    pub fn least_bytes(counted: Counted, vertices: u64, row: u64, block: u64) -> u64 {
        counted.least_bytes(vertices, block) + ArenaPlan::least_bytes(row)
    }

    /// Returns true if `bytes` bytes of GPU memory, in addition to the blocks, are enough to count a graph of this
    /// layout. `sizes` are upper bounds on the block sizes. Blocks on other ranks are not divided, so each of them
    /// must fit as a whole.
    pub fn counts(layout: &Layout, sizes: &[BlockSize], bytes: u64, counted: Counted) -> bool {
        let row = layout.longest_row();
        let small = sizes.iter().all(|size| size.entries < 1 << 31 && size.rows < 1 << 31);
        let longest = row.max(uncut(sizes.iter().copied()));
        row <= LONGEST_HEAD && small && Self::least_bytes(counted, layout.rows(), longest, 0) <= bytes
    }

    /// Prepares to count the triangles of `graph`, which has `vertices` vertices. `stop` is polled during counting: it
    /// must return the cause if counting must stop, or `None` to continue. [`Self::place_blocks`] must be called next,
    /// or [`Self::begin_edges`] for counts per edge.
    ///
    /// # Errors
    /// [`Error::Limit`] if GPU memory is too small, [`Error::Usage`] for rows that are too long for it,
    /// [`Error::Lost`].
    pub fn new(
        graph: &BlockStore,
        vertices: u64,
        Lease { workspace: mut gpu, cache }: Lease<'a>,
        counted: Counted,
        stop: Stop<'a>,
    ) -> Result<Self> {
        let begun = Instant::now();
        let row = graph.layout.longest_row();
        if row > LONGEST_HEAD {
            return Err(Error::Usage(format!(
                "a vertex may have {row} neighbours of larger degree, the GPU takes {LONGEST_HEAD}: set run.device = \"cpu\""
            )));
        }
        let kernels = Kernels::load(&gpu, counted)?;
        gpu.arena.reset(0);
        let least = Self::least_bytes(counted, vertices, row, largest_block(graph));
        gpu.arena.check_size(least, "[triangle] on this graph")?;
        gpu.stop_flag.set(false);
        let clock = [gpu.queue.record_timed()?, gpu.queue.record_timed()?];
        Ok(Gpu {
            gpu,
            kernels,
            per_vertex: None,
            per_edge: None,
            placement: graph.placement().cloned(),
            relay: None,
            stop,
            cache,
            begun,
            busy: Duration::ZERO,
            clock,
        })
    }

    /// Chooses where the blocks of `graph` are stored. If `per_vertex` is given, also reserves memory for counts per
    /// vertex, which will be added to `per_vertex`. Must be called before counting, after all ranks have called
    /// [`Self::new`]. `peers` is the GPU memory of the other ranks, if their GPUs can access each other. Collective.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`], errors of reading blocks.
    pub fn place_blocks(
        &mut self,
        graph: &BlockStore,
        per_vertex: Option<&'a [AtomicU64]>,
        peers: Option<PeerMemory<'a>>,
    ) -> Result<()> {
        let vertices = per_vertex.map_or(0, |counts| counts.len() as u64);
        if let Some(peers) = peers.filter(|_| self.placement.is_none()) {
            let blocks = (0..graph.len()).map(|b| graph.size(b));
            let longest = graph.layout.longest_row().max(if graph.is_local() { 0 } else { uncut(blocks) });
            let least = slice_bytes::<u64>(vertices) + ArenaPlan::least_bytes(longest) + (64 << 10);
            self.placement = spread(&mut self.gpu, graph, least, peers)?;
            self.relay = if self.placement.is_none() { Relay::open(peers) } else { None };
        }
        if let Some(on_host) = per_vertex {
            let on_gpu = self.gpu.arena.take(vertices).ok_or_else(|| too_small(&self.gpu))?;
            self.gpu.queue.fill(on_gpu, 0)?;
            self.per_vertex = Some(VertexCounts::new(on_host, on_gpu));
        }
        Ok(())
    }

    /// Returns the maximum number of edges of `graph` whose triangles are counted at a time.
    pub fn edges_at_once(&self, graph: &BlockStore) -> u64 {
        let row = graph.layout.longest_row();
        edges_on_gpu(graph.edges(), largest_block(graph), row, self.gpu.arena.bytes())
    }

    /// Begins to count the triangles of all edges of `blocks`. Counts of other blocks are discarded.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`].
    pub fn begin_edges(&mut self, graph: &BlockStore, blocks: Range<usize>) -> Result<()> {
        self.gpu.arena.reset(0);
        let edges = blocks.clone().map(|block| graph.size(block).entries).sum();
        let on_gpu = self.gpu.arena.take(edges).ok_or_else(|| too_small(&self.gpu))?;
        self.gpu.queue.fill(on_gpu, 0)?;
        self.per_edge = Some(EdgeCounts::new(graph, blocks, on_gpu));
        Ok(())
    }

    /// Reads the counts of the edges of `block`, one of the blocks of [`Self::begin_edges`].
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn read_edges(&self, block: usize, counts: &mut [u32]) -> Result<()> {
        let on_gpu = self.per_edge.as_ref().map_or_else(DeviceSlice::default, |counts| counts.of_block(block));
        self.gpu.queue.read(on_gpu, counts)
    }

    fn arena_plan(&self, graph: &BlockStore, first: usize) -> ArenaPlan {
        ArenaPlan::of(self.gpu.arena.free().saturating_sub(64 << 10), graph, first)
    }
}

/// Returns the maximum number of edges to count at a time with `bytes` bytes of GPU memory. The graph has `edges`
/// edges, up to `block` edges in a block, and up to `row` entries in a row. Counts take a quarter of the memory, less
/// if rows need it, or more if a block does. They are of at most [`GPU_GROUP`] edges in several blocks.
pub fn edges_on_gpu(edges: u64, block: u64, row: u64, bytes: u64) -> u64 {
    let free = bytes.saturating_sub(ArenaPlan::least_bytes(row));
    (bytes / 16).min(free / 4).clamp(block, GPU_GROUP.max(block)).min(edges)
}

/// Returns the number of entries of the block with the most entries.
fn largest_block(graph: &BlockStore) -> u64 {
    (0..graph.len()).map(|block| graph.size(block).entries).max().unwrap_or(0)
}

/// Returns the size in entries of the largest block, for blocks that are not divided. Each row counts as three more
/// entries, because it needs an offset, the end of its heads, and a sum.
fn uncut(sizes: impl Iterator<Item = BlockSize>) -> u64 {
    sizes.map(|size| size.entries + 3 * size.rows).max().unwrap_or(0)
}

/// Returns the error for GPU memory that turns out to be smaller than the plan needs.
fn too_small(gpu: &Workspace) -> Error {
    Error::Limit {
        limit: "gpu_memory",
        given: crate::size::show(gpu.arena.bytes()),
        needed: at_least(2 * gpu.arena.bytes()),
        purpose: "[triangle] on this graph".into(),
    }
}

impl Backend for Gpu<'_> {
    fn fronts(&self, graph: &BlockStore, first: usize) -> usize {
        let plan = self.arena_plan(graph, first);
        let all = batches(graph, first..graph.len(), Cut::Rows, |batch| plan.fits_front(batch));
        all.iter().flatten().next().map_or(1, |batch| batch.segments.len())
    }

    fn count(&mut self, work: &Work<'_>, found: ReportParts<'_>) -> Result<()> {
        let plan = self.arena_plan(work.graph, work.fronts.start);
        let fronts = batches(work.graph, work.fronts.clone(), Cut::Rows, |batch| plan.fits_front(batch));
        let fronts = fronts.ok_or_else(|| too_small(&self.gpu))?;
        let mut open = UnreportedParts::default();
        for front in &fronts {
            let mark = self.gpu.arena.mark();
            let done = self.count_front(work, front, plan, &mut open, found);
            // No kernel may still use memory that is reused next.
            let finished = self.gpu.uploader.finish().and(self.gpu.queue.finish());
            self.gpu.arena.reset(mark);
            done.and(finished)?;
        }
        // Counts per vertex are still on the GPU. With several ranks, another rank may count the rest of a unit.
        if !open.parts.is_empty() {
            if let Some(counts) = &mut self.per_vertex {
                let Workspace { queue, uploader, .. } = &mut *self.gpu;
                counts.move_to_host_alone(queue, uploader)?;
            }
            found(&open.parts)?;
        }
        Ok(())
    }
}

impl Gpu<'_> {
    fn count_front(
        &mut self,
        work: &Work<'_>,
        batch: &RowBatch,
        plan: ArenaPlan,
        open: &mut UnreportedParts,
        found: ReportParts<'_>,
    ) -> Result<()> {
        let (graph, stop) = (work.graph, self.stop);
        let (from_gpus, per_vertex) = (self.placement.is_some(), self.per_vertex.is_some());
        let cutting = BatchDivision { work, front: batch, plan, cache: self.cache, from_gpus, per_vertex };
        let Partners { inside, outside } = cutting.partners().ok_or_else(|| too_small(&self.gpu))?;
        let front = Front::place(&mut self.gpu, work, batch, inside.iter().chain(&outside));
        let front = front.ok_or_else(|| too_small(&self.gpu))?;
        let slots = (0..if outside.is_empty() { 0 } else { SLOTS }).map(|_| self.gpu.arena.take(plan.slot / 4));
        let slots = slots.collect::<Option<Vec<_>>>().ok_or_else(|| too_small(&self.gpu))?;
        let check_cancelled =
            move || work.work_source.check_running().and(stop().map_or(Ok(()), |reason| Err(Error::Stopped(reason))));
        // Wait, so that nothing of the previous front batch is overwritten while other ranks copy it.
        self.relay.as_ref().map_or(Ok(()), |relay| relay.begin(&check_cancelled))?;
        let blocks: Vec<u32> = batch.segments.iter().map(|segment| segment.first_row(graph)).collect();
        self.gpu.queue.write(&blocks, front.blocks)?;
        self.gpu.queue.fill(front.ends, 0)?;

        let Gpu { gpu, kernels, per_vertex, per_edge, placement, relay, busy, clock, .. } = self;
        let Workspace { arena, queue, uploader, stop_flag, .. } = &mut **gpu;
        let counting = CountingContext {
            queue,
            stop_flag,
            kernels,
            per_vertex: per_vertex.as_mut(),
            per_edge: per_edge.as_ref(),
            stop,
            busy,
            clock,
        };
        let places: Vec<_> = front.resident.segments(batch).collect();
        let steps = steps(&places, &inside);
        let first_row = batch.first_row(graph);
        let next = || work.next(first_row, 1, 1);
        std::thread::scope(|scope| {
            let (empty, free_slots) = channel();
            let (arrivals, arrived) = channel();
            slots.iter().try_for_each(|&slot| empty.send(slot)).map_err(|_| peer_ended())?;
            let relay = relay.as_mut().map(|relay| (relay, arena.words()));
            let placement = placement.as_ref();
            let (next, check_cancelled) = (&next, &check_cancelled);
            let loader = Loader { graph, placement, relay, uploader, next, check_cancelled, free_slots, arrivals };
            let (steps, passing) = (&steps, &outside);
            spawn(scope, move || loader.run(steps, passing))?;
            let mut pass = FrontPass { front, counting, open, found, awaited: &places, arrived };
            pass.count_inside(&inside)?;
            pass.count_outside(&outside, &empty)
        })
    }
}

/// A front batch, and the partner batches as they arrive in GPU memory. Dropping it at the first error ends the loader
/// thread.
struct FrontPass<'p, 'v> {
    front: Front<'p>,
    counting: CountingContext<'p, 'v>,
    open: &'p mut UnreportedParts,
    found: ReportParts<'p>,
    /// Segments (parts of blocks) of the front batch that have not arrived in GPU memory yet.
    awaited: &'p [(&'p Segment, SegmentPlace)],
    arrived: Receiver<Result<Arrival>>,
}

impl FrontPass<'_, '_> {
    /// Counts the triangles of the front batch with each partner batch that is a part of it, as soon as the partner
    /// batch has arrived in GPU memory. The rest of the front batch is not needed yet, because a row contains only
    /// vertices whose rows come earlier.
    fn count_inside(&mut self, partners: &[RowBatch]) -> Result<()> {
        let work = self.front.work;
        while let Some(partner) = partners.get(work.next(self.front.first_row, 0, 1)?) {
            let last = partner.segments.last().map(|last| last.block);
            while self.awaited.first().is_some_and(|(segment, _)| last.is_none_or(|last| segment.block <= last)) {
                self.arrive()?;
            }
            for segment in &partner.segments {
                let entry = entry_in_front(self.front.batch, segment);
                let targets = self.front.resident.targets.part(entry..entry + segment.entries.len() as u64);
                self.counting.count_heads(&self.front, segment, targets)?;
            }
            let row = u64::from(partner.first_row(work.graph) - self.front.first_row);
            let starts = self.front.resident.starts.part(row..u64::MAX);
            let resident = ResidentRows { starts, targets: self.front.resident.targets };
            self.count(partner, (resident, self.front.batch))?;
        }
        while !self.awaited.is_empty() {
            self.arrive()?;
        }
        Ok(())
    }

    /// Waits until more segments of the front batch have arrived in GPU memory.
    fn arrive(&mut self) -> Result<()> {
        let Arrival { copied, rows: Arriving::Resident(segments) } =
            self.arrived.recv().map_err(|_| peer_ended())??
        else {
            return Err(peer_ended());
        };
        self.counting.arrived(&copied)?;
        let (here, awaited) = self.awaited.split_at(segments);
        self.awaited = awaited;
        here.iter().try_for_each(|(segment, place)| self.counting.shift(segment, place.starts, place.entry))
    }

    /// Counts the triangles of the front batch with each partner batch that is not part of it, as soon as the partner
    /// batch has arrived in GPU memory. The slots (buffers) of counted partner batches are returned to the loader
    /// through `empty`.
    fn count_outside(&mut self, partners: &[RowBatch], empty: &Sender<DeviceSlice<u32>>) -> Result<()> {
        while let Ok(arrival) = self.arrived.recv() {
            let Arrival { copied, rows: Arriving::Passing(number, slot) } = arrival? else { return Err(peer_ended()) };
            let partner = &partners[number];
            self.counting.arrived(&copied)?;
            let resident = ResidentRows::in_slot(slot, partner);
            for (segment, place) in resident.segments(partner) {
                self.counting.shift(segment, place.starts, place.entry)?;
                self.counting.count_heads(&self.front, segment, place.targets)?;
            }
            self.count(partner, (resident, partner))?;
            // The loader no longer receives once it has started the last copy.
            let _ = empty.send(slot);
        }
        Ok(())
    }

    /// Counts the triangles of the front batch with one partner batch. `resident` contains the entries of the partner
    /// batch, or of the whole front batch if the partner batch is part of it.
    fn count(&mut self, partner: &RowBatch, resident: (ResidentRows, &RowBatch)) -> Result<()> {
        let numbers = self.counting.pair(&self.front, partner, resident)?;
        self.report(partner, &numbers)
    }

    /// Reports the counts of every pair of a front segment and a partner segment. `numbers` contains the triangles
    /// and the tested wedges of each pair, then the links of each pair.
    fn report(&mut self, partner: &RowBatch, numbers: &[u64]) -> Result<()> {
        let UnreportedParts { gathering, parts } = &mut *self.open;
        let (numbers, links) = numbers.split_at(numbers.len() / 3 * 2);
        let mut numbers = numbers.chunks_exact(2).zip(links);
        for front in &self.front.batch.segments {
            for partner in &partner.segments {
                let Some((&[triangles, probes], &links)) = numbers.next() else { continue };
                if !self.front.work.wants(front.block, partner.block) {
                    continue;
                }
                let pairs = (front.rows.len() * partner.rows.len()) as u64;
                let count = PairCount { triangles, probes, links };
                let part = Part { front: front.block, partner: partner.block, pairs, count };
                if self.counting.per_vertex.is_some() {
                    gathering.add(self.front.work.graph, &part);
                }
                parts.push(part);
            }
        }
        if let Some(counts) = &mut self.counting.per_vertex {
            if !gathering.is_empty() || !counts.is_due() {
                return Ok(());
            }
            counts.move_to_host(self.counting.queue)?;
        }
        (self.found)(&std::mem::take(parts))
    }
}

/// Returns the error for a channel whose other end has closed early. The thread at the other end reports the cause.
fn peer_ended() -> Error {
    Error::Lost("copying to the GPU ended early".into())
}

/// Counted parts of units that are not reported yet. Counts per vertex can't be separated by unit, so parts wait
/// until no unit is partly counted.
#[derive(Default)]
struct UnreportedParts {
    gathering: PartialUnits,
    parts: Vec<Part>,
}
