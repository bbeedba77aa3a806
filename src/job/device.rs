//! The device of a run: the GPU that the job asks for or that is available, otherwise the CPU.

use crate::algo::energy::Meters;
use crate::comm::{Comm, SharedCounters, reports_for_node};
use crate::config::{Device as Asked, GpuSharing, InputSpec, Job};
use crate::error::{Error, Result};
use crate::gpu::{self, Device, GpuMeter, IpcHandle, Peers, ProgramSource, StartTurn, Workspace};
use crate::job::plan::resources::{GpuResources, named, pinned};
use crate::job::ranks;
use crate::memory::{Budget, Reservation};
use crate::prepare::gpu::{self as prepare, PrepareGpu};
use crate::process::host;
use crate::process::metrics::{Measured, Meter, OpenMeter};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// An open GPU, and the host memory that its driver uses.
struct OpenGpu {
    device: Device,
    /// Memory, queues and kernels of the GPU. Stages and tasks lock them one after another.
    workspace: Mutex<Workspace>,
    /// Host memory in bytes that the GPU's driver uses, in addition to the pinned buffers for copies.
    driver: u64,
    /// IPC handle through which other ranks read this rank's GPU memory.
    name: IpcHandle,
    _driver: Reservation,
}

/// Number of bytes of host memory that this process used before it loaded CUDA.
static ASLEEP: OnceLock<u64> = OnceLock::new();

/// Loads CUDA in the background if the job may use a GPU. If `start` is true, also initialises CUDA at once, without
/// waiting for other ranks of the machine. Both take time, which overlaps with the work before [`GpuSession::begin`].
pub fn wake(job: &Job, start: bool) {
    if job.run.device != Asked::Cpu {
        ASLEEP.get_or_init(host::process_memory);
        // If this thread can't be created, CUDA is loaded at its first use.
        let _ = std::thread::Builder::new().name("cuda".into()).spawn(move || match start {
            true => drop(gpu::probe()),
            false => drop(gpu::load()),
        });
    }
}

/// Returns the GPU programs that the job's stages may launch if it runs on `ranks` ranks, as two lists: programs to
/// compile at the start, and programs to compile only if a stage needs them. If the `limit` on host memory (bytes) is
/// small, all programs are in the first list, because there will be no memory for the compiler later.
fn programs(job: &Job, ranks: usize, limit: u64) -> [Vec<&'static ProgramSource>; 2] {
    let prepares = !matches!(job.input, InputSpec::Prepared(_)) && !job.input.is_list();
    let preparing = prepare::programs(job.carries_weights()).into_iter().filter(|_| prepares);
    // A kept graph may lack the upper half of its rows, so the program that builds them is loaded for such graphs, too.
    let whole_rows = job.needs_upper().then_some(&prepare::TRANSPOSE);
    let computing = job.tasks.iter().flat_map(|task| task.programs(ranks));
    let mut all: Vec<&'static ProgramSource> = Vec::new();
    let (at_start, rare) = match gpu::compiler_memory(limit) {
        0 => (job.rare_programs(), Vec::new()),
        _ => (Vec::new(), job.rare_programs()),
    };
    for program in preparing.chain(whole_rows).chain(computing).chain(at_start) {
        if all.iter().all(|other| other.name != program.name) {
            all.push(program);
        }
    }
    [all, rare]
}

/// Makes the ranks of one machine start CUDA and open their GPUs one after another. If all started together, the driver
/// would delay every rank. One after another, the first ranks can read the input while later ranks open their GPUs.
struct GpuTurns {
    counters: Option<SharedCounters>,
    rank: usize,
}

impl GpuTurns {
    fn pass(&self) {
        self.counters.iter().for_each(|counters| counters.publish(0, 1));
    }
}

impl StartTurn for GpuTurns {
    fn wait(&self) {
        if let (Some(counters), Some(before)) = (&self.counters, self.rank.checked_sub(1)) {
            let Ok(_) = counters.wait(before, 0, 1, || Ok::<_, Infallible>(()));
        }
    }

    /// Lets the next rank start CUDA. Does nothing on rank 0, which does not let the next rank start before its own
    /// GPU is open, because rank 0 alone reads the input until the other ranks are ready.
    fn started(&self) {
        if self.rank > 0 {
            self.pass();
        }
    }

    fn opened(&self) {
        self.pass();
    }
}

impl Drop for GpuTurns {
    /// Lets the next rank start CUDA, even after an error.
    fn drop(&mut self) {
        self.pass();
    }
}

