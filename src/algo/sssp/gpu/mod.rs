//! Shortest paths on a GPU. `kernels/sssp.cu` has the method; here is what lies where, and how a search goes on and ends.
//!
//! In GPU memory lie whole rows of neighbours with their weights, each row by ascending weight, 8 bytes an entry, or in pinned host memory where they
//! have no room, with the first four edges of vertices beside; and for each vertex its distance,
//! its parent, the place of its row and room in queues. Weights that are drawn are computed there, by the hash that
//! [the host has](crate::graph::weights::drawn).
//!
//! Distances are sums of 32 bits, until one does not fit: then the search, and those after it, are done with 64.
#![allow(unsafe_code)] // kernel launches

mod host_rows;
mod memory;
mod moore;
mod place;
mod programs;
mod room;
mod sums;
mod told;
mod tuning;
mod twins;

pub use programs::PROGRAMS;
pub use room::{host_bytes, least_bytes};
pub use tuning::Tuning;

use super::distances::Distances;
use super::edges::Edges;
use super::options::Method;
use super::search::{Search, Searched};
use crate::algo::Lease;
use crate::algo::searches::gpu::{GoOn, fetch};
use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::gpu::{DeviceSlice, Event, Grid, Kernel};
use crate::graph::catalogue::Catalogue;
use crate::graph::ids::Vertex;
use crate::graph::weights::drawn::DrawnWeights;
use crate::memory::Budget;
use crate::prepare::prepared::Graph;
use memory::Memory;
use moore::Arrays;
use place::Placed;
use programs::{MOORE, PREPARE, PROGRAM};
use room::{Room, THREADS};
use sums::Sums;
use twins::{BARRIER_BYTES, State};

/// The purpose of its memory, in errors.
const PURPOSE: &str = "[sssp] on this graph";

/// The weights of a graph's edges.
pub enum Weights<'a> {
    /// Those of its blocks.
    Stored(WeightType),
    /// Drawn ones, by the input's id of each vertex.
    Drawn(DrawnWeights, &'a (dyn Fn(Vertex) -> u64 + Sync)),
}

impl Weights<'_> {
    fn kind(&self) -> WeightType {
        match self {
            Weights::Stored(kind) => *kind,
            Weights::Drawn(drawn, _) => drawn.kind(),
        }
    }
}

/// A graph that is searched on a GPU.
pub struct GpuSearch<'a> {
    gpu: Lease<'a>,
    go_on: GoOn<'a>,
    blocks: u32,
    placed: Placed,
    /// Those of 64 bits once one did not fit 32.
    sums: Sums,
    method: Method,
    search: twins::Search,
    distances: DeviceSlice<u64>,
    parents: DeviceSlice<u32>,
    pending: DeviceSlice<u32>,
    /// Memory of Moore's algorithm and its baseline.
    arrays: Arrays,
    state: DeviceSlice<State>,
    /// Marks the beginning and the end of a search, and where distances are known if other launches find parents.
    clock: [Event; 3],
}

impl<'a> GpuSearch<'a> {
    /// Brings a graph, both halves of whose rows are there, within reach of the GPU of `lease`.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the fewest bytes where GPU memory does not do; [`Error::Usage`] for more edges than a GPU takes; [`Error::Lost`], those
    /// of reading blocks and of `go_on`.
    pub fn new(
        graph: &Graph,
        edges: &Edges<'_>,
        lease: Lease<'a>,
        method: Method,
        budget: &Budget,
        go_on: GoOn<'a>,
    ) -> Result<Self> {
        let halves = [&graph.catalogue, graph.upper()?];
        let id;
        let weights = match edges.drawn() {
            None => Weights::Stored(edges.kind()),
            Some((drawn, ids)) => {
                id = move |v| ids.raw(v).0;
                Weights::Drawn(*drawn, &id)
            }
        };
        let mut search = Self::with_tuning(halves, weights, lease, method, Tuning::default(), budget, go_on)?;
        // The first launch of a kernel takes longer; the reference searches once before its clock runs, too.
        if search.placed.graph.vertices > 0 {
            search.search_all(Vertex(0))?;
        }
        Ok(search)
    }

