//! The plan of a job before it runs: memory, disk and time of every stage. `gpugraph plan` prints it, and `run`
//! refuses by it what does not fit. Of many ranks, memory is that of the one with most, disk and time are of all.
//!
//! Before the first pass over the input, figures are bounds made from what the file tells cheaply (`Plan::before`).
//! After it, degrees are known, and the same functions that size the run's buffers give its figures (`Plan::after`).
//! A bound may be far above the truth, so a job is refused only for what it surely needs; `maybe` says the rest.

mod basis;
pub mod comm_memory;
pub mod cost_model;
pub(crate) mod done;
pub mod estimate;
pub mod formulas;
mod input_estimate;
pub mod limits;
pub mod list;
pub(crate) mod packing;
mod part_cost;
pub mod resources;
pub mod speeds;
mod text;

pub use basis::Basis;

use crate::algo::GraphSize;
use crate::config::{InputSpec, Job};
use crate::error::Result;
use crate::formats::{Input, Weights};
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::job::plan::done::Done;
use crate::job::plan::estimate::{Estimate, Least, SMALL_FILES, Sized, Stage, TaskCost};
use crate::job::plan::formulas::{PAGE, as_read, looking_up, needs, share_of, size_of, store_bytes};
use crate::job::plan::input_estimate::InputEstimate;
use crate::job::plan::limits::Surely;
use crate::job::plan::part_cost::PartCost;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::Clock;
use crate::job::state::manifest::Manifest;
use crate::job::state::{kept, record::Contents, workdir};
use crate::prepare::memory_plan::{LayoutShape, MemoryDemand, Sizes};
use crate::prepare::partition::route;
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::{ingest, order};
use crate::process::host;
use crate::size;
use serde::Serialize;
use std::cmp::Ordering;
use std::path::PathBuf;

/// Limits that are looked at to find the smallest that does.
const LIMITS: usize = 16;

/// The needs of a job.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Name of the job.
    pub job: String,
    /// Its workdir.
    pub workdir: PathBuf,
    /// The input, in words.
    pub input: String,
    /// The source of the figures.
    pub basis: Basis,
    /// Elements of the list, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// Edges of the input, at most.
    pub edges: u64,
    /// Ids that the map spans, at most.
    pub ids: u64,
    /// Blocks; about as many where degrees are not known yet.
    pub blocks: u64,
    /// Units of all tasks, likewise.
    pub units: u64,
    /// Ranks that share the job.
    pub ranks: usize,
    /// Nodes that they are on.
    pub nodes: usize,
    /// Threads of a rank.
    pub threads: usize,
    /// The device of the tasks: `gpu` if it computes any, else `cpu`.
    pub device: &'static str,
    /// The GPU of a rank, in words.
    pub gpu: Option<String>,
    /// The limit, of a rank.
    pub host_memory_limit: u64,
    /// The bounds that `ulimit -v` sets.
    #[serde(skip)]
    pub(super) addresses: limits::Addresses,
    /// Most host memory of all stages, of a rank.
    pub host_memory: u64,
    /// The same of all ranks of a node.
    pub host_memory_node: u64,
    /// The smallest limit of a rank that does for all that is left to do.
    pub host_memory_needed: u64,
    /// The limit of GPU memory, where there is a GPU.
    pub gpu_memory_limit: Option<u64>,
    /// Most GPU memory of all stages.
    pub gpu_memory: u64,
    /// The fewest that do, as far as that is known.
    #[serde(skip)]
    pub(crate) gpu_memory_needed: u64,
    /// The task that takes most of it.
    #[serde(skip)]
    pub(crate) gpu_task: Option<&'static str>,
    /// Most bytes in the workdir.
    pub disk: u64,
    /// Bytes that the workdir may have: what is free, and what is in it.
    pub disk_free: u64,
    /// Most bytes in `job.scratch` on a node.
    pub scratch: u64,
    /// Bytes free there, if it is on this machine.
    pub scratch_free: Option<u64>,
    /// The folder of spill files, unless it is in the workdir.
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
    pub(crate) kept: u64,
    /// Limits that may be too small, as the bound exceeds them and the truth may not, or too large for this machine.
    pub maybe: Vec<String>,
    /// True if a disk that is too small is a reason not to begin.
    #[serde(skip)]
    pub(crate) disk_check: bool,
    /// The needs that are certain; equal to the bounds once degrees are known.
    #[serde(skip)]
    pub(crate) surely: Surely,
}

