//! What a job will need, before it runs: memory, disk and time of every stage. `gpugraph plan` prints it, and `run`
//! refuses by it what does not fit. Of many ranks, memory is that of the one with most, disk and time are of all.
//!
//! Before the first pass over the input, figures are bounds made from what the file tells cheaply ([`Plan::before`]).
//! After it, degrees are known, and the same functions that size the run's buffers give its figures ([`Plan::after`]).
//! A bound may be far above the truth, so a job is refused only for what it surely needs; `maybe` says the rest.

use super::estimate::{Estimate, SMALL_FILES, Sized, Stage, counting_seconds};
use super::graph::Facts;
use super::guess::{self, Guess};
use super::machine::{Machine, least_gpu_memory};
use super::manifest::Manifest;
use super::needs::{
    Counted, PAGE, counts_exchanged, looking_up, needs, results_bytes, share_of, store_bytes, units_bytes,
};
use super::speeds::{Clock, Time};
use super::work::Work;
use super::workdir;
use crate::algo::triangle::driver;
use crate::config::{InputSpec, Job};
use crate::error::Result;
use crate::formats::Input;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::prepare::partition::route;
use crate::prepare::shares::{Needs, Shape, Sizes};
use crate::prepare::{ingest, order};
use crate::process::host;
use crate::size;
use serde::Serialize;
use std::path::PathBuf;

/// Where the figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Bounds from what the job file says of an input that is not here.
    Expected,
    /// Bounds from the input's size and a look at some of it.
    Size,
    /// The degrees, as ingest found them.
    Degrees,
    /// The stored graph of another job.
    Prepared,
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
    /// Ranks that share the job.
    pub ranks: usize,
    /// Nodes that they are on.
    pub nodes: usize,
    /// Threads of a rank.
    pub threads: usize,
    /// What it counts triangles on: `cpu` or `gpu`.
    pub device: &'static str,
    /// The GPU of a rank, in words.
    pub gpu: Option<String>,
    /// The limit, of a rank.
    pub host_memory_limit: u64,
    /// Most host memory of all stages, of a rank.
    pub host_memory: u64,
    /// The same of all ranks of a node.
    pub host_memory_node: u64,
    /// The smallest limit of a rank that surely would do.
    pub host_memory_needed: u64,
    /// The limit of GPU memory, where there is a GPU.
    pub gpu_memory_limit: Option<u64>,
    /// Most GPU memory of all stages.
    pub gpu_memory: u64,
    /// Most bytes in the workdir.
    pub disk: u64,
    /// Bytes that the workdir may have: what is free, and what is in it.
    pub disk_free: u64,
    /// Most bytes in `job.scratch` on a node.
    pub scratch: u64,
    /// Bytes free there, if it is on this machine.
    pub scratch_free: Option<u64>,
    /// Where it is, unless in the workdir.
    pub scratch_path: Option<PathBuf>,
    /// Bytes that ranks send to others, of all together.
    pub exchange: u64,
    /// Seconds of all stages to come.
    pub seconds: f64,
    /// From where to where they likely are.
    pub seconds_range: [f64; 2],
    /// The stages.
    pub stages: Vec<Stage>,
    /// Bytes of host memory in which what comes from the disk is kept between passes, at most.
    #[serde(skip)]
    pub(super) kept: u64,
    /// What may not fit: the bound exceeds a limit, the truth may not.
    pub maybe: Vec<String>,
    /// Whether a disk that is too small is a reason not to begin.
    #[serde(skip)]
    pub(super) disk_check: bool,
    /// What the job surely needs; equal to the bounds once degrees are known.
    #[serde(skip)]
    pub(super) surely: Surely,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Surely {
    pub(super) host_memory: u64,
    pub(super) gpu_memory: u64,
    pub(super) disk: u64,
    pub(super) scratch: u64,
}

