//! What a job will need, before it runs: memory, disk and time of every stage. `gpugraph plan` prints it, and `run`
//! refuses by it what does not fit.
//!
//! Before the first pass over the input, figures are bounds made from what the file tells cheaply ([`Plan::before`]).
//! After it, degrees are known, and the same functions that size the run's buffers give its figures ([`Plan::after`]).
//! A bound may be far above the truth, so a job is refused only for what it surely needs; `maybe` says the rest.

use super::graph::Facts;
use super::guess::{Guess, guess};
use super::machine::{Machine, least_gpu_memory};
use super::manifest::Manifest;
use super::needs::{PAGE, counting, kept, looking_up, needs, results_bytes, store_bytes};
use super::rates::{self, Work};
use super::{clean, host};
use crate::algo::triangle::driver;
use crate::config::{InputSpec, Job, size};
use crate::error::Result;
use crate::formats::{Input, Kept};
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::prepare::dictionary::Dictionary;
use crate::prepare::partition::{EDGE_BYTES, LINE};
use crate::prepare::shares::{Needs, Shape, Shares, Sizes};
use crate::prepare::{ingest, order, relabel};
use serde::Serialize;
use std::path::PathBuf;

/// Bytes of manifest, report, log, status and journals, with room to spare.
const SMALL_FILES: u64 = 256 << 10;

/// Where the figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Bounds from the input's size and a look at some of it.
    Size,
    /// The degrees, as ingest found them.
    Degrees,
    /// The stored graph of another job.
    Prepared,
}

/// A stage to come.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// Its name in the report.
    pub name: &'static str,
    /// Whether an earlier run did it.
    pub done: bool,
    /// Most bytes of host memory while it runs.
    pub host_memory: u64,
    /// Most bytes of GPU memory.
    pub gpu_memory: u64,
    /// Most bytes in the workdir while it runs.
    pub disk: u64,
    /// About how many seconds it takes; within a factor of two on a machine like the one its rates were measured on.
    pub seconds: f64,
}

/// What a job will need.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Name of the job.
    pub job: String,
    /// Its workdir.
    pub workdir: PathBuf,
    /// The input, in words.
    pub input: String,
    /// Where the figures come from.
    pub basis: Basis,
    /// Edges of the input, at most.
    pub edges: u64,
    /// Ids that the map spans, at most.
    pub ids: u64,
    /// Blocks; about as many where degrees are not known yet.
    pub blocks: u64,
    /// Units of counting, likewise.
    pub units: u64,
    /// Threads.
    pub threads: usize,
    /// What it counts triangles on: `cpu` or `gpu`.
    pub device: &'static str,
    /// The GPU, in words.
    pub gpu: Option<String>,
    /// The limit.
    pub host_memory_limit: u64,
    /// Most host memory of all stages.
    pub host_memory: u64,
    /// The smallest limit that surely would do.
    pub host_memory_needed: u64,
    /// The limit of GPU memory, where there is a GPU.
    pub gpu_memory_limit: Option<u64>,
    /// Most GPU memory of all stages.
    pub gpu_memory: u64,
    /// Most bytes in the workdir.
    pub disk: u64,
    /// Bytes that the workdir may have: what is free, and what is in it.
    pub disk_free: u64,
    /// Seconds of all stages to come.
    pub seconds: f64,
    /// The stages.
    pub stages: Vec<Stage>,
    /// Bytes of host memory in which what comes from the disk is kept between passes, at most.
    #[serde(skip)]
    pub(super) kept: u64,
    /// What may not fit: the bound exceeds a limit, the truth may not.
    pub maybe: Vec<String>,
    /// What the job surely needs; equal to the bounds once degrees are known.
    #[serde(skip)]
    pub(super) surely: Surely,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Surely {
    pub(super) host_memory: u64,
    pub(super) gpu_memory: u64,
    pub(super) disk: u64,
}

/// What the sizes of a graph are computed from, bounds or truth.
struct Sized {
    basis: Basis,
    edges: u64,
    kept: u64,
    ids: u64,
    connected: u64,
    runs: u64,
    sparse: bool,
    sizes: Result<Sizes, u64>,
    longest_row: u64,
    block_rows: u64,
    blocks: u64,
    block_bytes: u64,
    /// Fewest bytes of GPU memory, as far as they are known.
    gpu_memory: u64,
    work: Work,
}

