//! Cost of every stage: host memory per rank, disk, bytes that ranks send to each other, time.

use crate::algo::{ByInput, Cost, Crew, GraphSize, SizeRef, Task};
use crate::config::Job;
use crate::formats::Input;
use crate::job::plan::Basis;
use crate::job::plan::cost_model::WEIGHTED;
use crate::job::plan::formulas::{PAGE, kept, looking_up};
use crate::job::plan::packing::Packing;
use crate::job::plan::part_cost::PartCost;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::{Clock, Time};
use crate::prepare::dictionary::Dictionary;
use crate::prepare::memory_plan::Sizes;
use crate::prepare::partition::{LINE, edge_bytes};
use crate::prepare::{ingest, order, relabel};
use serde::Serialize;
use std::sync::Arc;

/// Bytes of manifest, report, log and status (upper bound).
pub(crate) const SMALL_FILES: u64 = 256 << 10;

/// Factor within which the estimated work of an algorithm is likely right before degrees are known.
const UNSURE: f64 = 1.6;

/// A stage of a plan.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// Its name in the report.
    pub name: &'static str,
    /// True if an earlier run completed it.
    pub done: bool,
    /// Largest host memory of a rank while the stage runs, in bytes.
    pub host_memory: u64,
    /// Smallest host memory with which the stage can run.
    #[serde(skip)]
    pub(crate) least: Least,
    /// Largest memory of a GPU, in bytes.
    pub gpu_memory: u64,
    /// Largest size of the workdir while the stage runs, in bytes.
    pub disk: u64,
    /// Bytes that all ranks together send to other ranks (approximate).
    pub exchange: u64,
    /// Bytes of files that all ranks together read in random order.
    #[serde(skip)]
    pub(crate) cached: u64,
    /// Seconds that the stage takes (approximate).
    pub seconds: f64,
    /// Likely range of the seconds, from lowest to highest.
    pub seconds_range: [f64; 2],
    /// The same time with what is needed to record the measured time next to it.
    #[serde(skip)]
    pub(crate) time: Time,
    /// Part of the job that the stage belongs to.
    #[serde(skip)]
    pub(crate) kind: StageKind,
}

/// Smallest host memory of a rank with which a stage can run, in bytes, in addition to what is taken before any
/// stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Least {
    /// Total.
    pub(crate) bytes: u64,
    /// Part that is needed in addition to edges in flight to other ranks, while there are some.
    pub(crate) exchanging: u64,
}

impl Least {
    /// Returns the needs of a stage that takes `bytes` bytes and has no edges in flight.
    pub(crate) fn of(bytes: u64) -> Least {
        Least { bytes, exchanging: 0 }
    }
}

/// Parts of a job that stages belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// Reads the input and orders its vertices.
    Order,
    /// Builds the blocks.
    Blocks,
    /// Builds a part of the graph that only some tasks need.
    Part,
    /// A task of the job: its place among the tasks, and its number of trials.
    Task(usize, u32),
}

/// The figures that costs are computed from: upper bounds, or exact once degrees are known.
pub(crate) struct JobSize<'a> {
    pub(crate) basis: Basis,
    pub(crate) edges: u64,
    pub(crate) kept: u64,
    /// Number of kept edges that a rank's bins have room for.
    pub(crate) share: u64,
    pub(crate) ids: u64,
    /// True if ids may turn out to be sparse. A dictionary is then built, and its index is in memory.
    pub(crate) may_be_sparse: bool,
    pub(crate) runs: u64,
    pub(crate) sizes: Result<Sizes, u64>,
    /// Smallest memory in bytes for partitioning (in addition to edges in flight between ranks) and for sorting.
    pub(crate) least: [u64; 2],
    /// Number of blocks; approximate until degrees are known.
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u64,
    /// True if edges have weights.
    pub(crate) weighted: bool,
    /// Size of the graph that tasks compute on.
    pub(crate) graph: GraphSize<'a>,
}

