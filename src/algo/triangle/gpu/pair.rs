//! Launches the kernels that count the triangles of the resident front batch with one partner batch. A batch is a range
//! of rows. A head is the part of a partner's row before an entry whose own row is in the front.
#![allow(unsafe_code)] // kernel launches

use super::arena_plan::{LONGEST_HASHED, most_tasks};
use super::counts::{DeviceEdgeCounts, EdgeCounts, VertexCounts};
use super::programs::{COUNT, Counted, MANY, PAIR, PROGRAM, TEXT};
use crate::algo::triangle::units::{Stop, Work};
use crate::error::{Error, Result};
use crate::gpu::{DeviceSlice, Event, Grid, Kernel, Queue, Scan, StopFlag, THREADS, Workspace, constant};
use crate::stream::{ResidentRows, RowBatch, Segment};
use std::ops::Range;
use std::time::Duration;

/// Maximum number of neighbours in a head, the part of a row before an entry.
pub const LONGEST_HEAD: u64 = (1 << constant(PAIR, "LENGTH_BITS")) - 1;
/// Value of the kernel argument `first_row` if a head stores the start of its row instead of the row's index.
const NO_ROW: u32 = constant(PAIR, "NO_ROW");
const MARK_BYTES: u32 = 4 * (constant(MANY, "EXACT") / 32 + constant(MANY, "FILTER_WORDS"));
const TABLE_BYTES: u32 = 8 * 4 * 2 * LONGEST_HASHED as u32;
const TALLY_BYTES: u32 = 16;
/// Number of row entries that a warp takes at a time, across row boundaries.
const SCATTERED: u64 = constant(TEXT, "SCATTERED") as u64;

/// The kernels of triangle counting.
pub struct Kernels {
    shift_starts: Kernel,
    count_heads: Kernel,
    scan: Scan,
    scatter_heads: Kernel,
    list_tasks: Kernel,
    count: CountKernels,
    /// Number of low bits of an entry that are not part of the neighbour's id: 1 for the codes of merged rows,
    /// otherwise 0.
    bits: u32,
}

/// Kernels that count triangles or links.
enum CountKernels {
    /// Kernels for front rows with many heads, and for front rows with few. A head is the part of a partner's row
    /// before an entry.
    Rows { many: Kernel, few: Kernel },
    /// Kernel that counts the links, the directed edges between the neighbours of a vertex.
    Links(Kernel),
}

impl Kernels {
    /// Loads the kernels that count the quantity `counted`.
    pub fn load(gpu: &Workspace, counted: Counted) -> Result<Kernels> {
        let [shift_starts, count_heads, scatter_heads, list_tasks] =
            gpu.kernels(&PROGRAM, ["shift_starts", "count_heads", "scatter_heads", "list_tasks"])?;
        let count = &COUNT[counted as usize];
        let (count, bits) = if counted == Counted::Links {
            let [links] = gpu.kernels(count, ["count_links"])?;
            (CountKernels::Links(links), 1)
        } else {
            let [many, few] = gpu.kernels(count, ["count_many", "count_few"])?;
            (CountKernels::Rows { many, few }, 0)
        };
        let scan = Scan::load(gpu)?;
        Ok(Kernels { shift_starts, count_heads, scan, scatter_heads, list_tasks, count, bits })
    }
}

/// The rows of a batch, as passed to kernels. The layout must match `Rows` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct DeviceRows {
    starts: u64,
    targets: u64,
    first: u32,
    count: u32,
}

const _: () = assert!(size_of::<DeviceRows>() == 24, "the kernels have a static_assert of the same size");

/// A front batch and a partner batch, as passed to kernels. The layout must match `Pair` in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair {
    front: DeviceRows,
    partner: DeviceRows,
    ends: u64,
    heads: u64,
    front_blocks: u64,
    front_block_count: u32,
    partner_block_count: u32,
    counts: u64,
    corners: u64,
    front_edges: DeviceEdgeCounts,
    partner_edges: DeviceEdgeCounts,
    tasks: u64,
    queue: u64,
    stop: u64,
}

const _: () = assert!(size_of::<Pair>() == 152, "the kernels have a static_assert of the same size");

impl DeviceRows {
    fn new(ResidentRows { starts, targets }: ResidentRows, first: u32, count: u64) -> DeviceRows {
        DeviceRows { starts: starts.address(), targets: targets.address(), first, count: count as u32 }
    }
}

/// A front batch in device memory, with the buffers for counting its triangles.
pub struct Front<'p> {
    /// The group of front blocks to which the batch belongs.
    pub work: &'p Work<'p>,
    pub batch: &'p RowBatch,
    pub resident: ResidentRows,
    pub first_row: u32,
    /// For each row of the front, first the number of its heads, and after grouping the end of its heads in `heads`.
    pub ends: DeviceSlice<u32>,
    /// Scratch memory for the prefix sums of `ends`.
    pub sums: DeviceSlice<u32>,
    /// First row of each block of the front batch.
    pub blocks: DeviceSlice<u32>,
    pub heads: DeviceSlice<u64>,
    pub tasks: DeviceSlice<u64>,
    pub counts: DeviceSlice<u64>,
    /// The kernels' task queue.
    pub words: DeviceSlice<u32>,
}