impl Plan {
    /// The plan of a job, by what is known: the degrees where ingest has run on this input, else its size.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where the input can't be read; [`crate::Error::Io`], [`crate::Error::Corrupt`] of a prepared graph.
    pub fn of(job: &Job, machine: &Resources) -> Result<Plan> {
        if let InputSpec::Prepared(other) = &job.input {
            let mut graph = kept::open(other)?;
            kept::check_weights(&graph, job, other)?;
            kept::number(&mut graph, job, other)?;
            let manifest = Manifest::load(&job.workdir).ok().flatten().unwrap_or_default();
            return Plan::prepared(job, machine, other, &graph, &manifest);
        }
        // A damaged manifest tells nothing, to the run neither.
        let manifest = Manifest::load(&job.workdir).ok().flatten().unwrap_or_default();
        if job.input.is_list() {
            return list::open(job, machine, &manifest);
        }
        let job = &crate::job::input::streams::planned(job, &manifest)?;
        if let Some((input, expect)) = crate::job::input::expected(job)? {
            let guess = input_estimate::expected(&input, expect);
            let mut plan = Plan::bounds(job, machine, &input, guess, &Done::default())?;
            // Where the input is not, this is not the machine that the job will run on either.
            plan.surely = Surely { host_memory: plan.surely.host_memory, ..Surely::default() };
            plan.maybe.push(format!("{} is not here: figures are for input.expect", input.name()));
            return Ok(plan);
        }
        let input = crate::job::input::of_job(job)?;
        let identity = crate::job::input::version_key(&input, &job.input_keys)?;
        let Some(mut info) = manifest.found::<InputInfo>("relabel", identity) else {
            return Plan::before(job, machine, &input, &Done::default());
        };
        let done = Done::of(job, &manifest, Contents::of(&info))?;
        let Ok(runs) = order::read_runs(&job.workdir.join("graph"), info.content) else {
            return Plan::before(job, machine, &input, &done.without_order());
        };
        info.first_id = job.first_id;
        Plan::after(job, machine, &input, &info, (&runs, &info.layout(&runs)), &done)
    }

    /// From the size of the input and a look at some of it. Earlier runs did what `done` says.
    ///
    /// # Errors
    /// [`crate::Error::Input`], [`crate::Error::Io`].
    pub(crate) fn before(job: &Job, machine: &Resources, input: &Input, done: &Done) -> Result<Plan> {
        let guess = input_estimate::estimate(&input.clone().with_weights(Weights::Skip), &job.input)?;
        Plan::bounds(job, machine, input, guess, done)
    }

    fn bounds(job: &Job, machine: &Resources, input: &Input, guess: InputEstimate, done: &Done) -> Result<Plan> {
        let InputEstimate { edges, edges_about, distinct, ids, ids_at_least, rows, sparse, may_be_sparse, .. } = guess;
        let (basis, likely) = (guess.basis, &guess.likely);
        let (threads, weighted) = (machine.threads, job.carries_weights());
        let input = &as_read(job, input);
        let connected = ids.min(2 * edges);
        let reading = input.scratch_bytes(threads);
        let direction = job.direction();
        let shape = LayoutShape::at_most(edges, connected, direction);
        let target = Layout::block_target(edges);
        // A graph without a single loop is rare, and a power of two of edges is a size of its own.
        let blocks = Layout::new(likely, edges_about.saturating_sub(1), direction).blocks() as u64;
        // Blocks are not divided, and later ones have more edges than earlier ones.
        let part = if machine.ranks == 1 { 1.0 } else { 1.0 / machine.ranks as f64 + 1.0 / blocks.max(1) as f64 };
        let share = share_of(edges, part);
        let reading_in_all = reading + looking_up(may_be_sparse, ids);
        let needs = MemoryDemand {
            edges: share,
            likely: (edges as f64 * part.min(1.0)) as u64,
            ids,
            reading: reading_in_all,
            messages: machine.comm_memory.messages(),
            threads,
            weighted,
        };
        let most_blocks = 4 * edges / target + 2;
        let longest_row = (2 * edges).isqrt() + 1;
        let graph = GraphSize {
            vertices: connected,
            direction,
            edges,
            rows,
            ids,
            sparse,
            longest_row,
            longest_whole_row: edges.min(connected),
            blocks: most_blocks,
            gpu_row: None,
            reading: reading_in_all,
            degrees: likely,
        };
        let sized = Sized {
            basis,
            edges,
            kept: edges,
            share,
            ids,
            may_be_sparse,
            // r different degrees need r²/4 edges.
            runs: 2 * edges.isqrt() + 1,
            sizes: Sizes::new(shape, needs, machine.free_for_edges()),
            least: needs.least(&shape),
            blocks,
            block_bytes: (stored::body_bytes(0, 0) + 192 + PAGE) * most_blocks
                + 4 * direction.rows(connected)
                + 4 * distinct
                + part_cost::weights_bytes(distinct, most_blocks, weighted),
            weighted,
            graph,
        };
        let mut plan = Plan::made(job, machine, input, &sized, done);
        // Blocks may come out half as large where every edge is listed from both ends.
        let ingest = ingest::samples_bytes(threads, input) + reading + 4 * ids_at_least;
        let disk = edges_about.min(distinct) * if weighted { 4 } else { 2 };
        plan.surely = Surely { host_memory: machine.smallest(ingest, 0), disk, ..Surely::default() };
        let graph = GraphSize { gpu_row: Some(2 * (edges.isqrt() + 1)), ..sized.graph };
        limits::say_maybe(&mut plan, TaskCost::least_gpu_memory(job, machine, &graph));
        Ok(plan)
    }