/// The GPU that this rank uses while a job runs, and its access to the GPUs of other ranks.
pub struct GpuSession {
    comm: Comm,
    /// True if the job must fail when its GPU can't be used.
    insists: bool,
    /// The thread that opens the GPU in the background. Meanwhile the job starts up and its ranks agree on what to
    /// do.
    opening: Option<JoinHandle<Result<OpenGpu>>>,
    opened: Option<OpenGpu>,
    /// The reason why this rank has no GPU, if the job would have used one.
    missing: Option<Error>,
    peers: Peers,
}

impl GpuSession {
    /// Creates the session for `job` on the ranks of `comm`, with no GPU open yet.
    pub fn new(job: &Job, comm: &Comm) -> GpuSession {
        let insists = job.run.device != Asked::Auto || job.run.gpu.is_some();
        let peers = Peers::new(comm.clone());
        GpuSession { comm: comm.clone(), insists, opening: None, opened: None, missing: None, peers }
    }

    /// Starts to open the job's GPU in the background, unless it computes on the CPU. Collective.
    ///
    /// # Errors
    /// [`Error::Io`] if no thread can be started; errors of [`Self::load_programs`] if the GPU is open already.
    pub fn begin(&mut self, job: &Job, threads: usize, budget: &Budget) -> Result<()> {
        if job.run.device == Asked::Cpu {
            return Ok(());
        }
        if self.peers.is_connected() {
            return self.load_programs(job, budget);
        }
        let comm = &self.comm;
        // Memory that CUDA allocated while MPI started is already counted as MPI's memory.
        let asleep = ASLEEP.get().map(|bytes| bytes + comm.taken());
        let (before, free) = (asleep.unwrap_or_else(host::process_memory), budget.free());
        let share = gpu_share(job, comm);
        // All ranks that share a GPU must read its free memory before any of them allocates.
        comm.barrier();
        let [programs, rare] = programs(job, comm.ranks(), budget.limit());
        let (budget, turn) = (budget.clone(), GpuTurns { counters: comm.shared_counters(1), rank: comm.rank() });
        let open = move || {
            let (gpu, limit) = share?;
            let mut workspace = Workspace::open(gpu, limit, threads, &programs, &budget, &turn)?;
            workspace.load_if_needed(&rare, &budget)?;
            // Memory that this crate has reserved from the budget in the meantime does not belong to the driver.
            let reserved = free.saturating_sub(budget.free());
            let driver = host::process_memory().saturating_sub(before).saturating_sub(reserved);
            let reserved = budget.reserve(driver, "the GPU's driver")?;
            Ok(OpenGpu {
                device: workspace.device.clone(),
                name: gpu::ipc_handle(&workspace.arena),
                workspace: Mutex::new(workspace),
                driver: free.saturating_sub(budget.free()).saturating_sub(pinned(threads, budget.limit())),
                _driver: reserved,
            })
        };
        let thread = std::thread::Builder::new().name("gpu".into()).spawn(open);
        self.opening = Some(thread.map_err(|_| Error::thread())?);
        Ok(())
    }

    /// Loads the GPU programs that `job` needs on a GPU that an earlier job opened.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Lost`].
    pub fn load_programs(&self, job: &Job, budget: &Budget) -> Result<()> {
        let Some(mut workspace) = self.lock() else { return Ok(()) };
        let [programs, rare] = programs(job, self.comm.ranks(), budget.limit());
        workspace.load_also(&programs, budget)?;
        workspace.load_if_needed(&rare, budget)
    }

    /// Waits until the GPU is open, if it is being opened.
    ///
    /// # Errors
    /// The reason why the GPU can't be used, for `run.device = "gpu"`. For `"auto"` the reason is only a warning, which
    /// [`Self::connect_peers`] logs.
    pub fn wait(&mut self) -> Result<()> {
        if self.opening.is_none() && self.peers.is_connected() {
            return Ok(());
        }
        let join = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match self.opening.take().map(join) {
            None => {}
            Some(Ok(used)) => self.opened = Some(used),
            Some(Err(e)) if self.insists => return Err(e),
            Some(Err(e)) => self.missing = Some(e),
        }
        self.peers.begin(self.opened.as_ref().map(|used| (&used.device, &used.name)));
        if self.comm.ranks() == 1 {
            self.connect_peers();
        }
        Ok(())
    }

    /// Logs which ranks have no GPU, and connects the GPUs of all ranks. Later calls do nothing. Collective.
    pub fn connect_peers(&self) {
        if self.peers.is_connected() {
            return;
        }
        // The reason may differ between nodes, but not between the ranks of a node, so one rank per node reports it.
        let reports = reports_for_node(&self.comm, self.missing.is_some());
        let some = self.comm.any(self.opened.is_some());
        match self.missing.as_ref().filter(|_| reports) {
            // The job does not require a GPU, and no rank has one: a debug message is enough, because `gpugraph
            // devices` explains what is missing.
            Some(e) if !some && gpu::probe().gpus.is_empty() => tracing::debug!("computing on the CPU: {e}"),
            Some(e) => tracing::warn!("computing on the CPU: {e}"),
            None => {}
        }
        self.peers.connect();
    }

