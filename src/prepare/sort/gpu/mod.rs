//! Sorts bins on a GPU: the host copies a bin's edges to the GPU in lines (groups of 64 edges), and the GPU returns the
//! bin's rows. A thread that sorts on the GPU uses a *lane*, a GPU queue with pinned buffers, and sorts one bin at a
//! time. If a bin has so many duplicates that it does not fit GPU memory, the CPU sorts it.
#![allow(unsafe_code)] // kernel launches

pub mod resident;
mod sort_buffers;

use self::sort_buffers::SortBuffers;
use super::{BinReader, SortBin, Sorted, SortedRows, sorters};
use crate::error::Result;
use crate::gpu::{DeviceSlice, Kernel, Lane, Scan, THREADS, Workspace, slice_bytes};
use crate::graph::{Bins, Degrees};
use crate::prepare::gpu::{INGEST, PrepareGpu, sort_program};
use crate::prepare::partition::LINE;
use crate::process::threads::on_threads;
use std::sync::Arc;
use std::time::{Duration, Instant};

// Number of 32-bit words of a result; the kernels have the same constant.
const RESULT_WORDS: usize = 4;
/// Division of the GPU's memory for sorting.
#[derive(Debug, Clone, Copy)]
pub struct SortPlan {
    lanes: usize,
    threads: usize,
    /// Maximum number of lines (groups of 64 edges) in a bin. `rows` is the maximum number of rows in a bin.
    lines: u64,
    rows: u64,
    /// Number of rows of the graph if degrees are counted on the GPU, else 0.
    degrees: u64,
    weighted: bool,
}

impl SortPlan {
    /// Returns the number of lanes (GPU queues), which is the number of bins that are sorted at the same time.
    pub fn lanes(&self) -> usize {
        self.lanes
    }
}

/// The sorters of all threads. Some threads sort on a GPU, each with a lane (GPU queue), and the others on the CPU.
pub struct Sorters<'w> {
    lanes: Vec<SortLane<'w>>,
    /// Number of threads without a lane (GPU queue), which sort on the CPU.
    others: usize,
    degrees: DeviceSlice<u32>,
    weighted: bool,
}

struct SortKernels {
    bring_lines: Kernel,
    place_rows: Kernel,
    count_rows: Kernel,
    fill_rows: Kernel,
    sort_short_rows: Kernel,
    sort_warp_rows: Kernel,
    sort_block_rows: Kernel,
    join_rows: Kernel,
    add_degrees: Kernel,
    sum_up_degrees: Kernel,
    scan: Scan,
}

/// Host version of the kernels' struct `Bin`.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelBin {
    lines: u64,
    line_count: u32,
    rows: u32,
    first_row: u32,
    shift: u32,
    ends: u64,
    lengths: u64,
    starts: u64,
    targets: u64,
    out: u64,
    warp_rows: u64,
    block_rows: u64,
    words: u64,
    degrees: u64,
}

const _: () = assert!(size_of::<KernelBin>() == 96, "the kernels have a static_assert of the same size");

/// Result of sorting a bin on the GPU.
struct SortedOnGpu {
    unit: KernelBin,
    /// Number of edges in the bin, including duplicates. `distinct` is their number without duplicates.
    edges: u32,
    distinct: u32,
    /// Duration of copying the edges to the GPU.
    uploaded: Duration,
}

/// Sorter of one thread, which sorts bins through the thread's lane (GPU queue).
struct SortLane<'w> {
    kernels: Arc<SortKernels>,
    lane: Lane<'w>,
    room: SortBuffers,
    degrees: DeviceSlice<u32>,
    scratch: Vec<u32>,
    /// Sorter on the CPU, for bins that do not fit the GPU.
    cpu: Box<dyn SortBin>,
    weighted: bool,
    /// Number of bins sorted on the GPU. `left` is the number of bins sorted on the CPU instead. `times` contains the
    /// total times for four steps: copying edges, sorting, waiting for earlier bins, and copying rows back.
    bins: u32,
    left: u32,
    times: [Duration; 4],
}

impl<'w> Sorters<'w> {
    /// Returns the number of bytes of GPU memory that `lanes` lanes (GPU queues) need so that each can sort any of the
    /// `bins`. A bin has up to `lines` lines (groups of 64 edges).
    pub fn ample_bytes(bins: &Bins, rows: u64, lines: u64, lanes: usize, weighted: bool) -> u64 {
        slice_bytes::<u32>(rows) + lanes as u64 * SortBuffers::bytes(lines, bins.most_rows(), weighted)
    }