impl<'p> Front<'p> {
    /// Reserves memory in the arena for the front batch `batch`, and for counting the triangles between it and any one
    /// partner batch of `partners`. Returns `None` if the arena is too small.
    pub fn place<'q>(
        gpu: &mut Workspace,
        work: &'p Work<'p>,
        batch: &'p RowBatch,
        partners: impl Iterator<Item = &'q RowBatch>,
    ) -> Option<Front<'p>> {
        let (mut heads, mut tasks, mut counts) = (0, 0, 0);
        for partner in partners {
            heads = heads.max(partner.entries);
            tasks = tasks.max(most_tasks(batch, partner));
            counts = counts.max(3 * (batch.segments.len() * partner.segments.len()) as u64);
        }
        let arena = &mut gpu.arena;
        Some(Front {
            work,
            batch,
            resident: ResidentRows { starts: arena.take(batch.rows + 1)?, targets: arena.take(batch.entries)? },
            first_row: batch.first_row(work.graph),
            ends: arena.take(batch.rows)?,
            sums: arena.take(Scan::scratch(batch.rows))?,
            blocks: arena.take(batch.segments.len() as u64)?,
            words: arena.take(4)?,
            heads: arena.take(heads)?,
            tasks: arena.take(tasks)?,
            counts: arena.take(counts)?,
        })
    }

    /// Returns the device address of the head count of row `row`. The counts of the next rows follow it.
    fn counts_from(&self, row: u32) -> u64 {
        self.ends.part(u64::from(row - self.first_row)..u64::MAX).address()
    }

    /// Returns the ranges of the front's rows that still have to be counted with block `partner`.
    fn windows(&self, partner: usize) -> Vec<Range<u32>> {
        let work = self.work;
        let mut windows: Vec<Range<u32>> = Vec::new();
        for segment in self.batch.segments.iter().filter(|segment| work.wants(segment.block, partner)) {
            let low = segment.first_row(work.graph);
            let high = low + segment.rows.len() as u32;
            match windows.last_mut() {
                Some(window) if window.end == low => window.end = high,
                _ => windows.push(low..high),
            }
        }
        windows
    }
}

/// The queue, kernels and memory with which pairs of batches are counted.
pub struct CountingContext<'c, 'v> {
    pub queue: &'c Queue,
    pub stop_flag: &'c mut StopFlag,
    pub kernels: &'c Kernels,
    pub per_vertex: Option<&'c mut VertexCounts<'v>>,
    pub per_edge: Option<&'c EdgeCounts>,
    pub stop: Stop<'c>,
    /// Total time in which the GPU did not wait for copies from the host or other GPUs.
    pub busy: &'c mut Duration,
    /// CUDA events that mark when a partner batch arrived and when it was counted.
    pub clock: &'c mut [Event; 2],
}

impl CountingContext<'_, '_> {
    /// Makes the queue wait for the CUDA event `copied`, which marks the end of copies. Then queues a timestamp event,
    /// which marks the time at which the copied data arrived.
    pub fn arrived(&mut self, copied: &Event) -> Result<()> {
        self.queue.after(copied)?;
        self.queue.mark(&self.clock[0])
    }

    /// Converts the row starts of a segment that was just copied: from indices into the segment's block to indices
    /// into the batch, in which the entries of the segment begin at `entry`.
    pub fn shift(&self, segment: &Segment, starts: DeviceSlice<u32>, entry: u64) -> Result<()> {
        let base = (entry as u32).wrapping_sub(segment.entries.start as u32);
        if base == 0 {
            return Ok(());
        }
        let grid = self.queue.grid(starts.len());
        let arguments = (starts.address(), starts.len() as u32, base);
        // SAFETY: the arguments have the types that the kernel declares; the span belongs to the segment.
        unsafe { self.queue.launch(&self.kernels.shift_starts, grid, arguments) }
    }

    /// For every row of the front, counts how often it occurs as an entry of a partner segment. `targets` are the
    /// entries of the segment.
    pub fn count_heads(&self, front: &Front<'_>, segment: &Segment, targets: DeviceSlice<u32>) -> Result<()> {
        for window in front.windows(segment.block) {
            let counts = front.counts_from(window.start);
            let Range { start: low, end: high } = window;
            let arguments = (targets.address(), targets.len() as u32, low, high, counts, self.kernels.bits);
            let grid = self.queue.grid(targets.len());
            // SAFETY: the arguments have the types that the kernel declares; the window consists of rows of the front.
            unsafe { self.queue.launch(&self.kernels.count_heads, grid, arguments)? };
        }
        Ok(())
    }

