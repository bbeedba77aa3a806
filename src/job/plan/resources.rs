//! The resources for which a plan is made: memory and threads of the host, and the GPU that the job would use.

use crate::algo::RankResources;
use crate::config::{Device as Asked, Job, Limits};
use crate::error::{Error, Result};
use crate::gpu::{self, Device, StopFlag, Uploader, whole_pieces};
use crate::job::plan::comm_memory::CommMemory;
use crate::job::plan::cost_model::Preparers;
use crate::memory::{own_bytes, smallest_limit};
use crate::process::host::{self, Memory};

/// Host memory that a GPU driver uses, in bytes (approximate).
const DRIVER: u64 = 256 << 20;

/// The memory, threads, ranks and GPU that a job may use.
#[derive(Debug, Clone)]
pub struct Resources {
    /// `limits.host_memory` of a rank in bytes.
    pub host_memory: u64,
    /// Number of threads per rank.
    pub threads: usize,
    /// Number of ranks that share the job.
    pub ranks: usize,
    /// Number of ranks on the node that has the most ranks.
    pub local_ranks: usize,
    /// Host memory of a rank for communication with other ranks.
    pub comm_memory: CommMemory,
    /// GPU of a rank, unless the job computes on the CPU.
    pub gpu: Option<GpuResources>,
    /// Why there is no GPU, if the job asked for one.
    pub missing: Option<String>,
}

/// GPU memory that a job may use, and host memory that is needed to use the GPU.
#[derive(Debug, Clone)]
pub struct GpuResources {
    /// Name of the GPU, as plans show it.
    pub name: String,
    /// `limits.gpu_memory` in bytes, all of which is allocated at once; `None` if the GPU is not available here.
    pub memory: Option<u64>,
    /// Host memory in bytes for the GPU's driver and the compiler of kernels, in addition to pinned buffers for
    /// copies.
    pub driver: u64,
}

impl Resources {
    /// Returns the resources of a job with `ranks` ranks on `nodes` nodes, assuming that every node is like this
    /// machine. Opens the GPU to read its properties, but allocates none of its memory.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are more nodes than ranks, or if no limit is set and the amount of free memory can't
    /// be read.
    pub fn here(job: &Job, ranks: usize, nodes: usize) -> Result<Resources> {
        if nodes > ranks {
            return Err(Error::Usage(format!("{ranks} ranks on {nodes} nodes: expected at least one rank per node")));
        }
        let local_ranks = ranks.div_ceil(nodes.max(1)).max(1);
        // Unless the job file limits them, ranks share the memory and the threads of the machine.
        let host_memory = match job.limits.host_memory {
            Some(limit) => limit,
            None => host_memory(&job.limits)? / local_ranks as u64,
        };
        let threads = match job.limits.threads {
            0 => (threads(0) / local_ranks).max(1),
            threads => threads,
        };
        let ranks = ranks.max(1);
        let comm_memory = CommMemory::expected(ranks, ranks.div_ceil(local_ranks), threads, host_memory);
        let mut machine = Resources { host_memory, threads, ranks, local_ranks, comm_memory, gpu: None, missing: None };
        machine.look_for_gpu(job);
        Ok(machine)
    }

    fn look_for_gpu(&mut self, job: &Job) {
        if job.run.device == Asked::Cpu {
            return;
        }
        let (before, compiler) = (host::process_memory(), gpu::compiler_memory(self.host_memory));
        let found = gpu::probe();
        match Device::open(&found, job.run.gpu, job.limits.gpu_memory) {
            Ok(device) => {
                let driver = host::process_memory().saturating_sub(before) + compiler;
                let gpus = if job.run.gpu.is_some() { 1 } else { found.gpus.len().max(1) };
                // GPUs of other nodes are unknown, so there may be enough for all ranks.
                let sharers = if self.nodes() == 1 { self.ranks.div_ceil(gpus) } else { 1 };
                let (name, memory) = (named(&device), Some(device.limit() / sharers as u64));
                self.gpu = Some(GpuResources { name, memory, driver });
            }
            Err(e) => {
                // A plan may be made on a machine where the job will not run, such as a login node.
                let held =
                    GpuResources { name: "a GPU".into(), memory: job.limits.gpu_memory, driver: DRIVER + compiler };
                self.gpu = (job.run.device == Asked::Gpu || job.run.gpu.is_some()).then_some(held);
                self.missing = Some(e.to_string());
            }
        }
    }

    /// Returns the number of nodes on which the ranks run.
    pub fn nodes(&self) -> usize {
        self.ranks.div_ceil(self.local_ranks)
    }

    /// Returns the ranks that prepare a graph of `ids` ids, with their threads, and whether they prepare it on GPUs.
    pub(crate) fn preparers(&self, ids: u64) -> Preparers {
        // The map from ids to vertices must fit in GPU memory, with the buffers next to it.
        let fits = |gpu: &GpuResources| gpu.memory.is_none_or(|memory| 5 * ids <= memory);
        let on_gpu = self.gpu.as_ref().is_some_and(fits);
        Preparers { ranks: self.ranks, nodes: self.nodes(), threads: self.threads, on_gpu }
    }

