//! Refuses plans that exceed the memory limits of their job or the free space on the disk.

use crate::config::{InputSpec, Job};
use crate::error::{Error, Result};
use crate::formats::{Input, Weights, unmapped};
use crate::gpu::{self, whole_pieces};
use crate::graph::layout::Layout;
use crate::job::plan::formulas::{as_read, looking_up, may_be_wide};
use crate::job::plan::input_estimate::{self, InputEstimate};
use crate::job::plan::resources::Resources;
use crate::job::plan::stage::StageKind;
use crate::job::plan::{Basis, Plan};
use crate::memory::{addresses_left, at_least, smallest_limit};
use crate::prepare::memory_plan::{LayoutShape, MemoryDemand, Sizes};
use crate::prepare::partition::route;
use crate::process::host;
use crate::size;
use std::path::{Path, PathBuf};

/// With several ranks, the limit that [`suggested`] returns has space for `SHARE` times the number of edges that a rank
/// is expected to receive. A rank that receives more edges spills the rest.
const SHARE: f64 = 1.02;

/// GPU memory in bytes that a node is assumed to have if its GPU can't be inspected. GPUs of clusters have more.
const LEAST_GPU: u64 = 8 << 30;
/// Divisor: at least 1/`WAITING_PART` of a GPU's memory is free for edges that wait to be sorted.
const WAITING_PART: u64 = 2;

/// Replaces the memory limit that a stage's error suggests by the limit that is enough for all stages, so that the
/// user has to change it only once.
pub(crate) fn name_limit(plan: &Plan, error: Error) -> Error {
    match error {
        Error::Limit { limit: limit @ "host_memory", purpose, .. }
            if plan.host_memory_needed > plan.host_memory_limit =>
        {
            let (needed, certainty) = enough_host_memory(plan);
            Error::Limit { limit, given: limit_text(plan), needed, purpose: purpose + &certainty }
        }
        other => other,
    }
}

/// Adapts an error that occurred before any stage, on one of `ranks` ranks on `nodes` nodes. If the error suggests a
/// memory limit with which only the process or the GPU could start, replaces that limit by one that is enough for all
/// stages.
pub(crate) fn for_all_stages(error: Error, job: &Job, ranks: usize, nodes: usize) -> Error {
    match Resources::here(job, ranks, nodes).and_then(|machine| Plan::of(job, &machine)) {
        Ok(plan) if matches!(error, Error::Limit { limit: "gpu_memory", .. }) => {
            refuse_gpu_memory(&plan).err().unwrap_or(error)
        }
        Ok(plan) => name_limit(&plan, error),
        Err(_) => error,
    }
}

/// Adds warnings to `plan`: for upper bounds that exceed the free space, and for memory limits that may be too small.
pub(crate) fn add_warnings(plan: &mut Plan) {
    let (certain, needed) = (plan.certain, plan.host_memory_needed);
    if (certain.host_memory..needed).contains(&plan.host_memory_limit) {
        let (given, needed) = (limit_text(plan), at_least(needed));
        plan.maybe.push(format!("limits.host_memory = {given} may be too small: {needed} is enough (upper bound)"));
    }
    // If no limit is configured, the limit is a fraction of the free memory.
    let free = host::memory().free;
    if (1..plan.host_memory_node).contains(&free) {
        let [given, taken, free] = [plan.host_memory_limit, plan.host_memory_node, free].map(size::show);
        let is_more = format!("limits.host_memory = {given} is more than this machine has free");
        plan.maybe.push(format!("{is_more}: the job takes {taken} at most, of {free}"));
    }
    if let Some(limit) = plan
        .gpu_memory_limit
        .filter(|&limit| (certain.gpu_memory..plan.gpu_memory_needed).contains(&whole_pieces(limit)))
    {
        let (given, needed) = (size::show(limit), gpu::at_least(plan.gpu_memory_needed));
        plan.maybe.push(format!("limits.gpu_memory = {given} may be too small: {needed} is enough (upper bound)"));
    }
    if plan.disk > plan.disk_free {
        let (needed, free) = (size::show(plan.disk), size::show(plan.disk_free));
        plan.maybe.push(format!("the disk of the workdir may be too small: at most {needed} for {free} free"));
    }
    if let Some(free) = plan.scratch_free.filter(|&free| free < plan.scratch) {
        let (needed, free) = (size::show(plan.scratch), size::show(free));
        plan.maybe.push(format!("the disk of job.scratch may be too small: at most {needed} for {free} free"));
    }
}

