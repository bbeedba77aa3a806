//! What a run computes with: the GPU that the job asks for or that is there, else the processor.

use super::machine::{Held, Machine};
use super::ranks;
use super::session::Session;
use crate::algo::triangle::cpu::Cpu;
use crate::algo::triangle::driver::Backend;
use crate::algo::triangle::{self, gpu::Gpu};
use crate::comm::{Comm, SharedCounters};
use crate::config::{Device as Asked, GpuSharing, InputSpec, Job};
use crate::error::{Error, Result};
use crate::gpu::{self, Device, Name, ProgramSource, Turn, Workspace};
use crate::graph::catalogue::Catalogue;
use crate::memory::{Budget, Reservation};
use crate::prepare::{self, Accelerator};
use crate::process::host;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// A GPU in use, and the host memory that its driver took.
pub struct InUse {
    /// The GPU.
    pub device: Device,
    /// What computes takes it, one after another.
    pub workspace: Mutex<Workspace>,
    /// All host memory that it holds: the driver's, and what is pinned for copies.
    pub host_memory: u64,
    /// By what other ranks reach its memory.
    name: Name,
    /// Whether triangles were counted on the processor after all.
    declined: AtomicBool,
    _driver: Reservation,
}

/// Bytes of this process before CUDA was started.
static ASLEEP: OnceLock<u64> = OnceLock::new();

/// Loads CUDA in the background, if the job may use a GPU, and starts it if it may `start` before it is this rank's turn: that takes
/// its time, and so does what comes before [`open`].
pub fn wake(job: &Job, start: bool) {
    if job.run.device != Asked::Cpu {
        ASLEEP.get_or_init(host::process_memory);
        // Whoever needs it starts it otherwise.
        let _ = std::thread::Builder::new().name("cuda".into()).spawn(move || match start {
            true => drop(gpu::probe()),
            false => drop(gpu::load()),
        });
    }
}

/// A GPU that is being opened, in the background. What else a job begins with, and what its ranks agree on, is done meanwhile.
pub struct Opening(Option<JoinHandle<Result<InUse>>>);

/// Begins to open the GPU of the job. `None`: it computes on the processor. Collective.
///
/// # Errors
/// [`Error::Io`] where the system allows no more threads.
pub fn open(job: &Job, threads: usize, budget: &Budget, comm: &Comm) -> Result<Option<Opening>> {
    if job.run.device == Asked::Cpu {
        return Ok(None);
    }
    // What of it came while MPI started is counted with MPI.
    let asleep = ASLEEP.get().map(|bytes| bytes + comm.taken());
    let (before, free) = (asleep.unwrap_or_else(host::process_memory), budget.free());
    let share = GpuShare::of(job, comm);
    // All who share a GPU have looked at what is free before any takes some.
    comm.barrier();
    let programs = programs(job);
    let (budget, turn) = (budget.clone(), InTurn { counters: comm.shared_counters(1), rank: comm.rank() });
    let open = move || {
        let share = share?;
        let workspace = Workspace::open(share.gpu, share.limit, threads, &programs, &budget, &turn)?;
        // Beside what this crate takes from the budget by itself.
        let driver = (host::process_memory().saturating_sub(before)).saturating_sub(free.saturating_sub(budget.free()));
        let reserved = budget.reserve(driver, "the GPU's driver")?;
        Ok(InUse {
            device: workspace.device.clone(),
            name: workspace.arena.name(),
            workspace: Mutex::new(workspace),
            host_memory: free.saturating_sub(budget.free()),
            declined: AtomicBool::new(false),
            _driver: reserved,
        })
    };
    let thread = std::thread::Builder::new().name("gpu".into()).spawn(open);
    thread
        .map(|thread| Some(Opening(Some(thread))))
        .map_err(|e| Error::io("start a thread to open the GPU", "threads", e))
}

/// Returns the programs that the job's stages launch, each once.
fn programs(job: &Job) -> Vec<&'static ProgramSource> {
    let prepares = !matches!(job.input, InputSpec::Prepared(_));
    let preparing = prepare::gpu::PROGRAMS.into_iter().filter(|_| prepares);
    let counting = triangle::gpu::PROGRAMS.into_iter().filter(|_| job.triangle.is_some());
    let mut all: Vec<&'static ProgramSource> = Vec::new();
    for program in preparing.chain(counting) {
        if all.iter().all(|other| other.name != program.name) {
            all.push(program);
        }
    }
    all
}

/// Ranks that all are on one machine start CUDA and open their GPUs in turn. Its driver would have them wait for each other anyway, and
/// all be ready at the same time; so the first read the input while others open theirs.
struct InTurn {
    counters: Option<SharedCounters>,
    rank: usize,
}

impl InTurn {
    fn pass(&self) {
        self.counters.iter().for_each(|counters| counters.show(0, 1));
    }
}

