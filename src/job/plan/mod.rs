//! Plan of a job before it runs: memory, disk space and time of every stage. `gpugraph plan` prints it; `run` refuses
//! jobs that do not fit. Memory is that of the rank that needs the most; disk space and time are totals over all
//! ranks.
//!
//! Before the first pass over the input, the plan contains upper bounds, computed from the size of the input and a
//! sample of it (`Plan::before`). After the first pass, degrees are known, and the plan's numbers come from the
//! functions that size the run's buffers (`Plan::after`). An upper bound may be far too high, so a job is refused
//! only if it certainly does not fit; `maybe` contains warnings about limits that may be too small.

pub mod comm_memory;
pub(crate) mod completed;
pub mod cost_model;
pub mod estimate;
pub mod formulas;
mod input_estimate;
pub mod limits;
pub mod list;
pub(crate) mod packing;
mod part_cost;
pub mod resources;
pub mod speeds;
pub mod stage;
mod text;

pub use input_estimate::Basis;

use crate::algo::{ByInput, GraphSize};
use crate::config::{InputSpec, Job};
use crate::error::Result;
use crate::formats::{Input, WeightType, Weights};
use crate::gpu::LEAST_MEMORY;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::job::plan::completed::CompletedWork;
use crate::job::plan::estimate::{Estimate, JobSize, SMALL_FILES, TaskCost};
use crate::job::plan::formulas::{
    PAGE, as_read, looking_up, may_be_wide, needs, share_of, size_of, store_bytes, weights_bytes,
};
use crate::job::plan::input_estimate::InputEstimate;
use crate::job::plan::limits::CertainNeeds;
use crate::job::plan::part_cost::{derived_rows, reading_again};
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::TimeModel;
use crate::job::plan::stage::{PlannedStage, least_limit, stacked};
use crate::job::state::{kept, manifest::Manifest, record::Contents, workdir};
use crate::list::List;
use crate::prepare::memory_plan::{LayoutShape, MemoryDemand, Sizes};
use crate::prepare::prepared::{Graph, InputInfo};
use crate::prepare::{ingest, order, partition::route};
use crate::process::host;
use crate::size;
use serde::Serialize;
use std::path::PathBuf;

/// Memory, disk space and time that a job needs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Plan {
    /// Name of the job.
    pub job: String,
    /// Workdir of the job.
    pub workdir: PathBuf,
    /// Description of the input.
    pub input: String,
    /// Source of the numbers in the plan.
    pub basis: Basis,
    /// Number of elements of the list, if the input is a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// Number of edges of the input (upper bound).
    pub edges: u64,
    /// Number of entries of the map from ids to vertices (upper bound).
    pub ids: u64,
    /// Number of blocks; approximate until degrees are known.
    pub blocks: u64,
    /// Number of work units of all tasks; approximate until degrees are known.
    pub units: u64,
    /// Number of ranks that share the job.
    pub ranks: usize,
    /// Number of nodes on which the ranks run.
    pub nodes: usize,
    /// Number of threads per rank.
    pub threads: usize,
    /// Device that computes the tasks: `gpu` if the GPU computes any of them, otherwise `cpu`.
    pub device: &'static str,
    /// Name of a rank's GPU.
    pub gpu: Option<String>,
    /// Limit on host memory per rank, in bytes.
    pub host_memory_limit: u64,
    /// Limits on address space that `ulimit -v` sets.
    #[serde(skip)]
    pub(super) addresses: limits::Addresses,
    /// Host memory of a rank in bytes: the maximum over all stages.
    pub host_memory: u64,
    /// Host memory of all ranks of a node in bytes: the maximum over all stages.
    pub host_memory_node: u64,
    /// Smallest host memory limit per rank, in bytes, that is enough for all remaining stages.
    pub host_memory_needed: u64,
    /// Limit on GPU memory in bytes, if there is a GPU.
    pub gpu_memory_limit: Option<u64>,
    /// GPU memory of a rank in bytes: the maximum over all stages.
    pub gpu_memory: u64,
    /// Minimum GPU memory that is enough for all tasks, in bytes.
    #[serde(skip)]
    pub(crate) gpu_memory_needed: u64,
    /// Task that needs the most GPU memory.
    #[serde(skip)]
    pub(crate) gpu_task: Option<&'static str>,
    /// Maximum size of the workdir, in bytes.
    pub disk: u64,
    /// Space in bytes that is available to the workdir: free disk space plus what the workdir already occupies.
    pub disk_free: u64,
    /// Maximum size of the files in `job.scratch` on one node, in bytes.
    pub scratch: u64,
    /// Free space in `job.scratch` in bytes, if that folder is on this machine.
    pub scratch_free: Option<u64>,
    /// Folder of spill files, unless they are in the workdir.
    pub scratch_path: Option<PathBuf>,
    /// Number of bytes that all ranks together send to other ranks.
    pub exchange: u64,
    /// Predicted time of all remaining stages, in seconds.
    pub seconds: f64,
    /// Likely range of the time of all remaining stages, in seconds: lowest and highest value.
    pub seconds_range: [f64; 2],
    /// Stages in the order in which they run.
    pub stages: Vec<PlannedStage>,
    /// Host memory in bytes for input that is cached between the two passes (upper bound).
    #[serde(skip)]
    pub(crate) kept: u64,
    /// Warnings about limits: that an upper bound of the plan exceeds them, or that they are too large for this
    /// machine.
    pub maybe: Vec<String>,
    /// True if the job must not start when the disk is too small.
    #[serde(skip)]
    pub(crate) disk_check: bool,
    /// Memory and disk space that the job certainly needs. Once degrees are known, they equal the plan's predictions.
    #[serde(skip)]
    pub(crate) certain: CertainNeeds,
}