impl Plan {
    /// The plan of a job, by what is known: the degrees where ingest has run on this input, else its size.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where the input can't be read; [`crate::Error::Io`], [`crate::Error::Corrupt`] of a prepared graph.
    pub fn of(job: &Job) -> Result<Plan> {
        let machine = &Machine::here(job);
        if let InputSpec::Prepared(other) = &job.input {
            return Plan::prepared(job, machine, other);
        }
        let input = super::input::open(&job.input)?;
        let identity = super::graph::input_key(&input)?;
        // A damaged manifest tells nothing, to the run neither.
        let manifest = Manifest::load(&job.workdir).ok().flatten().unwrap_or_default();
        if let Some(facts) = manifest.found::<Facts>("relabel", identity)
            && let Ok(runs) = order::read_runs(&job.workdir.join("graph"), facts.content)
        {
            let layout = Layout::new(&runs, facts.edges - facts.loops);
            let mut plan = Plan::after(job, machine, &input, &facts, &runs, &layout)?;
            plan.mark_done(&manifest, facts.content);
            return Ok(plan);
        }
        Plan::before(job, machine, &input)
    }

    /// From the size of the input and a look at some of it.
    ///
    /// # Errors
    /// [`crate::Error::Input`], [`crate::Error::Io`].
    pub fn before(job: &Job, machine: &Machine, input: &Input) -> Result<Plan> {
        let Guess { edges, edges_about, distinct, ids, ids_at_least, sparse } = guess(input, &job.input)?;
        let Machine { host_memory: limit, threads, .. } = *machine;
        let connected = ids.min(2 * edges);
        let reading = input.scratch_bytes(threads);
        let needs = Needs { edges, ids, reading: reading + looking_up(sparse, ids), threads };
        let shape = Shape::at_most(edges, connected);
        let target = Layout::block_target(edges);
        let blocks = edges.div_ceil(target);
        let most_blocks = 4 * edges / target + 2;
        let sized = Sized {
            basis: Basis::Size,
            edges,
            kept: edges,
            ids,
            connected,
            // r different degrees need r²/4 edges.
            runs: 2 * edges.isqrt() + 1,
            sparse,
            sizes: Sizes::new(shape, needs, limit.saturating_sub(machine.own())),
            longest_row: (2 * edges).isqrt() + 1,
            block_rows: connected,
            blocks,
            block_bytes: (stored::body_bytes(0, 0) + 192 + PAGE) * most_blocks + 4 * connected + 4 * distinct,
            gpu_memory: 0,
            work: Work::guess(edges_about, &job.input),
        };
        let mut plan = Plan::made(job, machine, input, &sized);
        // Blocks may come out half as large where every edge is listed from both ends.
        let least_ids = 4 * ids_at_least;
        let ingest = ingest::scratch_bytes(0, threads) + reading + least_ids;
        let disk = 2 * edges_about.min(distinct);
        plan.surely = Surely { host_memory: machine.own() + ingest, disk, ..Surely::default() };
        // As a layout's longest row is bounded.
        plan.say_maybe(least_gpu_memory(job, 2 * (edges.isqrt() + 1), connected));
        Ok(plan)
    }

    /// From the degrees, for a run or before one.
    ///
    /// # Errors
    /// None in practice; [`crate::Error::Io`] where free disk can't be told.
    pub fn after(
        job: &Job,
        machine: &Machine,
        input: &Input,
        facts: &Facts,
        runs: &DegreeRuns,
        layout: &Layout,
    ) -> Result<Plan> {
        let threads = machine.threads;
        let free = machine.host_memory.saturating_sub(machine.own());
        let spans: Vec<_> = (0..layout.blocks()).map(|b| layout.block(b).len() as u64).collect();
        let sized = Sized {
            basis: Basis::Degrees,
            edges: facts.edges,
            kept: facts.edges - facts.loops,
            ids: facts.ids,
            connected: facts.connected,
            runs: facts.runs,
            sparse: facts.sparse,
            sizes: Shares::new(layout, needs(facts, input, threads), free).map(|shares| shares.sizes),
            longest_row: runs.longest_row(),
            block_rows: spans.iter().copied().max().unwrap_or(0),
            blocks: spans.len() as u64,
            block_bytes: store_bytes(facts, layout),
            gpu_memory: least_gpu_memory(job, layout.longest_row(), facts.connected),
            work: Work::of(runs, facts.distinct_at_most),
        };
        let mut plan = Plan::made(job, machine, input, &sized);
        let gpu_memory = sized.gpu_memory;
        plan.surely = Surely { host_memory: plan.host_memory_needed, gpu_memory, disk: plan.disk };
        Ok(plan)
    }

