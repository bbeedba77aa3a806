//! A rank's part of a search on its GPU. `kernels/traverse.cu` has the kernels; here is in which order they are launched.
//!
//! The own rows lie in GPU memory, side by side, with parents, bits and the frontier. A piece of candidates is written by one thread each, sorted by keys in
//! passes of 8 bits (`sort`), and its repeats are dropped; those of own vertices are joined at once, others go to the host and on to their owners.
#![allow(unsafe_code)] // kernel launches

mod place;
mod room;
mod sort;
mod twins;

pub use room::{host_bytes, least_bytes};

use super::levels::{Candidates, Frontier, Levels, lap};
use super::owner::Owners;
use super::search::Steps;
use super::task::Strategy;
use crate::algo::Lease;
use crate::algo::searches::gpu::{GoOn, fetch};
use crate::error::{Error, Result};
use crate::gpu::{COMMON, DeviceSlice, Event, Kernel, ProgramSource, SCAN, Scan};
use crate::graph::adjacency::Adjacency;
use crate::graph::direction::{Direction, Way};
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;
use room::{BATCH, Room, SUMS};
use sort::Sorter;
use std::ops::Range;
use std::time::Instant;
use twins::Owned;

/// The program of traversals.
pub static PROGRAM: ProgramSource =
    ProgramSource { name: "traverse.cu", text: include_str!("../../../../kernels/traverse.cu"), headers: &[COMMON] };

/// All programs that a traversal launches.
pub static PROGRAMS: [&ProgramSource; 2] = [&SCAN, &PROGRAM];

/// The purpose of its memory, in errors.
const PURPOSE: &str = "[traverse] on this graph";

/// The kernels but those of sorting.
struct Kernels {
    degrees: Kernel,
    search: Kernel,
    update: Kernel,
    reached: Kernel,
    advance: Kernel,
    begin: Kernel,
    atomic_count: Kernel,
    atomic: Kernel,
}

/// The own vertices of a rank, on its GPU.
pub struct GpuLevels<'a> {
    gpu: Lease<'a>,
    go_on: GoOn<'a>,
    kernels: Kernels,
    scan: Scan,
    sorter: Sorter,
    owners: Owners,
    strategy: Strategy,
    direction: Direction,
    degrees: &'a [u32],
    room: Room,
    owned: Owned,
    offsets: DeviceSlice<u32>,
    parents: DeviceSlice<u32>,
    bits: [DeviceSlice<u32>; 2],
    words: DeviceSlice<u32>,
    scratch: DeviceSlice<u32>,
    sums: DeviceSlice<u64>,
    ends: DeviceSlice<u32>,
    inbox: DeviceSlice<u64>,
    /// Vertices of the frontier.
    vertices: u32,
    /// The parents as the host gets them.
    fetched: Buffer<u32>,
    /// Between what marks the ends of kernels.
    clock: [Event; 2],
}

