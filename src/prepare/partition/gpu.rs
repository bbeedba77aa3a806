//! Fills bins on a GPU: batches of edges are copied there, and lines of bins come back.
#![allow(unsafe_code)] // kernel launches

use super::device_lines::{DeviceLines, LineRun};
use super::kernel_structs::{Bins, Gathered};
use super::route::{Group, Route};
use super::{LINE, Placing, WORDS, changed};
use crate::error::Result;
use crate::formats::{Edges, Visitor};
use crate::gpu::{Arena, CopySource, DeviceSlice, Grid, Kernel, Lane, Workspace, slice_bytes};
use crate::graph;
use crate::memory::bytes_of;
use crate::prepare::gpu::{LARGEST_BATCH, PARTITION, narrow};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Words of the smallest batch that is worth a launch.
const LEAST_BATCH: u64 = 4096;
/// Most edges that a lane gathers before it makes lines of them. More make longer runs of lines, but the thread waits longer.
const MOST_GATHERED: u64 = 8 << 20;
/// Words that kernels return counts in.
const COUNTS: u64 = 8;
const NO_BIN: u32 = u32::MAX;

/// How partitioning divides the GPU's memory.
#[derive(Debug, Clone, Copy)]
pub struct PlacerPlan {
    lanes: usize,
    /// Words of a batch.
    batch: u64,
    /// Most edges that a lane gathers.
    gathered: u64,
}

/// Fills bins on a GPU.
pub struct Placers<'w, 'r, 'p> {
    lanes: Vec<Placer<'w, 'r, 'p>>,
}

struct Shared<'w, 'r, 'p> {
    route: &'w Route<'r, 'p>,
    /// Where lines can stay on GPUs, with the consecutive bins of each rank.
    device_lines: Option<(&'p DeviceLines, Vec<Group>)>,
    source: &'w str,
    gather: Kernel,
    plan_lines: Kernel,
    fill_lines: Kernel,
    keep_rest: Kernel,
    bins: Bins,
}

/// Fills bins on a GPU, for one thread.
struct Placer<'w, 'r, 'p> {
    shared: Arc<Shared<'w, 'r, 'p>>,
    lane: Lane<'w>,
    number: usize,
    raw: DeviceSlice<u32>,
    lines: DeviceSlice<u32>,
    /// The counts of the kernels, then the start of each bin's lines.
    results: DeviceSlice<u32>,
    unit: Gathered,
    /// Words of a batch.
    batch: usize,
    /// Edges that are gathered now, and at most.
    gathered: u64,
    most: u64,
    /// Loops at ids that the GPU's 32 bits can't hold.
    loops: u64,
    /// How often lines were made, how long that took, and how long they took to store.
    turns: u32,
    making: Duration,
    storing: Duration,
}

/// Returns the most lines that `gathered` edges of `bins` bins make.
fn most_lines(gathered: u64, bins: u64) -> u64 {
    gathered / LINE as u64 + bins
}

fn lane_bytes(batch: u64, gathered: u64, bins: u64) -> u64 {
    let by_bin = 4 * slice_bytes::<u32>(bins + 1 + COUNTS);
    let rest = slice_bytes::<u32>(2 * LINE as u64 * bins);
    let lines = slice_bytes::<u32>(most_lines(gathered, bins) * WORDS as u64);
    slice_bytes::<u32>(batch) + slice_bytes::<u32>(2 * gathered) + lines + by_bin + rest
}

/// Returns the most edges that partly filled lines of `bins` bins hold, which should be few of those gathered; the words of the largest
/// batch, at most `batch`; and the edges that are worth gathering.
fn largest(slot: u64, bins: u64, batch: u64) -> (u64, u64, u64) {
    let left = LINE as u64 * bins;
    let batch = (slot / 4).min(batch) & !63;
    (left, batch, MOST_GATHERED.max(4 * left + batch))
}