impl Turn for InTurn {
    fn wait(&self) {
        if let (Some(counters), Some(before)) = (&self.counters, self.rank.checked_sub(1)) {
            let Ok(_) = counters.wait(before, 0, 1, || Ok::<_, Infallible>(()));
        }
    }

    /// The first has its GPU before others begin: it reads all that there is to read meanwhile.
    fn started(&self) {
        if self.rank > 0 {
            self.pass();
        }
    }

    fn opened(&self) {
        self.pass();
    }
}

impl Drop for InTurn {
    /// Whatever happened, the next rank has its turn.
    fn drop(&mut self) {
        self.pass();
    }
}

impl Opening {
    fn wait(mut self) -> Result<InUse> {
        let thread = self.0.take().ok_or_else(|| Error::internal("open the GPU", "nobody who does"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // The process must not end while CUDA starts.
        self.0.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Names of the GPUs that ranks of this machine see. Collective.
pub fn names(comm: &Comm) -> Vec<String> {
    type Told = (String, Vec<(String, String)>);
    let mine = gpu::probe().gpus.into_iter().map(|gpu| (gpu.uuid, gpu.name));
    let mine: Told = (host::name(), mine.collect());
    let all = comm.all_gather(&serde_json::to_vec(&mine).unwrap_or_default());
    let all = all.iter().filter_map(|told| serde_json::from_slice::<Told>(told).ok());
    let here = all.filter(|(host, _)| *host == mine.0).flat_map(|(_, gpus)| gpus);
    here.collect::<BTreeMap<String, String>>().into_values().collect()
}

/// Which GPU a rank has, and how much of it.
struct GpuShare {
    gpu: Option<u32>,
    limit: Option<u64>,
}

impl GpuShare {
    /// Ranks of a machine take its GPUs by turns; those that share one share its memory.
    fn of(job: &Job, comm: &Comm) -> Result<GpuShare> {
        let (limit, ranks) = (job.limits.gpu_memory, comm.local_ranks());
        if ranks == 1 {
            return Ok(GpuShare { gpu: job.run.gpu, limit });
        }
        let gpus = gpu::count();
        if gpus == 0 {
            // Opening it says what is missing.
            return Ok(GpuShare { gpu: job.run.gpu, limit });
        }
        // What the process sees alone was chosen by what the launcher says of its place.
        let turn = gpu::seen().map_or(comm.local_rank() % gpus, |seen| seen.index as usize);
        let gpu = job.run.gpu.unwrap_or(turn as u32);
        let sharers = if job.run.gpu.is_some() { ranks } else { (ranks - turn).div_ceil(gpus) };
        if sharers > 1 {
            let what = format!("{ranks} ranks on {} for {gpus} GPUs", host::name());
            if job.run.gpu_sharing == GpuSharing::Refuse {
                let why = "start as many ranks as there are GPUs, or set run.gpu_sharing = \"split\"";
                return Err(Error::Usage(format!("{what}: {why}")));
            }
            if comm.local_rank() == 0 {
                tracing::warn!("{what}: those that share a GPU take an equal part of its memory");
            }
        }
        let whole = match limit {
            Some(limit) => Some(limit),
            None if sharers > 1 => gpu::free_memory(gpu).ok().map(|free| free / 10 * 9),
            None => None,
        };
        Ok(GpuShare { gpu: Some(gpu), limit: whole.map(|bytes| bytes / sharers as u64) })
    }
}

/// Asked now and then by what counts: the signal that ends it.
pub type Stop<'a> = &'a (dyn Fn() -> Option<&'static str> + Sync);

impl Session {
    /// Waits until the GPU is open, if one is to be.
    ///
    /// # Errors
    /// For `run.device = "gpu"`, what keeps it from being used. For `"auto"` that is a warning, once the ranks have met.
    pub(super) fn open_gpu(&mut self) -> Result<()> {
        match self.opening.take().map(Opening::wait) {
            None => {}
            Some(Ok(used)) => self.device = Some(used),
            Some(Err(e)) if self.job.run.device == Asked::Auto && self.job.run.gpu.is_none() => {
                self.no_device = Some(e)
            }
            Some(Err(e)) => return Err(e),
        }
        self.peers.begin(self.device.as_ref().map(|used| (&used.device, &used.name)));
        if self.comm.ranks() == 1 {
            self.meet_gpus();
        }
        Ok(())
    }

    /// Says who has no GPU, and has those of all ranks reach each other; once. Collective.
    pub(super) fn meet_gpus(&self) {
        if self.peers.have_met() {
            return;
        }
        // Nodes may lack other things; ranks of one lack the same.
        let speaks = ranks::speaks(&self.comm, self.no_device.is_some());
        let mut some = [u64::from(self.device.is_some())];
        self.comm.all_max(&mut some);
        match self.no_device.as_ref().filter(|_| speaks) {
            // Nobody asked for a GPU, and nobody has one: `gpugraph devices` says what is missing.
            Some(e) if some == [0] && gpu::probe().gpus.is_empty() => {
                tracing::debug!("computing on the processor: {e}")
            }
            Some(e) => tracing::warn!("computing on the processor: {e}"),
            None => {}
        }
        self.peers.meet();
    }

    /// What counts the triangles of `graph`, which has `vertices` vertices; those at each vertex too, if `per_vertex`.
    /// `None` where other ranks have GPUs and this one has none, which would hardly help.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Lost`].
    pub(super) fn counter<'a>(
        &'a self,
        graph: &Catalogue,
        vertices: u64,
        per_vertex: Option<&'a [AtomicU64]>,
        stop: Stop<'a>,
    ) -> Result<Option<Box<dyn Backend + 'a>>> {
        let workspace = self.device.as_ref().map(|used| used.workspace.lock().unwrap_or_else(PoisonError::into_inner));
        let mut some = [u64::from(workspace.is_some())];
        let least = workspace.as_ref().map(|workspace| [workspace.arena.bytes(), workspace.device.cache()]);
        let mut least = least.unwrap_or([u64::MAX; 2]);
        self.comm.all_max(&mut some);
        self.comm.all_min(&mut least);
        let gpu = workspace.map(|mut workspace| {
            // Ranks take turns with one list of batches, which is cut by the memory and the cache there is.
            workspace.arena.trim(least[0]);
            Gpu::new(graph, vertices, workspace, least[1], per_vertex, stop)
        });
        let auto = self.job.run.device == Asked::Auto;
        let declines = matches!(&gpu, Some(Err(Error::Limit { .. } | Error::Usage(_))) if auto);
        let mut declined = [u64::from(declines)];
        self.comm.all_max(&mut declined);
        if some == [0] || declined == [1] {
            let speaks = ranks::speaks(&self.comm, declines);
            if let Some(Err(e)) = gpu.as_ref().filter(|_| speaks) {
                tracing::warn!("counting on the processor: {e}");
            }
            if !graph.is_local() {
                let why = || Error::internal("count on the GPU", "a graph that is not here, and too little room");
                return Err(gpu.and_then(Result::err).unwrap_or_else(why));
            }
            self.device.iter().for_each(|used| used.declined.store(true, Relaxed));
            drop(gpu);
            let mut cpu = Cpu::new(graph, vertices, self.threads, &self.budget, per_vertex, stop)?;
            self.comm.all_min(std::slice::from_mut(cpu.resident()));
            return Ok(Some(Box::new(cpu)));
        }
        let speaks = ranks::speaks(&self.comm, gpu.is_none());
        match gpu {
            Some(gpu) => {
                let mut gpu = gpu?;
                gpu.meet(graph, vertices, self.peers.beside())?;
                Ok(Some(Box::new(gpu)))
            }
            None => {
                if speaks {
                    tracing::warn!("no GPU on {}: counting is left to the ranks that have one", host::name());
                }
                Ok(None)
            }
        }
    }

    /// What the plan of this run is made for.
    pub(super) fn machine(&self) -> Machine {
        let gpu = self.device.as_ref().map(Held::of);
        Machine {
            host_memory: self.budget.limit(),
            threads: self.threads,
            ranks: self.comm.ranks(),
            local_ranks: self.comm.local_ranks(),
            moving: self.moving,
            gpu,
            missing: None,
        }
    }

    /// What prepares graphs in place of the processor, if anything does.
    pub(super) fn accelerator(&self) -> Option<impl Accelerator + '_> {
        let InUse { workspace, .. } = self.device.as_ref()?;
        Some(prepare::gpu::Gpu::new(workspace.lock().unwrap_or_else(PoisonError::into_inner), &self.peers))
    }

    /// What the report calls the device.
    pub(super) fn device_name(&self) -> &'static str {
        if self.device.as_ref().is_some_and(|used| !used.declined.load(Relaxed)) { "gpu" } else { "cpu" }
    }

    /// `limits.gpu_memory` as used, and the most that was; both 0 without a GPU.
    pub(super) fn gpu_memory(&self) -> (u64, u64) {
        self.device.as_ref().map_or((0, 0), |used| (used.device.limit(), used.device.peak()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_loads_the_kernels_of_its_own_stages_alone() {
        let names = |text: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("job.toml");
            std::fs::write(&path, text).expect("written");
            let job = crate::config::load(&path, &[]).expect("a job");
            programs(&job).into_iter().map(|program| program.name).collect::<Vec<_>>()
        };
        let preparing = ["scan.cu", "ingest.cu", "partition.cu", "sort.cu"];
        assert_eq!(
            names("[input]\nkronecker = { scale = 5 }\n[triangle]\n"),
            [&preparing[..], &["triangle.cu"]].concat()
        );
        assert_eq!(names("[input]\nkronecker = { scale = 5 }\n[job]\nkeep = true\n"), preparing);
        assert_eq!(names("[input]\nprepared = \"other\"\n[triangle]\n"), ["scan.cu", "triangle.cu"]);
    }
}
