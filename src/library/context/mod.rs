//! The resources that calls of the library may use, and how calls are observed and cancelled.

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
    /// Limits host memory. The default is 80 % of the free memory of the machine or the cgroup.
    pub fn host_memory(mut self, limit: impl Into<Size>) -> ContextBuilder {
        self.host_memory = Some(limit.into());
        self
    }

    /// Limits the memory of a GPU. The default is 90 % of the free memory.
    pub fn gpu_memory(mut self, limit: impl Into<Size>) -> ContextBuilder {
        self.gpu_memory = Some(limit.into());
        self
    }

    /// Sets the number of threads. The default, 0, stands for all cores that the process may use.
    pub fn threads(mut self, threads: usize) -> ContextBuilder {
        self.threads = threads;
        self
    }

    /// Sets the device that computes. The default is [`Device::Auto`].
    pub fn device(mut self, device: Device) -> ContextBuilder {
        self.device = device;
        self
    }

    /// Picks a GPU by its index, as `gpugraph devices` lists them.
    pub fn gpu(mut self, index: u32) -> ContextBuilder {
        self.gpu = Some(index);
        self
    }

    /// Sets the folder for the files of graphs that have no folder of their own. The default is the system's folder for
    /// temporary files. Choose one on a fast disk: a graph takes about 4 bytes an edge there.
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> ContextBuilder {
        self.temporary_folder = Some(folder.into());
        self
    }

    /// Sets a function that is called about five times a second while a call lasts, from another thread.
    pub fn on_progress(mut self, observer: impl Fn(&Progress<'_>) + Send + Sync + 'static) -> ContextBuilder {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Returns the context.
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

/// The limits, the device and the folder of calls. Clones share them.
///
/// Calls of one process run one after another, because each uses all threads and the whole GPU: a call from a second
/// thread waits. After a `fork`, the child process must build its own context.
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
    /// The process that built the context.
    process: u32,
    /// The GPU between calls, once a call has opened it.
    gpu: Mutex<Option<GpuSession>>,
    calls: Arc<Calls>,
}

/// The calls of a context or a job, which a [`Canceller`] can stop.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Whether a call is in progress.
    runs: Mutex<bool>,
}

/// Lock that every call of the process takes, so that calls run one after another.
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

    /// Returns a handle that stops calls of this context from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.0.calls))
    }

    /// Runs the work of a call, once earlier calls have ended. `work` gets the GPU that calls share.
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

    /// Returns a job without tasks in `workdir`, with the limits and the device of this context. `input` is its table
    /// `[input]`. `input_spec`, if given, is the input, and the table then names none.
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

/// A call in progress. When it ends, a request to stop it is withdrawn.
struct Running<'a>(&'a Calls);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut runs = self.0.runs.lock();
        *runs = false;
        signals::withdraw_stop(StopRequest::Cancelled);
    }
}

impl Calls {
    /// Runs the work of a call, once no other call of the process is in progress.
    pub(super) fn call<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = TURN.lock();
        *self.runs.lock() = true;
        let _running = Running(self);
        work()
    }
}

/// Stops calls of a context, or the run of a job, from another thread.
#[derive(Debug, Clone)]
pub struct Canceller(pub(super) Arc<Calls>);

impl Canceller {
    /// Stops the call in progress, which then returns an error of kind
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) within a second or so. Its graph stays usable. Does nothing if
    /// no call is in progress.
    pub fn cancel(&self) {
        let runs = self.0.runs.lock();
        if *runs {
            signals::request_stop(StopRequest::Cancelled);
        }
    }
}