impl Plan {
    /// The plan of a job, by what is known: the degrees where ingest has run on this input, else its size.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where the input can't be read; [`crate::Error::Io`], [`crate::Error::Corrupt`] of a prepared graph.
    pub fn of(job: &Job, machine: &Machine) -> Result<Plan> {
        if let InputSpec::Prepared(other) = &job.input {
            return Plan::prepared(job, machine, other);
        }
        // A damaged manifest tells nothing, to the run neither.
        let manifest = Manifest::load(&job.workdir).ok().flatten().unwrap_or_default();
        let job = &super::spool::planned(job, &manifest)?;
        if let Some((input, expect)) = super::input::expected(job)? {
            let mut plan = Plan::bounds(job, machine, &input, guess::expected(&input, expect), Basis::Expected)?;
            // Where the input is not, this is not the machine that the job will run on either.
            plan.surely = Surely { host_memory: plan.surely.host_memory, ..Surely::default() };
            plan.maybe.push(format!("{} is not here: figures are for input.expect", input.name()));
            return Ok(plan);
        }
        let input = super::input::open(&job.input)?;
        let identity = super::graph::input_key(&input)?;
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
        Plan::bounds(job, machine, input, guess::guess(input, &job.input)?, Basis::Size)
    }

    fn bounds(job: &Job, machine: &Machine, input: &Input, guess: Guess, basis: Basis) -> Result<Plan> {
        let Guess { edges, edges_about, distinct, ids, ids_at_least, rows, sparse, ref likely } = guess;
        let threads = machine.threads;
        let connected = ids.min(2 * edges);
        let reading = input.scratch_bytes(threads);
        let shape = Shape::at_most(edges, connected);
        let target = Layout::block_target(edges);
        // A graph without a single loop is rare, and a power of two of edges is a size of its own.
        let blocks = Layout::new(likely, edges_about.saturating_sub(1)).blocks() as u64;
        // Blocks are not divided, and later ones have more edges than earlier ones.
        let part = 1.0 / machine.ranks as f64 + 1.0 / blocks.max(1) as f64;
        let share = if machine.ranks == 1 { edges } else { share_of(edges, part) };
        let reading_in_all = reading + looking_up(sparse, ids);
        let needs = Needs { edges: share, ids, reading: reading_in_all, moving: machine.moving.on_the_way(), threads };
        let most_blocks = 4 * edges / target + 2;
        let sized = Sized {
            basis,
            edges,
            kept: edges,
            share,
            ids,
            rows,
            connected,
            // r different degrees need r²/4 edges.
            runs: 2 * edges.isqrt() + 1,
            sparse,
            sizes: Sizes::new(shape, needs, machine.free_for_edges()),
            least: needs.least(&shape),
            longest_row: (2 * edges).isqrt() + 1,
            blocks,
            most_units: driver::units(most_blocks as usize),
            block_bytes: (stored::body_bytes(0, 0) + 192 + PAGE) * most_blocks + 4 * connected + 4 * distinct,
            gpu_memory: 0,
            work: Work::of(likely),
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
        let part = route::largest_part(layout, runs, machine.ranks);
        let needs = needs(facts, input, &machine.moving, machine.threads, part);
        let (shape, _) = Shape::and_bins(layout);
        let sized = Sized {
            basis: Basis::Degrees,
            edges: facts.edges,
            kept: facts.edges - facts.loops,
            share: needs.edges,
            ids: facts.ids,
            rows: facts.rows(),
            connected: facts.connected,
            runs: facts.runs,
            sparse: facts.sparse,
            sizes: Sizes::new(shape, needs, machine.free_for_edges()),
            least: needs.least(&shape),
            longest_row: runs.longest_row(),
            blocks: layout.blocks() as u64,
            most_units: driver::units(layout.blocks()),
            block_bytes: store_bytes(facts, layout),
            gpu_memory: least_gpu_memory(job, layout.longest_row(), facts.connected),
            work: Work::of(runs),
        };
        let mut plan = Plan::made(job, machine, input, &sized);
        let gpu_memory = sized.gpu_memory;
        plan.surely =
            Surely { host_memory: plan.host_memory_needed, gpu_memory, disk: plan.disk, scratch: plan.scratch };
        Ok(plan)
    }

    fn prepared(job: &Job, machine: &Machine, other: &std::path::Path) -> Result<Plan> {
        let graph = super::run::open_prepared_unread(other)?;
        let vertices = graph.facts.connected;
        let runs = order::read_runs(&graph.folder, graph.facts.content)?;
        let least = least_gpu_memory(job, graph.catalogue.layout.longest_row(), vertices);
        let blocks = graph.catalogue.len();
        let crew = machine.crew(job, graph.facts.ids, least);
        let counted = Counted { vertices, edges: graph.stored.edges, row: graph.catalogue.extremes().row };
        let [counting, least_counting] = counted.bytes(job, crew.counts_on_gpu, machine);
        let (host_memory, needed) = (machine.own() + counting, machine.smallest(least_counting, 0));
        let exchange = counts_exchanged(job, machine.ranks, vertices);
        let rows = graph.facts.rows();
        let seconds = counting_seconds(job, &crew, &Work::of(&runs), rows) + crew.exchange(exchange);
        let time = Clock::new(job, machine, crew, None, graph.facts.edges, 1.0).time("triangle", seconds);
        let Time { seconds, range: seconds_range, .. } = time;
        let results = results_bytes(job, rows, vertices, graph.facts.sparse);
        let disk = results + units_bytes(job, driver::units(blocks)) + SMALL_FILES;
        let gpu_memory = machine.gpu_memory();
        let name = "triangle";
        let stage = Stage { name, done: false, host_memory, gpu_memory, disk, exchange, seconds, seconds_range, time };
        let mut plan = Plan {
            input: format!("the prepared graph of {}", other.display()),
            basis: Basis::Prepared,
            edges: graph.facts.edges,
            ids: graph.facts.ids,
            blocks: blocks as u64,
            units: driver::units(blocks),
            host_memory_needed: needed,
            ..Plan::empty(job, machine, least)
        };
        plan.take(job.triangle.map(|_| stage).into_iter().collect());
        plan.surely = Surely { host_memory: needed, gpu_memory: least, disk, scratch: 0 };
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
            ranks: machine.ranks,
            nodes: machine.nodes(),
            threads: machine.threads,
            device: if machine.counts(job, gpu_memory).is_some() { "gpu" } else { "cpu" },
            gpu: machine.gpu.as_ref().map(|gpu| gpu.name.clone()),
            host_memory_limit: machine.host_memory,
            host_memory: 0,
            host_memory_node: 0,
            host_memory_needed: 0,
            gpu_memory_limit: machine.gpu.as_ref().and_then(|gpu| gpu.memory),
            gpu_memory: 0,
            disk: 0,
            disk_free: free + workdir::bytes(&job.workdir),
            scratch: 0,
            scratch_free: job.scratch.as_ref().filter(|path| path.exists()).and_then(|path| host::free_disk(path).ok()),
            scratch_path: job.scratch.clone(),
            exchange: 0,
            seconds: 0.0,
            seconds_range: [0.0; 2],
            stages: Vec::new(),
            kept: 0,
            maybe: machine.missing.iter().cloned().collect(),
            disk_check: job.run.disk_check,
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
        let Estimate { stages, needed, kept, scratch } = sized.estimate(job, input, machine);
        (plan.host_memory_needed, plan.kept, plan.scratch) = (needed, kept, scratch);
        plan.take(stages);
        plan
    }

    fn take(&mut self, mut stages: Vec<Stage>) {
        // No stage exceeds the limit: one that can't keep within it does not begin.
        for stage in &mut stages {
            stage.host_memory = stage.host_memory.min(self.host_memory_limit);
        }
        self.host_memory = stages.iter().map(|s| s.host_memory).max().unwrap_or(0);
        self.host_memory_node = self.host_memory * self.ranks.div_ceil(self.nodes) as u64;
        self.exchange = stages.iter().map(|s| s.exchange).sum();
        self.gpu_memory = stages.iter().map(|s| s.gpu_memory).max().unwrap_or(0);
        self.disk = stages.iter().map(|s| s.disk).max().unwrap_or(0);
        self.stages = stages;
        self.sum_seconds();
    }

    fn sum_seconds(&mut self) {
        let to_come = || self.stages.iter().filter(|stage| !stage.done);
        // The sum of nothing would be -0.
        self.seconds = 0.0 + to_come().map(|stage| stage.seconds).sum::<f64>();
        self.seconds_range = [0, 1].map(|end| 0.0 + to_come().map(|stage| stage.seconds_range[end]).sum::<f64>());
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
        self.sum_seconds();
    }
}