/// Returns a limit on host memory, in bytes, that is certainly enough for the remaining stages of `plan`, but not
/// much larger than the memory that the run will use. `machine` has as much memory as the job may use.
///
/// Before ingest has run, the plan contains upper bounds, which are several times the memory that most graphs need.
/// The returned limit is then the smallest one with which a graph of likely degrees spills no edge. A graph that
/// needs more memory spills some edges.
///
/// # Errors
/// Errors of [`Plan::of`].
pub fn suggested(job: &Job, machine: &Resources, plan: &Plan) -> Result<u64> {
    // With a smaller limit the process itself uses less memory.
    let above_own = plan
        .remaining_stages()
        .map(|stage| stage.host_memory.saturating_sub(machine.process_bytes()))
        .max()
        .unwrap_or(0);
    let all = smallest_limit(|limit| machine.at(limit).process_bytes() + above_own).next_multiple_of(1 << 20);
    let limit = match plan.remaining_stages().any(|stage| stage.kind == StageKind::Blocks) {
        true => unspilled(job, machine)?.unwrap_or(all),
        false => all,
    };
    Ok(limit.min(plan.host_memory_limit).max(plan.host_memory_needed))
}

/// Returns the size in bytes of the files that the ranks read in random order in one stage: the maximum over the
/// remaining stages. Schedulers that limit a job's memory by a cgroup also count page cache, so the job needs memory
/// for these files. (A job with `[bfs]` at scale 22 has 512 MiB of rows. It took 8.9 and 9.3 s in 586 MiB, and 4.0 and
/// 4.7 s in 850 MiB.)
pub fn read_in_no_order(plan: &Plan) -> u64 {
    plan.remaining_stages().map(|stage| stage.cached).max().unwrap_or(0)
}

/// Returns approximately the smallest limit on host memory, in whole MiB, with which no edge is spilled; `None` if
/// some are spilled even with all memory of `machine`.
fn unspilled(job: &Job, machine: &Resources) -> Result<Option<u64>> {
    if job.input.is_list() || matches!(job.input, InputSpec::Prepared(_)) {
        return Ok(None);
    }
    let (input, guess) = match crate::job::input::expected(job)? {
        Some((input, expect)) => {
            let guess = input_estimate::expected(&input, expect);
            (input, guess)
        }
        None => {
            let input = crate::job::input::of_job(job)?;
            let guess = input_estimate::estimate(&input.clone().with_weights(Weights::Skip), &job.input)?;
            (input, guess)
        }
    };
    let InputEstimate { edges_about: edges, ids, sparse, ref likely, .. } = guess;
    let (input, threads) = (as_read(job, &input), machine.threads);
    let layout = Layout::new(likely, edges.saturating_sub(1), job.direction());
    let (shape, _) = LayoutShape::and_bins(&layout);
    // A run has space for an eighth more edges if memory suffices, but the expected edges fit in this share.
    let part = route::largest_part(&layout, likely, machine.ranks);
    let share = (edges as f64 * (SHARE * part).min(1.0)) as u64;
    let reading = input.scratch_bytes(threads) + looking_up(sparse, ids, may_be_wide(job));
    let weighted = job.carries_weights();
    let on_gpu = waiting_on_gpu(machine);
    let is_enough = |mib: u64| {
        let machine = machine.at(mib << 20);
        let messages = machine.comm_memory.messages();
        let demand = MemoryDemand { edges: share, likely: share, ids, reading, messages, threads, weighted };
        Sizes::new(shape, demand, machine.free_for_edges()).is_ok_and(|sizes| sizes.spill <= on_gpu)
    };
    let most = machine.host_memory >> 20;
    let candidates = std::iter::successors(Some(1u64), |mib| Some(mib + mib / 64 + 1)).take_while(|&mib| mib < most);
    Ok(candidates.chain([most]).find(|&mib| is_enough(mib)).map(|mib| mib << 20))
}

/// Returns the size in bytes of the edges that wait in GPU memory, instead of host memory, to be sorted. With several
/// ranks it is 0, because any rank may receive more edges than fit in its GPU's memory.
fn waiting_on_gpu(machine: &Resources) -> u64 {
    let memory = machine.gpu.as_ref().map_or(0, |gpu| gpu.memory.unwrap_or(LEAST_GPU));
    if machine.ranks == 1 { memory / WAITING_PART } else { 0 }
}

/// Returns an error if the plan exceeds a limit or the free disk space.
///
/// # Errors
/// [`Error::Limit`], which names the smallest limit that is enough; [`Error::DiskFull`].
pub fn refuse(plan: &Plan) -> Result<()> {
    if plan.certain.host_memory > plan.host_memory_limit {
        let (needed, certainty) = enough_host_memory(plan);
        let purpose = format!("this input{certainty}");
        return Err(Error::Limit { limit: "host_memory", given: limit_text(plan), needed, purpose });
    }
    refuse_gpu_memory(plan)?;
    match full_disk(plan) {
        Some(e) if plan.disk_check => Err(e),
        _ => Ok(()),
    }
}

/// Returns an error if the plan uses a GPU and certainly exceeds the limit on its memory.
///
/// # Errors
/// [`Error::Limit`].
fn refuse_gpu_memory(plan: &Plan) -> Result<()> {
    let certain = plan.certain.gpu_memory;
    match plan.gpu_memory_limit {
        Some(limit) if plan.device == "gpu" && whole_pieces(limit) < certain => {
            let purpose = plan.gpu_task.map_or_else(|| "this graph".into(), |task| format!("[{task}] on this graph"));
            let (needed, certain) = (gpu::at_least(plan.gpu_memory_needed), gpu::at_least(certain));
            let purpose = purpose + &certainty(plan, &needed, &certain);
            Err(Error::Limit { limit: "gpu_memory", given: size::show(limit), needed, purpose })
        }
        _ => Ok(()),
    }
}

