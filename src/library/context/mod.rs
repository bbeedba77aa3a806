//! Resources that library calls may use, progress callbacks, and cancellation.

use crate::config::{self, Device, InputSpec, Job};
use crate::error::{Error, Result};
use crate::job::device::GpuSession;
use crate::library::builder::{KeyValue, Keys, path_text};
use crate::process::progress::Observer;
pub use crate::process::progress::StageMoment as Progress;
use crate::process::signals::{self, StopRequest};
use crate::size;
use crate::store::durable::remove_abandoned;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// A number of bytes. It is parsed from text such as `8GiB`, `512 MiB` or `1.5GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Size> {
        size::parse(text).map(Size).map_err(|found| Error::Usage(format!("expected a size such as 8GiB, {found}")))
    }
}

impl From<u64> for Size {
    fn from(bytes: u64) -> Size {
        Size(bytes)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&size::show(self.0))
    }
}

/// Builds a [`Context`].
#[derive(Clone, Default)]
pub struct ContextBuilder {
    host_memory: Option<Size>,
    gpu_memory: Option<Size>,
    threads: usize,
    device: Device,
    gpu: Option<u32>,
    temporary_folder: Option<PathBuf>,
    observer: Option<Observer>,
}

impl ContextBuilder {
    /// Limits the host memory of each library call. The default is 80 % of the free memory of the machine or the
    /// cgroup.
    pub fn host_memory(mut self, limit: impl Into<Size>) -> ContextBuilder {
        self.host_memory = Some(limit.into());
        self
    }

    /// Limits the GPU memory of each library call. The default is 90 % of the free GPU memory.
    pub fn gpu_memory(mut self, limit: impl Into<Size>) -> ContextBuilder {
        self.gpu_memory = Some(limit.into());
        self
    }

    /// Sets the number of threads of each library call. The default, 0, means one per core that the process may use.
    pub fn threads(mut self, threads: usize) -> ContextBuilder {
        self.threads = threads;
        self
    }

    /// Sets the device on which algorithms run. The default is [`Device::Auto`].
    pub fn device(mut self, device: Device) -> ContextBuilder {
        self.device = device;
        self
    }

    /// Selects a GPU by its index in the output of `gpugraph devices`.
    pub fn gpu(mut self, index: u32) -> ContextBuilder {
        self.gpu = Some(index);
        self
    }

    /// Sets the folder for the files of graphs that are built without
    /// [`GraphBuilder::spill_to`](crate::GraphBuilder::spill_to). The default is the system's folder for temporary
    /// files. Choose a folder on a fast disk. A graph takes about 4 bytes per edge there.
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> ContextBuilder {
        self.temporary_folder = Some(folder.into());
        self
    }

    /// Sets a progress callback. While a library call is running, another thread calls it about five times a second.
    pub fn on_progress(mut self, observer: impl Fn(&Progress<'_>) + Send + Sync + 'static) -> ContextBuilder {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Builds the context.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a GPU is chosen although the device is the CPU, or if the
    /// temporary folder is not a folder.
    pub fn build(self) -> Result<Context> {
        if self.device == Device::Cpu && self.gpu.is_some() {
            return Err(Error::Usage("a context with Device::Cpu and a GPU: leave one out".into()));
        }
        let folder = self.temporary_folder.clone().unwrap_or_else(std::env::temp_dir);
        if !folder.is_dir() {
            return Err(Error::Usage(format!("{}: expected a folder for temporary files; make it", folder.display())));
        }
        remove_abandoned(&folder);
        let (gpu, calls) = (Mutex::default(), Arc::default());
        let shared = Shared { settings: self, folder, process: std::process::id(), gpu, calls };
        Ok(Context(Arc::new(shared)))
    }
}

/// Limits, device and temporary folder for library calls. Clones of a context share them.
///
/// Library calls of one process run one after another, because each uses all threads and the whole GPU: a call from a
/// second thread waits. After a `fork`, the child process must build its own context.
///
/// ```
/// use gpugraph::{Context, Device};
///
/// let context = Context::builder().host_memory("2GiB".parse::<gpugraph::Size>()?).threads(2).device(Device::Cpu).build()?;
/// # Ok::<(), gpugraph::Error>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Shared>);

struct Shared {
    settings: ContextBuilder,
    folder: PathBuf,
    /// Id of the operating-system process that built the context.
    process: u32,
    /// GPU session that library calls share; `None` until a call has opened the GPU.
    gpu: Mutex<Option<GpuSession>>,
    calls: Arc<Calls>,
}

/// State through which a [`Canceller`] stops the library call in progress or the run of a job.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Whether a library call is in progress.
    runs: Mutex<bool>,
}

/// Lock that every library call of the process holds while it runs, so that calls run one after another.
static TURN: Mutex<()> = Mutex::new(());

impl Context {
    /// Returns a builder with default settings.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Returns a context with default settings.
    ///
    /// # Errors
    /// Errors of [`ContextBuilder::build`].
    pub fn new() -> Result<Context> {
        Context::builder().build()
    }

