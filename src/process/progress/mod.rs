//! Progress of a job: bars on a terminal, lines at intervals in a batch log, and `status.json` for `gpugraph status`.
//!
//! One thread reads the clock, the counters and the memory in use. Worker threads only increment an atomic counter.

mod stage;

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

pub use super::formatting::Unit;
use super::formatting::{amount, bytes, duration, per_second};
use super::log::SHORT_STAGES;
use super::measurements::{StageMeasurements, StageTotals};
use super::metrics::Recorder;
pub use super::status_file::Status;
use super::{bars, host, log, signals};
use crate::store::replace::replace_volatile;
use stage::RunningStage;

/// Interval between samples of the host memory in use.
const SAMPLE: Duration = Duration::from_millis(50);
/// Interval between updates of progress bars.
const DRAW: Duration = Duration::from_millis(200);
/// Interval between writes of `status.json`, and between samples of the rate.
const STATUS: Duration = Duration::from_secs(1);

/// Minimum duration of a stage for a line on stderr. Shorter stages that finish are reported only in `run.log`.
const SHORT: Duration = Duration::from_secs(2);

/// Progress of a whole job. Dropping it stops the progress thread and writes the final status.
pub struct Progress {
    shared: Arc<SharedProgress>,
    /// The progress thread, and the sender of a channel. Dropping the sender ends the thread.
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

struct SharedProgress {
    log_interval: Duration,
    /// Peak of host memory of the job, in bytes.
    peak: AtomicU64,
    /// Host memory limit of the job in bytes; 0 if there is none.
    limit: AtomicU64,
    metrics: Recorder,
    observer: OnceLock<Observer>,
    state: Mutex<ProgressState>,
}

/// Callback that is called several times a second with the progress of the current stage.
pub type Observer = Arc<dyn Fn(&StageMoment<'_>) + Send + Sync>;

/// Progress of a stage of a job, or of a library call, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageMoment<'a> {
    /// Name of the current stage or algorithm, such as `partition` or `bfs`.
    pub stage: &'a str,
    /// Completed work, in the unit of the stage (such as bytes, edges or vertices).
    pub done: u64,
    /// Total work of the stage in the same unit as `done`; 0 if it is unknown.
    pub total: u64,
}

#[derive(Default)]
struct ProgressState {
    /// Workdir, run number and start time of the run.
    run: Option<(PathBuf, u64, Instant)>,
    /// Measurements of the stages that have ended.
    spent: StageTotals,
    /// Stages in progress, in the order in which they began.
    stages: Vec<Arc<RunningStage>>,
    /// The stage that ended last. The status reports it if no stage is in progress.
    ended: Option<Arc<RunningStage>>,
}

/// Progress of one stage, shared by its worker threads. If it is dropped without [`StageProgress::finish`], the stage
/// is logged as unfinished.
pub struct StageProgress {
    stage: Arc<RunningStage>,
    shared: Arc<SharedProgress>,
    finished: bool,
}

impl Progress {
    /// Starts the progress thread, which samples memory and draws bars or, without bars, logs a line every
    /// `log_interval`.
    pub fn new(log_interval: Duration) -> Progress {
        let shared = Arc::new(SharedProgress {
            log_interval: log_interval.max(SAMPLE),
            peak: AtomicU64::new(host::process_memory()),
            limit: AtomicU64::new(0),
            metrics: Recorder::default(),
            observer: OnceLock::new(),
            state: Mutex::default(),
        });
        let (for_thread, (open, closed)) = (Arc::clone(&shared), channel());
        let ticker = std::thread::Builder::new().name("progress".into()).spawn(move || tick(&for_thread, &closed));
        if let Err(e) = &ticker {
            tracing::warn!(error = %e, "can't start the progress thread: no progress will be shown");
        }
        Progress { shared, ticker: ticker.ok().map(|ticker| (open, ticker)) }
    }

    /// Sets the folder to which `status.json` is written, the run number in the manifest, and the start time of the
    /// run. A failure to write the file never ends a job.
    pub fn set_run(&self, workdir: &Path, number: u64, began: Instant) {
        self.shared.state.lock().run = Some((workdir.to_owned(), number, began));
    }

    /// Sets the callback that receives the progress of stages. Only the first call has an effect.
    pub fn observe(&self, observer: Observer) {
        let _ = self.shared.observer.set(observer);
    }

    /// Returns the recorder of the run's metrics.
    pub fn metrics(&self) -> &Recorder {
        &self.shared.metrics
    }

    /// Adds the measurements of a finished stage, combined over all ranks.
    pub fn add_spent(&self, stage: &str, figures: &StageMeasurements) {
        self.shared.state.lock().spent.on(stage, figures);
    }

    /// Returns the measurements of the run so far, including stages that did not finish or are in progress.
    pub fn spent(&self) -> StageTotals {
        self.shared.spent()
    }

