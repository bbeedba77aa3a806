//! Searches for shortest paths on a GPU. `kernels/sssp_search.cuh` describes the method. This module allocates the GPU
//! memory, launches kernels, and copies results to the host.
//!
//! GPU memory contains adjacency rows (neighbours with their weights), 8 bytes per entry. Each row is sorted by
//! ascending weight. If rows do not fit, they are in pinned host memory, and GPU memory contains as many of the first
//! edges of rows as fit (`near`). GPU memory also contains the distance, the parent and the row offset of each vertex,
//! and queues. Random weights are computed on the GPU, by [the same hash as on the host](crate::graph::weights::drawn).
//!
//! Distances have 32 bits. If a sum does not fit, the search is repeated with 64 bits, and all later searches use 64
//! bits. If weights have 64 bits, rows contain codes (indices in the list of weights), and this list is in GPU memory,
//! or in pinned host memory if it does not fit.
#![allow(unsafe_code)] // kernel launches

mod buffer_sizes;
mod device_graph;
mod host_rows;
mod kernel_structs;
mod memory;
mod moore;
mod near;
mod programs;
mod report;
mod sums;
mod tuning;
mod widths;

pub use buffer_sizes::{host_bytes, least_bytes};
pub use programs::{programs, rare_programs};
pub use tuning::Tuning;

use super::distances::Distances;
use super::options::{Method, Sssp};
use super::search::{Search, ShortestPathTree, SsspStats};
use super::weights::{EdgeWeights, WeightScale};
use crate::algo::Lease;
use crate::algo::searches::gpu::{BARRIER_BYTES, check_barrier, fetch, joined};
use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::gpu::{DeviceSlice, Event, Grid, Kernel, Workspace};
use crate::graph::block_store::BlockStore;
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use buffer_sizes::{SsspBufferSizes, THREADS};
use device_graph::{HostGraph, SsspDeviceGraph};
use kernel_structs::{Excess, SsspState};
use memory::SsspMemory;
use programs::PREPARE;
use sums::SumKind;

/// Purpose of the GPU memory, as error messages name it.
const PURPOSE: &str = "[sssp] on this graph";

/// Source of the edge weights.
pub enum Weights<'a> {
    /// Weights that are stored with the blocks of the graph, with their encoding.
    Stored(WeightScale<'a>),
    /// Random weights, which depend on the input ids of both ends of an edge. The function returns the input id of a
    /// vertex.
    Drawn(DrawnWeights, &'a (dyn Fn(Vertex) -> u64 + Sync)),
}

impl Weights<'_> {
    /// Returns the encoding of the weights.
    fn scale(&self) -> WeightScale<'_> {
        match self {
            Weights::Stored(scale) => *scale,
            Weights::Drawn(drawn, _) => WeightScale { kind: drawn.kind(), values: &[] },
        }
    }
}

/// A graph that is prepared for searches on a GPU.
pub struct GpuSearch<'a> {
    gpu: Lease<'a>,
    blocks: u32,
    placed: SsspDeviceGraph,
    /// Type in which kernels store distances. It changes to a type of 64 bits once a sum does not fit in 32 bits.
    sums: SumKind,
    method: Method,
    search: kernel_structs::SsspArguments,
    memory: SsspMemory,
    tuning: Tuning,
    state: DeviceSlice<SsspState>,
    /// CUDA events at three times: the beginning of a search, its end, and the time when distances are known. The third
    /// event is recorded only if separate launches find parents.
    clock: [Event; 3],
}

impl<'a> GpuSearch<'a> {
    /// Copies a graph to the GPU of `lease` and prepares it for the searches of `table`. The graph must have both
    /// halves of its rows (smaller and larger neighbours).
    ///
    /// # Errors
    /// [`Error::Limit`] if GPU memory is too small, with the smallest size that works; [`Error::Usage`] if the graph
    /// has more edges than a GPU can search; [`Error::Lost`]; errors of reading blocks; [`Error::Stopped`].
    pub fn new(table: &Sssp, graph: &Graph, lease: Lease<'a>, budget: &Budget) -> Result<Self> {
        let halves = [&graph.block_store, graph.upper()?];
        let weights = EdgeWeights::open(graph, table.weights, budget)?;
        let id;
        let weights = match &weights {
            EdgeWeights::Stored(..) => Weights::Stored(weights.scale()),
            EdgeWeights::Drawn(drawn, ids, _) => {
                id = move |v| ids.as_ref().map_or(0, |ids| ids.raw(v).0);
                Weights::Drawn(*drawn, &id)
            }
        };
        let mut search = Self::with_tuning(halves, weights, lease, table.method, Tuning::default(), budget)?;
        // The first launch of a kernel takes longer, so one search runs before any is timed. The Graph500 reference
        // code does so too. If rows are in host memory, a search has already run.
        if search.placed.on_host.is_none() && search.placed.graph.vertices > 0 {
            search.search_all(Vertex(0))?;
        }
        Ok(search)
    }