    fn prepared(job: &Job, machine: &Machine, other: &std::path::Path) -> Result<Plan> {
        let graph = super::run::open_prepared_unread(other)?;
        let (threads, most) = (machine.threads, graph.catalogue.extremes());
        let vertices = graph.facts.connected;
        let runs = order::read_runs(&graph.folder, graph.facts.content)?;
        let least = least_gpu_memory(job, graph.catalogue.layout.longest_row(), vertices);
        let gpu = machine.counts(job, least);
        let host_memory = machine.own() + counting(job, gpu.is_some(), vertices, threads, most.row, most.rows);
        let blocks = graph.catalogue.len();
        let seconds = rates::counting(Work::of(&runs, graph.stored.edges), threads);
        let disk = results_bytes(job, graph.facts.vertices, vertices, graph.facts.sparse) + SMALL_FILES;
        let gpu_memory = machine.gpu_memory();
        let stage = Stage { name: "triangle", done: false, host_memory, gpu_memory, disk, seconds };
        let mut plan = Plan {
            input: format!("the prepared graph of {}", other.display()),
            basis: Basis::Prepared,
            edges: graph.facts.edges,
            ids: graph.facts.ids,
            blocks: blocks as u64,
            units: driver::units(blocks),
            host_memory_needed: host_memory,
            ..Plan::empty(job, machine, least)
        };
        plan.take(job.triangle.map(|_| stage).into_iter().collect());
        plan.surely = Surely { host_memory, gpu_memory: least, disk };
        Ok(plan)
    }

    fn empty(job: &Job, machine: &Machine, gpu_memory: u64) -> Plan {
        // Where free disk can't be told, a full disk will tell.
        let free = host::free_disk(&job.workdir).unwrap_or(u64::MAX / 2);
        Plan {
            job: job.name.clone(),
            workdir: job.workdir.clone(),
            input: String::new(),
            basis: Basis::Size,
            edges: 0,
            ids: 0,
            blocks: 0,
            units: 0,
            threads: machine.threads,
            device: if machine.counts(job, gpu_memory).is_some() { "gpu" } else { "cpu" },
            gpu: machine.gpu.as_ref().map(|gpu| gpu.name.clone()),
            host_memory_limit: machine.host_memory,
            host_memory: 0,
            host_memory_needed: 0,
            gpu_memory_limit: machine.gpu.as_ref().and_then(|gpu| gpu.memory),
            gpu_memory: 0,
            disk: 0,
            disk_free: free + clean::size_of_tree(&job.workdir),
            seconds: 0.0,
            stages: Vec::new(),
            kept: 0,
            maybe: machine.missing.iter().cloned().collect(),
            surely: Surely::default(),
        }
    }

    fn made(job: &Job, machine: &Machine, input: &Input, sized: &Sized) -> Plan {
        let mut plan = Plan {
            input: format!("{}, {}", input.name(), size::show(input.bytes())),
            basis: sized.basis,
            edges: sized.edges,
            ids: sized.ids,
            blocks: sized.blocks,
            units: driver::units(sized.blocks as usize),
            ..Plan::empty(job, machine, sized.gpu_memory)
        };
        let stages;
        (stages, plan.host_memory_needed, plan.kept) = self::stages(job, input, sized, machine);
        plan.take(stages);
        plan
    }

    fn take(&mut self, mut stages: Vec<Stage>) {
        // No stage exceeds the limit: one that can't keep within it does not begin.
        for stage in &mut stages {
            stage.host_memory = stage.host_memory.min(self.host_memory_limit);
        }
        self.host_memory = stages.iter().map(|s| s.host_memory).max().unwrap_or(0);
        self.gpu_memory = stages.iter().map(|s| s.gpu_memory).max().unwrap_or(0);
        self.disk = stages.iter().map(|s| s.disk).max().unwrap_or(0);
        self.seconds = stages.iter().map(|s| s.seconds).sum();
        self.stages = stages;
    }

