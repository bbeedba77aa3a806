//! Everything that a job allocates on a GPU until it ends: the arena, pinned memory and compiled kernels.

use super::arena::Arena;
use super::device::Device;
use super::energy::likely_capability;
use super::program::{Kernel, Program};
use super::queue::Queue;
use super::source::{ProgramSource, cache_is_empty};
use super::staging::{StopFlag, Uploader};
use super::visible;
use crate::error::{Error, Result};
use crate::memory::{Budget, Reservation, populate};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

/// An open GPU with its memory, queues and kernels. A computation borrows the whole workspace, so only one computation
/// at a time uses the GPU's memory.
#[derive(Debug)]
pub struct Workspace {
    /// The open GPU of the job.
    pub device: Device,
    // Fields are dropped in this order, so that no work is queued when the memory is freed.
    /// Queue for kernels and small copies.
    pub queue: Queue,
    /// Copies large amounts of host memory to the GPU.
    pub uploader: Uploader,
    /// Flag that running kernels poll. They end early once it is set.
    pub stop_flag: StopFlag,
    /// The arena: all GPU memory of this process.
    pub arena: Arena,
    programs: Vec<Loading>,
    /// Reservation of host memory for the compiler. `None` if no program may have to be compiled later.
    compiler: Option<Reservation>,
}

/// Determines when this process may start CUDA, because the processes of a machine start it one after another.
/// [`Workspace::open`] calls the methods.
pub trait StartTurn {
    /// Waits until this process may start CUDA.
    fn wait(&self) {}
    /// Records that CUDA has started in this process.
    fn started(&self) {}
    /// Records that this process has opened the GPU.
    fn opened(&self) {}
}

/// Permits a process to start CUDA at once, without waiting for other processes.
impl StartTurn for () {}

/// Minimum GPU memory that any job needs, in bytes.
pub const LEAST_MEMORY: u64 = 1 << 20;