    /// Like [`Self::new`], but takes the lower and the upper half of the rows, and a `tuning`.
    ///
    /// # Errors
    /// Errors of [`Self::new`].
    pub fn with_tuning(
        halves: [&BlockStore; 2],
        weights: Weights<'_>,
        mut lease: Lease<'a>,
        method: Method,
        tuning: Tuning,
        budget: &Budget,
    ) -> Result<Self> {
        if !halves.iter().all(|half| half.is_local()) {
            return Err(Error::internal("search on the GPU", "rows that are not here"));
        }
        let direction = halves[0].layout.direction();
        let vertices = halves[0].layout.rows() >> direction.shift();
        let mut sizes = SsspBufferSizes::of(vertices, direction);
        sizes.queued = sizes.queued.min(tuning.queued).max(32);
        sizes.piled = sizes.piled.min(tuning.queued).max(32);
        let workspace = &mut *lease.workspace;
        workspace.arena.reset(0);
        workspace.arena.check_size(sizes.bytes(), PURPOSE)?;
        let state = workspace.arena.take_planned(1)?;
        let placed = HostGraph { halves, weights: &weights, sizes, tuning, budget }.make_resident(workspace)?;
        let memory = SsspMemory::take(&mut workspace.arena, &sizes)?;
        let kind = weights.scale().kind;
        let sums = SumKind::of(kind);
        let kernel = search_kernel(workspace, sums)?;
        let blocks = kernel.blocks_at_once(THREADS, 0)?.min(tuning.blocks).max(1);
        let widths = widths::widths(&placed, kind, method, &tuning);
        let search = kernel_structs::SsspArguments {
            distances: memory.distances.address(),
            parents: memory.parents.address(),
            pending: memory.pending.address(),
            queues: memory.queues,
            piles: memory.piles,
            state: DeviceSlice::address(state),
            threshold: widths.threshold,
            coarse: widths.coarse,
            fine: widths.fine,
            reach: widths.reach,
            root: 0,
            queue_room: sizes.queued as u32,
            pile_room: sizes.piled as u32,
            most_steps: tuning.steps,
            begins: 0,
            plateaus: u32::from(matches!(kind, WeightType::F32 | WeightType::F64) || placed.lightest == 0),
            hops: if placed.longest <= tuning.short && widths.threshold == u64::MAX { tuning.hops } else { 0 },
            unused: 0,
        };
        workspace.queue.fill(memory.pending, 0)?;
        let timed = || workspace.queue.record_timed();
        let clock = [timed()?, timed()?, timed()?];
        let bytes = workspace.arena.mark();
        let on_host = placed.on_host.is_some();
        tracing::debug!(blocks, bytes, on_host, ?placed, ?widths, "a weighted graph on the GPU");
        let mut search = GpuSearch { gpu: lease, blocks, placed, sums, method, search, memory, tuning, state, clock };
        if on_host && vertices > 0 {
            search.search_all(Vertex(0))?;
            search.choose_near(weights.scale())?;
        }
        Ok(search)
    }

    /// Chooses near edges (the first edges of each row) based on the distances that the last search found, and copies
    /// them to GPU memory. `scale` is the encoding of the weights.
    fn choose_near(&mut self, scale: WeightScale<'_>) -> Result<()> {
        let placed = &mut self.placed;
        let Some(near) = &placed.near else { return Ok(()) };
        let excess = Excess {
            distances: self.memory.distances.address(),
            values: placed.graph.values,
            most: placed.most,
            steps: near::STEPS as f64 / 2.0 / placed.most,
            scale: kernel_structs::scale_of(scale.kind),
            is_wide: self.sums.is_wide().into(),
        };
        near.choose(&self.gpu.workspace, &mut placed.graph, excess)
    }

    /// Searches from `root`. If a sum does not fit in 32 bits, repeats the search with 64 bits. Returns the state of
    /// the finished search.
    fn search_all(&mut self, root: Vertex) -> Result<SsspState> {
        let state = self.search_once(root)?;
        if state.overflowed == 0 {
            return Ok(state);
        }
        self.sums = self.sums.wider();
        // Get the kernel before the search is timed, because it may have to be compiled.
        search_kernel(&self.gpu.workspace, self.sums)?;
        // The search that failed may have left bits of waiting vertices set.
        self.gpu.workspace.queue.fill(self.memory.pending, 0)?;
        self.search_once(root)
    }

    fn search_once(&mut self, root: Vertex) -> Result<SsspState> {
        self.clear()?;
        if matches!(self.method, Method::Auto | Method::DeltaStepping) {
            return self.launch_all(root, BEGINS);
        }
        let rounds = if self.method == Method::Moore { moore::queued } else { moore::masked };
        let found = rounds(self, root)?;
        if found.overflowed {
            return Ok(SsspState { overflowed: 1, ..SsspState::default() });
        }
        let mut state = self.launch_all(root, KNOWN)?;
        (state.pushed, state.steps) = (found.relaxations, found.rounds);
        Ok(state)
    }

