//! Cost of every stage: host memory per rank, disk space, bytes that ranks send to each other, and time.

use crate::algo::{ByInput, Cost, GraphSize, RankResources, SizeRef, Task};
use crate::config::Job;
use crate::formats::Input;
use crate::gpu;
use crate::job::plan::Basis;
use crate::job::plan::cost_model::WEIGHTED;
use crate::job::plan::formulas::{PAGE, kept, looking_up};
use crate::job::plan::packing::Packing;
use crate::job::plan::part_cost::derived_rows;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::TimeModel;
use crate::job::plan::stage::{PlannedStage, StageKind, stacked};
use crate::prepare::memory_plan::{MemoryDemand, Sizes};
use crate::prepare::names::Names;
use crate::prepare::partition::{LINE, edge_bytes};
use crate::prepare::{ingest, order, relabel, sorted_list};
use std::sync::Arc;

/// Total size in bytes of manifest, report, log and status (upper bound).
pub(crate) const SMALL_FILES: u64 = 256 << 10;

/// Factor by which the estimated work of an algorithm may differ from the actual work while degrees are not known.
const UNSURE: f64 = 1.6;

/// The sizes from which costs are computed: upper bounds, or exact sizes once degrees are known.
pub(crate) struct JobSize<'a> {
    pub(crate) basis: Basis,
    pub(crate) edges: u64,
    /// Numbers of edges, ids and threads of a rank, and the sizes of its buffers, from which the memory of the stages
    /// `partition` and `sort` is computed.
    pub(crate) demand: MemoryDemand,
    /// True if ids may turn out to be sparse. A dictionary is then built, and its index must fit in memory.
    pub(crate) may_be_sparse: bool,
    /// True if weights have 64 bits, so that a sorted list of them is built.
    pub(crate) lists_weights: bool,
    pub(crate) runs: u64,
    pub(crate) sizes: Result<Sizes, u64>,
    /// Minimum memory in bytes for the stage `partition`, without edges in flight between ranks, and for the stage
    /// `sort`.
    pub(crate) least: [u64; 2],
    /// Number of blocks; approximate until degrees are known.
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u64,
    /// Size of the graph that tasks compute on.
    pub(crate) graph: GraphSize<'a>,
}

/// Cost of one task of the plan.
pub(crate) struct TaskCost {
    pub(crate) name: &'static str,
    pub(crate) resources: RankResources,
    pub(crate) cost: Cost,
    /// Minimum GPU memory in bytes that is enough, if the task uses a GPU.
    pub(crate) gpu_memory: Option<u64>,
}

impl TaskCost {
    /// Returns the cost of every task of the job on an input of the size `size`.
    pub(crate) fn of_all(job: &Job, machine: &Resources, size: SizeRef<'_, '_>) -> Vec<TaskCost> {
        let graph = size.graph();
        let packing = graph.and_then(|of| Packing::of(machine, job, (of.edges, of.vertices, of.direction)));
        let packed = packing.map(|packing| packing.packed);
        // Before ingest the longest row is unknown, and any GPU is assumed to be large enough.
        let is_known = graph.is_none_or(|graph| graph.gpu_row.is_some());
        let one = |task: &Arc<dyn Task>| {
            let least = task.least_gpu_memory(size, machine.ranks);
            let gpu_memory = least.map(|least| if is_known { least } else { 0 });
            let resources = RankResources { packed, ..machine.rank_resources(job, gpu_memory) };
            TaskCost { name: task.name(), resources, cost: task.cost(size, &resources), gpu_memory }
        };
        job.tasks.iter().map(one).collect()
    }

    /// Returns the minimum GPU memory per rank, in bytes, that is enough for every task of the job on `graph`.
    pub(crate) fn least_gpu_memory(job: &Job, machine: &Resources, graph: &GraphSize<'_>) -> u64 {
        let of_tasks = job.tasks.iter().map(|task| task.least_gpu_memory(ByInput::Graph(graph), machine.ranks));
        of_tasks.flatten().max().unwrap_or(0).max(gpu::LEAST_MEMORY)
    }

    /// Returns a planned stage for each task in `all`. The field `disk` of a stage is the number of bytes that its task
    /// writes. The estimated work of a task is likely right within a factor of `unsure`.
    pub(crate) fn stages(all: &[TaskCost], machine: &Resources, clock: &TimeModel, unsure: f64) -> Vec<PlannedStage> {
        let stage = |(place, TaskCost { name, resources, cost, .. }): (usize, &TaskCost)| PlannedStage {
            name,
            host_memory: machine.process_bytes() + cost.host_memory,
            least: cost.least_host_memory,
            gpu_memory: machine.gpu_memory(),
            disk: cost.disk,
            exchange: cost.exchange,
            cached: cost.cached,
            time: clock.of_task(cost, resources.on_gpu, unsure),
            kind: StageKind::Task(place, resources.trials),
            ..PlannedStage::default()
        };
        all.iter().enumerate().map(stage).collect()
    }
}