impl Plan {
    /// Returns the plan of `job`, based on degrees if ingest has run on this input, otherwise on the input's size.
    ///
    /// # Errors
    /// [`crate::Error::Input`] if the input can't be read; [`crate::Error::Io`] or [`crate::Error::Corrupt`] for a
    /// prepared graph.
    pub fn of(job: &Job, machine: &Resources) -> Result<Plan> {
        // A damaged manifest is ignored, here as in a run.
        let manifest = Manifest::load(&job.workdir).ok().flatten().unwrap_or_default();
        Plan::following(job, machine, &manifest)
    }

    /// Returns the plan of `job` for the next run in a workdir whose manifest is `manifest`.
    ///
    /// # Errors
    /// Errors of [`Plan::of`].
    pub(crate) fn following(job: &Job, machine: &Resources, manifest: &Manifest) -> Result<Plan> {
        let mut plan = Plan::unchecked(job, machine, manifest)?;
        limits::add_warnings(&mut plan);
        Ok(plan)
    }

    /// Returns the same plan as [`Plan::following`], but without warnings about limits.
    fn unchecked(job: &Job, machine: &Resources, manifest: &Manifest) -> Result<Plan> {
        if let InputSpec::Prepared(other) = &job.input {
            let graph = kept::open_for(job, other)?;
            return Plan::prepared(job, machine, other, &graph, manifest);
        }
        if job.input.is_list() {
            let list = List::open(crate::job::input::list(&job.input)?, machine.threads)?;
            return Ok(list::plan(job, machine, &list, manifest));
        }
        let job = &crate::job::input::streams::planned(job, manifest)?;
        if let Some((input, expect)) = crate::job::input::expected(job)? {
            let guess = input_estimate::expected(&input, expect);
            let mut plan = Plan::bounds(job, machine, &input, guess, &CompletedWork::default())?;
            // The input is elsewhere, so the job will not run on this machine either.
            plan.certain = CertainNeeds { host_memory: plan.certain.host_memory, ..CertainNeeds::default() };
            plan.maybe.push(format!("{} is not here: figures are for input.expect", input.name()));
            return Ok(plan);
        }
        let input = crate::job::input::of_job(job)?;
        let identity = crate::job::input::version_key(&input, &job.input_keys)?;
        let Some(mut info) = manifest.found::<InputInfo>("relabel", identity) else {
            return Plan::before(job, machine, &input, &CompletedWork::default());
        };
        let done = CompletedWork::of(job, manifest, Contents::of(&info));
        let Ok(runs) = order::read_runs(&job.workdir.join("graph"), info.content) else {
            return Plan::before(job, machine, &input, &done.without_order());
        };
        info.first_id = job.first_id;
        Plan::after(job, machine, &input, &info, (&runs, &info.layout(&runs)), &done)
    }

