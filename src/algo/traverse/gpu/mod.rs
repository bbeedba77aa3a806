//! Implementation of `Levels` on a GPU: the vertices of one rank, on the GPU of this rank. The kernels are in
//! `kernels/traverse.cu`; this module launches them in order.
//!
//! GPU memory contains the adjacency rows of the vertices that the rank owns, in one array, and the parents, bitmaps
//! and frontier of these vertices. A *candidate* is a neighbour of the frontier. Candidates are processed piece by
//! piece: each thread writes one candidate of a piece. The candidates are sorted by key in passes of 8 bits (`sort`),
//! and repeats are dropped. Candidates that this rank owns are claimed at once. All other candidates are read by the
//! GPUs of their owners from this GPU's memory (`peers`), or go through the host if the GPUs can't access each other's
//! memory. The host waits for the GPU once per level, and once more if there are other ranks.

mod buffer_sizes;
mod clock;
mod kernel_structs;
mod launches;
mod memory;
mod own_rows;
mod peers;
mod sort;

pub use buffer_sizes::{host_bytes, least_bytes};

use super::levels::{BATCH, Frontier, Levels, lap};
use super::options::Strategy;
use super::search::{StepTimes, Traffic};
use crate::algo::Lease;
use crate::algo::searches::EngineInput;
use crate::algo::searches::gpu::fetch;
use crate::algo::searches::ranks::VertexOwnership;
use crate::error::{Error, Result};
use crate::gpu::{COMMON, Peers, ProgramSource, SCAN};
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::memory::Buffer;
use crate::process::signals;
use buffer_sizes::{LEAST_PIECE, TraverseBufferSizes};
use clock::StepClock;
use launches::Launches;
use memory::TraverseMemory;
use own_rows::OwnRows;
use peers::PeerOutboxes;
use std::ops::Range;
use std::time::Instant;

/// CUDA program of traversals.
pub static PROGRAM: ProgramSource = ProgramSource { name: "traverse.cu", text: TEXT, headers: &[COMMON] };
const TEXT: &str = include_str!("../../../../kernels/traverse.cu");

/// All CUDA programs that a traversal launches.
pub static PROGRAMS: [&ProgramSource; 2] = [&SCAN, &PROGRAM];

/// Purpose of the GPU memory, as error messages name it.
const PURPOSE: &str = "[traverse] on this graph";

/// Implementation of `Levels` on a GPU: the vertices that a rank owns, and the state of a search.
pub struct GpuLevels<'a> {
    gpu: Lease<'a>,
    launches: Launches,
    memory: TraverseMemory,
    ownership: VertexOwnership,
    strategy: Strategy,
    direction: Direction,
    degrees: &'a [u32],
    piece: u64,
    /// The outboxes of other ranks, which are arrays of pairs that this GPU reads; `None` unless all GPUs can access
    /// each other's memory.
    outboxes: Option<PeerOutboxes<'a>>,
    /// Number of vertices of this rank in the frontier.
    vertices: u32,
    /// Number of candidates that the current step has expanded so far.
    candidates: u64,
    /// Host buffer for the parents of this rank's vertices.
    fetched: Buffer<u32>,
    clock: StepClock,
}