    /// Returns the stages that no earlier run did, in order.
    pub fn to_come(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| !stage.done)
    }

    /// From the degrees, for a run or before one; some of it may be `done`.
    ///
    /// # Errors
    /// None in practice; [`crate::Error::Io`] where free disk can't be told.
    pub(crate) fn after(
        job: &Job,
        machine: &Resources,
        input: &Input,
        info: &InputInfo,
        (runs, layout): (&DegreeRuns, &Layout),
        done: &Done,
    ) -> Result<Plan> {
        let part = route::largest_part(layout, runs, machine.ranks);
        let input = &as_read(job, input);
        let needs = needs(info, input, &machine.comm_memory, machine.threads, part);
        let (shape, _) = LayoutShape::and_bins(layout);
        let edges = info.edges - info.loops;
        let graph = size_of(info, edges, runs.longest_row(), layout.blocks() as u64, runs);
        let graph = GraphSize { reading: needs.reading, gpu_row: Some(layout.longest_row()), ..graph };
        let sized = Sized {
            basis: Basis::Degrees,
            edges: info.edges,
            kept: edges,
            share: needs.edges,
            ids: info.ids,
            may_be_sparse: info.sparse,
            runs: info.runs,
            sizes: Sizes::new(shape, needs, machine.free_for_edges()),
            least: needs.least(&shape),
            blocks: layout.blocks() as u64,
            block_bytes: store_bytes(info, layout),
            weighted: info.weights.is_some(),
            graph,
        };
        let mut plan = Plan::made(job, machine, input, &sized, done);
        let Plan { host_memory_needed: host_memory, gpu_memory_needed: gpu_memory, disk, scratch, .. } = plan;
        plan.surely = Surely { host_memory, gpu_memory, disk, scratch };
        Ok(plan)
    }

    /// Of a job on `graph`, which the job of the workdir `other` kept. Earlier runs did the tasks that the manifest says.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Corrupt`] of its files.
    pub(crate) fn prepared(
        job: &Job,
        machine: &Resources,
        other: &std::path::Path,
        graph: &Graph,
        manifest: &Manifest,
    ) -> Result<Plan> {
        let done = Done::of(job, manifest, Contents::of(&graph.info))?;
        let runs = order::read_runs(&graph.folder, graph.info.content)?;
        let (info, blocks) = (&graph.info, graph.catalogue.len() as u64);
        let size = size_of(info, graph.stored.edges, graph.catalogue.extremes().row, blocks, &runs);
        let size = GraphSize { gpu_row: Some(graph.catalogue.layout.longest_row()), ..size };
        let tasks = TaskCost::of_graph(job, machine, &size);
        let clock = Clock::new(job, machine, machine.preparers(info.ids), None, info.edges);
        let mut plan = Plan {
            input: format!("the prepared graph of {}", other.display()),
            basis: Basis::Prepared,
            edges: info.edges,
            ids: info.ids,
            blocks,
            ..Plan::empty(job, machine, &tasks, blocks)
        };
        plan.take(machine, &done, |machine| {
            let parts = PartCost::of_all(job, machine, &size, true);
            let (mut stages, disk) = PartCost::stages(&parts, machine, &clock, SMALL_FILES);
            let tasks = TaskCost::of_graph(job, machine, &size);
            stages.extend(TaskCost::stages(&tasks, machine, &clock, disk, 1.0));
            stages
        });
        let Plan { host_memory_needed: host_memory, gpu_memory_needed: gpu_memory, disk, .. } = plan;
        plan.surely = Surely { host_memory, gpu_memory, disk, scratch: 0 };
        Ok(plan)
    }

    fn empty(job: &Job, machine: &Resources, tasks: &[TaskCost], blocks: u64) -> Plan {
        let on_gpu = || tasks.iter().filter(|task| task.crew.on_gpu);
        let most = on_gpu().max_by_key(|task| task.gpu_memory);
        let uses_gpu = on_gpu().next().is_some() || (tasks.is_empty() && machine.computes(job, 0));
        // Where free disk can't be told, a full disk will tell.
        let free = host::free_disk(&job.workdir).unwrap_or(u64::MAX / 2);
        Plan {
            job: job.name.clone(),
            workdir: job.workdir.clone(),
            input: String::new(),
            basis: Basis::Size,
            elements: None,
            edges: 0,
            ids: 0,
            blocks: 0,
            units: job.tasks.iter().map(|task| task.units(blocks)).sum(),
            ranks: machine.ranks,
            nodes: machine.nodes(),
            threads: machine.threads,
            device: if uses_gpu { "gpu" } else { "cpu" },
            gpu: machine.gpu.as_ref().map(|gpu| gpu.name.clone()),
            host_memory_limit: machine.host_memory,
            addresses: limits::Addresses::of(job, None),
            host_memory: 0,
            host_memory_node: 0,
            host_memory_needed: 0,
            gpu_memory_limit: machine.gpu.as_ref().and_then(|gpu| gpu.memory),
            gpu_memory: 0,
            gpu_memory_needed: most.and_then(|task| task.gpu_memory).unwrap_or(0),
            gpu_task: most.map(|task| task.name),
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

    fn made(job: &Job, machine: &Resources, input: &Input, sized: &Sized<'_>, done: &Done) -> Plan {
        let tasks = TaskCost::of_graph(job, machine, &sized.graph);
        let mut plan = Plan {
            input: format!("{}, {}", input.name(), size::show(input.bytes())),
            basis: sized.basis,
            edges: sized.edges,
            ids: sized.ids,
            blocks: sized.blocks,
            addresses: limits::Addresses::of(job, Some(input).filter(|_| sized.basis != Basis::Expected)),
            ..Plan::empty(job, machine, &tasks, sized.blocks)
        };
        let estimate = |machine: &Resources| {
            let tasks = TaskCost::of_graph(job, machine, &sized.graph);
            sized.estimate(job, input, machine, &tasks)
        };
        let Estimate { kept, scratch, .. } = estimate(machine);
        (plan.kept, plan.scratch) = (kept, scratch);
        plan.take(machine, done, |machine| estimate(machine).stages);
        plan
    }

    /// Takes over the stages that `on` returns for a machine.
    fn take(&mut self, machine: &Resources, done: &Done, on: impl Fn(&Resources) -> Vec<Stage>) {
        let marked = |machine: &Resources| {
            let mut stages = on(machine);
            done.mark(&mut stages);
            stages
        };
        let mut stages = marked(machine);
        let needed = |stages: &[Stage]| {
            let to_come = || stages.iter().filter(|stage| !stage.done).map(|stage| stage.least);
            let [bytes, exchanging]: [fn(Least) -> u64; 2] = [|least| least.bytes, |least| least.exchanging];
            let [bytes, exchanging] = [bytes, exchanging].map(|of| to_come().map(of).max().unwrap_or(0));
            machine.smallest(bytes, exchanging)
        };
        // Within another limit stages may be done in another way, which takes less or more.
        let mut limit = needed(&stages);
        let mut rises = false;
        for _ in 0..LIMITS {
            let there = needed(&marked(&machine.at(limit)));
            match there.cmp(&limit) {
                Ordering::Greater => rises = true,
                Ordering::Less if !rises => {}
                _ => break,
            }
            limit = there;
        }
        self.host_memory_needed = limit;
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
        // The sum of nothing would be -0.
        let to_come = || self.stages.iter().filter(|stage| !stage.done);
        self.seconds = 0.0 + to_come().map(|stage| stage.seconds).sum::<f64>();
        self.seconds_range = [0, 1].map(|end| 0.0 + to_come().map(|stage| stage.seconds_range[end]).sum::<f64>());
    }
}
