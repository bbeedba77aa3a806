//! What every stage takes: host memory of a rank, disk, what ranks send to each other, time.

use super::machine::Machine;
use super::needs::{Counted, PAGE, counts_exchanged, kept, looking_up, results_bytes, units_bytes};
use super::plan::Basis;
use super::rates::Crew;
use super::speeds::{Clock, Time};
use super::work::Work;
use crate::config::Job;
use crate::formats::{Input, Kept};
use crate::prepare::dictionary::Dictionary;
use crate::prepare::partition::{EDGE_BYTES, LINE};
use crate::prepare::shares::Sizes;
use crate::prepare::{ingest, order, relabel};
use serde::Serialize;

/// Bytes of manifest, report, log and status, with room to spare.
pub(super) const SMALL_FILES: u64 = 256 << 10;

/// The factor within which the work of counting is likely right before degrees are known.
const UNSURE: f64 = 1.6;

/// A stage to come.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// Its name in the report.
    pub name: &'static str,
    /// Whether an earlier run did it.
    pub done: bool,
    /// Most bytes of host memory of a rank while it runs.
    pub host_memory: u64,
    /// Most bytes of a GPU's memory.
    pub gpu_memory: u64,
    /// Most bytes in the workdir while it runs.
    pub disk: u64,
    /// About how many bytes ranks send to others, all together.
    pub exchange: u64,
    /// About how many seconds it takes.
    pub seconds: f64,
    /// From where to where the seconds likely are.
    pub seconds_range: [f64; 2],
    /// The same, to be noted beside what it then takes.
    #[serde(skip)]
    pub(super) time: Time,
}

/// What the sizes of a graph are computed from, bounds or truth.
pub(super) struct Sized {
    pub(super) basis: Basis,
    pub(super) edges: u64,
    pub(super) kept: u64,
    /// Edges that a rank has room for in bins, of those that are kept.
    pub(super) share: u64,
    pub(super) ids: u64,
    /// Of results per vertex.
    pub(super) rows: u64,
    pub(super) connected: u64,
    pub(super) runs: u64,
    pub(super) sparse: bool,
    pub(super) sizes: Result<Sizes, u64>,
    /// Fewest bytes for partitioning, beside edges on their way between ranks, and for sorting.
    pub(super) least: [u64; 2],
    pub(super) longest_row: u64,
    pub(super) blocks: u64,
    pub(super) most_units: u64,
    pub(super) block_bytes: u64,
    /// Fewest bytes of GPU memory, as far as they are known.
    pub(super) gpu_memory: u64,
    pub(super) work: Work,
}

/// Seconds of all trials by the rates, and of results in `rows` rows.
pub(super) fn counting_seconds(job: &Job, crew: &Crew, work: &Work, rows: u64) -> f64 {
    let per_vertex = job.triangle.is_some_and(|table| table.per_vertex);
    let more = if per_vertex { crew.per_vertex(work, rows) } else { 0.0 };
    f64::from(job.run.trials) * (crew.counting(work) + more)
}

/// All stages.
pub(super) struct Estimate {
    /// In order.
    pub(super) stages: Vec<Stage>,
    /// The smallest limit of host memory that does for all of them.
    pub(super) needed: u64,
    /// Bytes of input that may be kept within the limit.
    pub(super) kept: u64,
    /// Bytes that the ranks of a node spill to its scratch.
    pub(super) scratch: u64,
}