impl<'a> GpuLevels<'a> {
    /// Copies the adjacency rows of this rank's vertices to the GPU of `lease`.
    ///
    /// # Errors
    /// [`Error::Limit`] if GPU or host memory is too small, with the smallest limit that works; [`Error::Usage`] for
    /// more row entries than a GPU can index; [`Error::Lost`], errors of the graph; [`Error::Stopped`].
    pub fn new(
        EngineInput { graph, degrees, run, .. }: EngineInput<'a, '_>,
        ownership: VertexOwnership,
        strategy: Strategy,
        mut lease: Lease<'a>,
    ) -> Result<GpuLevels<'a>> {
        let (budget, direction) = (run.budget, graph.info.direction);
        let rows = Adjacency::new(&graph.block_store, graph.upper()?);
        let starts = own_rows::starts(&ownership, degrees, direction, budget)?;
        let workspace = &mut *lease.workspace;
        workspace.arena.reset(0);
        let own = ownership.len();
        let entries = starts.last().copied().unwrap_or(0);
        let least = TraverseBufferSizes::of(own as u64, entries.into(), ownership.ranks);
        workspace.arena.check_size(least.bytes(), PURPOSE)?;
        let sizes = least.within(workspace.arena.free());
        let memory = TraverseMemory::take(&mut workspace.arena, &sizes, &ownership)?;
        workspace.queue.write(&starts, memory.starts)?;
        let rows = OwnRows { rows: &rows, ownership: &ownership, direction, starts: &starts };
        rows.upload(workspace, memory.targets)?;
        let fetched = budget.zeroed(own, "the parents of a rank's vertices (4 bytes each)")?;
        let launches = Launches::load(workspace, strategy, sizes.piece, memory, &ownership)?;
        Ok(GpuLevels {
            gpu: lease,
            launches,
            memory,
            ownership,
            strategy,
            direction,
            degrees,
            piece: sizes.piece,
            outboxes: None,
            vertices: 0,
            candidates: 0,
            fetched,
            clock: StepClock::new(),
        })
    }

    /// Exchanges the addresses of the outboxes of all ranks, if their GPUs can access each other's memory. An outbox is
    /// an array of pairs that other ranks read. Collective, on ranks that have a GPU.
    pub fn join(&mut self, peers: &'a Peers) {
        let (arena, mine) = (self.gpu.workspace.arena.words(), self.launches.outbox());
        self.outboxes = peers.reachable().and_then(|memory| PeerOutboxes::join(memory, arena, mine));
    }

    /// Limits the number of edges that are expanded at once (a piece), if pairs go through the host. The pairs of a
    /// piece then take at most `bytes` bytes of host memory. The number does not become smaller than its minimum.
    pub fn keep_within(&mut self, bytes: u64) {
        if self.host_pairs(self.piece) > 0 {
            self.piece = self.piece.min((bytes / 8).max(LEAST_PIECE));
        }
    }

    /// Copies the pairs for other ranks from the GPU to the same positions of `pairs`. Returns the range of each rank's
    /// pairs.
    fn copy_to_host(&self, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Vec<Range<usize>>> {
        let (queue, mut lapped) = (&self.gpu.workspace.queue, Instant::now());
        let mut ends = vec![0; self.ownership.ranks];
        queue.read(self.memory.ends, &mut ends)?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut to: Vec<_> = starts.zip(&ends).map(|(start, &end)| start as usize..end as usize).collect();
        // The pairs of this rank are already claimed.
        to[self.ownership.rank] = 0..0;
        for range in to.iter().filter(|range| !range.is_empty()) {
            let part = self.launches.outbox_pairs().part(range.start as u64..range.end as u64);
            queue.read(part, &mut pairs[range.clone()])?;
        }
        lap(&mut lapped, &mut steps.exchange);
        Ok(to)
    }
}

