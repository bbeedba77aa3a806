//! Times of stages in earlier runs, beside those of [`crate::job::plan::cost_model`]: by the ratio, later plans are corrected.
//!
//! One small file in the user's cache folder, beside compiled kernels, for all machines that share it. It is a hint and
//! no more: of no stage's key, ignored where it is damaged, and replaced as a whole.

use crate::algo::Cost;
use crate::config::{InputSpec, Job};
use crate::formats::{Input, Packing};
use crate::gpu;
use crate::job::plan::cost_model::Preparers;
use crate::job::plan::estimate::{Stage, StageKind};
use crate::job::plan::resources::Resources;
use crate::job::results::report::{self, StageReport};
use crate::process::host;
use crate::store::replace::replace_volatile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Changes when a record no longer means what it did: also with the rates it is a ratio to.
const SCHEMA: u32 = 1;
/// Records of one stage on one machine, and all: the oldest go first.
const OF_A_STAGE: usize = 8;
const ALL: usize = 512;
/// Records that a plan takes the median of: those of inputs of most nearly the same size.
const NEAREST: usize = 5;
/// Different stages of which records say something of yet another one.
const MOST_STAGES: usize = 3;
/// Bytes of a file that is not looked at.
const TOO_LARGE: u64 = 1 << 20;
/// Seconds that tell no speed: starting threads takes a part of them. So do few that the rates say, of whatever was waited for
/// then: a file that is synced takes as long on a graph of ten edges, which would be slow beyond all measure.
const TOO_SHORT: f64 = 0.03;
const TOO_LITTLE: f64 = 0.003;

/// The machine and device that a stage ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bench {
    host: String,
    /// Model of the CPU.
    processor: String,
    /// A build for debugging is slower.
    build: String,
    /// The GPU that did the work, or `cpu`.
    device: String,
    ranks: usize,
    /// Of a rank.
    threads: usize,
}

impl Bench {
    fn is_like(&self, other: &Bench) -> bool {
        (&self.processor, &self.build, &self.device) == (&other.processor, &other.build, &other.device)
    }
}

/// One stage of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    /// Its name, and what else decides its speed.
    stage: String,
    bench: Bench,
    edges: u64,
    /// Seconds it took for each second that the rates say.
    ratio: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Speeds {
    schema: u32,
    /// Oldest first.
    records: Vec<Record>,
}

/// By what a stage's time is to be multiplied, and the factor within which that is likely right.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Correction {
    ratio: f64,
    within: f64,
}

impl Speeds {
    fn path() -> Option<PathBuf> {
        gpu::cache().map(|folder| folder.join("speeds.json"))
    }

    /// Reads what is known; what can't be read tells nothing.
    fn load() -> Speeds {
        let read = || {
            let path = Speeds::path()?;
            let small = std::fs::metadata(&path).ok().filter(|meta| meta.is_file() && meta.len() <= TOO_LARGE);
            let text = small.and_then(|_| std::fs::read(&path).ok())?;
            serde_json::from_slice(&text).ok().filter(|speeds: &Speeds| speeds.schema == SCHEMA)
        };
        let mut speeds = read().unwrap_or_default();
        speeds.records.retain(|record| (1e-4..=1e4).contains(&record.ratio));
        speeds
    }