/// Memory and disk space that a job certainly needs, in bytes. With less, no graph of this input size fits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CertainNeeds {
    pub(crate) host_memory: u64,
    pub(crate) gpu_memory: u64,
    pub(crate) disk: u64,
    pub(crate) scratch: u64,
}

/// Limits on address space that `ulimit -v` sets for a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Addresses {
    /// True if the limit on host memory was derived from the remaining address space.
    are_the_limit: bool,
    /// An input file that is larger than the remaining address space, and its size in bytes.
    unmapped: Option<(PathBuf, u64)>,
}

impl Addresses {
    /// Returns the limits on address space for `job`, and for `input` if it is available here.
    pub fn of(job: &Job, input: Option<&Input>) -> Addresses {
        let are_the_limit = job.limits.host_memory.is_none() && host::memory().by_addresses;
        Addresses { are_the_limit, unmapped: input.and_then(Input::beyond_addresses) }
    }
}

/// Returns an error if `ulimit -v` leaves too little address space for `limit` bytes of host memory.
///
/// # Errors
/// [`Error::Addresses`].
pub(crate) fn check_addresses(limit: u64) -> Result<()> {
    match addresses_left().filter(|&left| left < limit) {
        Some(left) => {
            let cause = std::io::ErrorKind::OutOfMemory.into();
            Err(Error::addresses(limit, "limits.host_memory", limit, Some(left), &cause))
        }
        None => Ok(()),
    }
}

/// Returns an error if the plan needs more address space than `ulimit -v` leaves. Does nothing if the job will run
/// elsewhere.
///
/// # Errors
/// [`Error::Addresses`].
pub fn refuse_addresses(plan: &Plan) -> Result<()> {
    if plan.basis == Basis::Expected {
        return Ok(());
    }
    check_addresses(plan.host_memory_limit)?;
    match &plan.addresses.unmapped {
        Some((path, bytes)) => Err(unmapped(path, *bytes, &std::io::ErrorKind::OutOfMemory.into())),
        None => Ok(()),
    }
}

/// Returns the limit on host memory as text for error messages.
fn limit_text(plan: &Plan) -> String {
    let given = size::show(plan.host_memory_limit);
    match plan.addresses.are_the_limit {
        true => format!("{given} (half of what `ulimit -v` leaves: raise that, or `ulimit -v unlimited`)"),
        false => given,
    }
}

/// Returns the error to report if the disk is too small for the job, otherwise `None`.
fn full_disk(plan: &Plan) -> Option<Error> {
    const ANYWAY: &str = "run.disk_check = false starts the job anyway";
    let full = |path: &Path, taker: &str, most: u64, surely: u64, free: u64| {
        let surely = match surely {
            surely if surely == most => String::new(),
            surely => format!(" and surely {}", size::show(surely)),
        };
        let (most, free) = (size::show(most), size::show(free));
        let what = format!("{taker} at most {most}{surely} here, {free} is free ({ANYWAY})");
        Error::DiskFull { path: path.to_owned(), what }
    };
    if plan.certain.disk > plan.disk_free {
        return Some(full(&plan.workdir, "the job takes", plan.disk, plan.certain.disk, plan.disk_free));
    }
    let free = plan.scratch_free.filter(|&free| free < plan.certain.scratch)?;
    let path = plan.scratch_path.as_deref().unwrap_or(Path::new(""));
    Some(full(path, "the ranks of a node take", plan.scratch, plan.certain.scratch, free))
}

/// Returns text about how reliable the limit `needed` is, to append to an error message that names it. A limit below
/// `certain` never works.
fn certainty(plan: &Plan, needed: &str, certain: &str) -> String {
    match plan.basis.is_bound() {
        true => format!(" (upper bound; once ingest has run, less may be enough, but no less than {certain})"),
        false if needed == certain => " (the smallest that works)".into(),
        false => format!(" (upper bound; once MPI has started, less may be enough, but no less than {certain})"),
    }
}

/// Returns, as text, a limit on host memory that is enough for the job, and how reliable this limit is ([`certainty`]).
fn enough_host_memory(plan: &Plan) -> (String, String) {
    let certain = at_least(plan.certain.host_memory);
    let needed = at_least(plan.host_memory_needed.max(plan.certain.host_memory));
    let certainty = certainty(plan, &needed, &certain);
    (needed, certainty)
}

/// Warns that the disk may become full, if the job file disables the check of the disk.
pub(crate) fn warn_of_disk(plan: &Plan) {
    if let Some(e) = full_disk(plan).filter(|_| !plan.disk_check) {
        tracing::warn!("{e}");
    }
}
