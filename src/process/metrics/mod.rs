//! The file `metrics.json`: the times of a job's runs and their stages, and samples of memory, CPU time, disk traffic
//! and energy.
//!
//! The file has at most 64 KiB, however long the job runs. If there are too many samples, the two adjacent samples
//! that together cover the least time are merged. The file is written at intervals, so that it also covers a run that
//! was killed. Only the report reads it.

mod recorder;
mod sampler;

use crate::store::regular;
use serde::{Deserialize, Serialize};
use std::path::Path;

use crate::store::replace::replace_volatile;
pub use recorder::Recorder;
pub use sampler::{Measured, Meter, OpenMeter};

/// Name of the metrics file in the workdir.
pub const FILE: &str = "metrics.json";

/// Version of the format of `metrics.json`. It must change when the meaning of a field changes.
const SCHEMA: u32 = 3;
/// Maximum number of samples in `metrics.json`, for all runs together.
const SAMPLES: usize = 350;
/// Maximum number of runs in `metrics.json`; the oldest are dropped first.
const RUNS: usize = 48;
/// Maximum number of stages, for all runs together. Stages of the oldest runs are dropped first.
const SPANS: usize = 160;
const REASON_CHARS: usize = 240;

/// Contents of `metrics.json`: the metrics of a job's runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    schema: u32,
    /// Number of older runs that were dropped from `metrics.json`.
    pub forgotten: u64,
    /// Runs of the job in chronological order.
    pub runs: Vec<RunMetrics>,
    /// Samples of all runs in chronological order.
    pub samples: Vec<Sample>,
}

/// Metrics of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// 1-based index of the run among all runs of the job, including dropped runs.
    pub number: u64,
    /// Time at which the run began, in seconds since 1970.
    pub began: f64,
    /// Duration of the run in seconds, up to the last write of `metrics.json`.
    pub seconds: f64,
    /// Name of the host on which rank 0 ran.
    pub host: String,
    /// Number of ranks of the run.
    pub ranks: u64,
    /// Number of threads per rank of the run.
    pub threads: u64,
    /// Host memory limit per rank, in bytes.
    pub host_memory: u64,
    /// GPU memory limit in bytes; 0 if the run used no GPU.
    pub gpu_memory: u64,
    /// How the run ended: `finished`, or the reason why it did not finish. `None` if it was killed or is still
    /// running.
    pub ended: Option<String>,
    /// Stages of the run in chronological order.
    pub stages: Vec<Span>,
}

/// A stage of a run, with its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Name of the stage.
    pub name: String,
    /// Start of the stage, in seconds since the start of the run.
    pub from: f64,
    /// End of the stage, in seconds since the start of the run. For a stage that is still running or was killed, this
    /// is the time of the last write of the file.
    pub to: f64,
    /// Whether the stage has finished.
    pub done: bool,
}

/// Resources that the process of rank 0 used during an interval. The file stores a sample as an array, in the order of
/// the fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "SampleRow", into = "SampleRow")]
pub struct Sample {
    /// Run during which the sample was taken: its [`RunMetrics::number`].
    pub run: u64,
    /// End of the sample's interval, in milliseconds since the start of the run.
    pub at: u64,
    /// Length of the sample's interval in milliseconds.
    pub length: u64,
    /// Peak of host memory in the interval, in KiB.
    pub host_memory: u64,
    /// Peak of GPU memory that the job had allocated in the interval, in KiB.
    pub gpu_memory: u64,
    /// CPU time of all threads in the interval, in milliseconds.
    pub cpu: u64,
    /// Data read from disks in the interval, in KiB.
    pub read: u64,
    /// Data written to disks in the interval, in KiB.
    pub written: u64,
    /// Data sent to other ranks in the interval, in KiB.
    pub sent: u64,
    /// Energy used in the interval, in millijoules; 0 if it can't be read.
    pub energy: u64,
    /// Time in the interval for which the GPU was busy, in milliseconds; 0 if it can't be read.
    pub gpu: u64,
}

