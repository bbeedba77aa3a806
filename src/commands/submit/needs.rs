//! Resources that a job needs per node, according to its plan.

use crate::algo::Task;
use crate::comm::mpi;
use crate::commands::cli::SubmitArgs;
use crate::config::{Device, GpuSharing, Job};
use crate::error::{Error, Result};
use crate::job::plan::resources::Resources;
use crate::job::plan::{Plan, limits};
use crate::memory::own_bytes;
use std::sync::Arc;

/// Memory in bytes that a rank uses in addition to its memory limit: kernel buffers, and kernel data structures of its
/// threads.
const BESIDE: u64 = 4 << 20;
/// Divisor: a job script requests 1 / `BESIDE_PART` of a rank's memory limit for page tables. Page tables take 1 / 512
/// of the mapped memory, so this is twice what they need.
const BESIDE_PART: u64 = 256;
/// Divisor: of the memory that a rank's limit reserves for the process itself ([`own_bytes`]), a job script requests
/// all but 1 / `OWN_PART`, because the process does not use that part.
const OWN_PART: u64 = 2;
/// Memory in bytes that a node needs in addition to the memory of its ranks: 12 MiB of code (measured), and 10 MiB for
/// the job's shell and the scheduler's daemon (a guess).
const OF_A_NODE: u64 = 22 << 20;
/// Memory in bytes of the launcher (mpirun or srun, with its daemons) on a node with several ranks. Two ranks with
/// Open MPI's mpirun took 5 MiB more than the ranks reported; the rest is a margin for other launchers.
const LAUNCHER: u64 = 16 << 20;
/// Host memory in bytes that the driver of a GPU takes on the node and that does not count against the rank's limit.
/// It was 3 to 11 MiB of kernel memory on an H100; the rest is a margin for other drivers.
const OF_A_GPU: u64 = 64 << 20;
/// Minimum memory limit of a rank with a GPU, in bytes. On an H100 the driver took 102 MiB of the limit when no kernel
/// was cached.
const LEAST_WITH_GPU: u64 = 144 << 20;
/// Minimum planned time on CPUs, in seconds, for which `submit` requests a GPU if the job file names no device. A
/// shorter job would lose more time by waiting for a GPU than the GPU saves.
const WORTH_A_GPU: f64 = 60.0;

/// Number of ranks and number of GPUs per node.
pub(super) struct PerNode {
    pub gpus: u32,
    pub ranks: u32,
}

/// Chooses the number of ranks and GPUs per node, for `cores` cores per rank. Returns `None` if earlier runs have
/// completed the job.
///
/// # Errors
/// [`Error::Usage`] for several ranks in a build without MPI, for more GPUs than ranks, for more ranks than GPUs if
/// the job file forbids sharing a GPU, or for no GPU if the job file requires one; errors of [`Plan::of`].
pub(super) fn per_node(args: &SubmitArgs, job: &Job, cores: u32) -> Result<Option<PerNode>> {
    let device = if job.run.device == Device::Gpu { Device::Gpu } else { Device::Cpu };
    let (_, _, by_one_rank) = plan(job, cores, device, [1, 1])?;
    let remaining: Vec<&str> = by_one_rank.remaining_stages().map(|stage| stage.name).collect();
    if remaining.is_empty() {
        return Ok(None);
    }
    let uses_gpu = |task: &Arc<dyn Task>| !task.programs(1).is_empty() && remaining.contains(&task.name());
    let has_kernels = job.tasks.is_empty() || job.tasks.iter().any(uses_gpu);
    let each = args.ranks.unwrap_or(1).min(64);
    let gpus = match (args.gpus, job.run.device) {
        (Some(0), Device::Gpu) => {
            let what = "--gpus 0, but run.device = \"gpu\": add --set run.device=cpu, or ask for a GPU";
            return Err(Error::Usage(what.into()));
        }
        (Some(gpus), _) => gpus,
        (None, Device::Cpu) => 0,
        (None, Device::Gpu) => each,
        (None, Device::Auto) if has_kernels && by_one_rank.seconds >= WORTH_A_GPU => each,
        (None, Device::Auto) => 0,
    };
    let ranks = args.ranks.unwrap_or(gpus.max(1));
    if gpus > ranks {
        return Err(Error::Usage(format!(
            "--gpus {gpus} for --ranks {ranks}: a rank uses one GPU, so {} of each node would be idle; expected at most as many GPUs as ranks",
            gpus - ranks
        )));
    }
    if gpus > 0 && gpus < ranks && job.run.gpu_sharing == GpuSharing::Refuse {
        return Err(Error::Usage(format!(
            "--ranks {ranks} for --gpus {gpus}, but run.gpu_sharing = \"refuse\": ask for as many GPUs as ranks, or set it to \"split\""
        )));
    }
    if args.nodes * ranks > 1 && mpi::version().is_none() {
        return Err(Error::Usage(format!(
            "{} ranks ({} nodes of {ranks}), but this gpugraph was built for one: build it with `cargo build --release \
             --features mpi`, or submit one rank (--nodes 1, and at most --ranks 1 and --gpus 1)",
            args.nodes * ranks,
            args.nodes
        )));
    }
    Ok(Some(PerNode { gpus, ranks }))
}