impl<'a> GpuLevels<'a> {
    /// Brings the rows of the own vertices to the GPU of `lease`. `room` entries are the most that a piece gets, for tests.
    ///
    /// # Errors
    /// [`Error::Limit`] naming the fewest bytes where GPU or host memory does not do; [`Error::Usage`] for more entries than a GPU takes;
    /// [`Error::Lost`], those of the graph and of `go_on`.
    pub fn new(
        graph: &'a Graph,
        degrees: &'a Mapped,
        (owners, strategy): (Owners, Strategy),
        mut lease: Lease<'a>,
        budget: &Budget,
        go_on: GoOn<'a>,
    ) -> Result<GpuLevels<'a>> {
        let (degrees, direction) = (degrees.body_as_u32()?, graph.info.direction);
        let rows = Adjacency::new(&graph.catalogue, graph.upper()?);
        let starts = place::starts(&owners, degrees, direction, budget)?;
        let workspace = &mut *lease.workspace;
        workspace.arena.reset(0);
        let own = owners.len(owners.rank()) as u64;
        let entries = starts.last().copied().unwrap_or(0);
        let least = Room::of(own, entries.into(), owners.ranks());
        workspace.arena.holds(least.bytes(), PURPOSE)?;
        let room = least.within(workspace.arena.free());
        let arena = &mut workspace.arena;
        let sums = arena.take_planned(SUMS)?;
        let [on_gpu, offsets] = [arena.take_planned::<u32>(own + 1)?, arena.take_planned(own + 1)?];
        let targets = arena.take_planned(room.entries)?;
        let [frontier, parents] = [arena.take_planned::<u32>(own)?, arena.take_planned(own)?];
        let bits = [arena.take_planned(room.words())?, arena.take_planned(room.words())?];
        let words = arena.take_planned(room.words())?;
        let ends = arena.take_planned(owners.ranks() as u64)?;
        let inbox = arena.take_planned(room.inbox())?;
        let pairs = [arena.take_planned(room.piece)?, arena.take_planned(room.piece)?];
        let counts = arena.take_planned(room.counts())?;
        let scratch = arena.take_planned(room.scratch())?;
        place::upload(workspace, &rows, (&owners, direction), &starts, (on_gpu, targets), go_on)?;
        let kernel = |name| workspace.kernel(&PROGRAM, name);
        let kernels = Kernels {
            degrees: kernel("traverse_degrees")?,
            search: kernel("traverse_search")?,
            update: kernel("traverse_update")?,
            reached: kernel("traverse_reached")?,
            advance: kernel("traverse_advance")?,
            begin: kernel("traverse_begin")?,
            atomic_count: kernel("traverse_atomic_count")?,
            atomic: kernel("traverse_atomic")?,
        };
        let sorter = Sorter::load(workspace, pairs, counts, owners.keys())?;
        let (scan, clock) =
            (Scan::load(workspace)?, [workspace.queue.record_timed()?, workspace.queue.record_timed()?]);
        let (reciprocal, shift) = owners.division();
        let owned = Owned {
            starts: on_gpu.address(),
            targets: targets.address(),
            offsets: offsets.address(),
            frontier: frontier.address(),
            parents: parents.address(),
            reached: bits[0].address(),
            fresh: bits[1].address(),
            sums: sums.address(),
            reciprocal,
            own: own as u32,
            rank: owners.rank() as u32,
            ranks: owners.ranks() as u32,
            stride: owners.stride(),
            shift,
            unused: 0,
        };
        let fetched = budget.zeroed(own as usize, "the parents of a rank's vertices (4 bytes each)")?;
        Ok(GpuLevels {
            gpu: lease,
            go_on,
            kernels,
            scan,
            sorter,
            owners,
            strategy,
            direction,
            degrees,
            room,
            owned,
            offsets,
            parents,
            bits,
            words,
            scratch,
            sums,
            ends,
            inbox,
            vertices: 0,
            fetched,
            clock,
        })
    }

    /// Ends a step of the search: waits for the GPU, and tells the time since the last one.
    fn lap(&self, lapped: &mut Instant, step: &mut f64, kernels: &mut f64) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        queue.mark(&self.clock[1])?;
        queue.finish()?;
        *kernels += self.clock[0].until(&self.clock[1])?.as_secs_f64();
        lap(lapped, step);
        queue.mark(&self.clock[0])
    }

    /// Turns the degrees of the frontier into the candidates before each vertex.
    fn number(&self) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        let offsets = self.offsets.part(0..u64::from(self.vertices) + 1);
        // SAFETY: the arguments match the kernel's; there is an offset for each vertex and one more.
        unsafe { queue.launch(&self.kernels.degrees, queue.grid(offsets.len()), (self.owned, self.vertices))? };
        self.scan.launch(queue, offsets, self.scratch)
    }

    /// Joins pairs of own vertices that are on the GPU.
    fn update(&self, pairs: DeviceSlice<u64>) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        let arguments = (self.owned, pairs.address(), pairs.len() as u32);
        // SAFETY: the arguments match the kernel's; keys are those of own vertices.
        unsafe { queue.launch(&self.kernels.update, queue.grid(pairs.len()), arguments) }
    }

    /// Copies pairs of other ranks to the same places of `pairs`.
    fn bring(&self, from: DeviceSlice<u64>, to: &[Range<usize>], pairs: &mut [u64]) -> Result<()> {
        for range in to.iter().filter(|range| !range.is_empty()) {
            let part = from.part(range.start as u64..range.end as u64);
            self.gpu.workspace.queue.read(part, &mut pairs[range.clone()])?;
        }
        Ok(())
    }

    /// Sorts and prunes a piece; joins the pairs of own vertices.
    fn pruned(&self, (first, end): (u32, u32), pairs: &mut [u64], steps: &mut Steps) -> Result<Candidates> {
        let queue = &self.gpu.workspace.queue;
        let mut lapped = Instant::now();
        queue.fill(self.sums, 0)?;
        queue.mark(&self.clock[0])?;
        let count = end - first;
        let arguments = (self.owned, self.vertices, first, end, self.sorter.input().address());
        // SAFETY: the arguments match the kernel's; a piece has room for its candidates, which are those of the frontier.
        unsafe { queue.launch(&self.kernels.search, queue.grid(count.into()), arguments)? };
        self.lap(&mut lapped, &mut steps.search, &mut steps.kernels)?;
        let sorted = self.sorter.sort(queue, &self.scan, self.scratch, count)?;
        self.lap(&mut lapped, &mut steps.sort, &mut steps.kernels)?;
        let left = self.sorter.unique(queue, &self.scan, self.scratch, (sorted, count), self.sums)?;
        let (ranks, stride) = (self.owned.ranks, self.owned.stride);
        self.sorter.ends(queue, left, self.sums, (ranks, stride), self.ends)?;
        self.lap(&mut lapped, &mut steps.unique, &mut steps.kernels)?;
        let (mut sums, mut ends) = ([0; SUMS as usize], vec![0; ranks as usize]);
        queue.read(self.sums, &mut sums)?;
        queue.read(self.ends, &mut ends)?;
        let mut to = ranges(&ends);
        let own = std::mem::take(&mut to[self.owners.rank()]);
        self.update(left.part(own.start as u64..own.end as u64))?;
        self.lap(&mut lapped, &mut steps.update, &mut steps.kernels)?;
        self.bring(left, &to, pairs)?;
        lap(&mut lapped, &mut steps.exchange);
        Ok(Candidates { to, pruned: u64::from(count) - sums[2], away: u64::from(count) - sums[3] })
    }

    /// Claims own vertices of a piece, and lists all other candidates by ranks.
    fn claimed(&self, (first, end): (u32, u32), pairs: &mut [u64], steps: &mut Steps) -> Result<Candidates> {
        let queue = &self.gpu.workspace.queue;
        let mut lapped = Instant::now();
        queue.mark(&self.clock[0])?;
        let grid = queue.grid((end - first).into());
        let mut ends = vec![0; self.owners.ranks()];
        if ends.len() > 1 {
            queue.fill(self.ends, 0)?;
            let arguments = (self.owned, self.vertices, first, end, self.ends.address());
            // SAFETY: the arguments match the kernel's; each rank has a count.
            unsafe { queue.launch(&self.kernels.atomic_count, grid, arguments)? };
            queue.read(self.ends, &mut ends)?;
        }
        ends[self.owners.rank()] = 0;
        let mut all = 0;
        for end in &mut ends {
            all += *end;
            *end = all;
        }
        let to = ranges(&ends);
        let starts: Vec<u32> = to.iter().map(|range| range.start as u32).collect();
        queue.write(&starts, self.ends)?;
        let left = self.sorter.input();
        let arguments = (self.owned, self.vertices, first, end, self.ends.address(), left.address());
        // SAFETY: the arguments match the kernel's; what is appended was counted.
        unsafe { queue.launch(&self.kernels.atomic, grid, arguments)? };
        self.lap(&mut lapped, &mut steps.search, &mut steps.kernels)?;
        self.bring(left, &to, pairs)?;
        lap(&mut lapped, &mut steps.exchange);
        Ok(Candidates { to, pruned: 0, away: all.into() })
    }
}