    /// Sets the host memory limit in bytes, which is displayed next to the memory in use.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.shared.limit.store(bytes, Relaxed);
    }

    /// Begins the stage `name`. `total` is its total work in `unit`; 0 if that is unknown.
    pub fn stage(&self, name: &str, total: u64, unit: Unit) -> StageProgress {
        let stage = Arc::new(RunningStage {
            name: name.to_owned(),
            unit,
            total: AtomicU64::new(total),
            done: AtomicU64::new(0),
            before: AtomicU64::new(0),
            started: Instant::now(),
            peak: AtomicU64::new(host::process_memory()),
            reads: AtomicU64::new(0),
            wrote: AtomicU64::new(0),
            bar: log::has_bars().then(|| bars::add(name, total)),
            is_logged: AtomicBool::new(false),
            samples: Mutex::new(VecDeque::from([(Instant::now(), 0)])),
        });
        if log::is_json() {
            tracing::info!(stage = name, total, unit = unit.word(), "stage begins");
        } else {
            tracing::debug!(target: SHORT_STAGES, work = %amount(total, unit), "{name} begins");
        }
        self.shared.metrics.begin_stage(name);
        self.shared.state.lock().stages.push(Arc::clone(&stage));
        StageProgress { stage, shared: Arc::clone(&self.shared), finished: false }
    }

    /// Returns the peak of [`host::process_memory`] so far, in bytes. Memory is sampled every 50 ms and at the end of
    /// each stage.
    pub fn peak_memory(&self) -> u64 {
        self.shared.sample();
        self.shared.peak.load(Relaxed)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((open, ticker)) = self.ticker.take() {
            drop(open);
            let _ = ticker.join();
        }
        self.shared.write_status(false);
    }
}

impl StageProgress {
    /// Adds `n` units to the completed work of the stage.
    #[inline]
    pub fn advance(&self, n: u64) {
        self.stage.done.fetch_add(n, Relaxed);
    }

    /// Adds `n` units of work that an earlier run has completed. They advance the bar but do not count towards the
    /// rate.
    pub fn resume_at(&self, n: u64) {
        self.stage.before.fetch_add(n, Relaxed);
        self.stage.done.fetch_add(n, Relaxed);
        for (_, done) in self.stage.samples.lock().iter_mut() {
            *done += n;
        }
    }

    /// Sets the total number of bytes that the stage reads, for a stage whose unit is not bytes.
    pub fn reads(&self, bytes: u64) {
        self.stage.reads.store(bytes, Relaxed);
    }

    /// Adds `bytes` to the number of bytes that the stage has written.
    pub fn wrote(&self, bytes: u64) {
        self.stage.wrote.fetch_add(bytes, Relaxed);
    }

    /// Returns the work completed so far, in the unit of the stage.
    pub fn done(&self) -> u64 {
        self.stage.done.load(Relaxed)
    }

    /// Ends the stage as finished, and returns its measurements on this rank.
    pub fn finish(mut self) -> StageMeasurements {
        self.finished = true;
        self.end()
    }

    fn end(&self) -> StageMeasurements {
        self.shared.sample();
        let stage = &self.stage;
        self.shared.metrics.end_stage(&stage.name, self.finished);
        let figures = stage.figures();
        {
            let mut state = self.shared.state.lock();
            state.stages.retain(|other| !Arc::ptr_eq(other, stage));
            state.ended = Some(Arc::clone(stage));
            if !self.finished {
                state.spent.on(&stage.name, &figures);
            }
        }
        if let Some(bar) = &stage.bar {
            bar.finish_and_clear();
            bars::all().remove(bar);
        }
        let StageMeasurements { seconds, host_memory_peak: memory_peak, .. } = figures;
        let done = stage.done.load(Relaxed);
        let rate = stage.done_now() as f64 / seconds.max(1e-9);
        let how = if self.finished { "done" } else { "stopped early" };
        let name = &stage.name;
        if log::is_json() {
            let unit = stage.unit.word();
            tracing::info!(stage = name, done, unit, seconds, rate, memory_peak, "stage {how}");
        } else {
            let (work, rate) = (amount(done, stage.unit), per_second(rate, stage.unit));
            let (time, memory_peak) = (duration(seconds), bytes(memory_peak));
            // Short stages are logged only to run.log, because a small graph has many of them.
            match stage.started.elapsed() >= SHORT || !self.finished {
                true => tracing::info!(%work, %time, %rate, %memory_peak, "{name} {how}"),
                false => {
                    tracing::debug!(target: SHORT_STAGES, %work, %time, %rate, %memory_peak, "{name} {how}");
                }
            }
        }
        figures
    }
}

impl Drop for StageProgress {
    fn drop(&mut self) {
        if !self.finished {
            self.end();
        }
    }
}