/// Returns the memory to request per node, in bytes. The node has `ranks` ranks with `cores` cores and a limit of
/// `limit` bytes each, and together they read `cached` bytes from the page cache.
pub(super) fn of_node(limit: u64, cached: u64, [ranks, cores, gpus]: [u32; 3]) -> u64 {
    let unused = own_bytes(limit, cores as usize) / OWN_PART;
    let of_rank = limit + limit / BESIDE_PART + BESIDE - unused;
    let launcher = if ranks > 1 { LAUNCHER } else { 0 };
    // The total is never less than the sum of the limits.
    let of_ranks = u64::from(ranks) * of_rank + OF_A_NODE + launcher;
    of_ranks.max(u64::from(ranks) * limit) + cached + u64::from(gpus) * OF_A_GPU
}

/// Returns true if the override `set` may change `limits.host_memory`, because it names this key or the whole table.
pub(super) fn sets_memory(set: &str) -> bool {
    let keys: Vec<&str> = set.split('=').next().unwrap_or_default().split('.').map(str::trim).collect();
    matches!(keys[..], ["limits"] | ["limits", "host_memory"])
}

/// Memory per rank and per node, and time, that a job needs according to its plan.
pub(super) struct NodeNeeds {
    /// Suggested host memory limit per rank, in bytes.
    pub memory: u64,
    /// Size in bytes of the rows that the ranks of a node read in random order. The files with these rows should stay
    /// in the page cache.
    pub cached: u64,
    pub seconds: f64,
}

impl NodeNeeds {
    /// Plans `job` for `ranks` ranks on `nodes` nodes, with `cores` cores per rank, and returns the resources that it
    /// needs. `gpu` is true if GPUs are requested.
    pub(super) fn of(job: &Job, cores: u32, gpu: bool, [ranks, nodes]: [usize; 2]) -> Result<NodeNeeds> {
        let mut needs = NodeNeeds { memory: 0, cached: 0, seconds: 0.0 };
        let mut most = 0;
        // With "auto", the node may or may not have a GPU, so both plans must fit.
        let devices = match job.run.device {
            Device::Auto if gpu => vec![Device::Cpu, Device::Gpu],
            Device::Auto => vec![Device::Cpu],
            named => vec![named],
        };
        for device in devices {
            let (job, machine, plan) = plan(job, cores, device, [ranks, nodes])?;
            limits::refuse(&plan)?;
            // If the CPU replaces the GPU, the job may be slower, but must not fail.
            needs.memory = needs.memory.max(match gpu && device == Device::Cpu {
                true => plan.host_memory_needed,
                false => limits::suggested(&job, &machine, &plan)?,
            });
            if device == Device::Gpu {
                // The node on which `submit` runs may have no GPU, so the plan may not include the memory of the
                // driver.
                needs.memory = needs.memory.max(LEAST_WITH_GPU);
            }
            needs.seconds = needs.seconds.max(plan.seconds);
            needs.cached = needs.cached.max(limits::read_in_no_order(&plan) / nodes as u64);
            most = most.max(plan.host_memory_limit);
        }
        // The memory limit of the job also caps the page cache. If the cache is too small, rows are read from disk
        // more often.
        let ranks_of_node = ranks.div_ceil(nodes) as u64;
        needs.cached = needs.cached.min(ranks_of_node * most.saturating_sub(needs.memory));
        Ok(needs)
    }
}

/// Plans `job` for `ranks` ranks with `cores` cores each on `device`. Returns the plan, and the job and the machine for
/// which it was made. If the plan needs more memory than this node has, it is made for a node with enough memory.
fn plan(job: &Job, cores: u32, device: Device, [ranks, nodes]: [usize; 2]) -> Result<(Job, Resources, Plan)> {
    let mut job = job.clone();
    job.limits.threads = cores as usize;
    job.run.device = device;
    job.run.gpu = job.run.gpu.filter(|_| device != Device::Cpu);
    loop {
        let machine = Resources::here(&job, ranks, nodes)?;
        let plan = Plan::of(&job, &machine)?;
        if job.limits.host_memory.is_some() || plan.host_memory_needed <= plan.host_memory_limit {
            return Ok((job, machine, plan));
        }
        job.limits.host_memory = Some(plan.host_memory_needed.next_multiple_of(1 << 20));
    }
}
