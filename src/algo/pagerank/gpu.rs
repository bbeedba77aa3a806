//! Iterations of PageRank on a GPU. `kernels/pagerank.cu` describes the method.
#![allow(unsafe_code)] // kernel launches

use super::state::{State, Totals};
use super::teleport::{self, Teleport};
use crate::algo::Lease;
use crate::algo::searches::gpu::{fetch, joined};
use crate::error::Result;
use crate::gpu::{COMMON, CopySource, DeviceSlice, Kernel, ProgramSource, Queue, constant, slice_bytes};
use crate::graph::block_store::BlockStore;
use crate::graph::direction::Direction;
use crate::memory::{Budget, Buffer, bytes_of};
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::stream::passes::{self, ROW_PARTS, RowPart};

pub(super) static PROGRAM: ProgramSource =
    ProgramSource { name: "pagerank.cu", text: TEXT, headers: &[COMMON, ROW_PARTS] };
const TEXT: &str = include_str!("../../../kernels/pagerank.cu");

/// Purpose of the GPU memory for PageRank, as named in error messages.
const PURPOSE: &str = "[pagerank] on this graph";
/// Number of neighbours plus row ends that a warp processes at a time.
const CHUNK: u64 = constant(TEXT, "CHUNK") as u64;

/// Returns the minimum GPU memory, in bytes, for PageRank on a graph with `vertices` vertices that have an edge.
/// `personalised` is the number of personalised vertices among them.
pub(super) fn least_bytes(vertices: u64, personalised: u64) -> u64 {
    let state = 3 * slice_bytes::<u64>(vertices) + slice_bytes::<u32>(vertices) + slice_bytes::<u32>(personalised);
    (state + slice_bytes::<Totals>(1) + passes::least_bytes()).next_multiple_of(1 << 20)
}

/// Arguments from which the kernels compute new PageRank values: the teleport contributions, the damping factor and the
/// personalised vertices. The memory layout must match `Bases` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct Bases {
    of_all: f64,
    personalised: f64,
    damping: f64,
    vertices: u64,
    count: u32,
}

const _: () = assert!(size_of::<Bases>() == 40, "the kernels have a static_assert of the same size");

/// PageRank values, contributions and their sums in GPU memory.
pub(super) struct GpuRanks<'a> {
    gpu: Lease<'a>,
    pull: Kernel,
    update: Kernel,
    ranks: DeviceSlice<f64>,
    contributions: DeviceSlice<u64>,
    sums: DeviceSlice<u64>,
    degrees: DeviceSlice<u32>,
    personalised: DeviceSlice<u32>,
    totals: DeviceSlice<u64>,
    halves: [&'a BlockStore; 2],
    direction: Direction,
    /// The rows of all vertices in GPU memory, if all fit there.
    resident: Option<Vec<RowPart>>,
}