/// Returns the bytes of GPU memory with which all lanes place `edges` edges at full speed.
pub fn ample_bytes(workspace: &Workspace, bins: &graph::layout::Bins, ids: u64, edges: u64) -> u64 {
    let (lanes, slot) = workspace.uploader.shape();
    let (count, (_, of_granule)) = (bins.spans.len() as u64, bins.table());
    let (left, batch, gathered) = largest(slot, count, LARGEST_BATCH);
    let each = edges / lanes as u64 + LEAST_BATCH;
    let (batch, gathered) = (batch.min(2 * each), gathered.min(2 * (left + each)));
    let tables = slice_bytes::<u32>(of_granule.len() as u64) + slice_bytes::<u32>(count);
    slice_bytes::<u32>(ids) + tables + lanes as u64 * lane_bytes(batch, gathered, count)
}

impl<'w, 'r, 'p> Placers<'w, 'r, 'p> {
    /// Plans memory for the map, unless it is on the GPU, and for lanes with batches of at most `batch` words. Returns `None` if it does
    /// not fit.
    pub fn plan(
        workspace: &Workspace,
        route: &Route<'_, '_>,
        map: &[u32],
        map_on_gpu: bool,
        batch: u64,
    ) -> Option<PlacerPlan> {
        let (most_lanes, slot) = workspace.uploader.shape();
        let bins = route.bins().spans.len() as u64;
        let (_, of_granule) = route.bins().table();
        let tables = slice_bytes::<u32>(of_granule.len() as u64) + slice_bytes::<u32>(bins);
        let map_bytes = if map_on_gpu { 0 } else { slice_bytes::<u32>(map.len() as u64) };
        let free = workspace.arena.free().checked_sub(map_bytes + tables)?;
        if map.len() as u64 >= u64::from(u32::MAX) {
            return None;
        }
        let (left, largest_batch, most) = largest(slot, bins, batch);
        let fits = |batch: u64, gathered: u64| {
            let lanes = (free / lane_bytes(batch, gathered, bins)).min(most_lanes as u64) as usize;
            (lanes > 0).then_some(PlacerPlan { lanes, batch, gathered })
        };
        let halves = std::iter::successors(Some(most), |gathered| Some(gathered / 2));
        let mut plans: Vec<PlacerPlan> = Vec::new();
        for gathered in halves.take_while(|&gathered| gathered >= left + LEAST_BATCH) {
            let batch = largest_batch.min((gathered / 2).min((gathered - left) * 2) & !63).max(LEAST_BATCH);
            plans.extend(fits(batch, gathered));
        }
        // The largest plan that has all lanes is best, else the one with most lanes.
        let full = plans.iter().find(|plan| plan.lanes == most_lanes);
        full.or(plans.iter().max_by_key(|plan| plan.lanes)).copied()
    }