    /// Returns a handle with which another thread can stop library calls of this context.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.0.calls))
    }

    /// Waits until no other library call is running, and runs `work`, the body of a call. Passes the GPU session that
    /// calls share to `work`.
    ///
    /// # Errors
    /// Errors of `work`; [`Error::Usage`] in a process that was forked from the process that built the context.
    pub(super) fn call<T>(&self, work: impl FnOnce(&mut Option<GpuSession>) -> Result<T>) -> Result<T> {
        if std::process::id() != self.0.process {
            let why = "this context was built before the process was forked: build one in each process";
            return Err(Error::Usage(why.into()));
        }
        self.0.calls.call(|| work(&mut self.0.gpu.lock()))
    }

    /// Returns an error unless `other` is this context or a clone of it.
    pub(super) fn check_same(&self, other: &Context) -> Result<()> {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ok(());
        }
        Err(Error::Usage("the graph was built with another context: pass that one, or a clone of it".into()))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0.folder
    }

    pub(super) fn observer(&self) -> Option<Observer> {
        self.0.settings.observer.clone()
    }

    /// Returns a job without tasks in `workdir`, with the limits and the device of this context. `input` contains the
    /// keys of the job's table `[input]`. If `input_spec` is given, it is the input of the job, and `input` must not
    /// name one.
    ///
    /// # Errors
    /// [`Error::Usage`] for mistakes in `input`.
    pub(super) fn job(&self, name: &str, workdir: &Path, input: Keys, input_spec: Option<InputSpec>) -> Result<Job> {
        let settings = &self.0.settings;
        // Keys without a value are left out.
        let table = |keys: Vec<(&str, Option<KeyValue>)>| {
            KeyValue::Table(keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
        };
        let bytes = |size: Option<Size>| size.map(|size| KeyValue::Text(size::exact(size.0)));
        let number = |number: u64| Some(KeyValue::Number(number));
        let text = |text: &str| Some(KeyValue::Text(text.into()));
        let job = table(vec![("name", text(name)), ("workdir", text(&path_text(workdir)?))]);
        let limits = table(vec![
            ("host_memory", bytes(settings.host_memory)),
            ("gpu_memory", bytes(settings.gpu_memory)),
            ("threads", number(settings.threads as u64)),
        ]);
        let device = match settings.device {
            Device::Auto => "auto",
            Device::Cpu => "cpu",
            Device::Gpu => "gpu",
        };
        let run = table(vec![("device", text(device)), ("gpu", settings.gpu.and_then(|gpu| number(gpu.into())))]);
        let tables = [("job", job), ("input", KeyValue::Table(input)), ("limits", limits), ("run", run)];
        let tables = BTreeMap::from(tables);
        let text = toml::to_string(&tables).map_err(|e| Error::internal("write a table", e))?;
        config::of_text(name, text, &[], input_spec)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ContextBuilder { host_memory, gpu_memory, threads, device, .. } = &self.0.settings;
        f.debug_struct("Context")
            .field("host_memory", host_memory)
            .field("gpu_memory", gpu_memory)
            .field("threads", threads)
            .field("device", device)
            .finish_non_exhaustive()
    }
}

/// Guard of a library call in progress. Dropping it marks the call as ended, and withdraws a cancellation that was
/// requested for this call.
struct Running<'a>(&'a Calls);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut runs = self.0.runs.lock();
        *runs = false;
        signals::withdraw_stop(StopRequest::Cancelled);
    }
}

impl Calls {
    /// Waits until no other library call of the process is running, and runs `work`, the body of a call.
    pub(super) fn call<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = TURN.lock();
        *self.runs.lock() = true;
        let _running = Running(self);
        work()
    }
}

/// Handle with which another thread can stop library calls of a context, or the run of a job.
#[derive(Debug, Clone)]
pub struct Canceller(pub(super) Arc<Calls>);

impl Canceller {
    /// Stops the library call in progress. The call returns an error of kind
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) within a second or so. The graph stays usable. Does nothing if
    /// no call is in progress.
    pub fn cancel(&self) {
        let runs = self.0.runs.lock();
        if *runs {
            signals::request_stop(StopRequest::Cancelled);
        }
    }
}
