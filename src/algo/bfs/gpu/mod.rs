//! Breadth-first search on a GPU. The method is described in `kernels/bfs_search.cuh`. This module copies the data to
//! the GPU and runs the searches.
//!
//! GPU memory contains the row offsets, the first neighbours of all vertices, bitmaps, parents and queues: at least 17
//! bytes per vertex plus the queues ([`least_bytes`]). If adjacency rows fit, they are in GPU memory too. Otherwise
//! they stay in pinned host memory, and kernels read them over the bus. Up to eight *head arrays*, as many as fit,
//! store the neighbours that follow the first neighbour. The first head array stores up to four neighbours per vertex,
//! the next array the next four. Most vertices find their parent there, so their rows are not read.
//!
//! One launch runs up to `buffer_sizes::RECORDS` levels of a search. Then the host calls the cancellation check and
//! launches the kernel again. Ranks with one GPU each on one machine search together (`peers`): each GPU stores all
//! rows or, if they do not fit, rows are spread over the GPUs (`spread`).
#![allow(unsafe_code)] // kernel launches

mod buffer_sizes;
mod check;
mod device_graph;
mod kernel_structs;
mod memory;
mod peers;
mod programs;
mod spread;

pub use buffer_sizes::{host_bytes, least_bytes};
pub use peers::{PeerAccess, peer_access};
pub use programs::{RARE_PROGRAMS, programs};

use super::search::{BfsLevel, BfsStats, Search, Step, Switch};
use crate::algo::Lease;
use crate::algo::searches::gpu::{BARRIER_BYTES, CancelCheck, fetch};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::gpu::{DeviceSlice, Event, Grid, Kernel};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::graph::ids::Vertex;
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use buffer_sizes::{BfsBufferSizes, THREADS};
use check::TreeCheck;
use device_graph::BfsDeviceGraph;
use kernel_structs::{LevelRecord, SpreadGraph};
use memory::BfsMemory;
use peers::PeerGpus;
use programs::{PACKED, PEERS, PROGRAM, SPREAD};

/// Purpose of the GPU memory, as error messages name it.
const PURPOSE: &str = "[bfs] on this graph";

/// Default thresholds at which a GPU search changes direction. A bottom-up step takes little more time than a check of
/// every vertex, so it pays off early and for many levels. On an H200, searches of Graph500 scales 22, 24 and 26 took
/// 0.086, 0.186 and 0.62 ms with this alpha; 0.086, 0.19 and 0.69 ms with 32; and 0.095, 0.20 and 0.63 ms with 128.
pub const SWITCH: Switch = Switch { alpha: 64.0, beta: 1024.0 };

/// Parameters of a search that do not change any result. Tests change them to reach, in small graphs, code that
/// otherwise only large graphs reach.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Thresholds at which the search changes direction.
    pub switch: Switch,
    /// Maximum number of thread blocks.
    pub blocks: u32,
    /// Maximum number of levels per kernel launch.
    pub records: u32,
    /// Maximum number of entries of a queue. A smaller value than `buffer_sizes::LEAST_QUEUED` is raised to it.
    pub queued: u64,
    /// Maximum number of head arrays. A head array stores up to four neighbours of each vertex, after the first
    /// neighbour.
    pub heads: usize,
    /// Whether adjacency rows stay in host memory even if they fit in GPU memory.
    pub rows_on_host: bool,
    /// Whether adjacency rows are spread over the GPUs that search together even if all rows fit on each GPU.
    pub rows_spread: bool,
    /// Minimum number of frontier edges from which a top-down step may omit the queue of the vertices that it reaches.
    /// The step omits this queue if the next step is likely to be bottom-up. With fewer edges, writing the queue costs
    /// little.
    pub least_unqueued: u32,
    /// Base of the threshold, in edges, from which GPUs that search together divide a frontier among themselves. The
    /// threshold is this number plus one edge for every 32 vertices. Below the threshold, each GPU follows all edges of
    /// the frontier.
    pub least_shared: u32,
    /// Index assigned to the first entry of each half of the rows. A test sets it to reach indices that need more than
    /// 32 bits.
    pub first_entry: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            switch: SWITCH,
            blocks: u32::MAX,
            records: buffer_sizes::RECORDS,
            queued: u64::MAX,
            heads: kernel_structs::MOST_HEADS,
            rows_on_host: false,
            rows_spread: false,
            least_unqueued: 1 << 16,
            least_shared: 1 << 20,
            first_entry: 0,
        }
    }
}

