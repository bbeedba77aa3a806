//! Measured times of stages in earlier runs, as ratios to the times that the rates of
//! [`crate::job::plan::cost_model`] predict. Later plans multiply their predictions by these ratios.
//!
//! The ratios are stored in one small file in the user's cache folder, next to compiled kernels, for all machines
//! that share the folder. The file is only a hint: no stage's key depends on it, a damaged file is ignored, and it is
//! always replaced as a whole.

use crate::algo::Cost;
use crate::config::{InputSpec, Job};
use crate::formats::{Input, Packing};
use crate::gpu;
use crate::job::plan::cost_model::Preparers;
use crate::job::plan::resources::Resources;
use crate::job::plan::stage::{Hardware, PlannedStage, StageKind, Time};
use crate::job::results::report::{self, StageReport};
use crate::process::host;
use crate::store::replace::replace_volatile;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Version of the format of the file of measured speeds. It changes when the meaning of a record changes, for example
/// because a rate of the model changed.
const SCHEMA: u32 = 1;
/// Maximum number of measured speeds that are stored per stage and machine. The oldest are dropped first.
const OF_A_STAGE: usize = 8;
/// Maximum number of measured speeds that are stored in total. The oldest are dropped first.
const ALL: usize = 512;
/// Number of measured speeds whose median a plan uses: those with the closest numbers of edges.
const NEAREST: usize = 5;
/// Minimum number of stages with measured speeds on a machine from which the speed of another stage is predicted.
const MOST_STAGES: usize = 3;
/// Maximum size in bytes of the file of measured speeds. A larger file is ignored.
const TOO_LARGE: u64 = 1 << 20;
/// Minimum measured time, in seconds, from which a speed is derived. In a shorter time, starting the threads dominates.
const TOO_SHORT: f64 = 0.03;
/// Minimum predicted time, in seconds, from which a speed is derived. Syncing a file takes as long for ten edges as for
/// many, so a stage with a tiny predicted time would seem extremely slow.
const TOO_LITTLE: f64 = 0.003;

/// Measured speed of one stage in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SpeedRecord {
    /// Label of the stage: its name and properties that affect its speed, such as the format of the input.
    stage: String,
    bench: Hardware,
    edges: u64,
    /// Measured time divided by the time that the rates predict.
    ratio: f64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Speeds {
    schema: u32,
    /// Measured speeds, oldest first.
    records: Vec<SpeedRecord>,
}

/// Correction of a predicted time: `ratio` is the factor by which it is multiplied, and `within` the factor within
/// which the product is likely right.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Correction {
    ratio: f64,
    within: f64,
}

impl Speeds {
    fn path() -> Option<PathBuf> {
        gpu::cache().map(|folder| folder.join("speeds.json"))
    }

    /// Returns the content of the file of measured speeds; empty if the file can't be read. A process may make many
    /// plans, so the file is read again only if it was replaced.
    fn load() -> Arc<Speeds> {
        type Version = (u64, u64, SystemTime);
        static LAST: Mutex<Option<(Version, Arc<Speeds>)>> = Mutex::new(None);
        let Some(path) = Speeds::path() else { return Arc::default() };
        let file = std::fs::metadata(&path).ok().filter(|meta| meta.is_file() && meta.len() <= TOO_LARGE);
        let version = file.and_then(|meta| Some((meta.ino(), meta.len(), meta.modified().ok()?)));
        let mut last = LAST.lock();
        match (&*last, version) {
            (Some((of, speeds)), Some(version)) if *of == version => Arc::clone(speeds),
            (_, Some(version)) => Arc::clone(&last.insert((version, Arc::new(Speeds::read(&path)))).1),
            (_, None) => Arc::default(),
        }
    }

    fn read(path: &Path) -> Speeds {
        let text = std::fs::read(path).unwrap_or_default();
        let read = serde_json::from_slice(&text).ok().filter(|speeds: &Speeds| speeds.schema == SCHEMA);
        let mut speeds = read.unwrap_or_default();
        speeds.records.retain(|record| (1e-4..=1e4).contains(&record.ratio));
        speeds
    }

    /// Adds a measured speed, and drops the oldest ones if there are too many.
    fn add(&mut self, record: SpeedRecord) {
        let alike = |other: &SpeedRecord| (&other.stage, &other.bench) == (&record.stage, &record.bench);
        if self.records.iter().filter(|other| alike(other)).count() >= OF_A_STAGE
            && let Some(oldest) = self.records.iter().position(alike)
        {
            self.records.remove(oldest);
        }
        self.records.push(record);
        let beyond = self.records.len().saturating_sub(ALL);
        self.records.drain(..beyond);
    }

    fn save(&mut self) -> Option<()> {
        self.schema = SCHEMA;
        let path = Speeds::path()?;
        std::fs::create_dir_all(path.parent()?).ok()?;
        replace_volatile(&path, &serde_json::to_vec_pretty(self).ok()?).ok()
    }

