//! Fills bins on a GPU: the host copies batches of edges to the GPU, and the GPU returns lines (groups of 64 edges of
//! one bin). Each thread uses a *lane*: a GPU queue with slots (pinned buffers).
#![allow(unsafe_code)] // kernel launches

use super::device_lines::{DeviceLines, LineRun};
use super::gpu_plan::{COUNTS, PlacerPlan, edge_words, lane_lengths};
use super::kernel_structs::{KernelBins, KernelGathered};
use super::line::{LINE, WORDS, line_words};
use super::route::{OwnedBins, Route};
use super::{EdgePlacing, changed};
use crate::error::{Error, Result};
use crate::formats::{Edges, KroneckerParameters, Visitor};
use crate::gpu::{Arena, CopySource, DeviceSlice, Grid, Kernel, Lane, Workspace, constant};
use crate::memory::bytes_of;
use crate::prepare::edge_maker::EdgeMaker;
use crate::prepare::gpu::{HEADER, PrepareGpu, narrow, partition_program};
use crate::process::threads::on_threads;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const NO_BIN: u32 = u32::MAX;

// Checks that the kernels define the same constants as the code for CPUs.
const _: () = {
    assert!(constant(HEADER, "LINE") as usize == LINE);
    assert!(constant(HEADER, "PLAIN_WORDS") as usize == WORDS);
};

/// Placers, which put edges in bins; one for each lane (GPU queue of one thread).
pub struct Placers<'w, 'r, 'p> {
    lanes: Vec<Placer<'w, 'r, 'p>>,
}

struct SharedPlacing<'w, 'r, 'p> {
    route: &'w Route<'r, 'p>,
    /// Memory for lines (groups of 64 edges) that stay on GPUs, and the bins grouped by owner; `None` if no lines stay
    /// on GPUs.
    device_lines: Option<(&'p DeviceLines, Vec<OwnedBins>)>,
    source: &'w str,
    maker: Option<EdgeMaker>,
    gather: Kernel,
    plan_lines: Kernel,
    fill_lines: Kernel,
    keep_rest: Kernel,
    bins: KernelBins,
}

/// Placer of one thread, which puts edges in bins through the thread's lane (GPU queue).
struct Placer<'w, 'r, 'p> {
    shared: Arc<SharedPlacing<'w, 'r, 'p>>,
    lane: Lane<'w>,
    number: usize,
    raw: DeviceSlice<u32>,
    lines: DeviceSlice<u32>,
    /// GPU memory for the counts that kernels return, followed by the start of each bin's lines (groups of 64 edges).
    results: DeviceSlice<u32>,
    unit: KernelGathered,
    /// Number of 32-bit words of an edge in a batch.
    edge: usize,
    /// Number of 32-bit words of a line (group of 64 edges).
    line: usize,
    /// Number of 32-bit words of a batch of edges.
    batch: usize,
    /// Number of edges gathered since lines (groups of 64 edges) were last made. `most` is the maximum of this number.
    gathered: u64,
    most: u64,
    /// Number of self-loops whose id does not fit the 32-bit ids on the GPU.
    loops: u64,
    /// Number of times that lines (groups of 64 edges of one bin) were made from the gathered edges.
    turns: u32,
    /// Total time for making lines (groups of 64 edges of one bin) on the GPU.
    making: Duration,
    /// Total time for storing lines (groups of 64 edges) in their bins.
    storing: Duration,
}