    /// Returns the plan of `job` before degrees are known, based on the size of the input and a sample of it. `done`
    /// describes what earlier runs completed.
    ///
    /// # Errors
    /// [`crate::Error::Input`], [`crate::Error::Io`].
    pub(crate) fn before(job: &Job, machine: &Resources, input: &Input, done: &CompletedWork) -> Result<Plan> {
        let guess = input_estimate::estimate(&input.clone().with_weights(Weights::Skip), &job.input)?;
        Plan::bounds(job, machine, input, guess, done)
    }

    fn bounds(
        job: &Job,
        machine: &Resources,
        input: &Input,
        guess: InputEstimate,
        done: &CompletedWork,
    ) -> Result<Plan> {
        let InputEstimate { edges, edges_about, distinct, ids, ids_at_least, rows, sparse, may_be_sparse, .. } = guess;
        let (basis, likely) = (guess.basis, &guess.likely);
        let (threads, weighted) = (machine.threads, job.carries_weights());
        let input = &as_read(job, input);
        let connected = ids.min(2 * edges);
        let reading = input.scratch_bytes(threads);
        let direction = job.direction();
        let shape = LayoutShape::at_most(edges, connected, direction);
        let target = Layout::block_target(edges);
        // Most graphs have a self-loop. Without `- 1`, a graph whose number of edges is a power of two would get the
        // layout of the next size.
        let blocks = Layout::new(likely, edges_about.saturating_sub(1), direction).blocks() as u64;
        // Blocks are not split between ranks, and later blocks have more edges than earlier ones.
        let part = if machine.ranks == 1 { 1.0 } else { 1.0 / machine.ranks as f64 + 1.0 / blocks.max(1) as f64 };
        let reading_in_all = reading + looking_up(may_be_sparse, ids, may_be_wide(job));
        let demand = MemoryDemand {
            edges: share_of(edges, part),
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
            column_rows: rows,
            ids,
            sparse,
            longest_row,
            longest_whole_row: edges.min(connected),
            blocks: most_blocks,
            gpu_row: None,
            reading: reading_in_all,
            degrees: likely,
        };
        let sized = JobSize {
            basis,
            edges,
            demand,
            may_be_sparse,
            lists_weights: weighted && job.input.weights().named().is_some_and(WeightType::is_wide),
            // r different degrees need r²/4 edges.
            runs: 2 * edges.isqrt() + 1,
            sizes: Sizes::new(shape, demand, machine.free_for_edges()),
            least: demand.least(&shape),
            blocks,
            block_bytes: (stored::body_bytes(0, 0) + 192 + PAGE) * most_blocks
                + 4 * direction.rows(connected)
                + 4 * distinct
                + weights_bytes(distinct, most_blocks, weighted),
            graph,
        };
        let mut plan = Plan::build(job, machine, input, &sized, done);
        // Blocks may be half as large if every edge is listed from both ends.
        let ingest = ingest::samples_bytes(threads, input) + reading + 4 * ids_at_least;
        let disk = edges_about.min(distinct) * if weighted { 4 } else { 2 };
        let host_memory = machine.certain().as_ref().unwrap_or(machine).smallest(ingest, 0);
        plan.certain = CertainNeeds { host_memory, disk, scratch: 0, ..plan.certain };
        let graph = GraphSize { gpu_row: Some(2 * (edges.isqrt() + 1)), ..sized.graph };
        plan.gpu_memory_needed = TaskCost::least_gpu_memory(job, machine, &graph);
        Ok(plan)
    }