    /// Plans one or more lanes (GPU queues), and memory for the degrees of all rows. Bins have up to `most` lines
    /// (groups of 64 edges), and edges have no weights. Returns `None` if these do not fit GPU memory.
    pub fn plan_all(workspace: &Workspace, bins: &Bins, rows: u64, threads: usize, most: u64) -> Option<SortPlan> {
        let free = workspace.arena.free().saturating_sub(slice_bytes::<u32>(rows));
        let lanes = free / SortBuffers::bytes(most.max(1), bins.most_rows(), false);
        let lanes = lanes.min(workspace.uploader.shape().0.min(threads) as u64) as usize;
        let (lines, weighted) = (most.max(1), false);
        let plan = SortPlan { lanes, threads, lines, rows: bins.most_rows(), degrees: rows, weighted };
        (lanes > 0 && most < 1 << 24).then_some(plan)
    }

    /// Prepares to sort the `bins` of a graph of `rows` rows with up to `threads` threads. The largest bin has `most`
    /// lines (groups of 64 edges); `weighted` says whether edges have weights. Returns `None` if GPU memory is too
    /// small.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn start(
        gpu: &'w mut PrepareGpu<'_>,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
        weighted: bool,
    ) -> Result<Option<Self>> {
        let plan = |workspace: &Workspace| Sorters::plan(workspace, bins, rows, threads, most, weighted);
        gpu.begin("sort", plan, Sorters::new)
    }

    /// Plans lanes (GPU queues) for bins of up to `most` lines (groups of 64 edges). If memory is scarce, plans only
    /// for the number of lines that `bins` would have without duplicates. Returns `None` if these do not fit either.
    fn plan(
        workspace: &Workspace,
        bins: &Bins,
        rows: u64,
        threads: usize,
        most: u64,
        weighted: bool,
    ) -> Option<SortPlan> {
        let most_lanes = workspace.uploader.shape().0.min(threads);
        // Every thread that filled bins may have left a partly filled line in each bin.
        let least = most.min(bins.largest().div_ceil(LINE as u64) + threads as u64);
        let most_rows = bins.most_rows();
        let free = workspace.arena.free();
        let bytes = |lines| SortBuffers::bytes(lines, most_rows, weighted);
        let fit = |lines: u64, free: u64| (free / bytes(lines)).min(most_lanes as u64) as usize;
        let with_degrees = free.saturating_sub(slice_bytes::<u32>(rows));
        let choices = [(most, rows, with_degrees), (least, rows, with_degrees), (least, 0, free)];
        let plan = |&(lines, degrees, free): &(u64, u64, u64)| {
            let lanes = fit(lines, free);
            SortPlan { lanes, threads, lines, rows: most_rows, degrees, weighted }
        };
        let plans: Vec<SortPlan> = choices.iter().map(plan).filter(|plan| plan.lanes > 0).collect();
        // Best is a lane (GPU queue) for every thread. Counting degrees on the GPU saves more time than lanes beyond
        // the fourth.
        let all = plans.iter().find(|plan| plan.lanes == most_lanes && (plan.degrees > 0 || rows == 0));
        let some = || plans.iter().rev().find(|plan| plan.degrees > 0 && plan.lanes >= most_lanes.min(4));
        let full = all.or_else(some);
        let index_fits = bins.largest() < 1 << 30;
        full.or(plans.last()).copied().filter(|_| index_fits)
    }

    /// Allocates the planned memory in `workspace`, and makes a sorter for each lane (GPU queue of one thread).
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(workspace: &'w mut Workspace, plan: SortPlan) -> Result<Self> {
        let kernel = |name| workspace.kernel(sort_program(plan.weighted), name);
        let kernels = Arc::new(SortKernels {
            bring_lines: kernel("bring_lines")?,
            place_rows: kernel("place_rows")?,
            count_rows: kernel("count_rows")?,
            fill_rows: kernel("fill_rows")?,
            sort_short_rows: kernel("sort_short_rows")?,
            sort_warp_rows: kernel("sort_warp_rows")?,
            sort_block_rows: kernel("sort_block_rows")?,
            join_rows: kernel("join_rows")?,
            add_degrees: workspace.kernel(&INGEST, "add_degrees")?,
            sum_up_degrees: kernel("sum_up_degrees")?,
            scan: Scan::load(workspace)?,
        });
        let Workspace { queue, uploader, arena, .. } = workspace;
        let degrees = arena.take_planned(plan.degrees)?;
        queue.fill(degrees, 0)?;
        queue.finish()?;
        let lanes = uploader.lanes()?.into_iter().take(plan.lanes).map(|lane| {
            Ok(SortLane {
                kernels: kernels.clone(),
                lane,
                room: SortBuffers::take(arena, plan.lines, plan.rows, plan.weighted)?,
                degrees,
                scratch: Vec::new(),
                cpu: sorters(1, plan.weighted).remove(0),
                weighted: plan.weighted,
                bins: 0,
                left: 0,
                times: [Duration::ZERO; 4],
            })
        });
        let lanes = lanes.collect::<Result<Vec<_>>>()?;
        Ok(Sorters { others: plan.threads - lanes.len(), lanes, degrees, weighted: plan.weighted })
    }

    /// Returns one sorter for each thread.
    pub fn sorters(&mut self) -> Vec<Box<dyn SortBin + '_>> {
        let lanes = self.lanes.iter_mut().map(|lane| Box::new(lane) as Box<dyn SortBin + '_>);
        lanes.chain(sorters(self.others, self.weighted)).collect()
    }

    /// Adds the degrees counted on the GPU to `degrees`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn finish(&mut self, degrees: &Degrees) -> Result<()> {
        self.lanes.iter().for_each(SortLane::log_times);
        let chunk = self.degrees.len().div_ceil(self.lanes.len().max(1) as u64).max(1);
        let counted = self.degrees;
        on_threads((0..).zip(&mut self.lanes), |(i, on_gpu)| {
            let mut at = i * chunk;
            on_gpu.lane.receive(counted.part(at..at + chunk), 1, |words| {
                degrees.add(at as usize, words);
                at += words.len() as u64;
                Ok(())
            })
        })
    }
}