type SampleRow = [u64; 11];

impl From<SampleRow> for Sample {
    fn from([run, at, length, host_memory, gpu_memory, cpu, read, written, sent, energy, gpu]: SampleRow) -> Sample {
        Sample { run, at, length, host_memory, gpu_memory, cpu, read, written, sent, energy, gpu }
    }
}

impl From<Sample> for SampleRow {
    fn from(s: Sample) -> SampleRow {
        [s.run, s.at, s.length, s.host_memory, s.gpu_memory, s.cpu, s.read, s.written, s.sent, s.energy, s.gpu]
    }
}

impl Sample {
    /// Merges consecutive samples into one: memory peaks are the maxima, the other measurements are sums.
    pub fn merge<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Sample {
        let mut all = Sample::default();
        samples.into_iter().for_each(|sample| all.join(sample));
        all
    }

    /// Merges the next sample into this one.
    fn join(&mut self, next: &Sample) {
        (self.at, self.length) = (next.at, self.length + next.length);
        self.host_memory = self.host_memory.max(next.host_memory);
        self.gpu_memory = self.gpu_memory.max(next.gpu_memory);
        self.cpu += next.cpu;
        self.read += next.read;
        self.written += next.written;
        self.sent += next.sent;
        self.energy += next.energy;
        self.gpu += next.gpu;
    }
}