    /// Returns the correction for `stage` with `edges` edges on the machine and device `bench`. It is taken from
    /// earlier runs of the stage on this machine; else from runs of the stage on the same CPU model; else from other
    /// stages on this machine; else the ratio is 1.
    fn correction(&self, stage: &str, bench: &Hardware, edges: u64) -> Correction {
        let ratios = |wanted: &dyn Fn(&SpeedRecord) -> bool| {
            let apart =
                |record: &SpeedRecord| ((edges.max(1) as f64).log2() - (record.edges.max(1) as f64).log2()).abs();
            // Among records of the same size, the newest comes first.
            let mut found: Vec<_> =
                self.records.iter().rev().filter(|record| wanted(record)).map(|r| (apart(r), r.ratio)).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            found.truncate(NEAREST);
            found
        };
        let same = ratios(&|record| record.stage == stage && record.bench == *bench);
        if let Some(ratio) = median(&same) {
            let spread = same.iter().map(|&(_, one)| (one / ratio).max(ratio / one)).fold(1.0, f64::max);
            let least = if same.len() == 1 || same[0].0 > 3.0 { 1.4 } else { 1.25 };
            return Correction { ratio, within: spread.clamp(least, 2.0) };
        }
        let is_like = |other: &Hardware| {
            (&other.processor, &other.build, &other.device) == (&bench.processor, &bench.build, &bench.device)
        };
        if let Some(ratio) = median(&ratios(&|record| record.stage == stage && is_like(&record.bench))) {
            return Correction { ratio, within: 1.6 };
        }
        // A machine that is slow at most stages is likely slow at the others. Three stages are required because the
        // time of ingest alone also depends on the disk and on the kernel's allocation of memory.
        let there = self.records.iter().filter(|record| record.bench == *bench);
        let stages: BTreeSet<&str> = there.map(|record| record.stage.as_str()).collect();
        match median(&ratios(&|record| record.bench == *bench)) {
            Some(ratio) if stages.len() >= MOST_STAGES => Correction { ratio, within: 1.8 },
            _ => Correction { ratio: 1.0, within: 2.0 },
        }
    }
}

fn median(found: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = found.iter().map(|&(_, ratio)| ratio).collect();
    (!ratios.is_empty()).then(|| report::median(&ratios))
}

/// Predicts the times of the stages of one job on one machine.
pub(crate) struct TimeModel {
    speeds: Arc<Speeds>,
    cpu: Hardware,
    gpu: Hardware,
    preparers: Preparers,
    edges: u64,
    formats: String,
}

impl TimeModel {
    /// Creates the model for the stages of `job` on a graph of `edges` edges.
    pub(crate) fn new(
        job: &Job,
        machine: &Resources,
        preparers: Preparers,
        input: Option<&Input>,
        edges: u64,
    ) -> TimeModel {
        let cpu = Hardware {
            host: host::name(),
            processor: host::processor().to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
            device: "cpu".into(),
            ranks: machine.ranks,
            threads: machine.threads,
        };
        let gpu = machine.gpu.as_ref().map_or_else(|| "gpu".into(), |gpu| gpu.name.clone());
        let formats = match (&job.input, input) {
            (InputSpec::Files { .. }, Some(input)) => formats(input),
            _ => "generated".into(),
        };
        let gpu = Hardware { device: gpu, ..cpu.clone() };
        TimeModel { speeds: Speeds::load(), cpu, gpu, preparers, edges, formats }
    }

    /// Returns the predicted time of the preparation stage `name`, for which the rates predict `seconds` and which
    /// sends `exchange` bytes. The amount of work is certain, because it depends only on the size of the graph.
    pub(crate) fn of_preparing(&self, name: &str, seconds: f64, exchange: u64) -> Time {
        let label = match name {
            "dictionary" | "number" | "ingest" | "partition" | "weights" => format!("{name} of {}", self.formats),
            _ => name.to_owned(),
        };
        self.time(label, self.preparers.on_gpu, seconds + self.preparers.exchange(exchange), 1.0)
    }

    /// Returns the predicted time of a task whose estimated work is likely right within a factor of `unsure`.
    pub(crate) fn of_task(&self, cost: &Cost, on_gpu: bool, unsure: f64) -> Time {
        self.time(cost.label.clone(), on_gpu, cost.seconds + self.preparers.exchange(cost.exchange), unsure)
    }

    fn time(&self, stage: String, on_gpu: bool, modelled: f64, unsure: f64) -> Time {
        let bench = if on_gpu { &self.gpu } else { &self.cpu };
        let Correction { ratio, within } = self.speeds.correction(&stage, bench, self.edges);
        let (seconds, within) = (modelled * ratio, within * unsure);
        let seconds_range = [seconds / within, seconds * within];
        Time { seconds, seconds_range, modelled, stage, bench: bench.clone(), edges: self.edges }
    }
}