impl SortBin for &mut SortLane<'_> {
    fn sort(&mut self, bin: &BinReader<'_, '_>, first_row: u32, rows: usize, out: &mut SortedRows) -> Result<Sorted> {
        let started = Instant::now();
        let Some(SortedOnGpu { edges, distinct, uploaded, .. }) = self.sort_on_gpu(bin, first_row, rows)? else {
            self.left += 1;
            return self.cpu.sort(bin, first_row, rows, out);
        };
        let (room, row_count) = (self.room, rows as u64);
        let sorted = started.elapsed();
        let SortedRows { lengths, targets, weights } = out;
        let of_weights = if self.weighted { distinct as usize } else { 0 };
        for (of, len) in [(&mut *lengths, rows), (&mut *targets, distinct as usize), (&mut *weights, of_weights)] {
            of.clear();
            of.reserve_exact(len);
        }
        self.lane.receive(room.lengths.part(0..row_count), 1, |words| {
            lengths.extend_from_slice(words);
            Ok(())
        })?;
        let distinct = u64::from(distinct);
        let neighbours = room.out.part(0..distinct);
        if self.weighted {
            self.lane.receive_slices([neighbours, room.out.part(distinct..2 * distinct)], 1, |[some, of_them]| {
                targets.extend_from_slice(some);
                weights.extend_from_slice(of_them);
                Ok(())
            })?;
        } else {
            self.lane.receive(neighbours, 1, |words| {
                targets.extend_from_slice(words);
                Ok(())
            })?;
        }
        self.add_times([uploaded, sorted - uploaded, Duration::ZERO, started.elapsed() - sorted]);
        Ok(Sorted { edges: edges.into(), counted: !self.degrees.is_empty() })
    }
}