/// Cost of one task of the plan.
pub(crate) struct TaskCost {
    pub(crate) name: &'static str,
    pub(crate) crew: Crew,
    pub(crate) cost: Cost,
    /// Smallest GPU memory in bytes that is enough, if the task uses a GPU.
    pub(crate) gpu_memory: Option<u64>,
}

impl TaskCost {
    /// Returns the cost of every task of the job on an input of this size.
    pub(crate) fn of_all(job: &Job, machine: &Resources, size: SizeRef<'_, '_>) -> Vec<TaskCost> {
        let graph = size.graph();
        let packing = graph.and_then(|of| Packing::of(machine, job, (of.edges, of.vertices, of.direction)));
        let packed = packing.map(|packing| packing.packed);
        // Before ingest the longest row is unknown, and any GPU is taken to suffice.
        let is_known = graph.is_none_or(|graph| graph.gpu_row.is_some());
        let one = |task: &Arc<dyn Task>| {
            let least = task.least_gpu_memory(size, machine.ranks);
            let gpu_memory = least.map(|least| if is_known { least } else { 0 });
            let crew = Crew { packed, ..machine.crew(job, gpu_memory) };
            TaskCost { name: task.name(), crew, cost: task.cost(size, &crew), gpu_memory }
        };
        job.tasks.iter().map(one).collect()
    }

    /// Returns the fewest bytes of GPU memory of a rank that are enough for every task of the job on `graph`.
    pub(crate) fn least_gpu_memory(job: &Job, machine: &Resources, graph: &GraphSize<'_>) -> u64 {
        let of_tasks = job.tasks.iter().map(|task| task.least_gpu_memory(ByInput::Graph(graph), machine.ranks));
        of_tasks.flatten().max().unwrap_or(0)
    }

    /// Returns the stages of these tasks, which run one after another on a disk that already holds `disk` bytes. The
    /// estimated work is likely right within a factor of `unsure`.
    pub(crate) fn stages(
        all: &[TaskCost],
        machine: &Resources,
        clock: &Clock,
        mut disk: u64,
        unsure: f64,
    ) -> Vec<Stage> {
        let stage = |(place, task): (usize, &TaskCost)| {
            let TaskCost { name, crew, cost, .. } = task;
            let time = clock.of_task(cost, crew.on_gpu, unsure);
            let Time { seconds, range: seconds_range, .. } = time;
            disk += cost.disk;
            Stage {
                name,
                done: false,
                host_memory: machine.own() + cost.host_memory,
                least: Least::of(cost.least_host_memory),
                gpu_memory: machine.gpu_memory(),
                disk,
                exchange: cost.exchange,
                cached: cost.cached,
                seconds,
                seconds_range,
                time,
                kind: StageKind::Task(place, crew.trials),
            }
        };
        all.iter().enumerate().map(stage).collect()
    }
}

/// All stages of a job and their common figures.
pub(crate) struct Estimate {
    /// The stages in order.
    pub(crate) stages: Vec<Stage>,
    /// Bytes of input that may be cached within the limit.
    pub(crate) kept: u64,
    /// Bytes that the ranks of a node spill to the scratch folder.
    pub(crate) scratch: u64,
}

/// Largest host memory of a rank in each stage of preparation, in bytes.
struct StageMemory {
    ingest: u64,
    relabel: u64,
    partition: u64,
    sort: u64,
    /// Bytes of input that may be cached from ingest to partition.
    kept: u64,
    /// Smallest memory that is enough for ingest, including the dictionary of sparse ids, and for relabel.
    least_ingest: u64,
    least_relabel: u64,
}

/// Bytes on the disks at different times.
struct Disk {
    /// The list of sparse ids.
    ids: u64,
    /// Everything stored before the blocks.
    order: u64,
    /// Everything stored once the blocks are.
    blocks: u64,
    /// Edges that all ranks spill: in total, to the workdir, and to the scratch folder of a node.
    spilled: u64,
    spilled_to_workdir: u64,
    scratch: u64,
}

