//! Everything that a job keeps on a GPU from start to end: the arena, pinned memory and compiled kernels.

use super::arena::Arena;
use super::device::Device;
use super::program::{Kernel, Program};
use super::queue::Queue;
use super::source::ProgramSource;
use super::staging::{StopFlag, Uploader};
use super::visible;
use crate::error::{Error, Result};
use crate::memory::{Budget, populate};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::Instant;

/// A GPU that is ready for use. A computation borrows the whole workspace, so only one computation at a time uses the
/// GPU's memory.
#[derive(Debug)]
pub struct Workspace {
    /// The GPU that is open.
    pub device: Device,
    // Fields are dropped in this order, so that no work is queued when the memory is freed.
    /// Queue for kernels and small copies.
    pub queue: Queue,
    /// Copies large amounts of host memory to the GPU.
    pub uploader: Uploader,
    /// Flag that running kernels poll.
    pub stop_flag: StopFlag,
    /// All GPU memory of this process.
    pub arena: Arena,
    programs: Vec<Loading>,
}

/// Order in which the processes of one machine start CUDA. [`Workspace::open`] calls the methods.
pub trait StartTurn {
    /// Waits until this process may start CUDA.
    fn wait(&self) {}
    /// Notes that CUDA has started in this process.
    fn started(&self) {}
    /// Notes that this process has opened the GPU.
    fn opened(&self) {}
}

/// Start order of a process that waits for no other process.
impl StartTurn for () {}

/// Smallest GPU memory in bytes with which a job can do anything.
const LEAST_MEMORY: u64 = 1 << 20;

impl Workspace {
    /// Opens GPU `index` (or the first one), takes `limit` bytes of its memory (or the default limit), and begins to
    /// load `programs`. It takes less memory if other processes use some of the GPU's memory. CUDA starts when `turn`
    /// permits it.
    ///
    /// # Errors
    /// [`Error::Usage`] with a remedy if CUDA, the GPU or NVRTC is missing; [`Error::Limit`], [`Error::Lost`].
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
        let (device, started) = std::thread::scope(|scope| {
            if let Some(Ok(memory)) = &mut memory {
                let _ = std::thread::Builder::new().name("pages".into()).spawn_scoped(scope, || populate(memory));
            }
            turn.wait();
            let started = Instant::now();
            let found = super::probe();
            turn.started();
            let device = Device::open(&found, index, limit);
            turn.opened();
            (device, started)
        });
        let device = device?;
        let memory = memory.unwrap_or_else(|| Uploader::memory(threads, budget))?;
        let opened = started.elapsed().as_secs_f64();
        let programs = load(&device, programs, budget)?;
        let workspace = Workspace {
            programs,
            queue: Queue::new(&device)?,
            uploader: Uploader::new(&device, threads, memory, budget)?,
            stop_flag: StopFlag::new(&device, budget)?,
            arena: Arena::allocate(&device, LEAST_MEMORY)?,
            device,
        };
        let (gpu, alone) = (workspace.device.gpu().index, visible::visible_gpu().is_some());
        tracing::debug!(gpu, alone, opened, seconds = started.elapsed().as_secs_f64(), "the GPU is ready");
        Ok(workspace)
    }

    /// Begins to load the programs in `programs` that this workspace does not have yet.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Lost`].
    pub fn load_also(&mut self, programs: &[&'static ProgramSource], budget: &Budget) -> Result<()> {
        let is_there = |source: &&&ProgramSource| self.programs.iter().any(|loading| loading.name == source.name);
        let missing: Vec<_> = programs.iter().filter(|source| !is_there(source)).copied().collect();
        self.programs.extend(load(&self.device, &missing, budget)?);
        Ok(())
    }

    /// Returns the kernel called `name` of the program `source`. Waits until the program is compiled.
    ///
    /// # Errors
    /// Errors of the compilation; [`Error::Lost`] if the program has no kernel of this name.
    pub fn kernel(&self, source: &ProgramSource, name: &str) -> Result<Kernel> {
        let program = self.programs.iter().find(|loading| loading.name == source.name);
        program.ok_or_else(|| not_compiled(source.name))?.program()?.kernel(name)
    }
}

/// Limit of host memory, in bytes, below which a job compiles its programs one after another.
const ONE_BY_ONE: u64 = 1 << 30;

/// Begins to load `programs`, and waits for the ones that are not cached. To compile all programs of a job, NVRTC takes
/// up to 200 MiB of memory that is in no plan. So compilation ends before stages take memory. If the first program
/// compiles, NVRTC is present and supports this GPU.
fn load(device: &Device, sources: &[&'static ProgramSource], budget: &Budget) -> Result<Vec<Loading>> {
    let mut programs = Vec::new();
    let mut compiled = Vec::new();
    for (n, source) in sources.iter().enumerate() {
        let compiles = !Program::is_cached(device, source)?;
        let program = Loading::start(device, source)?;
        if n == 0 || compiles && budget.limit() < ONE_BY_ONE {
            program.program()?;
        }
        compiled.extend(compiles.then_some(n));
        programs.push(program);
    }
    compiled.iter().try_for_each(|&n| programs[n].program().map(drop))?;
    if !compiled.is_empty() {
        crate::memory::give_back();
    }
    Ok(programs)
}

fn not_compiled(name: &str) -> Error {
    Error::Lost(format!("{name} was not compiled"))
}

/// A program that a background thread loads, and compiles if it is not cached.
#[derive(Debug)]
struct Loading {
    name: &'static str,
    thread: Mutex<Option<JoinHandle<Result<Program>>>>,
    loaded: OnceLock<Program>,
}

impl Loading {
    fn start(device: &Device, source: &'static ProgramSource) -> Result<Loading> {
        let device = device.clone();
        let thread = std::thread::Builder::new().name(source.name.into()).spawn(move || Program::load(&device, source));
        let thread = thread.map_err(|e| Error::io("start a thread to compile kernels", source.name, e))?;
        Ok(Loading { name: source.name, thread: Mutex::new(Some(thread)), loaded: OnceLock::new() })
    }

    /// Waits until the program is loaded, and returns it.
    fn program(&self) -> Result<&Program> {
        if let Some(thread) = self.thread.lock().take() {
            let loaded = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.loaded.get_or_init(|| loaded);
        }
        self.loaded.get().ok_or_else(|| not_compiled(self.name))
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        // The process must not end while NVRTC runs.
        let thread = self.thread.get_mut().take();
        let _ = thread.map(JoinHandle::join);
    }
}