    /// Returns access to the GPU memory of other ranks.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns true if this rank has an open GPU.
    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Returns the mutex that protects the GPU's memory, queues and kernels; `None` if no GPU is open.
    pub fn workspace(&self) -> Option<&Mutex<Workspace>> {
        self.opened.as_ref().map(|used| &used.workspace)
    }

    /// Opens the energy meters of all machines and of the GPUs in use. Collective.
    pub fn meters(&self) -> Meters {
        Meters::open(self.lock().as_ref().map(|workspace| &workspace.device), &self.comm)
    }

    /// Returns a function that opens the energy meter of the GPU in use; `None` if no GPU is open.
    pub fn meter(&self) -> Option<OpenMeter> {
        let device = self.opened.as_ref()?.device.clone();
        Some(Box::new(move || {
            let meter = GpuMeter::open(device.gpu()).ok()?;
            let mut before = meter.joules().ok();
            let read = move || {
                let now = meter.joules().ok();
                let joules = now.zip(before).map_or(0.0, |(now, before)| now - before);
                before = now.or(before);
                Measured { joules, busy: meter.busy().ok() }
            };
            Some(Box::new(read) as Meter)
        }))
    }

    /// Locks the GPU for a computation, and returns its memory, queues and kernels; `None` if no GPU is open.
    pub fn lock(&self) -> Option<MutexGuard<'_, Workspace>> {
        self.workspace().map(|workspace| workspace.lock())
    }

    /// Locks the GPU for the preparation of a graph, and returns it with access to the GPUs of other ranks; `None` if
    /// no GPU is open.
    pub fn for_preparing(&self) -> Option<PrepareGpu<'_>> {
        Some(PrepareGpu::new(self.lock()?, &self.peers))
    }

    /// Returns the name and the memory of the GPU, for plans; `None` if no GPU is open.
    pub fn held(&self) -> Option<GpuResources> {
        self.opened.as_ref().map(|used| GpuResources {
            name: named(&used.device),
            memory: Some(used.device.limit()),
            driver: used.driver,
        })
    }

    /// Ends the session without closing the GPU, which stays open until the process ends.
    pub fn leave_open(mut self) {
        self.opening.take().into_iter().for_each(|thread| drop(thread.join()));
        self.lock().iter().for_each(|workspace| workspace.finish_loading());
        std::mem::forget(self);
    }

    /// Returns three amounts of GPU memory in bytes: the limit, the peak use, and an estimate of what the driver
    /// allocated in addition to its context. All are 0 if no GPU is open.
    pub fn memory(&self) -> [u64; 3] {
        let memory = |used: &OpenGpu| [used.device.limit(), used.device.peak(), used.device.driver_bytes()];
        self.opened.as_ref().map_or([0; 3], memory)
    }
}