impl<'a> GpuRanks<'a> {
    /// Copies the PageRank values of `state` to the GPU, and the rows of all vertices, if all fit. Computes the
    /// contributions. Returns the state on the GPU, and the total PageRank, in units of 2^-62, of the vertices without
    /// out-edges.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks.
    pub(super) fn new(
        graph: &'a Graph,
        state: &State<'_>,
        teleport: &Teleport,
        budget: &Budget,
        mut gpu: Lease<'a>,
    ) -> Result<(GpuRanks<'a>, u64)> {
        let workspace = &mut *gpu.workspace;
        let names = ["pagerank_contribute", "pagerank_pull", "pagerank_update"];
        let [contribute, pull, update] = workspace.kernels(&PROGRAM, names)?;
        let (vertices, named) = (state.ranks.len() as u64, teleport.personalised.len() as u64);
        let arena = &mut workspace.arena;
        arena.reset(0);
        arena.check_size(least_bytes(vertices, named), PURPOSE)?;
        let (ranks, contributions) = (arena.take_planned::<f64>(vertices)?, arena.take_planned::<u64>(vertices)?);
        let (sums, totals) = (arena.take_planned::<u64>(vertices)?, arena.take_planned::<u64>(2)?);
        let (degrees, personalised) = (arena.take_planned::<u32>(vertices)?, arena.take_planned::<u32>(named)?);
        let mut out_degrees: Buffer<u32> = budget.zeroed(vertices as usize, "degrees for the GPU (4 bytes each)")?;
        (0..).zip(out_degrees.iter_mut()).for_each(|(v, degree)| *degree = state.degrees.of(v));
        let copies = [
            (CopySource::Memory(bytes_of(&state.ranks)), ranks.as_bytes()),
            (CopySource::Memory(bytes_of(&out_degrees)), degrees.as_bytes()),
            (CopySource::Memory(bytes_of(&teleport.personalised)), personalised.as_bytes()),
        ];
        workspace.uploader.upload(&copies, &signals::check)?.wait()?;
        drop(out_degrees);

        let halves = [&graph.block_store, graph.upper()?];
        let mark = workspace.arena.mark();
        let mut resident = Some(Vec::new());
        for half in halves {
            let blocks: Vec<usize> = (0..half.len()).collect();
            let placed = if resident.is_some() { passes::place(workspace, half, &blocks)? } else { None };
            resident = resident.zip(placed).map(|(all, of_half)| [all, of_half].concat());
        }
        if resident.is_none() {
            workspace.arena.reset(mark);
        }
        let direction = graph.info.direction;
        let queue = &workspace.queue;
        queue.fill(totals, 0)?;
        let arguments = (
            ranks.address(),
            degrees.address(),
            vertices as u32,
            contributions.address(),
            sums.address(),
            totals.address(),
        );
        // SAFETY: the arguments match the kernel's; the slices have an element for each vertex.
        unsafe { queue.launch(&contribute, queue.grid(vertices), arguments)? };
        let [_, sinks] = queue.read_first(totals)?;
        let ranks = GpuRanks {
            gpu,
            pull,
            update,
            ranks,
            contributions,
            sums,
            degrees,
            personalised,
            totals,
            halves,
            direction,
            resident,
        };
        Ok((ranks, sinks))
    }

    /// Sums the contributions to each vertex, along all rows. If this fails, the PageRank values remain as they were
    /// after the previous iteration.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Lost`], errors of reading blocks, [`crate::Error::Stopped`].
    pub(super) fn pull(&mut self) -> Result<()> {
        let (kernel, shift) = (&self.pull, self.direction.shift());
        let (contributions, sums) = (self.contributions.address(), self.sums.address());
        let pull = |queue: &Queue, part: RowPart| {
            let grid = queue.grid((part.entries() + u64::from(part.rows)).div_ceil(CHUNK) * 32);
            // SAFETY: the arguments match the kernel's; the rows are in GPU memory, and the other slices have an
            // element for each vertex.
            unsafe { queue.launch(kernel, grid, (part, shift, contributions, sums)) }
        };
        let workspace = &mut *self.gpu.workspace;
        if let Some(parts) = &self.resident {
            signals::check()?;
            return parts.iter().try_for_each(|&part| pull(&workspace.queue, part));
        }
        self.halves.iter().try_for_each(|half| {
            let blocks: Vec<usize> = (0..half.len()).collect();
            passes::stream(workspace, half, &blocks, PURPOSE, &mut |queue, part| pull(queue, part))
        })
    }

    /// Completes an iteration after [`Self::pull`]: computes new PageRank values and contributions.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn update(&mut self, bases: teleport::Bases, damping: f64) -> Result<Totals> {
        let queue = &self.gpu.workspace.queue;
        let bases = Bases {
            of_all: bases.of_all,
            personalised: bases.personalised,
            damping,
            vertices: self.personalised.address(),
            count: self.personalised.len() as u32,
        };
        queue.fill(self.totals, 0)?;
        let vertices = self.ranks.len();
        let arguments = (
            self.ranks.address(),
            self.degrees.address(),
            vertices as u32,
            self.contributions.address(),
            self.sums.address(),
            bases,
            self.totals.address(),
        );
        // SAFETY: the arguments match the kernel's; the slices have an element for each vertex.
        unsafe { queue.launch(&self.update, queue.grid(vertices), arguments)? };
        let [change, sinks] = queue.read_first(self.totals)?;
        Ok(Totals { change, sinks })
    }

    /// Copies the PageRank values from GPU memory to `to`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn fetch(&mut self, to: &mut [f64]) -> Result<()> {
        let words = DeviceSlice::at(self.ranks.address(), 2 * self.ranks.len());
        fetch(&mut self.gpu.workspace.uploader, words, to, |words| f64::from_bits(joined(words)))
    }
}
