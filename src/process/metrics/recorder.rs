//! Records the metrics of the current run, and writes them to `metrics.json` at intervals.

use super::sampler::{OpenMeter, Sampler};
use super::{Metrics, RunMetrics};
use crate::process::host;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Intervals between writes of `metrics.json`: in the first minute of a run, and later.
const WRITE_INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// At the beginning of a stage, `metrics.json` is rewritten only if it is at least this old.
const REWRITE_AFTER: Duration = Duration::from_millis(10);

/// Recorder of the current run's metrics. It records nothing until [`Self::begin`] has set the workdir and the first
/// stage has begun.
#[derive(Default)]
pub struct Recorder(Mutex<RecorderState>);

#[derive(Default)]
struct RecorderState {
    place: Option<(PathBuf, Instant)>,
    /// Description of the run that will be recorded: ranks, threads and memory limits.
    run: RunMetrics,
    /// Metrics of all runs of the job; `None` until a stage of this run has begun.
    metrics: Option<Metrics>,
    written: Option<Instant>,
    /// Function that opens the energy meter of the device; `None` after it was called, or if the device has no meter.
    meter: Option<OpenMeter>,
    sampler: Option<Sampler>,
}

impl Recorder {
    /// Starts recording a run in `workdir`, which began at the time `began`.
    pub fn begin(&self, workdir: &Path, began: Instant) {
        self.0.lock().place = Some((workdir.to_owned(), began));
    }

    /// Sets the number of ranks, the number of threads per rank, and the host memory limit per rank in bytes.
    pub fn set_resources(&self, ranks: usize, threads: usize, host_memory: u64) {
        let run = &mut self.0.lock().run;
        (run.ranks, run.threads, run.host_memory) = (ranks as u64, threads as u64, host_memory);
    }

    /// Sets the GPU memory limit of the run, in bytes.
    pub fn set_gpu_memory(&self, limit: u64) {
        let mut state = self.0.lock();
        state.run.gpu_memory = limit;
        let metrics = state.metrics.as_mut();
        metrics.and_then(|metrics| metrics.runs.last_mut()).into_iter().for_each(|run| run.gpu_memory = limit);
    }

    /// Sets the function that opens the energy meter of a device. The device's energy and utilisation are then
    /// measured, even on ranks that write no metrics file.
    pub fn set_meter(&self, open: OpenMeter) {
        self.0.lock().meter = Some(open);
    }

    /// Records that the stage `name` begins. The first stage also adds the run to the metrics.
    pub fn begin_stage(&self, name: &str) {
        let mut state = self.0.lock();
        let Some((workdir, began)) = state.place.clone() else { return };
        if state.metrics.is_none() {
            let mut metrics = Metrics::read(&workdir).ok().flatten().unwrap_or_default();
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let since_1970 = now.saturating_sub(began.elapsed()).as_secs_f64();
            metrics.begin(RunMetrics { began: since_1970, host: host::name(), ..state.run.clone() });
            state.metrics = Some(metrics);
            // Start the sampler now, so that even a run that ends before the first tick has a sample.
            state.sampler.get_or_insert_with(|| Sampler::new(began));
        }
        let RecorderState { metrics: Some(metrics), written, .. } = &mut *state else { return };
        let seconds = began.elapsed().as_secs_f64();
        metrics.begin_stage(name, seconds);
        if written.is_none_or(|written| written.elapsed() >= REWRITE_AFTER) {
            *written = Some(Instant::now());
            metrics.mark_running(seconds, &[name]);
            metrics.write(&workdir);
        }
    }

    /// Records that the stage `name` has ended; `done` is true if it finished.
    pub fn end_stage(&self, name: &str, done: bool) {
        let mut state = self.0.lock();
        let Some((_, began)) = state.place else { return };
        let seconds = began.elapsed().as_secs_f64();
        state.metrics.iter_mut().for_each(|metrics| metrics.end_stage(name, seconds, done));
    }