impl Workspace {
    /// Opens GPU `index` (or the first one), allocates `limit` bytes of its memory (or the default limit), and begins
    /// to load `programs`. Allocates less memory if other processes use some of the GPU's memory. Starts CUDA when
    /// `turn` permits it.
    ///
    /// # Errors
    /// [`Error::Usage`] with a suggested fix if CUDA, the GPU or NVRTC is missing; [`Error::Limit`], [`Error::Lost`].
    pub fn open(
        index: Option<u32>,
        limit: Option<u64>,
        threads: usize,
        programs: &[&'static ProgramSource],
        budget: &Budget,
        turn: &dyn StartTurn,
    ) -> Result<Workspace> {
        // Populate the pages for copies while CUDA opens the GPU. An error of the GPU is reported before an error about
        // the pages.
        let mut memory = super::load().0.then(|| Uploader::memory(threads, budget));
        let opened = Arc::new(OnceLock::new());
        let (device, ahead, started) = std::thread::scope(|scope| {
            if let Some(Ok(memory)) = &mut memory {
                let _ = std::thread::Builder::new().name("pages".into()).spawn_scoped(scope, || populate(memory));
            }
            turn.wait();
            let started = Instant::now();
            // The compiler needs neither CUDA nor an open GPU, so it works while they start, which takes some tenths of
            // a second. NVML reports the kind of GPU to compile for sooner than CUDA.
            let at_once = budget.limit() >= ONE_BY_ONE;
            let likely = (at_once && cache_is_empty()).then(|| likely_capability(index)).flatten();
            let begin = |capability: &String| start(capability, &opened, programs, false);
            // These are dropped after `_end`, so that their threads end, also if opening the GPU panics.
            let ahead;
            let mut guessed = likely.as_ref().map(begin);
            let _end = EndWaiting(&opened);
            let found = super::probe();
            turn.started();
            let capability = Device::choose(&found, index).filter(|_| at_once).map(|gpu| &gpu.capability);
            ahead = if likely.as_ref() == capability { guessed.take() } else { capability.map(begin) };
            let device = Device::open(&found, index, limit);
            let _ = opened.set(device.as_ref().ok().cloned());
            turn.opened();
            (device, ahead, started)
        });
        let device = device?;
        let memory = memory.unwrap_or_else(|| Uploader::memory(threads, budget))?;
        let opening = started.elapsed().as_secs_f64();
        let programs = ahead.unwrap_or_else(|| start(&device.gpu().capability, &opened, programs, true))?;
        let mut workspace = Workspace {
            programs,
            compiler: None,
            queue: Queue::new(&device)?,
            uploader: Uploader::new(&device, threads, memory, budget)?,
            stop_flag: StopFlag::new(&device, budget)?,
            arena: Arena::allocate(&device, LEAST_MEMORY)?,
            device,
        };
        workspace.wait_before_stages(budget)?;
        let (gpu, alone) = (workspace.device.gpu().index, visible::visible_gpu().is_some());
        tracing::debug!(gpu, alone, opened = opening, seconds = started.elapsed().as_secs_f64(), "the GPU is ready");
        Ok(workspace)
    }

    /// Waits for the programs that are not cached. If the budget has enough free memory for the compiler and for the
    /// stages that run at the same time, waits only for the first such program.
    fn wait_before_stages(&mut self, budget: &Budget) -> Result<()> {
        if compiler_memory(budget.limit()) == 0 {
            return wait_for_compiler(&self.programs);
        }
        let Some(first) = self.programs.iter().find(|program| program.compiles) else { return Ok(()) };
        self.compiler = Some(budget.reserve(COMPILER, "the compiler of kernels")?);
        first.wait().map(drop)
    }

    /// Waits until no thread compiles a GPU program any more.
    pub fn finish_loading(&self) {
        self.programs.iter().for_each(Loading::finish);
    }

    /// Loads the programs in `programs` that this workspace does not have yet. Waits for the programs that are not
    /// cached.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Lost`].
    pub fn load_also(&mut self, programs: &[&'static ProgramSource], budget: &Budget) -> Result<()> {
        let opened = Arc::new(OnceLock::from(Some(self.device.clone())));
        let new = start(&self.device.gpu().capability, &opened, &self.missing(programs), budget.limit() < ONE_BY_ONE)?;
        wait_for_compiler(&new)?;
        self.programs.extend(new);
        Ok(())
    }

    /// Adds `programs`, which a job launches only rarely. Each is compiled when the job requests one of its kernels,
    /// unless it is cached. The budget must have [`compiler_memory`] bytes free.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Limit`], [`Error::Lost`].
    pub fn load_if_needed(&mut self, programs: &[&'static ProgramSource], budget: &Budget) -> Result<()> {
        let is_cached = |source: &&ProgramSource| Program::is_cached(&self.device.gpu().capability, source);
        let (now, later): (Vec<_>, Vec<_>) = self.missing(programs).into_iter().partition(is_cached);
        self.load_also(&now, budget)?;
        if !later.is_empty() && self.compiler.is_none() {
            self.compiler = Some(budget.reserve(COMPILER, "the compiler of kernels")?);
        }
        self.programs.extend(later.into_iter().map(Loading::later));
        Ok(())
    }

    /// Returns those of `programs` that this workspace does not have yet.
    fn missing(&self, programs: &[&'static ProgramSource]) -> Vec<&'static ProgramSource> {
        let is_there =
            |source: &&&ProgramSource| self.programs.iter().any(|loading| loading.source.name == source.name);
        programs.iter().filter(|source| !is_there(source)).copied().collect()
    }

    /// Returns the kernel called `name` of the program `source`. Waits until the program is compiled.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Lost`] if the program has no kernel of this name.
    pub fn kernel(&self, source: &ProgramSource, name: &str) -> Result<Kernel> {
        let program = self.programs.iter().find(|loading| loading.source.name == source.name);
        program.ok_or_else(|| not_compiled(source.name))?.program(&self.device)?.kernel(name)
    }

    /// Returns several kernels of a GPU program that this workspace has loaded or will load.
    ///
    /// # Errors
    /// Errors of [`Self::kernel`].
    pub fn kernels<const N: usize>(&self, source: &ProgramSource, names: [&str; N]) -> Result<[Kernel; N]> {
        let kernels: Vec<Kernel> = names.into_iter().map(|name| self.kernel(source, name)).collect::<Result<_>>()?;
        kernels.try_into().map_err(|_| Error::internal("load kernels", source.name))
    }
}

/// On drop, wakes the threads that wait for the GPU, in case it could not be opened.
struct EndWaiting<'o>(&'o OnceLock<Option<Device>>);

impl Drop for EndWaiting<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(None);
    }
}

/// Limit on host memory, in bytes, below which a job compiles its programs one after another.
const ONE_BY_ONE: u64 = 1 << 30;
/// Host memory in bytes that NVRTC needs to compile all programs of a job.
const COMPILER: u64 = 200 << 20;
/// Smallest limit on host memory, in bytes, under which a job reserves memory for the compiler. The compiler then takes
/// at most a 64th of the limit.
const SPARES_COMPILER: u64 = 64 * COMPILER;

/// Returns the host memory in bytes that is reserved for compiling programs while stages run. If `limit` is too small
/// for that, returns 0, and a job compiles all its programs when it starts.
pub fn compiler_memory(limit: u64) -> u64 {
    if limit < SPARES_COMPILER { 0 } else { COMPILER }
}
fn not_compiled(name: &str) -> Error {
    Error::Lost(format!("{name} was not compiled"))
}

/// Begins to load the programs `sources` for GPUs of compute capability `capability`. `opened` will contain the device
/// once the GPU is open. If `one_by_one` is true, the GPU must be open, and each program is compiled before the next.
fn start(
    capability: &str,
    opened: &Arc<OnceLock<Option<Device>>>,
    sources: &[&'static ProgramSource],
    one_by_one: bool,
) -> Result<Vec<Loading>> {
    let mut programs = Vec::new();
    for source in sources {
        // After an error, the threads that have started must not wait for the GPU.
        let program = Loading::start(capability, opened, source).inspect_err(|_| drop(opened.set(None)))?;
        if one_by_one && program.compiles {
            program.wait()?;
        }
        programs.push(program);
    }
    Ok(programs)
}

/// Waits for the programs that are not cached. If the memory limit is small, no memory plan includes the memory of
/// NVRTC, so compilation must end before stages allocate memory.
fn wait_for_compiler(programs: &[Loading]) -> Result<()> {
    let mut compiled = programs.iter().filter(|program| program.compiles).peekable();
    let compiles = compiled.peek().is_some();
    compiled.try_for_each(|program| program.wait().map(drop))?;
    if compiles {
        crate::memory::give_back();
    }
    Ok(())
}

/// A program that a background thread loads, and compiles if it is not cached; or a program that is compiled only when
/// one of its kernels is requested.
#[derive(Debug)]
struct Loading {
    source: &'static ProgramSource,
    /// Whether the program had to be compiled (was not cached) when its thread was started.
    compiles: bool,
    thread: Mutex<Option<JoinHandle<Result<Program>>>>,
    loaded: OnceLock<Program>,
}

impl Loading {
    fn start(
        capability: &str,
        opened: &Arc<OnceLock<Option<Device>>>,
        source: &'static ProgramSource,
    ) -> Result<Loading> {
        let (compiles, capability, opened) =
            (!Program::is_cached(capability, source), capability.to_owned(), Arc::clone(opened));
        let load = move || Program::load(&capability, &opened, source);
        let thread = std::thread::Builder::new().name(source.name.into()).spawn(load);
        let thread = thread.map_err(|_| Error::thread())?;
        Ok(Loading { source, compiles, thread: Mutex::new(Some(thread)), loaded: OnceLock::new() })
    }

    fn later(source: &'static ProgramSource) -> Loading {
        Loading { source, compiles: false, thread: Mutex::new(None), loaded: OnceLock::new() }
    }

    /// Waits until the GPU program is loaded, and returns it.
    fn wait(&self) -> Result<&Program> {
        if let Some(thread) = self.thread.lock().take() {
            let loaded = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.loaded.get_or_init(|| loaded);
        }
        self.loaded.get().ok_or_else(|| not_compiled(self.source.name))
    }

    /// Waits until no thread works on the program, because the process must not end while NVRTC runs.
    fn finish(&self) {
        let _ = self.thread.lock().take().map(JoinHandle::join);
    }

    /// Returns the program. Waits until it is loaded, or compiles it for `device` if nothing has begun to load it.
    fn program(&self, device: &Device) -> Result<&Program> {
        if self.loaded.get().is_none() && self.thread.lock().is_none() {
            let loaded = Program::load(&device.gpu().capability, &OnceLock::from(Some(device.clone())), self.source)?;
            self.loaded.get_or_init(|| loaded);
            crate::memory::give_back();
        }
        self.wait()
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.finish();
    }
}