    /// Returns the stages that no earlier run completed, in order.
    pub fn remaining_stages(&self) -> impl Iterator<Item = &PlannedStage> {
        self.stages.iter().filter(|stage| !stage.done)
    }

    /// Returns the plan of `job`, based on the degrees that ingest counted. `done` describes what earlier runs
    /// completed.
    ///
    /// # Errors
    /// None occur in practice; [`crate::Error::Io`] if free disk space can't be determined.
    pub(crate) fn after(
        job: &Job,
        machine: &Resources,
        input: &Input,
        info: &InputInfo,
        (runs, layout): (&DegreeRuns, &Layout),
        done: &CompletedWork,
    ) -> Result<Plan> {
        let part = route::largest_part(layout, runs, machine.ranks);
        let input = &as_read(job, input);
        let needs = needs(info, input, &machine.comm_memory, machine.threads, part);
        let (shape, _) = LayoutShape::and_bins(layout);
        let edges = info.edges - info.loops;
        let graph = size_of(info, edges, runs.longest_row(), layout.blocks() as u64, runs);
        let graph = GraphSize { reading: needs.reading, gpu_row: Some(layout.longest_row()), ..graph };
        let sized = JobSize {
            basis: Basis::Degrees,
            edges: info.edges,
            demand: needs,
            may_be_sparse: info.sparse,
            lists_weights: info.weights.is_some_and(|weights| weights.kind.is_wide()),
            runs: info.runs,
            sizes: Sizes::new(shape, needs, machine.free_for_edges()),
            least: needs.least(&shape),
            blocks: layout.blocks() as u64,
            block_bytes: store_bytes(info, layout),
            graph,
        };
        Ok(Plan::build(job, machine, input, &sized, done))
    }

    /// Returns the plan of a job on `graph`, which the job in the workdir `other` kept. `manifest` records which
    /// tasks are complete.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Corrupt`] for the files of the graph.
    pub(crate) fn prepared(
        job: &Job,
        machine: &Resources,
        other: &std::path::Path,
        graph: &Graph,
        manifest: &Manifest,
    ) -> Result<Plan> {
        let done = CompletedWork::of(job, manifest, Contents::of(&graph.info));
        let runs = order::read_runs(&graph.folder, graph.info.content)?;
        let (info, blocks) = (&graph.info, graph.block_store.len() as u64);
        let size = size_of(info, graph.stored.edges, graph.block_store.extremes().row, blocks, &runs);
        let size = GraphSize { gpu_row: Some(graph.block_store.layout.longest_row()), ..size };
        let tasks = |machine: &Resources| TaskCost::of_all(job, machine, ByInput::Graph(&size));
        let clock = TimeModel::new(job, machine, machine.preparers(info.ids), None, info.edges);
        let plan = Plan {
            input: format!("the prepared graph of {}", other.display()),
            basis: Basis::Prepared,
            edges: info.edges,
            ids: info.ids,
            blocks,
            ..Plan::empty(job, machine, &tasks(machine), blocks)
        };
        Ok(plan.with_stages(machine, &done, |machine| {
            let derived = derived_rows(job, machine, &size, true, &clock);
            let tasks = TaskCost::stages(&tasks(machine), machine, &clock, 1.0);
            stacked(reading_again(job, machine, graph).into_iter().chain(derived).chain(tasks), SMALL_FILES).collect()
        }))
    }