    /// Brings a graph within reach as [`Self::new`] does, from the lower and the upper half of its rows.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn with_tuning(
        halves: [&Catalogue; 2],
        weights: Weights<'_>,
        mut lease: Lease<'a>,
        method: Method,
        tuning: Tuning,
        budget: &Budget,
        go_on: GoOn<'a>,
    ) -> Result<Self> {
        if !halves.iter().all(|half| half.is_local()) {
            return Err(Error::internal("search on the GPU", "rows that are not here"));
        }
        let direction = halves[0].layout.direction();
        let vertices = halves[0].layout.rows() >> direction.shift();
        let mut room = Room::of(vertices, direction);
        room.queued = room.queued.min(tuning.queued).max(32);
        room.piled = room.piled.min(tuning.queued).max(32);
        let workspace = &mut *lease.workspace;
        workspace.arena.reset(0);
        workspace.arena.holds(room.bytes(), PURPOSE)?;
        let state = workspace.arena.take_planned(1)?;
        let placed = place::place(workspace, halves, &room, &weights, &tuning, budget, go_on)?;
        let Memory { distances, parents, pending, queues, piles, words } = Memory::take(&mut workspace.arena, &room)?;
        let (kind, sums) = (weights.kind(), Sums::of(weights.kind()));
        let kernel = workspace.kernel(&PROGRAM, sums.kernel())?;
        let blocks = kernel.blocks_at_once(THREADS, 0)?.min(tuning.blocks).max(1);
        let widths = tuning::widths(&placed, kind, method, &tuning);
        let search = twins::Search {
            distances: distances.address(),
            parents: parents.address(),
            pending: pending.address(),
            queues,
            piles,
            state: DeviceSlice::address(state),
            threshold: widths.threshold,
            coarse: widths.coarse,
            fine: widths.fine,
            reach: widths.reach,
            root: 0,
            queue_room: room.queued as u32,
            pile_room: room.piled as u32,
            most_steps: tuning.steps,
            begins: 0,
            plateaus: u32::from(kind == WeightType::F32 || placed.least == 0),
            hops: if placed.longest <= tuning.short && widths.threshold == u64::MAX { tuning.hops } else { 0 },
            unused: 0,
        };
        workspace.queue.fill(pending, 0)?;
        let arrays = Arrays {
            graph: placed.graph,
            distances,
            words,
            reach: widths.reach,
            many: tuning.many,
            blocks: tuning.blocks,
            rounds: tuning.steps,
        };
        let timed = || workspace.queue.record_timed();
        let clock = [timed()?, timed()?, timed()?];
        let bytes = workspace.arena.mark();
        let on_host = placed.on_host.is_some();
        tracing::debug!(blocks, bytes, on_host, ?placed, ?widths, "a weighted graph on the GPU");
        Ok(GpuSearch {
            gpu: lease,
            go_on,
            blocks,
            placed,
            sums,
            method,
            search,
            distances,
            parents,
            pending,
            arrays,
            state,
            clock,
        })
    }

    /// Searches, with wider sums if one does not fit, and returns the state at the end.
    fn search_all(&mut self, root: Vertex) -> Result<State> {
        let state = self.search_once(root)?;
        if state.overflowed == 0 {
            return Ok(state);
        }
        self.sums = self.sums.wider();
        // Bits of vertices may be left from a search whose sums are wrong.
        self.gpu.workspace.queue.fill(self.pending, 0)?;
        self.search_once(root)
    }

    fn search_once(&mut self, root: Vertex) -> Result<State> {
        self.clear()?;
        if matches!(self.method, Method::Auto | Method::DeltaStepping) {
            return self.launch_all(root, BEGINS);
        }
        let workspace = &*self.gpu.workspace;
        let rounds = if self.method == Method::Moore { moore::queued } else { moore::masked };
        let found = rounds(workspace, &self.arrays, self.sums, root, [&self.clock[0], &self.clock[2]], self.go_on)?;
        if found.overflowed {
            return Ok(State { overflowed: 1, ..State::default() });
        }
        let mut state = self.launch_all(root, KNOWN)?;
        (state.pushed, state.steps) = (found.relaxations, found.rounds);
        Ok(state)
    }

    /// Makes all vertices unreached. As in Graph500's reference, that is no part of the search.
    fn clear(&self) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        let bytes = 4 * self.sums.words() * u64::from(self.placed.graph.vertices);
        queue.fill(self.state.as_bytes(), 0)?;
        queue.fill(self.distances.as_bytes().part(0..bytes), 0xff)?;
        queue.fill(self.parents, 0xff)?;
        queue.mark(&self.clock[0])
    }

    /// Launches the search until it is through; `from` says where it begins.
    fn launch_all(&self, root: Vertex, from: u32) -> Result<State> {
        let workspace = &*self.gpu.workspace;
        let queue = &workspace.queue;
        let kernel: Kernel = workspace.kernel(&PROGRAM, self.sums.kernel())?;
        for launch in 0u64.. {
            (self.go_on)()?;
            if launch > 0 {
                queue.fill(self.state.as_bytes().part(0..BARRIER_BYTES), 0)?;
            }
            let search = twins::Search { root: root.0, begins: if launch == 0 { from } else { 0 }, ..self.search };
            let grid = Grid { blocks: self.blocks, threads: THREADS, shared: 0 };
            // SAFETY: the arguments match the kernel's; all memory that they name is this search's alone, and its sizes are those of `room`.
            unsafe { queue.launch_together(&kernel, grid, (self.placed.graph, search))? };
            queue.mark(&self.clock[1])?;
            let mut state = [State::default()];
            queue.read(self.state, &mut state)?;
            let [state] = state;
            if state.broken != 0 {
                return Err(Error::Lost("blocks of threads on the GPU waited for each other in vain".into()));
            }
            if state.finished != 0 || state.overflowed != 0 {
                return Ok(state);
            }
        }
        Err(Error::internal("search on the GPU", "no end"))
    }

    /// Copies distances to the host.
    fn fetch(&mut self, distances: &mut Distances) -> Result<()> {
        let uploader = &mut self.gpu.workspace.uploader;
        let vertices = self.distances.len();
        let words = DeviceSlice::at(self.distances.address(), self.sums.words() * vertices);
        match distances {
            Distances::Whole(to) if self.sums.is_wide() => fetch(uploader, words, 2, to, |words, to| {
                for (pair, to) in words.chunks_exact(2).zip(to) {
                    *to = u64::from(pair[0]) | u64::from(pair[1]) << 32;
                }
            }),
            Distances::Whole(to) => fetch(uploader, words, 1, to, |words, to| {
                for (&sum, to) in words.iter().zip(to) {
                    *to = if sum == u32::MAX { u64::MAX } else { sum.into() };
                }
            }),
            Distances::Decimal(to) => fetch(uploader, words, 1, to, |words, to| {
                for (&bits, to) in words.iter().zip(to) {
                    *to = if bits == u32::MAX { f32::INFINITY } else { f32::from_bits(bits) };
                }
            }),
        }
    }
}

/// A launch begins a search, or finds parents where distances are known; others go on.
const BEGINS: u32 = 1;
const KNOWN: u32 = 2;

impl Search for GpuSearch<'_> {
    fn repeat(&mut self, root: Vertex, _: &mut Distances, _: &mut [u32]) -> Result<()> {
        self.search_all(root).map(drop)
    }

    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched> {
        let vertices = self.placed.graph.vertices;
        if root.0 >= vertices || parents.len() != vertices as usize {
            return Err(Error::internal("search on the GPU", "another graph's root or parents"));
        }
        let state = self.search_all(root)?;
        let seconds = self.clock[0].until(&self.clock[1])?.as_secs_f64();
        self.fetch(distances)?;
        fetch(&mut self.gpu.workspace.uploader, self.parents, 1, parents, |words, to| to.copy_from_slice(words))?;
        let mut told = told::of(&state, self.sums, seconds);
        if !matches!(self.method, Method::Auto | Method::DeltaStepping) {
            told.phases[0].seconds = self.clock[0].until(&self.clock[2])?.as_secs_f64();
        }
        Ok(told)
    }
}