impl Sized {
    /// Stages of `job` on `machine`.
    pub(super) fn estimate(&self, job: &Job, input: &Input, machine: &Machine) -> Estimate {
        let s = self;
        let (own, threads) = (machine.own(), machine.threads);
        let reading = input.scratch_bytes(threads);
        let index = looking_up(s.sparse, s.ids);
        let least_ingest = ingest::scratch_bytes(0, threads) + reading + ingest::degrees_bytes(s.ids) + index;
        // The threads' own counters are as large as the limit allows.
        let ingest = own + least_ingest + ingest::scratch_bytes(s.ids, threads);
        let least_relabel = 4 * s.ids + relabel::scratch_bytes(threads, s.edges);
        let relabel = own + least_relabel;
        let crew = machine.crew(job, s.ids, s.gpu_memory);
        let counted = Counted { vertices: s.connected, edges: s.kept, row: s.longest_row };
        let [counting, least_counting] = counted.bytes(job, crew.counts_on_gpu, machine);
        let triangle = own + counting;
        let (partition, sort, spill) = match s.sizes {
            Ok(sizes) => (own + sizes.partitioning, own + sizes.sorting, sizes.spill),
            // All edges may have to be spilled then.
            Err(_) => (u64::MAX, u64::MAX, EDGE_BYTES * (s.share + LINE as u64)),
        };
        let before = matches!(s.basis, Basis::Size | Basis::Expected);
        let most_kept = if before && !s.sparse { Kept::most_bytes(input, machine.ranks) } else { 0 };
        let (kept, with_kept) = kept(most_kept, s.sizes, machine, input.chunk() as u64, ingest.max(relabel));
        // How much each of both takes depends on degrees: one bound for both.
        let (partition, sort) = match s.basis {
            _ if before && spill > 0 => (u64::MAX, u64::MAX),
            _ if before => (partition.max(sort).max(with_kept), partition.max(sort).max(with_kept)),
            _ => (partition, sort),
        };
        let [least_partition, least_sort] = s.least;
        let mut least = least_ingest.max(least_relabel).max(least_sort);
        if job.triangle.is_some() {
            least = least.max(least_counting);
        }
        if s.sparse {
            least = least.max(reading + Dictionary::least_bytes(threads));
        }
        let needed = machine.smallest(least, least_partition);

        let ids = if s.sparse { Dictionary::body_bytes(s.ids) + 2 * PAGE } else { 0 };
        let order = order::body_bytes(s.ids, s.runs) + 2 * PAGE + ids + SMALL_FILES;
        let degrees = 4 * s.connected + PAGE;
        let results = results_bytes(job, s.rows, s.connected, s.sparse);
        let bytes = input.bytes();
        // Each rank spills to a file of its own. Together they have room for an eighth more than there is, and those with
        // fewer edges than the one with most spill a smaller part of them, too.
        let full_ranks = 1.125 * s.kept as f64 / s.share.max(1) as f64;
        let spilled_by = |ranks: usize| (spill as f64 * full_ranks.min(ranks as f64)) as u64;
        let spilled = spilled_by(machine.ranks);
        let (spill_here, scratch) = match job.scratch {
            Some(_) => (0, spilled_by(machine.local_ranks)),
            None => (spilled, 0),
        };
        // An array of which every rank gets its share from all others, or gives its own to all others.
        let others = machine.ranks as u64 - 1;
        let shared = |entries: u64| others * 4 * entries;
        let moved = EDGE_BYTES * s.kept / machine.ranks as u64 * others;
        let stored = if job.keep || job.triangle.is_some_and(|table| table.per_vertex) { 2 } else { 1 };
        let gpu_memory = machine.gpu_memory();
        let mut stages = Vec::new();
        let clock = Clock::new(job, machine, crew, Some(input), s.edges, if before { UNSURE } else { 1.0 });
        let mut stage = |name, host_memory, disk, exchange, seconds: f64| {
            let time = clock.time(name, seconds + crew.exchange(exchange));
            let Time { seconds, range: seconds_range, .. } = time;
            stages.push(Stage {
                name,
                done: false,
                host_memory,
                gpu_memory,
                disk,
                exchange,
                seconds,
                seconds_range,
                time,
            });
        };
        if s.sparse {
            // Sorted runs of all ends, then the ids.
            let free = machine.host_memory.saturating_sub(own + reading);
            let dictionary = own + reading + Dictionary::build_bytes(2 * s.edges, threads, free);
            stage("dictionary", dictionary, 16 * s.edges + ids + SMALL_FILES, 0, crew.dictionary(s.edges));
        }
        stage("ingest", ingest + kept, ids + SMALL_FILES, shared(s.ids), crew.ingest(s.edges, s.ids, bytes, input));
        stage("relabel", relabel + kept, order, shared(s.ids), crew.relabel(s.ids));
        stage("partition", partition, order + spill_here, moved, crew.partition(s.edges, s.ids, bytes, spilled, input));
        let disk = order + s.block_bytes + degrees;
        stage("sort", sort, disk + spill_here, stored * shared(s.connected), crew.sort(s.kept, s.ids, spilled));
        if job.triangle.is_some() {
            let seconds = counting_seconds(job, &crew, &s.work, s.rows);
            let disk = disk + results + units_bytes(job, s.most_units);
            stage("triangle", triangle, disk, counts_exchanged(job, machine.ranks, s.connected), seconds);
        }
        Estimate { stages, needed, kept, scratch }
    }
}