impl Metrics {
    /// Reads the metrics file in `workdir`; `None` if there is none.
    ///
    /// # Errors
    /// A message that says why the file can't be read.
    pub fn read(workdir: &Path) -> Result<Option<Metrics>, String> {
        let text = match regular::read(&workdir.join(FILE)) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.to_string()),
        };
        let read: serde_json::Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
        if read["schema"].as_u64().is_some_and(|schema| schema != u64::from(SCHEMA)) {
            return Err("another version of gpugraph made it".to_owned());
        }
        let metrics: Metrics = serde_json::from_value(read).map_err(|e| e.to_string())?;
        if metrics.are_plausible() { Ok(Some(metrics)) } else { Err("it has implausible numbers".to_owned()) }
    }

    /// Returns true if all numbers are small enough that sums can't overflow. A damaged file may contain any numbers.
    fn are_plausible(&self) -> bool {
        const MOST: u64 = 1 << 53;
        let is_time = |seconds: f64| (-1e12..=1e12).contains(&seconds);
        let is_run = |run: &RunMetrics| {
            let are_spans = run.stages.iter().all(|span| is_time(span.from) && is_time(span.to));
            run.number <= MOST && is_time(run.began) && is_time(run.seconds) && are_spans
        };
        let is_sample = |&sample: &Sample| SampleRow::from(sample).iter().all(|&number| number <= MOST);
        self.forgotten <= MOST && self.runs.iter().all(is_run) && self.samples.iter().all(is_sample)
    }

    /// Writes the metrics file to `workdir`. Errors are ignored, because a full disk or a missing folder also causes
    /// errors elsewhere.
    fn write(&mut self, workdir: &Path) {
        self.schema = SCHEMA;
        let _ = serde_json::to_vec(self).map(|json| replace_volatile(&workdir.join(FILE), &json));
    }

    /// Adds a run, and drops the oldest runs if there are more than [`RUNS`].
    fn begin(&mut self, run: RunMetrics) {
        let number = self.runs.last().map_or(self.forgotten, |last| last.number) + 1;
        self.runs.push(RunMetrics { number, began: milliseconds(run.began), ..run });
        while self.runs.len() > RUNS {
            let oldest = self.runs.remove(0).number;
            self.samples.retain(|sample| sample.run != oldest);
            self.forgotten += 1;
        }
    }

    /// Adds a stage to the last run, which begins `from` seconds after the start of the run. If the previous stage has
    /// the same name and ended just before, it is continued instead.
    fn begin_stage(&mut self, name: &str, from: f64) {
        let (Some(run), from) = (self.runs.last_mut(), milliseconds(from)) else { return };
        match run.stages.last_mut().filter(|last| last.name == name && from - last.to < 0.05 * (last.to - last.from)) {
            Some(last) => last.done = false,
            None => run.stages.push(Span { name: name.to_owned(), from, to: from, done: false }),
        }
        let spans = |runs: &[RunMetrics]| runs.iter().map(|run| run.stages.len()).sum::<usize>();
        while spans(&self.runs) > SPANS {
            let Some(oldest) = self.runs.iter_mut().find(|run| !run.stages.is_empty()) else { return };
            oldest.stages.remove(0);
        }
    }

    /// Records that a stage of the last run ended `to` seconds after the start of the run. `done` is true if it
    /// finished.
    fn end_stage(&mut self, name: &str, to: f64, done: bool) {
        let stages = self.runs.last_mut().map(|run| &mut run.stages);
        if let Some(span) = stages.and_then(|stages| stages.iter_mut().rev().find(|span| span.name == name)) {
            (span.to, span.done) = (milliseconds(to), done);
        }
    }

    /// Records that the last run and its stages `stages` are still running `seconds` after the start of the run.
    fn mark_running(&mut self, seconds: f64, stages: &[&str]) {
        stages.iter().for_each(|name| self.end_stage(name, seconds, false));
        self.runs.iter_mut().last().into_iter().for_each(|run| run.seconds = milliseconds(seconds));
    }

    /// Records that the last run ended `seconds` after its start, for the reason `why`.
    fn end(&mut self, seconds: f64, why: &str) {
        if let Some(run) = self.runs.last_mut() {
            (run.seconds, run.ended) = (milliseconds(seconds), Some(why.chars().take(REASON_CHARS).collect()));
        }
    }

    /// Adds a sample to the last run, and merges two samples if there are more than [`SAMPLES`].
    fn add(&mut self, sample: Sample) {
        let Some(run) = self.runs.last().map(|run| run.number) else { return };
        self.samples.push(Sample { run, ..sample });
        while self.samples.len() > SAMPLES {
            let pairs = self.samples.windows(2).enumerate().filter(|(_, pair)| pair[0].run == pair[1].run);
            let Some((at, _)) = pairs.min_by_key(|(_, pair)| pair[0].length + pair[1].length) else { return };
            let next = self.samples.remove(at + 1);
            self.samples[at].join(&next);
        }
    }
}