    /// Groups the heads of a partner batch (parts of its rows before an entry) by row of the front. The number of
    /// heads of each row must be known for all segments of the batch.
    fn group_heads(&self, front: &Front<'_>, partner: &RowBatch, resident: ResidentRows) -> Result<()> {
        let ResidentRows { starts, targets } = resident;
        let Kernels { scan, scatter_heads, bits, .. } = self.kernels;
        scan.launch(self.queue, front.ends, front.sums)?;
        let mut row = 0;
        for (i, segment) in partner.segments.iter().enumerate() {
            let rows = segment.rows.len() as u64;
            let (starts, entries) = (starts.part(row..row + rows).address(), segment.entries.len() as u32);
            for Range { start: low, end: high } in front.windows(segment.block) {
                let (targets, heads, cursors) = (targets.address(), front.heads.address(), front.counts_from(low));
                let first_row = if self.per_vertex.is_some() { row as u32 } else { NO_ROW };
                let (rows, block) = (rows as u32, i as u32);
                let arguments = (starts, rows, entries, targets, low, high, block, cursors, heads, first_row, *bits);
                // One warp per `SCATTERED` entries.
                let grid = self.queue.grid((segment.entries.len() as u64).div_ceil(SCATTERED) * 32);
                // SAFETY: the arguments have the types that the kernel declares; the buffer has space for a head per
                // entry.
                unsafe { self.queue.launch(scatter_heads, grid, arguments)? };
            }
            row += rows;
        }
        Ok(())
    }

    /// Counts the triangles of a partner batch after the heads of all its segments have been counted. `resident`
    /// contains the entries of the batch `around`: the partner batch itself, or the front batch if the partner batch
    /// is part of it. Returns the triangles and tested wedges of every pair of blocks, ordered by front block,
    /// followed by the links of every pair.
    pub fn pair(
        &mut self,
        front: &Front<'_>,
        partner: &RowBatch,
        (resident, around): (ResidentRows, &RowBatch),
    ) -> Result<Vec<u64>> {
        self.group_heads(front, partner, resident)?;
        let edges_of = |batch| self.per_edge.map_or_else(Default::default, |counts| counts.of_batch(batch));
        let blocks = (front.batch.segments.len(), partner.segments.len());
        let counts = front.counts.part(0..3 * (blocks.0 * blocks.1) as u64);
        let pair = Pair {
            front: DeviceRows::new(front.resident, front.first_row, front.batch.rows),
            partner: DeviceRows::new(resident, partner.first_row(front.work.graph), partner.rows),
            ends: front.ends.address(),
            heads: front.heads.address(),
            front_blocks: front.blocks.address(),
            front_block_count: blocks.0 as u32,
            partner_block_count: blocks.1 as u32,
            counts: counts.address(),
            corners: self.per_vertex.as_ref().map_or(0, |counts| counts.on_gpu.address()),
            front_edges: edges_of(front.batch),
            partner_edges: edges_of(around),
            tasks: front.tasks.address(),
            queue: front.words.address(),
            stop: self.stop_flag.address(),
        };
        self.queue.fill(counts, 0)?;
        self.queue.fill(front.words, 0)?;
        let tally = TALLY_BYTES * blocks.1 as u32;
        let grid = |kernel: &Kernel, shared| -> Result<Grid> {
            Ok(Grid { blocks: kernel.blocks_at_once(THREADS, shared)?, threads: THREADS, shared })
        };
        let rows = self.queue.grid(front.batch.rows);
        // SAFETY: the arguments have the types that the kernels declare; no span is freed before the queue is finished.
        unsafe {
            match &self.kernels.count {
                CountKernels::Rows { many, few } => {
                    self.queue.launch(&self.kernels.list_tasks, rows, (pair, front.tasks.address()))?;
                    self.queue.launch(many, grid(many, MARK_BYTES + tally)?, (pair,))?;
                    self.queue.launch(few, grid(few, TABLE_BYTES + tally)?, (pair,))?;
                }
                CountKernels::Links(links) => self.queue.launch(links, grid(links, 0)?, (pair,))?,
            }
        }
        // The heads of the next partner are counted from zero.
        self.queue.fill(front.ends, 0)?;
        self.queue.mark(&self.clock[1])?;
        self.wait()?;
        let mut numbers = vec![0u64; counts.len() as usize];
        self.queue.read(counts, &mut numbers)?;
        *self.busy += self.clock[0].until(&self.clock[1])?;
        self.clock.swap(0, 1);
        Ok(numbers)
    }

    /// Waits until the GPU has counted the pair of batches. If the job is asked to stop meanwhile, sets the flag that
    /// ends the kernels early.
    fn wait(&mut self) -> Result<()> {
        while !self.clock[1].is_done()? {
            if (self.stop)().is_some() {
                self.stop_flag.set(true);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        (self.stop)().map_or(Ok(()), |reason| Err(Error::Stopped(reason)))
    }
}