impl Levels for GpuLevels<'_> {
    fn begin(&mut self, root: u32) -> Result<Frontier> {
        signals::check()?;
        let queue = &self.gpu.workspace.queue;
        queue.fill(self.memory.parents, 0xff)?;
        self.memory.bits.iter().try_for_each(|&bits| queue.fill(bits, 0))?;
        let (owner, local_index) = self.ownership.locate(root);
        self.vertices = u32::from(owner as usize == self.ownership.rank);
        let mut edges = 0;
        if self.vertices > 0 {
            self.launches.begin(queue, local_index, root)?;
            edges = self.degrees[self.direction.row(root, EdgeDirection::Out) as usize].into();
        }
        queue.finish()?;
        Ok(Frontier { vertices: self.vertices.into(), edges })
    }

    fn step(&mut self, _: Frontier) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        self.candidates = 0;
        self.clock.begin(queue)?;
        queue.fill(self.memory.sums, 0)?;
        self.launches.number(queue, self.vertices)?;
        self.clock.end(queue, |steps| &mut steps.prefix_sum)
    }

    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut StepTimes) -> Result<Vec<Range<usize>>> {
        signals::check()?;
        if self.clock.is_full() {
            self.synchronize(steps)?;
        }
        let ranks = self.ownership.ranks;
        if piece.is_empty() {
            // Other ranks may read this outbox, so it must be empty.
            self.gpu.workspace.queue.fill(self.memory.ends, 0)?;
            return Ok(vec![0..0; ranks]);
        }
        let queue = &self.gpu.workspace.queue;
        self.candidates += piece.end - piece.start;
        self.clock.begin(queue)?;
        let piece = (piece.start as u32, piece.end as u32);
        self.launches.expand(queue, &mut self.clock, self.vertices, piece)?;
        if ranks == 1 || self.pulls() {
            return Ok(vec![0..0; ranks]);
        }
        self.synchronize(steps)?;
        self.copy_to_host(pairs, steps)
    }

    fn take(&mut self, pairs: &[u64], steps: &mut StepTimes) -> Result<()> {
        let mut lapped = Instant::now();
        for some in pairs.chunks(BATCH) {
            let queue = &self.gpu.workspace.queue;
            queue.write(some, self.memory.inbox)?;
            lap(&mut lapped, &mut steps.exchange);
            self.clock.begin(queue)?;
            self.launches.update(queue, self.memory.inbox.part(0..some.len() as u64))?;
            self.clock.end(queue, |steps| &mut steps.update)?;
            self.synchronize(steps)?;
            lapped = Instant::now();
        }
        Ok(())
    }

    fn advance(&mut self, steps: &mut StepTimes) -> Result<(Frontier, Traffic)> {
        let queue = &self.gpu.workspace.queue;
        self.clock.begin(queue)?;
        self.launches.advance(queue)?;
        self.clock.end(queue, |steps| &mut steps.update)?;
        let [vertices, edges, _, unpruned, left, pairs] = queue.read_first(self.memory.sums)?;
        self.synchronize(steps)?;
        self.vertices = vertices as u32;
        let pruned = if self.strategy == Strategy::Atomic { 0 } else { self.candidates - left };
        let mut sent = Traffic::default();
        sent.add(pruned, pairs, unpruned);
        Ok((Frontier { vertices, edges }, sent))
    }

    fn parents(&mut self) -> Result<&[u32]> {
        let uploader = &mut self.gpu.workspace.uploader;
        fetch(uploader, self.memory.parents, &mut self.fetched, |[parent]| parent)?;
        Ok(&self.fetched)
    }

    fn piece_capacity(&self) -> u64 {
        self.piece
    }

    fn host_pairs(&self, piece: u64) -> u64 {
        if self.ownership.ranks == 1 || self.pulls() { 0 } else { piece }
    }

    fn is_on_gpu(&self) -> bool {
        true
    }

    fn pulls(&self) -> bool {
        self.outboxes.is_some()
    }

    fn synchronize(&mut self, steps: &mut StepTimes) -> Result<()> {
        self.clock.synchronize(&self.gpu.workspace.queue, steps)
    }

    fn pull(&mut self) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        self.clock.begin(queue)?;
        for &outbox in self.outboxes.iter().flat_map(|outboxes| &outboxes.all) {
            self.launches.claim_from(queue, outbox)?;
        }
        self.clock.end(queue, |steps| &mut steps.exchange)
    }
}

/// Returns the error for a rank with more row entries than the GPU kernels can index.
fn too_many(entries: u64) -> Error {
    Error::Usage(format!(
        "a GPU does not traverse {entries} entries of rows: use more ranks, or set strategy = \"auto\" or run.device = \"cpu\""
    ))
}