/// A graph that is prepared for searches on a GPU.
pub struct GpuSearch<'a> {
    gpu: Lease<'a>,
    check_cancelled: CancelCheck<'a>,
    kernel: Kernel,
    blocks: u32,
    placed: BfsDeviceGraph<'a>,
    sizes: BfsBufferSizes,
    direction: Direction,
    search: kernel_structs::BfsArguments,
    memory: BfsMemory,
    /// Links to the GPUs of the other ranks, if they search together with this one.
    peer_gpus: Option<PeerGpus<'a>>,
    /// CUDA events at the start and the end of a search.
    clock: [Event; 2],
    /// Kernels that check trees on the GPU; `None` if the host checks them.
    tree_check: Option<TreeCheck>,
}

impl<'a> GpuSearch<'a> {
    /// Makes a graph accessible to the GPU of `lease`. The graph must have both halves of its rows (smaller and larger
    /// neighbours). If `peer_access` is given, the GPUs of all ranks search together, and the call is collective.
    /// Otherwise this GPU searches alone.
    ///
    /// # Errors
    /// [`Error::Limit`] if GPU or host memory is too small, with the smallest limit that works; [`Error::Usage`] for
    /// more edges than a GPU can search; [`Error::Lost`], errors of reading blocks and of `check_cancelled`.
    pub fn new(
        graph: &'a Graph,
        lease: Lease<'a>,
        switch: Switch,
        budget: &Budget,
        check_cancelled: CancelCheck<'a>,
        peer_access: Option<PeerAccess<'a>>,
    ) -> Result<Self> {
        let tuning = Tuning { switch, ..Tuning::default() };
        let opened = graph.degrees().and_then(|degrees| {
            let of = ([&graph.block_store, graph.upper()?], degrees.body_as_u32()?);
            Self::open(of, lease, tuning, budget, check_cancelled, peer_access)
        });
        let mut search = Self::join(opened, peer_access)?;
        // The first launch of a kernel takes longer. Graph500's reference code also searches once before its clock
        // runs.
        if search.sizes.vertices > 0 && peer_access.is_some() == search.is_shared() {
            let launched = search.launch_all(Vertex(0));
            // Other ranks wait for this one, even if it failed.
            search.peer_gpus.iter().for_each(|peer_gpus| peer_gpus.comm.barrier());
            launched?;
        }
        Ok(search)
    }