impl<'w, 'r, 'p> Placers<'w, 'r, 'p> {
    /// Makes the placers, which put edges in bins. `map` maps ids to vertices, and `device_map` is a copy of it in GPU
    /// memory, if one exists. Returns `None` if GPU memory is too small.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn start(
        gpu: &'w mut PrepareGpu<'_>,
        route: &'w Route<'r, 'p>,
        (map, device_map): (&'w [u32], Option<DeviceSlice<u32>>),
        (source, parameters): (&'w str, Option<KroneckerParameters>),
    ) -> Result<Option<Self>> {
        let batch = gpu.largest_batch();
        let plan = |workspace: &Workspace| PlacerPlan::new(workspace, route, map, device_map.is_some(), batch);
        gpu.begin("partition", plan, |workspace, plan| {
            let maker = EdgeMaker::new(workspace, parameters)?;
            Placers::new(workspace, plan, route, (map, device_map), (source, maker))
        })
    }

    /// Allocates the planned memory in `workspace`, and makes a placer for each lane (GPU queue of one thread).
    fn new(
        workspace: &'w mut Workspace,
        plan: PlacerPlan,
        route: &'w Route<'r, 'p>,
        (map, device_map): (&[u32], Option<DeviceSlice<u32>>),
        (source, maker): (&'w str, Option<EdgeMaker>),
    ) -> Result<Self> {
        let names = ["gather_edges", "plan_lines", "fill_lines", "keep_rest"];
        let [gather, plan_lines, fill_lines, keep_rest] = workspace.kernels(partition_program(plan.weighted), names)?;
        let Workspace { queue, uploader, arena, .. } = workspace;
        let (mantissa, of_granule) = route.bins().table();
        let wanted = |&bin: &u32| if route.wants(bin as usize) { bin } else { NO_BIN };
        let of_granule: Vec<u32> = of_granule.iter().map(wanted).collect();
        let starts: Vec<u32> = route.bins().spans.iter().map(|span| span.rows.start as u32).collect();
        let on_gpu = match device_map {
            Some(on_gpu) => on_gpu,
            None => {
                let on_gpu = arena.take_planned::<u32>(map.len() as u64)?;
                uploader.upload(&[(CopySource::Memory(bytes_of(map)), on_gpu.as_bytes())], &|| Ok(()))?.wait()?;
                on_gpu
            }
        };
        let mut write = |table: &[u32]| {
            let span = arena.take_planned::<u32>(table.len() as u64)?;
            queue.write(table, span).map(|()| span.address())
        };
        let (of_granule, starts) = (write(&of_granule)?, write(&starts)?);
        let count = route.bins().spans.len() as u32;
        let (ids, shift) = (map.len() as u32, route.bins().direction().shift());
        let bins = KernelBins { map: on_gpu.address(), ids, mantissa, of_granule, starts, count, shift };
        let shared = SharedPlacing {
            route,
            device_lines: route.device_lines(),
            source,
            maker,
            gather,
            plan_lines,
            fill_lines,
            keep_rest,
            bins,
        };
        let shared = Arc::new(shared);
        let lanes = uploader.lanes()?.into_iter().take(plan.lanes).enumerate();
        let placer = |(number, lane)| Placer::new(shared.clone(), lane, number, plan, arena);
        let lanes = lanes.map(placer).collect::<Result<_>>()?;
        Ok(Placers { lanes })
    }
}

impl EdgePlacing for Placers<'_, '_, '_> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.lanes.iter_mut().map(|placer| placer as &mut dyn Visitor).collect()
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let loops = AtomicU64::new(0);
        on_threads(self.lanes.into_iter(), |placer| {
            loops.fetch_add(placer.finish()?, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(loops.into_inner())
    }
}

impl<'w, 'r, 'p> Placer<'w, 'r, 'p> {
    fn new(
        shared: Arc<SharedPlacing<'w, 'r, 'p>>,
        lane: Lane<'w>,
        number: usize,
        plan: PlacerPlan,
        arena: &mut Arena,
    ) -> Result<Self> {
        let bins = u64::from(shared.bins.count);
        let (edge, line) = (edge_words(plan.weighted), line_words(plan.weighted));
        let [raw, edges, lines, rest, results, counts, rest_starts, placed] =
            arena.take_all(lane_lengths(plan.batch, plan.gathered, bins, plan.weighted))?;
        let unit = KernelGathered {
            edges: edges.address(),
            counts: counts.address(),
            line_starts: results.part(COUNTS..u64::MAX).address(),
            rest_starts: rest_starts.address(),
            placed: placed.address(),
            lines: lines.address(),
            rest: rest.address(),
            words: results.address(),
        };
        lane.queue().fill(counts, 0)?;
        lane.queue().fill(results, 0)?;
        let (edge, batch, most) = (edge as usize, (edge * plan.batch) as usize, plan.gathered);
        let (turns, making, storing) = (0, Duration::ZERO, Duration::ZERO);
        let (gathered, loops) = (0, 0);
        Ok(Placer {
            shared,
            lane,
            number,
            raw,
            lines,
            results,
            unit,
            edge,
            line,
            batch,
            gathered,
            most,
            loops,
            turns,
            making,
            storing,
        })
    }

    /// Adds edges: pairs of ids, or triples of two ids and a weight.
    fn push(&mut self, mut words: &[u32]) -> Result<()> {
        while !words.is_empty() {
            if self.lane.put(&mut words, self.batch)? {
                self.gather()?;
            }
        }
        Ok(())
    }

    /// Copies the edges in the current slot (pinned buffer) to the GPU, and adds them to the gathered edges.
    fn gather(&mut self) -> Result<()> {
        let edges = (self.lane.filled() / self.edge) as u64;
        if edges == 0 {
            return Ok(());
        }
        self.lane.send(self.raw)?;
        self.gather_raw(edges)
    }

    /// Adds the `edges` edges in the buffer `raw` to the gathered edges. Work that is already in the queue fills this
    /// buffer.
    fn gather_raw(&mut self, edges: u64) -> Result<()> {
        let Placer { shared, lane, raw, unit, .. } = self;
        let arguments = (raw.address(), edges as u32, shared.bins, *unit);
        // SAFETY: the arguments are as the kernel declares them; there is memory for `most` edges, which `gathered`
        // does not exceed.
        unsafe { lane.queue().launch(&shared.gather, lane.queue().grid(edges), arguments)? };
        lane.pass()?;
        self.gathered += edges;
        // Make lines now if the next batch would not fit.
        if self.gathered + (self.batch / self.edge) as u64 > self.most {
            self.make_lines(false).map(drop)
        } else {
            Ok(())
        }
    }

    /// Makes lines (groups of 64 edges of one bin) from the gathered edges, and puts the lines into their bins. Edges
    /// that fill no whole line stay for the next call, unless this is the `last` call. Returns the number of self-loops
    /// so far.
    fn make_lines(&mut self, last: bool) -> Result<u64> {
        let Placer { shared, lane, number, lines, results, unit, gathered, line: line_words, .. } = self;
        let line_words = *line_words;
        let started = Instant::now();
        let bins = shared.bins.count;
        let (queue, by_edge) = (lane.queue(), lane.queue().grid(*gathered));
        if last {
            // Elements without an edge in the last lines get the neighbour `NONE`.
            queue.fill(*lines, 0xff)?;
        }
        // SAFETY: the arguments are as the kernels declare them, and all slices live as long as the lane.
        unsafe {
            let one = Grid { blocks: 1, threads: 1024, shared: 0 };
            queue.launch(&shared.plan_lines, one, (bins, u32::from(last), *unit))?;
            queue.launch(&shared.fill_lines, by_edge, (shared.bins, *unit))?;
            queue.launch(&shared.keep_rest, by_edge, (*unit,))?;
        }
        let mut numbers = vec![0; results.len() as usize];
        queue.read(*results, &mut numbers)?;
        let made = started.elapsed();
        let (counts, starts) = numbers.split_at(COUNTS as usize);
        if counts[1] != 0 {
            return Err(changed(shared.source));
        }
        let line = |line: u32| u64::from(line) * line_words as u64;
        // Lines that do not fit the memory on GPUs are copied to the host.
        let everything = [(usize::MAX, 0..bins as usize)];
        let groups = shared.device_lines.as_ref().map_or(&everything[..], |(_, groups)| groups);
        for (owner, group) in groups {
            let (first, end) = (starts[group.start], starts[group.end]);
            let run = match &shared.device_lines {
                Some((device_lines, _)) => device_lines.put(queue, *owner, lines.part(line(first)..line(end)))?,
                None => LineRun { first: 0, lines: 0 },
            };
            let stays = first + run.lines;
            for bin in group.clone() {
                let part = starts[bin]..starts[bin + 1].min(stays);
                if !part.is_empty() {
                    let run = LineRun { first: run.first + part.start - first, lines: part.len() as u32 };
                    shared.route.send_run(*number, bin, run)?;
                }
            }
            let (mut bin, mut at) = (group.start, stays);
            lane.receive(lines.part(line(stays)..line(end)), line_words, |mut words| {
                while !words.is_empty() {
                    while starts[bin + 1] <= at {
                        bin += 1;
                    }
                    let lines = ((starts[bin + 1] - at) as usize).min(words.len() / line_words);
                    let (now, later) = words.split_at(lines * line_words);
                    shared.route.lines(*number, bin, now)?;
                    at += lines as u32;
                    words = later;
                }
                Ok(())
            })?;
        }
        *gathered = (LINE as u64 - 1) * u64::from(bins);
        self.turns += 1;
        self.making += made;
        self.storing += started.elapsed() - made;
        Ok(u64::from(counts[2]) | (u64::from(counts[3]) << 32))
    }

    /// Adds edges with their weights, and checks that ids fit 32 bits.
    fn weighted<T: Copy + Into<u64>>(&mut self, edges: &[[T; 2]], weights: &[u32]) -> Result<()> {
        if weights.len() != edges.len() {
            return Err(Error::internal("place edges", "fewer weights than edges"));
        }
        let mut words = [[0u32; 3]; 512];
        for (edges, weights) in edges.chunks(words.len()).zip(weights.chunks(words.len())) {
            let mut filled = 0;
            for (&[u, v], &weight) in edges.iter().zip(weights) {
                let (u, v): (u64, u64) = (u.into(), v.into());
                match (u32::try_from(u), u32::try_from(v)) {
                    (Ok(u), Ok(v)) => {
                        words[filled] = [u, v, weight];
                        filled += 1;
                    }
                    _ => self.oversized(u, v)?,
                }
            }
            self.push(words[..filled].as_flattened())?;
        }
        Ok(())
    }

    /// Counts a self-loop whose id does not fit 32 bits. Any other edge with such an id is an error: the first pass
    /// over the input found none, so the input has changed.
    fn oversized(&mut self, u: u64, v: u64) -> Result<()> {
        if u != v {
            return Err(changed(self.shared.source));
        }
        self.loops += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        self.gather()?;
        let loops = self.loops + self.make_lines(true)?;
        // Wait until the copies to other ranks' GPUs have ended, because these ranks read the lines next.
        self.lane.finish()?;
        let Placer { turns, making, storing, lane, .. } = &self;
        let [making, storing, waited] = [*making, *storing, lane.waited()].map(|time| time.as_secs_f64());
        tracing::debug!(turns, making, storing, waited, "a lane's partition");
        Ok(loops)
    }
}

impl Visitor for Placer<'_, '_, '_> {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        match edges {
            _ if self.edge == 2 => narrow(self, edges, Placer::push, Placer::oversized),
            Edges::Narrow(edges) => self.weighted(edges, weights),
            Edges::Wide(edges) => self.weighted(edges, weights),
        }
    }

    fn make(&mut self, edges: Range<u64>) -> Result<bool> {
        let shared = Arc::clone(&self.shared);
        let Some(maker) = shared.maker.as_ref().filter(|_| self.edge == 2) else { return Ok(false) };
        self.gather()?;
        let batch = (self.batch / self.edge) as u64;
        for first in edges.clone().step_by(batch as usize) {
            let some = first..edges.end.min(first + batch);
            maker.make(self.lane.queue(), some.clone(), self.raw)?;
            self.gather_raw(some.end - some.start)?;
        }
        Ok(true)
    }
}
