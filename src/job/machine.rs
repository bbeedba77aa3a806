//! What a plan is made for: memory and threads of the host, and the GPU that the job would have.

use super::device::InUse;
use super::moving::Moving;
use super::rates::Crew;
use super::session;
use crate::algo::triangle::gpu::Gpu;
use crate::config::{Device as Asked, Job};
use crate::error::{Error, Result};
use crate::gpu::{self, Device, StopFlag, Uploader, whole_pieces};
use crate::memory::own_bytes;
use crate::process::host;

/// About what a driver takes of host memory.
const DRIVER: u64 = 256 << 20;

/// What a job may use.
#[derive(Debug, Clone)]
pub struct Machine {
    /// `limits.host_memory` of a rank in bytes.
    pub host_memory: u64,
    /// Threads of a rank.
    pub threads: usize,
    /// Ranks that share the job.
    pub ranks: usize,
    /// Ranks of a node, on the one with most.
    pub local_ranks: usize,
    /// Memory for what ranks do together.
    pub moving: Moving,
    /// The GPU of a rank, unless the job computes on the processor.
    pub gpu: Option<Held>,
    /// Why there is no GPU, where one was asked for.
    pub missing: Option<String>,
}

/// What a GPU has for a job, and takes of the host for as long as the job runs.
#[derive(Debug, Clone)]
pub struct Held {
    /// In words.
    pub name: String,
    /// `limits.gpu_memory` in bytes, all of which is taken at once; unknown where the GPU is not here.
    pub memory: Option<u64>,
    /// Host memory of its driver, and what is pinned for copies.
    pub host_memory: u64,
}

impl Held {
    /// Of a GPU that is open.
    pub(super) fn of(used: &InUse) -> Held {
        Held { name: named(&used.device), memory: Some(used.device.limit()), host_memory: used.host_memory }
    }
}

impl Machine {
    /// This one, for a job of `ranks` ranks on `nodes` nodes like it. A GPU is opened to see what it has; nothing of it is
    /// taken.
    ///
    /// # Errors
    /// [`Error::Usage`] for more nodes than ranks.
    pub fn here(job: &Job, ranks: usize, nodes: usize) -> Result<Machine> {
        if nodes > ranks {
            return Err(Error::Usage(format!(
                "{ranks} ranks on {nodes} nodes: expected a rank for each node at least"
            )));
        }
        let local_ranks = ranks.div_ceil(nodes.max(1)).max(1);
        // What is not set ranks share.
        let host_memory = job.limits.host_memory.unwrap_or_else(|| session::host_memory(job) / local_ranks as u64);
        let threads = match job.limits.threads {
            0 => (session::threads(0) / local_ranks).max(1),
            threads => threads,
        };
        let ranks = ranks.max(1);
        let moving = Moving::expected(ranks, ranks.div_ceil(local_ranks), threads, host_memory);
        let mut machine = Machine { host_memory, threads, ranks, local_ranks, moving, gpu: None, missing: None };
        machine.look_for_gpu(job);
        Ok(machine)
    }

    fn look_for_gpu(&mut self, job: &Job) {
        let Machine { host_memory, threads, .. } = *self;
        if job.run.device == Asked::Cpu {
            return;
        }
        let before = host::process_memory();
        let pinned = Uploader::bytes(threads, host_memory) + StopFlag::BYTES;
        let found = gpu::probe();
        match Device::open(&found, job.run.gpu, job.limits.gpu_memory) {
            Ok(device) => {
                let driver = host::process_memory().saturating_sub(before);
                let gpus = if job.run.gpu.is_some() { 1 } else { found.gpus.len().max(1) };
                // On other nodes there may be more.
                let sharers = if self.nodes() == 1 { self.ranks.div_ceil(gpus) } else { 1 };
                let (name, memory) = (named(&device), Some(device.limit() / sharers as u64));
                self.gpu = Some(Held { name, memory, host_memory: driver + pinned });
            }
            Err(e) => {
                // A plan may be made where the job will not run, as on a login node.
                let held = Held { name: "a GPU".into(), memory: job.limits.gpu_memory, host_memory: DRIVER + pinned };
                self.gpu = (job.run.device == Asked::Gpu || job.run.gpu.is_some()).then_some(held);
                self.missing = Some(e.to_string());
            }
        }
    }

    /// Nodes that the ranks are on.
    pub fn nodes(&self) -> usize {
        self.ranks.div_ceil(self.local_ranks)
    }

    /// Who shares the work on a graph of `ids` ids, which takes `least` bytes of GPU memory to count.
    pub(super) fn crew(&self, job: &Job, ids: u64, least: u64) -> Crew {
        // The map from ids and what works beside it must fit.
        let fits = |gpu: &Held| gpu.memory.is_none_or(|memory| 5 * ids <= memory);
        Crew {
            ranks: self.ranks,
            nodes: self.nodes(),
            threads: self.threads,
            prepares_on_gpu: self.gpu.as_ref().is_some_and(fits),
            counts_on_gpu: self.counts(job, least).is_some(),
        }
    }

    /// Bytes of a rank for the map and for edges, on their way to other ranks and between partition and sort.
    pub(super) fn free_for_edges(&self) -> u64 {
        self.host_memory.saturating_sub(self.own())
    }

    /// Host memory that is taken before the first stage begins.
    pub fn own(&self) -> u64 {
        self.alone() + self.moving.standing()
    }

    fn alone(&self) -> u64 {
        own_bytes(self.threads) + self.gpu.as_ref().map_or(0, |gpu| gpu.host_memory)
    }

    /// The smallest limit that does for what takes `least` bytes of host memory beside all that is taken before, and for what
    /// takes `exchanging` beside that while edges are on their way. What ranks do together takes less where the limit is less.
    pub(super) fn smallest(&self, least: u64, exchanging: u64) -> u64 {
        let needed = |moving: &Moving| self.alone() + moving.standing() + least.max(moving.on_the_way() + exchanging);
        let mut limit = needed(&self.moving.at(0));
        loop {
            match needed(&self.moving.at(limit)) {
                more if more > limit => limit = more,
                _ => return limit,
            }
        }
    }

    /// Bytes that a job takes of the GPU's memory: all that it may have, from its start to its end.
    pub(super) fn gpu_memory(&self) -> u64 {
        self.gpu.as_ref().and_then(|gpu| gpu.memory).unwrap_or(0)
    }

    /// The GPU, if the job counts on it where that takes `least` bytes: with "auto" a processor does where it is too small.
    pub(super) fn counts(&self, job: &Job, least: u64) -> Option<&Held> {
        let does =
            |gpu: &&Held| job.run.device == Asked::Gpu || gpu.memory.is_none_or(|memory| whole_pieces(memory) >= least);
        self.gpu.as_ref().filter(does)
    }
}

/// Fewest bytes of GPU memory for counting in a graph whose longest row has `row` entries, with `vertices` vertices.
pub(super) fn least_gpu_memory(job: &Job, row: u64, vertices: u64) -> u64 {
    job.triangle.map_or(0, |table| Gpu::least_bytes(row, vertices, table.per_vertex))
}

fn named(device: &Device) -> String {
    format!("GPU {} ({})", device.gpu().index, device.gpu().name)
}