    fn empty(job: &Job, machine: &Resources, tasks: &[TaskCost], blocks: u64) -> Plan {
        let on_gpu = || tasks.iter().filter(|task| task.resources.on_gpu);
        let most = on_gpu().max_by_key(|task| task.gpu_memory);
        let uses_gpu = on_gpu().next().is_some() || (tasks.is_empty() && machine.computes(job, 0));
        // If free disk space can't be determined, a full disk is only reported when a write fails.
        let free = host::free_disk(&job.workdir).unwrap_or(u64::MAX / 2);
        Plan {
            job: job.name.clone(),
            workdir: job.workdir.clone(),
            units: job.tasks.iter().map(|task| task.units(blocks)).sum(),
            ranks: machine.ranks,
            nodes: machine.nodes(),
            threads: machine.threads,
            device: if uses_gpu { "gpu" } else { "cpu" },
            gpu: machine.gpu.as_ref().map(|gpu| gpu.name.clone()),
            host_memory_limit: machine.host_memory,
            addresses: limits::Addresses::of(job, None),
            gpu_memory_limit: machine.gpu.as_ref().and_then(|gpu| gpu.memory),
            gpu_memory_needed: most.and_then(|task| task.gpu_memory).unwrap_or(0).max(LEAST_MEMORY),
            gpu_task: most.map(|task| task.name),
            disk_free: free + workdir::bytes(&job.workdir),
            scratch_free: job.scratch.as_ref().filter(|path| path.exists()).and_then(|path| host::free_disk(path).ok()),
            scratch_path: job.scratch.clone(),
            maybe: machine.missing.iter().cloned().collect(),
            disk_check: job.run.disk_check,
            ..Plan::default()
        }
    }

    fn build(job: &Job, machine: &Resources, input: &Input, sized: &JobSize<'_>, done: &CompletedWork) -> Plan {
        let tasks = TaskCost::of_all(job, machine, ByInput::Graph(&sized.graph));
        let Estimate { kept, scratch, .. } = sized.estimate(job, input, machine);
        let plan = Plan {
            input: format!("{}, {}", input.name(), size::show(input.bytes())),
            basis: sized.basis,
            edges: sized.edges,
            ids: sized.graph.ids,
            blocks: sized.blocks,
            addresses: limits::Addresses::of(job, Some(input).filter(|_| sized.basis != Basis::Expected)),
            kept,
            scratch,
            ..Plan::empty(job, machine, &tasks, sized.blocks)
        };
        plan.with_stages(machine, done, |machine| sized.estimate(job, input, machine).stages)
    }

    /// Completes the plan: adds the stages, their totals, and the smallest memory limit that works. To find this limit,
    /// it calls `on`, which returns the stages under given resources, with several memory limits.
    fn with_stages(
        mut self,
        machine: &Resources,
        done: &CompletedWork,
        on: impl Fn(&Resources) -> Vec<PlannedStage>,
    ) -> Plan {
        let marked = |machine: &Resources| {
            let mut stages = on(machine);
            done.mark(&mut stages);
            stages
        };
        let mut stages = marked(machine);
        self.host_memory_needed = least_limit(machine, &stages, marked);
        // No stage exceeds the limit: a stage that needs more does not start.
        for stage in &mut stages {
            stage.host_memory = stage.host_memory.min(self.host_memory_limit);
        }
        let most = |of: fn(&PlannedStage) -> u64| stages.iter().map(of).max().unwrap_or(0);
        self.host_memory = most(|stage| stage.host_memory);
        self.host_memory_node = self.host_memory * self.ranks.div_ceil(self.nodes) as u64;
        self.exchange = stages.iter().map(|stage| stage.exchange).sum();
        (self.gpu_memory, self.disk) = (most(|stage| stage.gpu_memory), most(|stage| stage.disk));
        self.stages = stages;
        // Adding 0.0 matters: the sum of an empty iterator is -0.
        let sum = |of: fn(&PlannedStage) -> f64| 0.0 + self.remaining_stages().map(of).sum::<f64>();
        let (seconds, from, to) =
            (sum(|s| s.time.seconds), sum(|s| s.time.seconds_range[0]), sum(|s| s.time.seconds_range[1]));
        (self.seconds, self.seconds_range) = (seconds, [from, to]);
        let Plan { host_memory_needed, gpu_memory_needed: gpu_memory, disk, scratch, .. } = self;
        let host_memory =
            machine.certain().map_or(host_memory_needed, |certain| least_limit(&certain, &self.stages, marked));
        self.certain = CertainNeeds { host_memory, gpu_memory, disk, scratch };
        self
    }
}