/// Returns the names of the formats of an input's files, each once.
fn formats(input: &Input) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in input.parts() {
        let packing = if part.packing() == Packing::Plain { String::new() } else { format!("{:?} ", part.packing()) };
        let name = format!("{packing}{}", part.format().name());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Returns the ratio of measured to predicted time; `None` if either time is too short for a reliable ratio.
fn ratio(seconds: f64, modelled: f64) -> Option<f64> {
    (seconds >= TOO_SHORT && modelled >= TOO_LITTLE).then_some(seconds / modelled)
}

/// Records for later plans how long each completed stage took compared with its prediction. If the records can't be
/// saved, only a debug message is logged.
pub(crate) fn record_times(planned: Vec<PlannedStage>, ran: &[StageReport]) {
    let mut speeds = None;
    for PlannedStage { name, time, kind, .. } in planned {
        let each: Vec<f64> =
            ran.iter().filter(|ran| ran.name == name && !ran.resumed).map(|ran| ran.figures.seconds).collect();
        let trials = if let StageKind::Task(_, trials) = kind { f64::from(trials) } else { 1.0 };
        let (seconds, modelled) = (report::median(&each), time.modelled / trials);
        if let Some(ratio) = ratio(seconds, modelled) {
            let Time { stage, bench, edges, .. } = time;
            let record = SpeedRecord { stage, bench, edges, ratio };
            speeds.get_or_insert_with(|| Arc::unwrap_or_clone(Speeds::load())).add(record);
        }
    }
    if let Some(mut speeds) = speeds
        && speeds.save().is_none()
    {
        tracing::debug!("the times of stages could not be recorded for later plans");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stage: &str, edges: u64, ratio: f64, threads: usize) -> SpeedRecord {
        SpeedRecord { stage: stage.into(), bench: Hardware { threads, ..Hardware::default() }, edges, ratio }
    }

    fn of(records: &[SpeedRecord]) -> Speeds {
        let mut speeds = Speeds::default();
        records.iter().for_each(|record| speeds.add(record.clone()));
        speeds
    }

    #[test]
    fn corrections_prefer_the_same_stage_then_the_same_cpu_then_other_stages() {
        let bench = |threads| Hardware { threads, ..Hardware::default() };
        let two = [record("sort", 1 << 20, 3.0, 2), record("ingest", 1 << 20, 0.5, 2), record("sort", 1 << 20, 7.0, 4)];
        assert_eq!(
            of(&two).correction("partition", &bench(2), 1 << 20).ratio,
            1.0,
            "two stages say nothing of a third"
        );
        let speeds = of(&[&two[..], &[record("relabel", 1 << 20, 1.75, 2)]].concat());
        assert_eq!(speeds.correction("sort", &bench(2), 1 << 20).ratio, 3.0);
        assert_eq!(speeds.correction("sort", &bench(8), 1 << 20).ratio, 5.0);
        assert_eq!(speeds.correction("partition", &bench(2), 1 << 20).ratio, 1.75);
        let elsewhere = Hardware { processor: "another".into(), ..bench(2) };
        assert_eq!(speeds.correction("sort", &elsewhere, 1 << 20), Correction { ratio: 1.0, within: 2.0 });
        let within = [("sort", 2), ("sort", 8), ("partition", 2)]
            .map(|(stage, threads)| speeds.correction(stage, &bench(threads), 1 << 20).within);
        assert!(within[0] < within[1] && within[1] < within[2] && within[2] < 2.0, "{within:?}");
    }

    #[test]
    fn outliers_and_runs_of_other_sizes_have_little_weight() {
        let mut records = vec![record("sort", 1 << 10, 50.0, 2); 3];
        records.extend([1.0, 1.1, 9.0, 1.2, 0.9].map(|ratio| record("sort", 1 << 24, ratio, 2)));
        let found = of(&records).correction("sort", &records[0].bench, 1 << 23);
        assert_eq!(found.ratio, 1.1);
        assert_eq!(found.within, 2.0, "they are far apart");
    }

    /// Checks that short times are ignored: searching a graph of ten edges takes only as long as syncing its result
    /// files.
    #[test]
    fn short_times_give_no_speed() {
        assert_eq!(ratio(0.6, 0.3), Some(2.0));
        assert_eq!([ratio(0.2, 1e-7), ratio(0.01, 0.3)], [None; 2]);
    }

    #[test]
    fn the_file_stays_small_and_keeps_what_is_new() {
        let mut speeds = Speeds::default();
        for i in 0..5000u32 {
            speeds.add(record(&format!("stage {}", i % 300), 1 << 20, f64::from(i + 1), 2));
        }
        assert!(speeds.records.len() <= ALL);
        assert!(serde_json::to_vec_pretty(&speeds).unwrap().len() < TOO_LARGE as usize / 4);
        assert_eq!(speeds.records.last().unwrap().ratio, 5000.0);
        let mut one = of(&vec![record("sort", 1, 1.0, 2); 20]);
        assert_eq!(one.records.len(), OF_A_STAGE);
        one.add(record("sort", 1, 2.0, 2));
        assert_eq!((one.records.len(), one.records.last().unwrap().ratio), (OF_A_STAGE, 2.0));
    }
}