/// Rounds seconds to milliseconds, so that the file stays small.
fn milliseconds(seconds: f64) -> f64 {
    (1e3 * seconds).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sample in which every number has as many digits as in a job that takes days.
    fn sample(at: u64, length: u64) -> Sample {
        let (memory, many) = (1_999_999_999, 99_999_999);
        Sample {
            run: 0,
            at,
            length,
            host_memory: memory,
            gpu_memory: 99_999_999,
            cpu: many,
            read: many,
            written: many,
            sent: many,
            energy: many,
            gpu: length,
        }
    }

    #[test]
    fn ten_days_of_many_runs_take_no_more_than_64_kib() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut metrics = Metrics::default();
        let (mut covered, mut expected) = (0, 0);
        for run in 0..200_u64 {
            metrics.begin(RunMetrics {
                began: 1.7e9 + run as f64,
                host: "node-with-a-name-017".into(),
                ..RunMetrics::default()
            });
            for stage in ["ingest", "relabel", "partition", "sort", "triangle"] {
                metrics.begin_stage(stage, 0.123_456_789);
                metrics.end_stage(stage, 1.234_567_891_234, true);
            }
            // Together the runs take ten days, with a sample every ten seconds.
            for sample_of_run in 1..=432 {
                metrics.add(sample(10_000 * sample_of_run, 10_000));
            }
            metrics.end(4320.0, &"x".repeat(1000));
        }
        metrics.write(folder.path());
        let bytes = std::fs::metadata(folder.path().join(FILE)).expect("written").len();
        assert!(bytes <= 64 << 10, "{bytes} bytes");
        let back = Metrics::read(folder.path()).expect("readable").expect("there");
        assert_eq!(back, metrics);
        // Merged samples still cover all the time of the remaining runs, and are about equally long.
        for run in &back.runs {
            let of_run = || back.samples.iter().filter(|sample| sample.run == run.number);
            covered += of_run().map(|sample| sample.length).sum::<u64>();
            expected += 4_320_000;
            assert!(of_run().all(|sample| sample.length <= 20 * 4_320_000 * 48 / SAMPLES as u64), "{run:?}");
        }
        assert_eq!((covered, back.forgotten, back.runs.len()), (expected, 200 - RUNS as u64, RUNS));
    }

    #[test]
    fn a_file_with_implausible_numbers_is_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut metrics = Metrics::default();
        metrics.begin(RunMetrics::default());
        metrics.begin_stage("sort", 0.0);
        metrics.add(sample(1000, 1000));
        metrics.write(folder.path());
        let whole = std::fs::read_to_string(folder.path().join(FILE)).expect("written");
        assert!(Metrics::read(folder.path()).is_ok());
        let huge = "18446744073709551615";
        let parts = [
            ("\"number\":1", format!("\"number\":{huge}")),
            ("\"from\":0.0", "\"from\":-1e308".into()),
            (",99999999", format!(",{huge}")),
        ];
        for (part, other) in &parts {
            assert!(whole.contains(part), "{part} in {whole}");
            std::fs::write(folder.path().join(FILE), whole.replacen(part, other, 1)).expect("written");
            let said = Metrics::read(folder.path()).expect_err("damaged");
            assert!(said.contains("implausible numbers"), "{said}");
        }
    }

    #[test]
    fn joining_keeps_peaks_and_sums() {
        let mut metrics = Metrics::default();
        metrics.begin(RunMetrics::default());
        let one =
            |at: u64| Sample { run: 1, at, length: 50, host_memory: at % 1000, cpu: 3, read: 5, ..Sample::default() };
        (1..=5000).for_each(|number| metrics.add(one(50 * number)));
        let sum = |of: fn(&Sample) -> u64| metrics.samples.iter().map(of).sum::<u64>();
        assert_eq!((metrics.samples.len(), sum(|s| s.cpu), sum(|s| s.read)), (SAMPLES, 15_000, 25_000));
        assert_eq!(metrics.samples.iter().map(|s| s.host_memory).max(), Some(950));
        assert!(metrics.samples.is_sorted_by_key(|s| s.at) && sum(|s| s.length) == 250_000);
        let lengths = || metrics.samples.iter().map(|s| s.length);
        assert!(lengths().max().expect("some") <= 1000, "{:?}", lengths().collect::<Vec<_>>());
    }

    #[test]
    fn a_stage_that_continues_is_one_stage_and_an_unfinished_one_is_marked() {
        let mut metrics = Metrics::default();
        metrics.begin_stage("no run", 0.0);
        metrics.begin(RunMetrics::default());
        metrics.begin_stage("sort", 0.0);
        metrics.end_stage("sort", 2.0, true);
        metrics.begin_stage("bfs", 2.0);
        metrics.end_stage("bfs", 3.0, true);
        metrics.begin_stage("bfs", 3.01);
        metrics.mark_running(4.0, &["bfs"]);
        let spans: Vec<_> = metrics.runs[0].stages.iter().map(|s| (s.name.as_str(), s.from, s.to, s.done)).collect();
        assert_eq!(spans, [("sort", 0.0, 2.0, true), ("bfs", 2.0, 4.0, false)]);
        assert_eq!((metrics.runs[0].seconds, metrics.runs[0].ended.as_deref()), (4.0, None));
    }
}