impl SortLane<'_> {
    /// Adds the times of the four steps of sorting one bin to the totals.
    fn add_times(&mut self, times: [Duration; 4]) {
        self.times.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        self.bins += 1;
    }

    fn log_times(&self) {
        let [upload, sort, wait, download] = self.times.map(|time| time.as_secs_f64());
        tracing::debug!(bins = self.bins, left = self.left, upload, sort, wait, download, "a lane's sort");
    }

    /// Sorts a bin. The rows stay in the GPU memory of this lane (GPU queue). Returns `None` if the bin does not fit
    /// there.
    fn sort_on_gpu(&mut self, bin: &BinReader<'_, '_>, first_row: u32, rows: usize) -> Result<Option<SortedOnGpu>> {
        let (lines, room) = (bin.lines(), self.room);
        if (lines * room.line_words) as u64 > room.lines.len() || rows as u64 + 1 > room.ends.len() {
            return Ok(None);
        }
        let started = Instant::now();
        self.upload(bin)?;
        let uploaded = started.elapsed();
        let unit = KernelBin {
            lines: room.lines.address(),
            line_count: lines as u32,
            rows: rows as u32,
            first_row,
            shift: bin.direction().shift(),
            ends: room.ends.address(),
            lengths: room.lengths.address(),
            starts: room.starts.address(),
            targets: room.targets.address(),
            out: room.out.address(),
            warp_rows: room.warp_rows.address(),
            block_rows: room.block_rows.address(),
            words: room.words.address(),
            degrees: if self.degrees.is_empty() { 0 } else { self.degrees.address() },
        };
        self.launch(unit)?;
        let mut results = [0; RESULT_WORDS];
        self.lane.queue().read(room.words.part(0..RESULT_WORDS as u64), &mut results)?;
        let [_, _, edges, distinct] = results;
        Ok(Some(SortedOnGpu { unit, edges, distinct, uploaded }))
    }

    /// Copies the edges of a bin to the GPU memory of this lane (GPU queue).
    fn upload(&mut self, bin: &BinReader<'_, '_>) -> Result<()> {
        let SortLane { lane, room, scratch, .. } = self;
        let (mut sent, slot) = (0, lane.slot_words());
        let mut send = |lane: &mut Lane<'_>| {
            lane.send(room.lines.part(sent..u64::MAX))?;
            sent += lane.filled() as u64;
            lane.pass()
        };
        bin.for_each_chunk_here(scratch, |mut words| {
            while !words.is_empty() {
                if lane.put(&mut words, slot)? {
                    send(lane)?;
                }
            }
            Ok(())
        })?;
        if lane.filled() > 0 {
            send(lane)?;
        }
        self.gather_device_lines(bin, (sent / self.room.line_words as u64) as u32)
    }

    /// Copies the lines (groups of 64 edges) of the bin that are in GPU memory to this lane's buffer. Line `at` of the
    /// buffer receives the first of them.
    fn gather_device_lines(&mut self, bin: &BinReader<'_, '_>, mut at: u32) -> Result<()> {
        let SortLane { lane, room, kernels, .. } = self;
        let (runs, Some(device_lines)) = bin.device_runs() else { return Ok(()) };
        for runs in runs.chunks(lane.slot_words() / 4) {
            for run in runs {
                lane.put(&mut &[run.first, at, run.lines, 0][..], usize::MAX)?;
                at += run.lines;
            }
            // `out` is not in use yet. The four words per run fit in it, because a run has at least one line.
            lane.send(room.out)?;
            let grid = lane.queue().grid(runs.len() as u64 * u64::from(THREADS));
            let arguments =
                (room.out.address(), runs.len() as u32, device_lines.lines().address(), room.lines.address());
            // SAFETY: the arguments are as the kernel declares them. The runs belong to this rank, and the caller has
            // checked that they fit the lane's memory.
            unsafe { lane.queue().launch(&kernels.bring_lines, grid, arguments)? };
            lane.pass()?;
        }
        Ok(())
    }

    fn launch(&self, bin: KernelBin) -> Result<()> {
        let (kernels, queue, room) = (&*self.kernels, self.lane.queue(), &self.room);
        let values = u64::from(bin.rows) + 1;
        let (ends, starts) = (room.ends.part(0..values), room.starts.part(0..values));
        queue.fill(ends, 0)?;
        queue.fill(starts, 0)?;
        queue.fill(room.words, 0)?;
        let edges = queue.grid(u64::from(bin.line_count) * 32);
        let by_row = queue.grid(bin.rows.into());
        // SAFETY: the arguments are as the kernels declare them. The lane's memory is for a bin of this size and used
        // by this queue alone; degrees are changed only by atomics.
        unsafe {
            queue.launch(&kernels.count_rows, edges, (bin,))?;
            kernels.scan.launch(queue, ends, room.sums)?;
            queue.launch(&kernels.fill_rows, edges, (bin,))?;
            queue.launch(&kernels.sort_short_rows, by_row, (bin,))?;
            // Only the GPU knows the number of rows for the next two kernels, so the grids are for all rows.
            queue.launch(&kernels.sort_warp_rows, queue.grid(u64::from(bin.rows) * 32), (bin,))?;
            queue.launch(&kernels.sort_block_rows, queue.grid(u64::from(bin.rows) * 256), (bin,))?;
            kernels.scan.launch(queue, starts, room.sums)?;
            queue.launch(&kernels.join_rows, by_row, (bin,))
        }
    }
}