    fn mark_done(&mut self, manifest: &Manifest, content: u64) {
        let stored =
            manifest.found::<super::graph::Stored>("sort", content).is_some() && self.workdir.join("graph").is_dir();
        for stage in &mut self.stages {
            stage.done = match stage.name {
                "partition" | "sort" => stored,
                "triangle" => false,
                _ => true,
            };
        }
        // The sum of nothing would be -0.
        self.seconds = 0.0 + self.stages.iter().filter(|s| !s.done).map(|s| s.seconds).sum::<f64>();
    }
}

/// Stages in order, the smallest limit that does for all of them, and bytes of input that may be kept within the limit.
fn stages(job: &Job, input: &Input, s: &Sized, machine: &Machine) -> (Vec<Stage>, u64, u64) {
    let (own, threads) = (machine.own(), machine.threads);
    let reading = input.scratch_bytes(threads);
    let index = looking_up(s.sparse, s.ids);
    let least_ingest = own + ingest::scratch_bytes(0, threads) + reading + ingest::degrees_bytes(s.ids) + index;
    // The threads' own counters are as large as the limit allows.
    let ingest = least_ingest + ingest::scratch_bytes(s.ids, threads);
    let relabel = own + 4 * s.ids + relabel::scratch_bytes(threads, s.edges);
    let gpu = machine.counts(job, s.gpu_memory);
    let triangle = own + counting(job, gpu.is_some(), s.connected, threads, s.longest_row, s.block_rows);
    let (partition, sort, spill, smallest) = match s.sizes {
        Ok(sizes) => (own + sizes.partitioning, own + sizes.sorting, sizes.spill, sizes.smallest),
        // All edges may have to be spilled then.
        Err(smallest) => (u64::MAX, u64::MAX, EDGE_BYTES * (s.kept + LINE as u64), smallest),
    };
    let most_kept = if s.basis == Basis::Size && !s.sparse { Kept::most_bytes(input) } else { 0 };
    let (kept, with_kept) = kept(most_kept, s.sizes, machine, input.chunk() as u64, ingest.max(relabel));
    // How much each of both takes depends on degrees: one bound for both.
    let (partition, sort) = match s.basis {
        Basis::Size if spill > 0 => (u64::MAX, u64::MAX),
        Basis::Size => (partition.max(sort).max(with_kept), partition.max(sort).max(with_kept)),
        _ => (partition, sort),
    };
    let dictionary = own + reading + Dictionary::least_bytes(threads);
    let mut needed = least_ingest.max(relabel).max(own + smallest);
    if job.triangle.is_some() {
        needed = needed.max(triangle);
    }

    let ids = if s.sparse { Dictionary::body_bytes(s.ids) + 2 * PAGE } else { 0 };
    let order = order::body_bytes(s.ids, s.runs) + 2 * PAGE + ids + SMALL_FILES;
    let degrees = 4 * s.connected + PAGE;
    let results = results_bytes(job, s.ids, s.connected, s.sparse);
    let bytes = input.bytes();
    let gpu_memory = machine.gpu_memory();
    let stage = |name, host_memory, disk, seconds| Stage { name, done: false, host_memory, gpu_memory, disk, seconds };
    let mut stages = Vec::new();
    if s.sparse {
        needed = needed.max(dictionary);
        // Sorted runs of all ends, then the ids.
        let seconds = rates::dictionary(s.edges, threads);
        stages.push(stage("dictionary", u64::MAX, 16 * s.edges + ids + SMALL_FILES, seconds));
    }
    stages.extend([
        stage("ingest", ingest + kept, ids + SMALL_FILES, rates::ingest(s.edges, bytes, threads, input)),
        stage("relabel", relabel + kept, order, rates::relabel(s.ids, threads)),
        stage("partition", partition, order + spill, rates::partition(s.edges, bytes, spill, threads, input)),
        stage("sort", sort, order + spill + s.block_bytes + degrees, rates::sort(s.kept, spill, threads)),
    ]);
    if job.triangle.is_some() {
        let seconds = f64::from(job.run.trials) * rates::counting(s.work, threads);
        stages.push(stage("triangle", triangle, order + s.block_bytes + degrees + results, seconds));
    }
    (stages, needed, kept)
}