    /// Takes memory of `workspace` as planned.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn new(
        workspace: &'w mut Workspace,
        plan: PlacerPlan,
        route: &'w Route<'r, 'p>,
        (map, device_map): (&[u32], Option<DeviceSlice<u32>>),
        source: &'w str,
    ) -> Result<Self> {
        let kernel = |name| workspace.kernel(&PARTITION, name);
        let (gather, plan_lines) = (kernel("gather_edges")?, kernel("plan_lines")?);
        let (fill_lines, keep_rest) = (kernel("fill_lines")?, kernel("keep_rest")?);
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
        let tables = [&of_granule, &starts].map(|table| {
            let span = arena.take_planned::<u32>(table.len() as u64)?;
            queue.write(table, span).map(|()| span.address())
        });
        let [of_granule, starts] = tables;
        let count = route.bins().spans.len() as u32;
        let (of_granule, starts) = (of_granule?, starts?);
        let (ids, shift) = (map.len() as u32, route.bins().direction().shift());
        let bins = Bins { map: on_gpu.address(), ids, mantissa, of_granule, starts, count, shift };
        let shared = Shared {
            route,
            device_lines: route.device_lines(),
            source,
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

impl Placing for Placers<'_, '_, '_> {
    fn visitors(&mut self) -> Vec<&mut dyn Visitor> {
        self.lanes.iter_mut().map(|placer| placer as &mut dyn Visitor).collect()
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        std::thread::scope(|scope| {
            let ends: Vec<_> = self.lanes.into_iter().map(|placer| scope.spawn(move || placer.finish())).collect();
            ends.into_iter().map(|end| end.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).sum()
        })
    }
}

impl<'w, 'r, 'p> Placer<'w, 'r, 'p> {
    fn new(
        shared: Arc<Shared<'w, 'r, 'p>>,
        lane: Lane<'w>,
        number: usize,
        plan: PlacerPlan,
        arena: &mut Arena,
    ) -> Result<Self> {
        let mut take = |len| arena.take_planned::<u32>(len);
        let bins = u64::from(shared.bins.count);
        let lines = take(most_lines(plan.gathered, bins) * WORDS as u64)?;
        let results = take(COUNTS + bins + 1)?;
        let counts = take(bins)?;
        let unit = Gathered {
            edges: take(2 * plan.gathered)?.address(),
            counts: counts.address(),
            line_starts: results.part(COUNTS..u64::MAX).address(),
            rest_starts: take(bins)?.address(),
            placed: take(bins)?.address(),
            lines: lines.address(),
            rest: take(2 * LINE as u64 * bins)?.address(),
            words: results.address(),
        };
        let raw = take(plan.batch)?;
        lane.queue().fill(counts, 0)?;
        lane.queue().fill(results, 0)?;
        let (batch, most) = (plan.batch as usize, plan.gathered);
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
            batch,
            gathered,
            most,
            loops,
            turns,
            making,
            storing,
        })
    }

    /// Adds pairs of ids.
    fn push(&mut self, mut ids: &[u32]) -> Result<()> {
        while !ids.is_empty() {
            if self.lane.put(&mut ids, self.batch)? {
                self.gather()?;
            }
        }
        Ok(())
    }

    /// Gathers the edges of the slot on the GPU.
    fn gather(&mut self) -> Result<()> {
        let Placer { shared, lane, raw, unit, .. } = self;
        let pairs = lane.filled() as u64 / 2;
        if pairs == 0 {
            return Ok(());
        }
        lane.send(*raw)?;
        let arguments = (raw.address(), pairs as u32, shared.bins, *unit);
        // SAFETY: the arguments are as the kernel declares them; there is room for `most` edges, which `gathered` does not exceed.
        unsafe { lane.queue().launch(&shared.gather, lane.queue().grid(pairs), arguments)? };
        lane.pass()?;
        self.gathered += pairs;
        // The next batch must find room.
        if self.gathered + self.batch as u64 / 2 > self.most { self.hand_over(false).map(drop) } else { Ok(()) }
    }

    /// Makes lines of the gathered edges and puts them into the bins. Edges that fill no line stay for the next time, except at the `last`.
    /// Returns the number of loops met so far.
    fn hand_over(&mut self, last: bool) -> Result<u64> {
        let Placer { shared, lane, number, lines, results, unit, gathered, .. } = self;
        let started = Instant::now();
        let bins = shared.bins.count;
        let (queue, by_edge) = (lane.queue(), lane.queue().grid(*gathered));
        if last {
            // Entries of the last lines without an edge get the neighbour `NONE`.
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
        let line = |line: u32| u64::from(line) * WORDS as u64;
        // Lines that find no room on a GPU come to the host.
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
            lane.receive(lines.part(line(stays)..line(end)), WORDS, |mut words| {
                while !words.is_empty() {
                    while starts[bin + 1] <= at {
                        bin += 1;
                    }
                    let lines = ((starts[bin + 1] - at) as usize).min(words.len() / WORDS);
                    let (now, later) = words.split_at(lines * WORDS);
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

    /// Handles an edge with an id that the GPU's 32 bits can't hold. Ingest has met no such edge except loops.
    fn beyond(&mut self, u: u64, v: u64) -> Result<()> {
        if u != v {
            return Err(changed(self.shared.source));
        }
        self.loops += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        self.gather()?;
        let loops = self.loops + self.hand_over(true)?;
        // Other ranks read the lines that this one copied to them, so the copies must have ended.
        self.lane.finish()?;
        let Placer { turns, making, storing, lane, .. } = &self;
        let [making, storing, waited] = [*making, *storing, lane.waited()].map(|time| time.as_secs_f64());
        tracing::debug!(turns, making, storing, waited, "a lane's partition");
        Ok(loops)
    }
}

impl Visitor for Placer<'_, '_, '_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        narrow(self, edges, Placer::push, Placer::beyond)
    }
}