    /// Adds a record, for which old ones go.
    fn add(&mut self, record: Record) {
        let alike = |other: &Record| (&other.stage, &other.bench) == (&record.stage, &record.bench);
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

    /// Returns how long `stage` of `edges` edges takes on `bench` beside what the rates say: by its own runs there, else by
    /// those on such CPUs, else by other stages there, else as the rates say.
    fn tell(&self, stage: &str, bench: &Bench, edges: u64) -> Correction {
        let ratios = |wanted: &dyn Fn(&Record) -> bool| {
            let apart = |record: &Record| ((edges.max(1) as f64).log2() - (record.edges.max(1) as f64).log2()).abs();
            // The newest first, where sizes are the same.
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
        if let Some(ratio) = median(&ratios(&|record| record.stage == stage && record.bench.is_like(bench))) {
            return Correction { ratio, within: 1.6 };
        }
        // A machine that is slow at most things is likely slow at others; ingest alone also waits for the disk and for fresh memory.
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

/// The time of a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct Time {
    /// Seconds, and from where to where they likely are.
    pub(crate) seconds: f64,
    pub(crate) range: [f64; 2],
    /// The time by rates alone, to be recorded when the stage has run.
    modelled: f64,
    stage: String,
    bench: Bench,
    edges: u64,
}

/// Tells the time of stages of one job on one machine.
pub(crate) struct Clock {
    speeds: Speeds,
    cpu: Bench,
    gpu: Bench,
    preparers: Preparers,
    edges: u64,
    /// Formats of the input.
    formats: String,
}

impl Clock {
    /// Times stages of `job` on a graph of `edges` edges.
    pub(crate) fn new(
        job: &Job,
        machine: &Resources,
        preparers: Preparers,
        input: Option<&Input>,
        edges: u64,
    ) -> Clock {
        let cpu = Bench {
            host: host::name(),
            processor: host::processor(),
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
        let gpu = Bench { device: gpu, ..cpu.clone() };
        Clock { speeds: Speeds::load(), cpu, gpu, preparers, edges, formats }
    }

    /// Returns the time of the stage `name` of preparing, which takes `seconds` by the rates and sends `exchange` bytes. That depends
    /// on the size of the graph alone.
    pub(crate) fn of_preparing(&self, name: &str, seconds: f64, exchange: u64) -> Time {
        let label = match name {
            "dictionary" | "ingest" | "partition" => format!("{name} of {}", self.formats),
            _ => name.to_owned(),
        };
        self.time(label, self.preparers.on_gpu, seconds + self.preparers.exchange(exchange), 1.0)
    }

    /// Returns the time of a task, whose work is likely right within a factor of `unsure`.
    pub(crate) fn of_task(&self, cost: &Cost, on_gpu: bool, unsure: f64) -> Time {
        self.time(cost.label.clone(), on_gpu, cost.seconds + self.preparers.exchange(cost.exchange), unsure)
    }

    fn time(&self, stage: String, on_gpu: bool, modelled: f64, unsure: f64) -> Time {
        let bench = if on_gpu { &self.gpu } else { &self.cpu };
        let Correction { ratio, within } = self.speeds.tell(&stage, bench, self.edges);
        let (seconds, within) = (modelled * ratio, within * unsure);
        let range = [seconds / within, seconds * within];
        Time { seconds, range, modelled, stage, bench: bench.clone(), edges: self.edges }
    }
}

/// The formats of an input's files, each once.
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

/// Returns how many times as long a stage took as the rates say, if that tells a speed.
fn ratio(seconds: f64, modelled: f64) -> Option<f64> {
    (seconds >= TOO_SHORT && modelled >= TOO_LITTLE).then_some(seconds / modelled)
}

/// Notes how long stages took that ran from their begin to their end, beside what was planned. Whether it can makes no difference.
pub(crate) fn remember(planned: Vec<Stage>, ran: &[StageReport]) {
    let mut speeds = None;
    for Stage { name, time, kind, .. } in planned {
        let each: Vec<f64> =
            ran.iter().filter(|ran| ran.name == name && !ran.resumed).map(|ran| ran.figures.seconds).collect();
        let trials = if let StageKind::Task(_, trials) = kind { f64::from(trials) } else { 1.0 };
        let (seconds, modelled) = (report::median(&each), time.modelled / trials);
        if let Some(ratio) = ratio(seconds, modelled) {
            let Time { stage, bench, edges, .. } = time;
            let record = Record { stage, bench, edges, ratio };
            speeds.get_or_insert_with(Speeds::load).add(record);
        }
    }
    if let Some(mut speeds) = speeds
        && speeds.save().is_none()
    {
        tracing::debug!("how long stages took could not be noted for later plans");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stage: &str, edges: u64, ratio: f64, threads: usize) -> Record {
        Record { stage: stage.into(), bench: Bench { threads, ..Bench::default() }, edges, ratio }
    }

    fn of(records: &[Record]) -> Speeds {
        let mut speeds = Speeds::default();
        records.iter().for_each(|record| speeds.add(record.clone()));
        speeds
    }

    #[test]
    fn runs_of_the_same_stage_there_come_first_then_such_processors_then_other_stages() {
        let bench = |threads| Bench { threads, ..Bench::default() };
        let two = [record("sort", 1 << 20, 3.0, 2), record("ingest", 1 << 20, 0.5, 2), record("sort", 1 << 20, 7.0, 4)];
        assert_eq!(of(&two).tell("partition", &bench(2), 1 << 20).ratio, 1.0, "two stages say nothing of a third");
        let speeds = of(&[&two[..], &[record("relabel", 1 << 20, 1.75, 2)]].concat());
        assert_eq!(speeds.tell("sort", &bench(2), 1 << 20).ratio, 3.0);
        assert_eq!(speeds.tell("sort", &bench(8), 1 << 20).ratio, 5.0);
        assert_eq!(speeds.tell("partition", &bench(2), 1 << 20).ratio, 1.75);
        let elsewhere = Bench { processor: "another".into(), ..bench(2) };
        assert_eq!(speeds.tell("sort", &elsewhere, 1 << 20), Correction { ratio: 1.0, within: 2.0 });
        let within = [("sort", 2), ("sort", 8), ("partition", 2)]
            .map(|(stage, threads)| speeds.tell(stage, &bench(threads), 1 << 20).within);
        assert!(within[0] < within[1] && within[1] < within[2] && within[2] < 2.0, "{within:?}");
    }

    #[test]
    fn one_run_that_was_disturbed_and_runs_of_another_size_count_for_little() {
        let mut records = vec![record("sort", 1 << 10, 50.0, 2); 3];
        records.extend([1.0, 1.1, 9.0, 1.2, 0.9].map(|ratio| record("sort", 1 << 24, ratio, 2)));
        let told = of(&records).tell("sort", &records[0].bench, 1 << 23);
        assert_eq!(told.ratio, 1.1);
        assert_eq!(told.within, 2.0, "they are far apart");
    }

    /// A search of a graph of ten edges takes as long as it takes to sync its columns.
    #[test]
    fn small_graphs_tell_no_speed() {
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