impl SharedProgress {
    /// Samples the host memory in use: updates the peaks of the job and of the running stages, and returns it in
    /// bytes.
    fn sample(&self) -> u64 {
        let memory = host::process_memory();
        self.peak.fetch_max(memory, Relaxed);
        for stage in &self.state.lock().stages {
            stage.peak.fetch_max(memory, Relaxed);
        }
        memory
    }

    fn spent(&self) -> StageTotals {
        let state = self.state.lock();
        let mut spent = state.spent.clone();
        state.stages.iter().for_each(|stage| spent.on(&stage.name, &stage.figures()));
        spent.host_memory_peak = self.peak.load(Relaxed);
        spent
    }

    fn write_status(&self, running: bool) {
        let (run, stage) = {
            let state = self.state.lock();
            (state.run.clone(), state.stages.last().or(state.ended.as_ref()).cloned())
        };
        let (Some((workdir, run, began)), Some(stage)) = (run, stage) else { return };
        let rate = stage.rate();
        let status = Status {
            running,
            stage: stage.name.clone(),
            unit: stage.unit,
            done: stage.done.load(Relaxed),
            total: stage.total.load(Relaxed),
            rate,
            eta_seconds: stage.seconds_left(rate),
            memory: host::process_memory(),
            memory_peak: self.peak.load(Relaxed),
            memory_limit: Some(self.limit.load(Relaxed)).filter(|&limit| limit > 0),
            run,
            seconds: began.elapsed().as_secs_f64(),
            spent: self.spent(),
            host: host::name(),
            pid: std::process::id(),
            updated_at: log::timestamp(SystemTime::now()),
        };
        // Ignore errors: a full disk or a missing folder also causes errors elsewhere, and this file is optional.
        let _ = serde_json::to_vec(&status).map(|json| replace_volatile(&workdir.join("status.json"), &json));
    }
}

/// Main loop of the progress thread: samples, draws and logs until [`Progress`] is dropped.
fn tick(shared: &SharedProgress, closed: &Receiver<()>) {
    let (mut drawn, mut written, mut logged) = (Instant::now(), Instant::now(), Instant::now());
    let mut stop_logged = false;
    while closed.recv_timeout(SAMPLE) == Err(RecvTimeoutError::Timeout) {
        let stages = shared.state.lock().stages.clone();
        let memory = shared.sample();
        shared.metrics.tick(memory, &stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>());
        if drawn.elapsed() >= DRAW {
            drawn = Instant::now();
            stages.iter().for_each(|stage| stage.draw(memory));
            if let (Some(observer), Some(stage)) = (shared.observer.get(), stages.last()) {
                observer(&stage.moment());
            }
        }
        if written.elapsed() >= STATUS {
            written = Instant::now();
            stages.iter().for_each(|stage| stage.add_sample());
            shared.write_status(true);
        }
        let limit = shared.limit.load(Relaxed);
        let is_due = logged.elapsed() >= shared.log_interval;
        if is_due {
            logged = Instant::now();
        }
        for stage in stages.iter().filter(|stage| stage.bar.is_none()) {
            // Log the first line of a stage as soon as it is no longer short.
            let is_first = stage.started.elapsed() >= SHORT && !stage.is_logged.swap(true, Relaxed);
            if is_due || is_first {
                stage.log_line(memory, limit);
            }
        }
        if let (false, Some(why)) = (stop_logged, signals::stop_requested()) {
            stop_logged = true;
            tracing::info!(signal = why, "stopping: finished work is being saved");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_counts_and_leaves_a_status() {
        let dir = tempfile::tempdir().unwrap();
        let progress = Progress::new(Duration::from_millis(100));
        progress.set_run(dir.path(), 0, Instant::now());
        progress.set_memory_limit(1 << 30);
        let stage = progress.stage("sort", 4000, Unit::Units);
        stage.resume_at(1000);
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..1000).for_each(|_| stage.advance(1)));
            }
        });
        std::thread::sleep(Duration::from_millis(1300));
        let status = Status::read(dir.path()).unwrap();
        assert_eq!((status.running, status.stage.as_str(), status.done, status.total), (true, "sort", 3000, 4000));
        assert_eq!((status.pid, status.memory_limit), (std::process::id(), Some(1 << 30)));
        // 2000 units were done in at least 1 s, and 1000 are left. Resumed units do not count for the rate.
        assert!(status.rate > 0.0 && status.rate < 2100.0, "{status:?}");
        assert!(status.eta_seconds.is_some_and(|s| s > 0.4), "{status:?}");
        drop(block);
        assert_eq!(stage.done(), 3000);
        let end = stage.finish();
        assert!(end.seconds >= 1.3 && end.host_memory_peak >= 64 << 20, "{end:?}");
        assert!(progress.peak_memory() >= end.host_memory_peak);
        assert!(progress.stage("small", 0, Unit::Edges).finish().host_memory_peak > 0);
        drop(progress);
        let status = Status::read(dir.path()).unwrap();
        assert_eq!((status.running, status.stage.as_str(), status.eta_seconds), (false, "small", None));
    }
}