/// The predicted stages of a job, and the sizes of the input that it caches and of the edges that it spills.
pub(crate) struct Estimate {
    /// The stages in order.
    pub(crate) stages: Vec<PlannedStage>,
    /// Size in bytes of the input that may be cached within the memory limit.
    pub(crate) kept: u64,
    /// Total size in bytes of the edges that the ranks of a node spill to the scratch folder.
    pub(crate) scratch: u64,
}

impl JobSize<'_> {
    /// Returns the predicted stages of `job` on `machine`, with their costs.
    pub(crate) fn estimate(&self, job: &Job, input: &Input, machine: &Resources) -> Estimate {
        let resources = machine.preparers(self.graph.ids);
        let clock = TimeModel::new(job, machine, resources, Some(input), self.edges);
        let stage = |name, kind, [host_memory, least]: [u64; 2], disk, exchange, seconds| {
            let time = clock.of_preparing(name, seconds, exchange);
            let gpu_memory = machine.gpu_memory();
            PlannedStage { name, host_memory, least, gpu_memory, disk, exchange, time, kind, ..PlannedStage::default() }
        };
        let (own, threads) = (machine.process_bytes(), machine.threads);

        let reading = input.scratch_bytes(threads);
        let index = looking_up(self.may_be_sparse, self.graph.ids, false);
        let samples = ingest::samples_bytes(threads, input);
        let least_ingest = samples + reading + ingest::degrees_bytes(self.graph.ids) + index;
        // Each thread counts degrees in counters of its own if memory suffices; otherwise threads have fewer counters.
        let ingest = own + least_ingest + ingest::counters_bytes(self.graph.ids, threads);
        let least = if input.has_names() { Names::least_bytes(threads) } else { sorted_list::least_bytes(threads) };
        // If the input has a list of vertices, ids come from that list, not from the edges.
        let listed = input.vertices.as_ref().map_or(reading, |list| list.scratch_bytes(threads));
        let dictionary = if self.may_be_sparse { listed + least } else { 0 };
        let least_relabel = 4 * self.graph.ids + relabel::scratch_bytes(threads, self.edges);
        let relabel = own + least_relabel;
        let may_keep = self.basis.is_bound() && !self.graph.sparse;
        let most_kept = match input.on_gpu() {
            _ if !may_keep => 0,
            None => input.most_cached_bytes(machine.ranks),
            // Host memory for bins that is allocated while a GPU generates the edges. Bins also use about three
            // quarters of the GPU's memory, which reduces the need for host memory.
            Some(_) if machine.gpu_memory() == 0 || self.demand.weighted => 0,
            Some(_) => {
                let bins = edge_bytes(false) * self.edges / machine.ranks as u64;
                bins.saturating_sub(machine.gpu_memory() / 4 * 3).min(input.most_cached_bytes(machine.ranks))
            }
        };
        let (kept, with_cached) = kept(most_kept, self.sizes, machine, input.chunk() as u64, ingest.max(relabel));
        let (partition, sort) = match self.sizes {
            Ok(sizes) if !self.basis.is_bound() => (own + sizes.partitioning, own + sizes.sorting),
            // How partition and sort divide the memory depends on degrees, so both get the same bound.
            Ok(sizes) if sizes.spill == 0 => {
                let most = (own + sizes.partitioning.max(sizes.sorting)).max(with_cached);
                (most, most)
            }
            _ => (u64::MAX, u64::MAX),
        };
        let [least_partition, least_sort] = self.least;

        // Sizes in bytes on the disk: `ids` of the list of sparse or string ids and of small files, `order` of
        // everything that is stored before the blocks, and `blocks` of everything that is stored once the blocks are
        // complete.
        let text = input.most_text_bytes();
        let ids = match self.graph.sparse {
            true if input.has_names() => Names::stored_bytes(self.graph.ids, text),
            true => sorted_list::body_bytes(self.graph.ids) + 2 * PAGE,
            false => 0,
        } + SMALL_FILES;
        let weights = if self.lists_weights { sorted_list::body_bytes(self.edges) + 2 * PAGE } else { 0 };
        let order = order::body_bytes(self.graph.ids, self.runs) + 2 * PAGE + ids + weights;
        let packing = Packing::of(machine, job, (self.graph.edges, self.graph.vertices, self.graph.direction));
        let blocks = if packing.is_some() { 0 } else { self.block_bytes };
        let blocks = order + blocks + 4 * self.graph.vertices + PAGE;
        let spilled = self.spilled_by(machine.ranks);
        let (spilled_to_workdir, scratch) = match job.scratch {
            Some(_) => (0, self.spilled_by(machine.local_ranks)),
            None => (spilled, 0),
        };

        // Number of bytes that ranks send for an array of 32-bit numbers, if every rank gathers the shares of all
        // others or sends its share to all others.
        let others = machine.ranks as u64 - 1;
        let shared = |entries: u64| others * 4 * entries;
        let moved = edge_bytes(self.demand.weighted) * self.graph.edges / machine.ranks as u64 * others;
        let degrees = if job.needs_degrees() { 2 } else { 1 } * shared(self.graph.vertices);
        let times = if self.demand.weighted { WEIGHTED } else { 1.0 };
        let mut stages = Vec::new();
        if self.graph.sparse {
            // The disk first stores sorted runs of all edge ends, then the ids. The minimum memory of this stage is
            // included in the minimum memory of ingest.
            let taken = own + reading;
            let free = machine.host_memory.saturating_sub(taken);
            let (name, memory, runs) = match input.has_names() {
                true => ("number", free, text + 20 * self.edges),
                false => {
                    let ends = (2 * self.edges).max(self.graph.ids);
                    ("dictionary", sorted_list::build_bytes(ends, threads, free), 8 * ends)
                }
            };
            let seconds = resources.dictionary(self.edges);
            stages.push(stage(name, StageKind::Order, [taken + memory, 0], runs + ids, 0, seconds));
        }
        let seconds = resources.ingest(self.edges, self.graph.ids, input.bytes(), input);
        let memory = [ingest + kept, least_ingest.max(dictionary)];
        stages.push(stage("ingest", StageKind::Order, memory, ids, shared(self.graph.ids), seconds));
        if self.lists_weights {
            // Degrees remain in memory meanwhile. The disk first stores sorted runs of all weights, then the list.
            let degrees = ingest::degrees_bytes(self.graph.ids);
            let taken = own + reading + degrees;
            let free = machine.host_memory.saturating_sub(taken);
            let memory = [
                taken + sorted_list::build_bytes(self.edges, threads, free),
                reading + degrees + sorted_list::least_bytes(threads),
            ];
            let (disk, seconds) = (8 * self.edges + weights + ids, resources.dictionary(self.edges));
            stages.push(stage("weights", StageKind::Order, memory, disk, 0, seconds));
        }
        let (memory, seconds) = ([relabel + kept, least_relabel], resources.relabel(self.graph.ids));
        stages.push(stage("relabel", StageKind::Order, memory, order, shared(self.graph.ids), seconds));
        let seconds = times * resources.partition(self.edges, self.graph.ids, input.bytes(), spilled, input);
        let (memory, disk) = ([partition, least_partition], order + spilled_to_workdir);
        let partition = stage("partition", StageKind::Blocks, memory, disk, moved, seconds);
        stages.push(PlannedStage { exchanging: least_partition, ..partition });
        let seconds = times * resources.sort(self.graph.edges, self.graph.ids, spilled);
        let (memory, disk) = ([sort, least_sort], blocks + spilled_to_workdir);
        stages.push(stage("sort", StageKind::Blocks, memory, disk, degrees, seconds));
        let tasks = TaskCost::of_all(job, machine, ByInput::Graph(&self.graph));
        let tasks = TaskCost::stages(&tasks, machine, &clock, if self.basis.is_bound() { UNSURE } else { 1.0 });
        let derived = derived_rows(job, machine, &self.graph, !self.basis.is_bound(), &clock);
        stages.extend(stacked(derived.chain(tasks), blocks));
        Estimate { stages, kept, scratch }
    }

    /// Returns the total size in bytes of the edges that `ranks` ranks spill, each rank to its own file. The plan
    /// assumes that all ranks together receive an eighth more edges than there are. A rank that receives fewer edges
    /// than others spills a smaller fraction of them.
    fn spilled_by(&self, ranks: usize) -> u64 {
        let by_largest_rank = match self.sizes {
            Ok(sizes) => sizes.spill,
            // The memory is too small for `partition` and `sort`, so a rank may have to spill all its edges.
            Err(_) => edge_bytes(self.demand.weighted) * (self.demand.edges + LINE as u64),
        };
        let full_ranks = 1.125 * self.graph.edges as f64 / self.demand.edges.max(1) as f64;
        (by_largest_rank as f64 * full_ranks.min(ranks as f64)) as u64
    }
}