    /// Like [`Self::new`], but takes the lower and the upper half of the rows, the lengths of whole rows, and a
    /// `tuning`.
    ///
    /// # Errors
    /// Errors of [`Self::new`].
    #[cfg(feature = "testing")]
    pub fn with_tuning(
        of: ([&'a BlockStore; 2], &[u32]),
        lease: Lease<'a>,
        tuning: Tuning,
        budget: &Budget,
        check_cancelled: CancelCheck<'a>,
        peer_access: Option<PeerAccess<'a>>,
    ) -> Result<Self> {
        Self::join(Self::open(of, lease, tuning, budget, check_cancelled, peer_access), peer_access)
    }

    /// Checks `parents`, with one element per vertex, as if a search from `root` had found them ([`Search::check`]). If
    /// they form a correct tree, returns the number of reached vertices and the depth.
    ///
    /// # Errors
    /// [`Error::Lost`].
    #[cfg(feature = "testing")]
    pub fn check_tree(&mut self, root: Vertex, parents: &[u32]) -> Result<Option<(u64, u64)>> {
        self.gpu.workspace.queue.write(parents, self.memory.parents)?;
        let check =
            self.tree_check.as_ref().ok_or_else(|| Error::internal("check a tree", "no checks are prepared"))?;
        check.run(&self.gpu.workspace, root)
    }

    /// Exchanges GPU addresses between the ranks whose GPUs search together, if all of these ranks opened the graph.
    /// Collective if `peer_access` is given.
    fn join(opened: Result<Self>, peer_access: Option<PeerAccess<'a>>) -> Result<Self> {
        let peer_gpus = peer_access.and_then(|peer_access| PeerGpus::join(peer_access.memory, opened.as_ref().ok()));
        let mut search = opened?;
        search.peer_gpus = peer_gpus.transpose()?;
        let spread = search.peer_gpus.as_ref().and_then(|peer_gpus| peer_gpus.spread);
        // If another rank failed to open the graph, this search never runs.
        if search.placed.parts.is_none() || spread.is_some() {
            let scratch = search.memory.parents.part(0..search.sizes.vertices);
            device_graph::look_ahead(&search.gpu.workspace, &search.placed, spread, scratch)?;
        }
        Ok(search)
    }

    /// Returns true if this GPU searches together with the GPUs of all other ranks.
    pub fn is_shared(&self) -> bool {
        self.peer_gpus.is_some()
    }

    fn open(
        (halves, degrees): ([&'a BlockStore; 2], &[u32]),
        mut lease: Lease<'a>,
        tuning: Tuning,
        budget: &Budget,
        check_cancelled: CancelCheck<'a>,
        peer_access: Option<PeerAccess<'a>>,
    ) -> Result<Self> {
        if !halves.iter().all(|half| half.is_local()) && !halves.iter().all(|half| half.packed().is_some()) {
            return Err(Error::internal("search on the GPU", "rows that are not here"));
        }
        let layout = &halves[0].layout;
        let direction = layout.direction();
        let vertices = layout.rows() >> direction.shift();
        let mut sizes = BfsBufferSizes::of(vertices, direction);
        sizes.capacity = tuning.queued.clamp(buffer_sizes::LEAST_QUEUED, sizes.capacity);
        sizes.records = tuning.records.clamp(1, sizes.records);
        let workspace = &mut *lease.workspace;
        workspace.arena.reset(0);
        workspace.arena.check_size(sizes.bytes(0), PURPOSE)?;
        let is_shared = peer_access.is_some();
        let spread_over =
            peer_access.filter(|peers| peers.is_spread || tuning.rows_spread).map(|peers| peers.memory.comm);
        let memory = BfsMemory::take(&mut workspace.arena, &sizes, is_shared)?;
        workspace.queue.fill(memory.barriers, 0)?;
        let placed = device_graph::make_resident(
            workspace,
            (halves, degrees),
            &sizes,
            spread_over,
            &tuning,
            budget,
            check_cancelled,
        )?;
        let program = if placed.is_packed {
            &PACKED
        } else if placed.parts.is_some() {
            &SPREAD
        } else if is_shared {
            &PEERS
        } else {
            &PROGRAM
        };
        let kernel = workspace.kernel(program, "bfs_search")?;
        let blocks = kernel.blocks_at_once(THREADS, 0)?.min(tuning.blocks).max(1);
        let search = kernel_structs::BfsArguments {
            reached: memory.reached.map(DeviceSlice::address),
            parents: memory.parents.address(),
            queues: memory.queues,
            state: memory.state.address(),
            records: memory.records.address(),
            alpha: tuning.switch.alpha,
            beta: tuning.switch.beta,
            slots: placed.slots,
            root: 0,
            capacity: sizes.capacity as u32,
            most_records: sizes.records,
            begins: 0,
            least_unqueued: tuning.least_unqueued,
            least_shared: tuning.least_shared,
        };
        let clock = [workspace.queue.record_timed()?, workspace.queue.record_timed()?];
        let (on_host, bytes) = (placed.on_host.len(), workspace.arena.mark());
        let (tail, heads) = (placed.graph.tail, placed.graph.head_arrays);
        tracing::debug!(blocks, on_host, bytes, tail, heads, "a graph on the GPU");
        Ok(GpuSearch {
            gpu: lease,
            check_cancelled,
            kernel,
            blocks,
            placed,
            sizes,
            direction,
            search,
            memory,
            peer_gpus: None,
            clock,
            tree_check: None,
        })
    }

    /// Launches the search kernel until the search from `root` is finished. Returns the records of all levels.
    fn launch_all(&mut self, root: Vertex) -> Result<Vec<LevelRecord>> {
        let queue = &self.gpu.workspace.queue;
        let mut records = Vec::new();
        let barrier = self.memory.state.as_bytes().part(0..BARRIER_BYTES);
        for launch in 0u64.. {
            (self.check_cancelled)()?;
            queue.fill(barrier, 0)?;
            if launch == 0 {
                // Clearing parents does not count as search time, as in Graph500's reference code.
                queue.fill(self.memory.parents, 0xff)?;
                self.peer_gpus
                    .as_ref()
                    .map_or(Ok(()), |peer_gpus| peer_gpus.barrier(&self.gpu.workspace, self.search))?;
                queue.mark(&self.clock[0])?;
            }
            let search = kernel_structs::BfsArguments { root: root.0, begins: u32::from(launch == 0), ..self.search };
            let grid = Grid { blocks: self.blocks, threads: THREADS, shared: 0 };
            let graph = self.placed.graph;
            // SAFETY: the arguments match the kernel's; all memory that they name belongs only to this search, and has
            // the sizes in `sizes`.
            unsafe {
                match self.peer_gpus.as_ref().map(|peer_gpus| (peer_gpus.shared(search), peer_gpus.spread)) {
                    None => queue.launch_together(&self.kernel, grid, (graph, search))?,
                    Some((search, None)) => queue.launch_together(&self.kernel, grid, (graph, search))?,
                    Some((search, Some(spread))) => {
                        queue.launch_together(&self.kernel, grid, (SpreadGraph { graph, spread }, search))?;
                    }
                }
            }
            queue.mark(&self.clock[1])?;
            let [state] = queue.read_first(self.memory.state)?;
            if state.broken != 0 {
                let whom = if self.is_shared() { "GPUs" } else { "blocks of threads on the GPU" };
                return Err(Error::Lost(format!("{whom} waited too long for each other")));
            }
            let done = records.len();
            records.resize(done + state.records.min(self.sizes.records) as usize, LevelRecord::default());
            queue.read(self.memory.records, &mut records[done..])?;
            if state.finished != 0 {
                break;
            }
        }
        Ok(records)
    }

    /// Converts the records of a search from `root` to statistics of levels. Kernels count a leaf (a vertex with one
    /// edge) when they process its neighbour. So the leaves of a level are in the record of the previous level.
    fn levels(&self, root: Vertex, mut records: Vec<LevelRecord>, seconds: f64) -> Vec<BfsLevel> {
        let graph = &self.placed.graph;
        // The root is counted as a leaf of its neighbour.
        if root.0 >= graph.tail && self.direction == Direction::Undirected && records.len() > 1 {
            records[1].leaves = records[1].leaves.saturating_sub(1);
        }
        let mut leaves = 0;
        let level = |record: &LevelRecord| {
            let frontier = record.vertices + std::mem::replace(&mut leaves, record.leaves);
            let direction = if record.up == 0 { Step::TopDown } else { Step::BottomUp };
            BfsLevel {
                frontier,
                edges_checked: record.checked,
                direction,
                seconds: record.nanoseconds as f64 / 1e9,
                bytes: 0,
            }
        };
        let mut levels: Vec<BfsLevel> = records.iter().map(level).collect();
        if leaves > 0 {
            let spent: f64 = levels.iter().map(|level| level.seconds).sum();
            let edges_checked = u64::from(graph.vertices - graph.tail);
            let seconds = (seconds - spent).max(0.0);
            levels.push(BfsLevel { frontier: leaves, edges_checked, direction: Step::BottomUp, seconds, bytes: 0 });
        }
        levels
    }
}

impl Search<[u32], BfsStats> for GpuSearch<'_> {
    fn repeat(&mut self, root: Vertex, _: &mut [u32]) -> Result<()> {
        self.launch_all(root).map(drop)
    }

    fn prepare_checks(&mut self) -> Result<bool> {
        if !self.is_shared() {
            let GpuSearch { gpu, placed, memory, .. } = self;
            self.tree_check = TreeCheck::new(&mut gpu.workspace, placed, memory.parents)?;
        }
        Ok(self.tree_check.is_some())
    }

    fn check(&mut self, root: Vertex, searched: &BfsStats) -> Result<bool> {
        let Some(check) = &self.tree_check else { return Ok(false) };
        Ok(check.run(&self.gpu.workspace, root)? == Some((searched.reached, searched.depth)))
    }

    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<BfsStats> {
        let wanted = if self.peer_gpus.as_ref().is_none_or(|peer_gpus| peer_gpus.comm.is_leader()) {
            self.sizes.vertices
        } else {
            0
        };
        if u64::from(root.0) >= self.sizes.vertices || parents.len() as u64 != wanted {
            return Err(Error::internal("search on the GPU", "another graph's root or parents"));
        }
        let records = self.launch_all(root)?;
        let mut took = self.clock[0].until(&self.clock[1])?;
        if let Some(peer_gpus) = &self.peer_gpus {
            failpoint::hit("bfs.ranks").map_err(|e| Error::internal("search by ranks", e))?;
            took = peer_gpus.gather(&self.gpu.workspace, self.search, self.sizes.vertices, took)?;
        }
        let seconds = took.as_secs_f64();
        fetch(&mut self.gpu.workspace.uploader, self.memory.parents, parents, |[parent]| parent)?;
        let levels = self.levels(root, records, seconds);
        let mut searched = BfsStats { seconds, ..BfsStats::default() };
        levels.into_iter().for_each(|level| searched.note(level));
        Ok(searched)
    }
}