    /// Records the host memory in use (`memory`, in bytes) and the names of the running stages. Also adds a sample and
    /// writes `metrics.json` if they are due.
    pub fn tick(&self, memory: u64, stages: &[&str]) {
        let mut state = self.0.lock();
        let place = state.place.clone();
        // Ranks without a workdir also take samples, because stages report the utilisation of their GPUs.
        let records =
            if place.is_some() { state.metrics.is_some() } else { state.meter.is_some() || state.sampler.is_some() };
        if !records {
            return;
        }
        let began = place.as_ref().map_or_else(Instant::now, |(_, began)| *began);
        // Take the sampler out of the locked state, so that the lock is not held while a meter is opened, which may
        // take long.
        let mut sampler = state.sampler.take().unwrap_or_else(|| Sampler::new(began));
        sampler.note(memory);
        if sampler.wants_meters() {
            let meter = state.meter.take();
            drop(state);
            sampler.open_meters(meter);
            state = self.0.lock();
        }
        let (Some((workdir, _)), RecorderState { metrics: Some(metrics), written, .. }) = (place, &mut *state) else {
            if sampler.is_due() {
                sampler.sample();
            }
            state.sampler = Some(sampler);
            return;
        };
        if sampler.is_due() {
            metrics.mark_running(began.elapsed().as_secs_f64(), stages);
            metrics.add(sampler.sample());
        }
        let interval = WRITE_INTERVALS[usize::from(began.elapsed() > Duration::from_secs(60))];
        if written.get_or_insert_with(Instant::now).elapsed() >= interval {
            *written = Some(Instant::now());
            metrics.write(&workdir);
        }
        state.sampler = Some(sampler);
    }

    /// Completes the current sample, so that the counters of [`gpu_use`](crate::process::gpu_use) include everything
    /// measured so far.
    pub fn end_sample(&self) {
        let mut state = self.0.lock();
        let RecorderState { metrics, sampler: Some(sampler), .. } = &mut *state else { return };
        if sampler.has_meters() {
            let sample = sampler.sample();
            metrics.iter_mut().for_each(|metrics| metrics.add(sample));
        }
    }

    /// Records how the run ended: `finished`, or the reason why it did not finish.
    pub fn end(&self, why: &str) {
        let mut state = self.0.lock();
        let RecorderState { place: Some((workdir, began)), metrics: Some(metrics), sampler, .. } = &mut *state else {
            return;
        };
        if let Some(sampler) = sampler {
            sampler.note(host::process_memory());
            metrics.add(sampler.sample());
        }
        metrics.end(began.elapsed().as_secs_f64(), why);
        metrics.write(workdir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_job_are_recorded_one_after_the_other() {
        let folder = tempfile::tempdir().expect("a folder");
        for (run, why) in [(1, None), (2, Some("finished"))] {
            let recorder = Recorder::default();
            recorder.begin_stage("too early");
            recorder.begin(folder.path(), Instant::now());
            recorder.set_resources(2, 8, 1 << 30);
            recorder.tick(5, &[]);
            let runs = || Metrics::read(folder.path()).expect("readable").map_or(0, |metrics| metrics.runs.len());
            assert_eq!(runs(), run - 1);
            recorder.begin_stage("sort");
            // The file must contain the run already, in case the run is killed.
            assert_eq!(runs(), run);
            recorder.set_gpu_memory(4 << 30);
            recorder.tick(7 << 10, &["sort"]);
            std::thread::sleep(Duration::from_millis(1050));
            recorder.tick(5 << 10, &["sort"]);
            recorder.end_stage("sort", true);
            why.into_iter().for_each(|why| recorder.end(why));
        }
        let Metrics { runs, samples, .. } = Metrics::read(folder.path()).expect("readable").expect("there");
        let ends: Vec<_> = runs.iter().map(|run| (run.number, run.ended.as_deref(), run.stages[0].done)).collect();
        // The first run was not ended, so it counts as killed.
        assert_eq!(ends, [(1, None, false), (2, Some("finished"), true)]);
        assert_eq!((runs[0].ranks, runs[0].threads, runs[0].host_memory, runs[0].gpu_memory), (2, 8, 1 << 30, 4 << 30));
        // Both times are rounded to milliseconds.
        assert!(runs[0].seconds >= 1.0 && runs[1].began + 0.002 >= runs[0].began + runs[0].seconds, "{runs:?}");
        let host: Vec<_> = samples.iter().map(|sample| (sample.run, sample.host_memory)).collect();
        assert_eq!(host[..2], [(1, 7), (1, 5)]);
        // A damaged file is replaced by a new one.
        std::fs::write(folder.path().join(super::super::FILE), "{").expect("written");
        assert!(Metrics::read(folder.path()).is_err());
        let recorder = Recorder::default();
        recorder.begin(folder.path(), Instant::now());
        recorder.begin_stage("ingest");
        recorder.end("finished");
        assert_eq!(Metrics::read(folder.path()).expect("readable").expect("there").runs.len(), 1);
    }
}