impl Drop for GpuSession {
    fn drop(&mut self) {
        // The process must not end while CUDA is starting.
        self.opening.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Returns the names of the GPUs that are visible to the ranks of this machine. Collective.
pub fn names(comm: &Comm) -> Vec<String> {
    let mine: Vec<(String, String)> = gpu::probe().gpus.into_iter().map(|gpu| (gpu.uuid, gpu.name)).collect();
    let (all, here) = (ranks::gathered(comm, &mine).unwrap_or_default(), host::name());
    let here = all.into_iter().filter(|(host, _)| *host == here).flat_map(|(_, gpus)| gpus);
    here.collect::<BTreeMap<String, String>>().into_values().collect()
}

/// Returns the index of the GPU that this rank uses, and the limit on its GPU memory in bytes. Either is `None` if
/// neither the job file nor the number of ranks on the machine determines it. The ranks of a machine use its GPUs round
/// robin, and ranks that share a GPU divide its memory.
fn gpu_share(job: &Job, comm: &Comm) -> Result<(Option<u32>, Option<u64>)> {
    let (limit, ranks) = (job.limits.gpu_memory, comm.local_ranks());
    let gpus = if ranks == 1 { 0 } else { gpu::count() };
    if gpus == 0 {
        // Without a GPU, the attempt to open one reports what is missing.
        return Ok((job.run.gpu, limit));
    }
    // If only one GPU is visible to the process, the launcher chose that GPU for this rank.
    let turn = gpu::visible_gpu().map_or(comm.local_rank() % gpus, |seen| seen.index as usize);
    let gpu = job.run.gpu.unwrap_or(turn as u32);
    let sharers = if job.run.gpu.is_some() { ranks } else { ranks_per_gpu(ranks, turn, gpus) };
    if sharers == 1 {
        return Ok((Some(gpu), limit));
    }
    let what = format!("{ranks} ranks on {} for {gpus} GPUs", host::name());
    if job.run.gpu_sharing == GpuSharing::Refuse {
        let why = "start as many ranks as there are GPUs, or set run.gpu_sharing = \"split\"";
        return Err(Error::Usage(format!("{what}: {why}")));
    }
    if comm.local_rank() == 0 {
        tracing::warn!("{what}: ranks that share a GPU take equal parts of its memory");
    }
    let whole = limit.or_else(|| gpu::free_memory(gpu).ok().map(gpu::default_limit));
    Ok((Some(gpu), whole.map(|bytes| bytes / sharers as u64)))
}

/// Returns the number of ranks that share the GPU with index `turn`, if the `ranks` ranks of a machine use its `gpus`
/// GPUs round robin. The result is at least 1, even if `turn` is not less than `ranks`. This occurs if a launcher chose
/// the GPU and counted ranks in other containers, which have other host names.
fn ranks_per_gpu(ranks: usize, turn: usize, gpus: usize) -> usize {
    ranks.saturating_sub(turn).div_ceil(gpus).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_gpus_if_there_are_more_ranks_than_gpus() {
        let of_each = |ranks, gpus| (0..gpus).map(|turn| ranks_per_gpu(ranks, turn, gpus)).collect::<Vec<_>>();
        assert_eq!((of_each(2, 1), of_each(3, 2), of_each(8, 4)), (vec![2], vec![2, 1], vec![2; 4]));
        // A launcher starts four ranks in two containers, which have different host names. The ranks of the second
        // container use GPUs 2 and 3, but only two ranks have its host name.
        assert_eq!([2, 3].map(|turn| ranks_per_gpu(2, turn, 4)), [1, 1]);
    }

    #[test]
    fn a_job_loads_only_the_kernels_of_its_stages() {
        let both = |text: &str, limit: u64| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("job.toml");
            std::fs::write(&path, text).expect("written");
            let job = crate::config::load(&path, &[]).expect("a job");
            programs(&job, 1, limit)
                .map(|programs| programs.into_iter().map(|program| program.name).collect::<Vec<_>>())
        };
        let names = |text: &str| both(text, 1 << 40)[0].clone();
        let preparing = ["scan.cu", "ingest.cu", "partition.cu", "sort.cu"];
        assert_eq!(
            names("[input]\nkronecker = { scale = 5 }\n[triangle]\n"),
            [&preparing[..], &["triangle.cu", "triangle_count.cu"]].concat()
        );
        assert_eq!(names("[input]\nkronecker = { scale = 5 }\n[job]\nkeep = true\n"), preparing);
        let triangles = |keys| names(&format!("[input]\nprepared = \"other\"\n[triangle]\n{keys}"));
        assert_eq!(triangles("per_vertex = true"), ["scan.cu", "triangle.cu", "triangle_corners.cu"]);
        assert_eq!(triangles("per_edge = true"), ["scan.cu", "triangle.cu", "triangle_edges.cu"]);
        assert_eq!(triangles("clustering = 'directed'"), ["scan.cu", "triangle.cu", "triangle_links.cu"]);
        // Programs for searches on several GPUs, for methods that are not requested, and for other weight types take
        // seconds to compile, so they must not be loaded.
        let searches = names("[input]\nprepared = \"other\"\n[bfs]\n[sssp]\nweights = { uniform = [0.0, 1.0] }\n");
        let several =
            ["bfs_peers.cu", "bfs_spread.cu", "bfs_packed.cu", "sssp_moore.cu", "sssp_whole.cu", "sssp_coded.cu"];
        assert!(["bfs.cu", "sssp_decimal.cu"].iter().all(|name| searches.contains(name)), "{searches:?}");
        assert!(several.iter().all(|name| !searches.contains(name)), "{searches:?}");
        let text = "[input]\nprepared = \"other\"\n[bfs]\n[sssp]\nweights = { uniform = [1, 9] }\n";
        let [searches, rare] = both(text, 1 << 40);
        assert!(searches.contains(&"sssp_whole.cu") && !searches.contains(&"sssp_wide.cu"), "{searches:?}");
        assert_eq!(rare, ["bfs_packed.cu", "sssp_wide.cu"]);
        // With a small memory limit there is no memory for the compiler later.
        assert_eq!(both(text, 1 << 30), [[searches, rare].concat(), Vec::new()]);
    }
}