impl JobSize<'_> {
    /// Returns the stages of `job` on `machine`; `tasks` are the tasks of the job.
    pub(crate) fn estimate(&self, job: &Job, input: &Input, machine: &Resources, tasks: &[TaskCost]) -> Estimate {
        let parts = PartCost::of_all(job, machine, &self.graph, !self.is_bound());
        let memory = self.memory(input, machine);
        let disk = self.disk(job, machine);
        let stages = self.stages(job, input, machine, (tasks, &parts), &memory, &disk);
        Estimate { stages, kept: memory.kept, scratch: disk.scratch }
    }

    /// Returns true if the figures are upper bounds because degrees are not known yet.
    fn is_bound(&self) -> bool {
        matches!(self.basis, Basis::Size | Basis::Expected)
    }

    fn memory(&self, input: &Input, machine: &Resources) -> StageMemory {
        let sparse = self.may_be_sparse;
        let (own, threads) = (machine.own(), machine.threads);
        let reading = input.scratch_bytes(threads);
        let index = looking_up(sparse, self.ids);
        let samples = ingest::samples_bytes(threads, input);
        let least_ingest = samples + reading + ingest::degrees_bytes(self.ids) + index;
        // The counters of each thread are as large as the limit allows.
        let ingest = own + least_ingest + ingest::counters_bytes(self.ids, threads);
        let least_relabel = 4 * self.ids + relabel::scratch_bytes(threads, self.edges);
        let relabel = own + least_relabel;
        let (partition, sort) = match self.sizes {
            Ok(sizes) => (own + sizes.partitioning, own + sizes.sorting),
            Err(_) => (u64::MAX, u64::MAX),
        };
        let most_kept = if self.is_bound() && !self.graph.sparse { input.most_cached_bytes(machine.ranks) } else { 0 };
        let (kept, with_cached) = kept(most_kept, self.sizes, machine, input.chunk() as u64, ingest.max(relabel));
        // How partition and sort divide the memory depends on degrees, so both get the same bound.
        let (partition, sort) = match self.is_bound() {
            true if self.spilled_by_rank() > 0 => (u64::MAX, u64::MAX),
            true => (partition.max(sort).max(with_cached), partition.max(sort).max(with_cached)),
            false => (partition, sort),
        };
        let dictionary = if sparse { reading + Dictionary::least_bytes(threads) } else { 0 };
        StageMemory {
            ingest: ingest + kept,
            relabel: relabel + kept,
            partition,
            sort,
            kept,
            least_ingest: least_ingest.max(dictionary),
            least_relabel,
        }
    }

    /// Returns the bytes of edges that the rank with most edges spills.
    fn spilled_by_rank(&self) -> u64 {
        match self.sizes {
            Ok(sizes) => sizes.spill,
            // In this case a rank may have to spill all its edges.
            Err(_) => edge_bytes(self.weighted) * (self.share + LINE as u64),
        }
    }

    fn disk(&self, job: &Job, machine: &Resources) -> Disk {
        let ids = if self.graph.sparse { Dictionary::body_bytes(self.ids) + 2 * PAGE } else { 0 };
        let order = order::body_bytes(self.ids, self.runs) + 2 * PAGE + ids + SMALL_FILES;
        let degrees = 4 * self.graph.vertices + PAGE;
        let packing = Packing::of(machine, job, (self.graph.edges, self.graph.vertices, self.graph.direction));
        let blocks = if packing.is_some() { 0 } else { self.block_bytes };
        // Each rank spills to its own file. All ranks together have room for an eighth more edges than there are.
        // Ranks with fewer edges than the largest rank also spill a smaller part of them.
        let full_ranks = 1.125 * self.kept as f64 / self.share.max(1) as f64;
        let spilled_by = |ranks: usize| (self.spilled_by_rank() as f64 * full_ranks.min(ranks as f64)) as u64;
        let spilled = spilled_by(machine.ranks);
        let (spilled_to_workdir, scratch) = match job.scratch {
            Some(_) => (0, spilled_by(machine.local_ranks)),
            None => (spilled, 0),
        };
        Disk { ids, order, blocks: order + blocks + degrees, spilled, spilled_to_workdir, scratch }
    }

    fn stages(
        &self,
        job: &Job,
        input: &Input,
        machine: &Resources,
        (tasks, parts): (&[TaskCost], &[PartCost]),
        memory: &StageMemory,
        disk: &Disk,
    ) -> Vec<Stage> {
        // Bytes sent for an array of which every rank gathers the shares of all others or sends its share to all
        // others.
        let others = machine.ranks as u64 - 1;
        let shared = |entries: u64| others * 4 * entries;
        let moved = edge_bytes(self.weighted) * self.kept / machine.ranks as u64 * others;
        let stored = if job.needs_degrees() { 2 } else { 1 };
        let gpu_memory = machine.gpu_memory();
        let mut stages = Vec::new();
        let crew = machine.preparers(self.ids);
        let clock = Clock::new(job, machine, crew, Some(input), self.edges);
        let mut stage = |name, kind, (host_memory, least), disk, exchange, seconds: f64| {
            let time = clock.of_preparing(name, seconds, exchange);
            let Time { seconds, range: seconds_range, .. } = time;
            stages.push(Stage {
                name,
                done: false,
                host_memory,
                least,
                gpu_memory,
                disk,
                exchange,
                cached: 0,
                seconds,
                seconds_range,
                time,
                kind,
            });
        };
        if self.graph.sparse {
            // The disk first holds sorted runs of all edge ends, then the ids.
            let taken = machine.own() + input.scratch_bytes(machine.threads);
            let free = machine.host_memory.saturating_sub(taken);
            let memory = taken + Dictionary::build_bytes(2 * self.edges, machine.threads, free);
            let disk = 16 * self.edges + disk.ids + SMALL_FILES;
            // Its smallest memory is included in that of ingest.
            let memory = (memory, Least::default());
            stage("dictionary", StageKind::Order, memory, disk, 0, crew.dictionary(self.edges));
        }
        let seconds = crew.ingest(self.edges, self.ids, input.bytes(), input);
        let of_ingest = (memory.ingest, Least::of(memory.least_ingest));
        stage("ingest", StageKind::Order, of_ingest, disk.ids + SMALL_FILES, shared(self.ids), seconds);
        let seconds = crew.relabel(self.ids);
        let of_relabel = (memory.relabel, Least::of(memory.least_relabel));
        stage("relabel", StageKind::Order, of_relabel, disk.order, shared(self.ids), seconds);
        let times = if self.weighted { WEIGHTED } else { 1.0 };
        let seconds = times * crew.partition(self.edges, self.ids, input.bytes(), disk.spilled, input);
        let bytes = disk.order + disk.spilled_to_workdir;
        let [least_partition, least_sort] = self.least;
        let of_partition = (memory.partition, Least { bytes: least_partition, exchanging: least_partition });
        stage("partition", StageKind::Blocks, of_partition, bytes, moved, seconds);
        let seconds = times * crew.sort(self.kept, self.ids, disk.spilled);
        let bytes = disk.blocks + disk.spilled_to_workdir;
        let of_sort = (memory.sort, Least::of(least_sort));
        stage("sort", StageKind::Blocks, of_sort, bytes, stored * shared(self.graph.vertices), seconds);
        let unsure = if self.is_bound() { UNSURE } else { 1.0 };
        let (of_parts, before) = PartCost::stages(parts, machine, &clock, disk.blocks);
        stages.extend(of_parts);
        stages.extend(TaskCost::stages(tasks, machine, &clock, before, unsure));
        stages
    }
}