    /// Returns what each rank may use for a task that needs `least` bytes of GPU memory; `least` is `None` if the task
    /// does not use a GPU.
    pub(crate) fn rank_resources(&self, job: &Job, least: Option<u64>) -> RankResources {
        let on_gpu = least.is_some_and(|least| self.computes(job, least));
        RankResources {
            ranks: self.ranks,
            nodes: self.nodes(),
            threads: self.threads,
            on_gpu,
            gpu_memory: if on_gpu { self.gpu_memory() } else { 0 },
            packed: None,
            free: self.free_for_edges(),
            trials: job.run.trials,
            format: job.format,
        }
    }

    /// Returns the host memory in bytes that remains for the stages of a rank, mainly for edges and for the map from
    /// ids to vertices.
    pub(crate) fn free_for_edges(&self) -> u64 {
        self.host_memory.saturating_sub(self.process_bytes())
    }

    /// Returns the host memory in bytes that a rank uses before the first stage starts.
    pub fn process_bytes(&self) -> u64 {
        self.alone(self.host_memory) + self.comm_memory.permanent_bytes()
    }

    /// Returns the host memory in bytes that the process and the GPU driver use under a limit of `limit` bytes,
    /// without memory for communication.
    fn alone(&self, limit: u64) -> u64 {
        let gpu = self.gpu.as_ref().map_or(0, |gpu| gpu.driver + pinned(self.threads, limit));
        own_bytes(limit, self.threads) + gpu
    }

    /// Returns a copy of these resources with another limit on host memory.
    pub(crate) fn at(&self, limit: u64) -> Resources {
        Resources { host_memory: limit, comm_memory: self.comm_memory.at(limit), ..self.clone() }
    }

    /// Returns a copy of these resources without communication memory that is only estimated; `None` if nothing is
    /// estimated.
    pub(crate) fn certain(&self) -> Option<Resources> {
        self.comm_memory.certain().map(|comm_memory| Resources { comm_memory, ..self.clone() })
    }

    /// Returns the smallest limit on host memory, in bytes, under which a stage can run that needs `least` bytes, or
    /// `exchanging` bytes while edges are in flight. The limit also covers the memory of the process and of
    /// communication, which is smaller under a smaller limit.
    pub(crate) fn smallest(&self, least: u64, exchanging: u64) -> u64 {
        smallest_limit(|limit| {
            let comm_memory = self.comm_memory.at(limit);
            self.alone(limit) + comm_memory.permanent_bytes() + least.max(comm_memory.messages() + exchanging)
        })
    }

    /// Returns the GPU memory in bytes that a job occupies from start to end: the limit on GPU memory, or 0 without a
    /// GPU.
    pub(crate) fn gpu_memory(&self) -> u64 {
        self.gpu.as_ref().and_then(|gpu| gpu.memory).unwrap_or(0)
    }

    /// Returns true if the job uses its GPU for a task that needs `least` bytes of GPU memory. With `device =
    /// "auto"`, the CPU is used instead if the GPU's memory is too small.
    pub(crate) fn computes(&self, job: &Job, least: u64) -> bool {
        let does = |gpu: &GpuResources| {
            job.run.device == Asked::Gpu
                || gpu.memory.is_none_or(|memory| whole_pieces(memory) >= least.max(gpu::LEAST_MEMORY))
        };
        self.gpu.as_ref().is_some_and(does)
    }
}

/// Returns the size in bytes of the host memory that is pinned for a GPU under a limit of `limit` bytes.
pub(crate) fn pinned(threads: usize, limit: u64) -> u64 {
    Uploader::bytes(threads, limit) + StopFlag::BYTES
}

/// Returns the name of a GPU in plans and in the file of measured speeds.
pub(crate) fn named(device: &Device) -> String {
    format!("GPU {} ({})", device.gpu().index, device.gpu().name)
}

/// Returns the number of threads to use. If `configured` is 0, it is the number of cores that this process may use.
pub fn threads(configured: usize) -> usize {
    if configured == 0 { host::cores() } else { configured }
}

/// Returns the limit on host memory in bytes: the limit that the job sets, or 80 % of the memory that is free on the
/// machine or in the cgroup.
///
/// # Errors
/// [`Error::Usage`] if the job sets no limit and the amount of free memory can't be read.
pub fn host_memory(limits: &Limits) -> Result<u64> {
    if let Some(limit) = limits.host_memory {
        return Ok(limit);
    }
    match host::memory() {
        Memory { total: 0, free: 0, .. } => Err(Error::Usage(
            "free memory is unknown, because /proc/meminfo can't be read; set how much the job may take: \
             [limits] host_memory = \"8GiB\" in the job, or --set limits.host_memory=8GiB"
                .into(),
        )),
        Memory { free, .. } => Ok(free / 5 * 4),
    }
}