    /// Marks all vertices as unreached, and then records the event at the beginning of the search. So the search time
    /// does not include the marking, as in the Graph500 reference code.
    fn clear(&self) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        let bytes = 4 * self.sums.words() * u64::from(self.placed.graph.vertices);
        queue.fill(self.state.as_bytes(), 0)?;
        queue.fill(self.memory.distances.as_bytes().part(0..bytes), 0xff)?;
        queue.fill(self.memory.parents, 0xff)?;
        queue.mark(&self.clock[0])
    }

    /// Launches the search kernel until the search is finished. `from` says what the first launch does: [`BEGINS`] or
    /// [`KNOWN`].
    fn launch_all(&self, root: Vertex, from: u32) -> Result<SsspState> {
        let workspace = &*self.gpu.workspace;
        let queue = &workspace.queue;
        let kernel = search_kernel(workspace, self.sums)?;
        for launch in 0u64.. {
            signals::check()?;
            if launch > 0 {
                queue.fill(self.state.as_bytes().part(0..BARRIER_BYTES), 0)?;
            }
            let search = kernel_structs::SsspArguments {
                root: root.0,
                begins: if launch == 0 { from } else { 0 },
                ..self.search
            };
            let grid = Grid { blocks: self.blocks, threads: THREADS, shared: 0 };
            // SAFETY: the arguments match the kernel's. All memory that they name is used by this search only, and has
            // the sizes in `sizes`.
            unsafe { queue.launch_together(&kernel, grid, (self.placed.graph, search))? };
            queue.mark(&self.clock[1])?;
            let [state] = queue.read_first(self.state)?;
            check_barrier(state.broken)?;
            if state.finished != 0 || state.overflowed != 0 {
                return Ok(state);
            }
        }
        Err(Error::internal("search on the GPU", "no end"))
    }

    /// Copies the distances from GPU memory to `distances`.
    fn fetch(&mut self, distances: &mut Distances) -> Result<()> {
        let uploader = &mut self.gpu.workspace.uploader;
        let vertices = self.memory.distances.len();
        let words = DeviceSlice::at(self.memory.distances.address(), self.sums.words() * vertices);
        match distances {
            Distances::Whole(to) if self.sums.is_wide() => fetch(uploader, words, to, joined),
            Distances::Whole(to) => {
                fetch(uploader, words, to, |[sum]| if sum == u32::MAX { u64::MAX } else { sum.into() })
            }
            Distances::Decimal(to) => fetch(uploader, words, to, |[bits]| match bits {
                u32::MAX => f32::INFINITY,
                bits => f32::from_bits(bits),
            }),
            Distances::Double(to) => fetch(uploader, words, to, |words| match joined(words) {
                u64::MAX => f64::INFINITY,
                bits => f64::from_bits(bits),
            }),
        }
    }
}

/// Returns the kernel that searches by buckets, for distances of the type `sums`.
fn search_kernel(workspace: &Workspace, sums: SumKind) -> Result<Kernel> {
    workspace.kernel(programs::search(sums), &format!("sssp_{}", sums.name()))
}

/// Values of the kernel argument `begins`, for the first launch of a search. With `BEGINS` it begins the search, and
/// with `KNOWN`, when distances are known, it only finds parents. In later launches the argument is 0.
const BEGINS: u32 = 1;
const KNOWN: u32 = 2;

impl Search<ShortestPathTree, SsspStats> for GpuSearch<'_> {
    fn repeat(&mut self, root: Vertex, _: &mut ShortestPathTree) -> Result<()> {
        self.search_all(root).map(drop)
    }

    fn search(&mut self, root: Vertex, tree: &mut ShortestPathTree) -> Result<SsspStats> {
        let ShortestPathTree { distances, parents } = tree;
        let vertices = self.placed.graph.vertices;
        if root.0 >= vertices || parents.len() != vertices as usize {
            return Err(Error::internal("search on the GPU", "another graph's root or parents"));
        }
        let state = self.search_all(root)?;
        let seconds = self.clock[0].until(&self.clock[1])?.as_secs_f64();
        self.fetch(distances)?;
        fetch(&mut self.gpu.workspace.uploader, self.memory.parents, parents, |[parent]| parent)?;
        let farthest = (distances.of_word(state.farthest), self.placed.heaviest);
        let mut searched = report::of(&state, farthest, seconds);
        if !matches!(self.method, Method::Auto | Method::DeltaStepping) {
            searched.phases[0].seconds = self.clock[0].until(&self.clock[2])?.as_secs_f64();
        }
        Ok(searched)
    }
}