/// Returns the ranges that end so, one behind the other.
fn ranges(ends: &[u32]) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| start as usize..end as usize).collect()
}

impl Levels for GpuLevels<'_> {
    fn begin(&mut self, root: u32) -> Result<Frontier> {
        (self.go_on)()?;
        let queue = &self.gpu.workspace.queue;
        queue.fill(self.parents, 0xff)?;
        self.bits.iter().try_for_each(|&bits| queue.fill(bits, 0))?;
        let (owner, place) = self.owners.locate(root);
        self.vertices = u32::from(owner as usize == self.owners.rank());
        let mut edges = 0;
        if self.vertices > 0 {
            let grid = queue.grid(1);
            // SAFETY: the arguments match the kernel's; the place is that of an own vertex.
            unsafe { queue.launch(&self.kernels.begin, grid, (self.owned, place, root))? };
            edges = self.degrees[self.direction.row(root, Way::Out) as usize].into();
        }
        self.number()?;
        queue.finish()?;
        Ok(Frontier { vertices: self.vertices.into(), edges })
    }

    fn step(&mut self, _: Frontier) {}

    fn expand(&mut self, piece: Range<u64>, pairs: &mut [u64], steps: &mut Steps) -> Result<Candidates> {
        (self.go_on)()?;
        if piece.is_empty() {
            return Ok(Candidates { to: vec![0..0; self.owners.ranks()], ..Candidates::default() });
        }
        let piece = (piece.start as u32, piece.end as u32);
        match self.strategy {
            Strategy::Atomic => self.claimed(piece, pairs, steps),
            _ => self.pruned(piece, pairs, steps),
        }
    }

    fn take(&mut self, pairs: &[u64], steps: &mut Steps) -> Result<()> {
        let queue = &self.gpu.workspace.queue;
        let mut lapped = Instant::now();
        for some in pairs.chunks(BATCH) {
            queue.write(some, self.inbox)?;
            lap(&mut lapped, &mut steps.exchange);
            queue.mark(&self.clock[0])?;
            self.update(self.inbox.part(0..some.len() as u64))?;
            self.lap(&mut lapped, &mut steps.update, &mut steps.kernels)?;
        }
        Ok(())
    }

    fn advance(&mut self, steps: &mut Steps) -> Result<Frontier> {
        let queue = &self.gpu.workspace.queue;
        let mut lapped = Instant::now();
        queue.mark(&self.clock[0])?;
        queue.fill(self.sums, 0)?;
        let (words, grid) = (self.words.len() as u32, queue.grid(self.words.len()));
        // SAFETY: the arguments match the kernels'; there is a count for each word of bits.
        unsafe { queue.launch(&self.kernels.reached, grid, (self.owned, words, self.words.address()))? };
        self.scan.launch(queue, self.words, self.scratch)?;
        // SAFETY: as above; the frontier has room for all own vertices.
        unsafe { queue.launch(&self.kernels.advance, grid, (self.owned, words, self.words.address()))? };
        let mut sums = [0; SUMS as usize];
        queue.read(self.sums, &mut sums)?;
        self.lap(&mut lapped, &mut steps.update, &mut steps.kernels)?;
        self.vertices = sums[0] as u32;
        self.number()?;
        self.lap(&mut lapped, &mut steps.prefix_sum, &mut steps.kernels)?;
        Ok(Frontier { vertices: sums[0], edges: sums[1] })
    }

    fn parents(&mut self) -> Result<&[u32]> {
        let uploader = &mut self.gpu.workspace.uploader;
        fetch(uploader, self.parents, 1, &mut self.fetched, |words, to| to.copy_from_slice(words))?;
        Ok(&self.fetched)
    }

    fn room(&self) -> u64 {
        self.room.piece
    }

    fn host_pairs(&self, piece: u64) -> u64 {
        if self.owners.ranks() == 1 { 0 } else { piece }
    }

    fn batch(&self) -> usize {
        BATCH
    }
}

/// Returns the error of more entries than kernels number.
fn too_many(entries: u64) -> Error {
    Error::Usage(format!(
        "a GPU does not traverse {entries} entries of rows: use more ranks, or set strategy = \"auto\" or run.device = \"cpu\""
    ))
}
