//! The parts of a report that are about time: runs and stages, and what was sampled meanwhile.

use super::page::Section;
use super::ranks::{Worker, busy};
use super::seen::Seen;
use super::value::{cell, number};
use crate::chart::{Axis, Cell, Column, Figure, Line, Marks, Scale, SpanMark, Style, Table, Unit};
use crate::process::log::timestamp;
use crate::process::metrics::{RunMetrics, Sample};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

/// Most stages that a table has a row for.
const MOST: usize = 200;

/// Milliseconds over which the fastest transfer is looked for: shorter ones tell of caches rather than of a device.
const SPAN: u64 = 500;

/// The times of a job, in seconds since its first run began.
struct Clock<'a> {
    runs: Vec<(&'a RunMetrics, f64)>,
}

impl Clock<'_> {
    fn of(runs: &[RunMetrics]) -> Clock<'_> {
        let first = runs.first().map_or(0.0, |run| run.began);
        let mut end = 0.0;
        let begin = |run| {
            let run: &RunMetrics = run;
            // Clocks of hosts differ: a run never begins before the one before it ended.
            let began = (run.began - first).max(end);
            end = began + run.seconds.max(0.0);
            (run, began)
        };
        Clock { runs: runs.iter().map(begin).collect() }
    }

    fn axis(&self) -> Axis {
        let parts = self.runs.iter().map(|(run, began)| (*began, began + run.seconds.max(0.0))).collect();
        let label = if self.runs.len() > 1 { "time at work" } else { "time" };
        Axis { label: label.to_owned(), unit: Unit::Seconds, scale: Scale::Parts(parts) }
    }

    /// Returns the time at the end of a sample.
    fn at(&self, sample: &Sample) -> Option<f64> {
        let (_, began) = self.runs.iter().find(|(run, _)| run.number == sample.run)?;
        Some(began + sample.at as f64 / 1e3)
    }
}

/// Returns how a run ended, in words.
fn ended(run: &RunMetrics, is_last: bool, is_running: bool) -> String {
    match &run.ended {
        Some(why) => why.clone(),
        None if is_last && is_running => "at work".to_owned(),
        None => "killed or lost".to_owned(),
    }
}

/// Returns the part about runs and stages.
pub(super) fn stages(seen: &Seen, is_running: bool) -> Section {
    let mut section = Section::new("time", "Where the time went");
    let runs = &seen.metrics.runs;
    let clock = Clock::of(runs);
    if seen.metrics.forgotten > 0 {
        section.text.push(format!("{} older runs of this job are not told of any more.", seen.metrics.forgotten));
    }
    let mut spans = Vec::new();
    for (at, (run, began)) in clock.runs.iter().enumerate() {
        let how = ended(run, at + 1 == runs.len(), is_running);
        spans.extend(run.stages.iter().map(|span| SpanMark {
            name: span.name.clone(),
            from: began + span.from,
            to: began + span.to,
            done: span.done,
            note: format!("run {}{}", run.number, if span.done { String::new() } else { format!(", not done: {how}") }),
        }));
    }
    if !spans.is_empty() {
        section.figures.push(Figure {
            title: "Stages over all runs".into(),
            caption: "When each stage was at work. A pale bar was broken off. A dashed band stands for the time between two runs, however long; numbers count from the begin of the first.".into(),
            x: clock.axis(),
            y: Axis::linear("stage", Unit::Text),
            marks: Marks::Spans(spans),
        });
    }
    if runs.len() > 1 {
        let columns = ["run", "began", "host"].map(Column::text).into_iter();
        let columns = columns.chain([Column::new("ranks", Unit::Count), Column::new("threads", Unit::Count)]);
        let columns = columns.chain([Column::new("at work", Unit::Seconds), Column::text("ended")]).collect();
        let row = |(at, run): (usize, &RunMetrics)| {
            let began = timestamp(UNIX_EPOCH + Duration::from_secs_f64(run.began.clamp(0.0, 1e11)));
            let ended = ended(run, at + 1 == runs.len(), is_running);
            let words = [run.number.to_string(), began, run.host.clone()].map(Cell::Text);
            let numbers = [run.ranks.into(), run.threads.into(), Cell::Number(run.seconds), Cell::Text(ended)];
            words.into_iter().chain(numbers).collect()
        };
        section
            .tables
            .push(("Runs of this job".into(), Table { columns, rows: runs.iter().enumerate().map(row).collect() }));
    }
    if let Some(stages) = seen.report["stages"].as_array().filter(|stages| !stages.is_empty()) {
        section.tables.push(("Stages, over all runs".into(), of_stages(seen, stages)));
    }
    section
}

fn of_stages(seen: &Seen, stages: &[Value]) -> Table {
    let names = [
        ("took", Unit::Seconds),
        ("read", Unit::Bytes),
        ("read a second", Unit::BytesPerSecond),
        ("written", Unit::Bytes),
    ];
    let more = [
        ("written a second", Unit::BytesPerSecond),
        ("most host memory", Unit::Bytes),
        ("processors busy", Unit::Share),
    ];
    let has_gpu = stages.iter().any(|stage| stage["gpu_seconds"].is_array());
    let gpu = has_gpu.then_some(("GPU busy", Unit::Share));
    let columns = names.iter().chain(&more).chain(&gpu).map(|(name, unit)| Column::new(name, *unit));
    let columns = [Column::text("stage")].into_iter().chain(columns).chain([Column::text("done by")]).collect();
    let row = |stage: &Value| {
        let seconds = number(&stage["seconds"]).filter(|&seconds| seconds > 0.0);
        let rate = |bytes: &Value| Cell::from(seconds.and_then(|seconds| Some(number(bytes)? / seconds)));
        let by = match (&stage["done"], &stage["resumed"]) {
            (Value::Bool(false), _) => "not done",
            (_, Value::Bool(true)) => "earlier run",
            _ => "last run",
        };
        let mut cells = vec![
            cell(&stage["name"]),
            seconds.into(),
            cell(&stage["read"]),
            rate(&stage["read"]),
            cell(&stage["written"]),
            rate(&stage["written"]),
            cell(&stage["host_memory_peak"]),
            busy(seen, stage, Worker::Processors).into(),
        ];
        cells.extend(has_gpu.then(|| Cell::from(busy(seen, stage, Worker::Gpu))));
        cells.push(by.into());
        cells
    };
    Table { columns, rows: stages.iter().take(MOST).map(row).collect() }
}

/// Returns the part about memory, processors, disks and power over time.
pub(super) fn samples(seen: &Seen) -> Section {
    let mut section = Section::new("usage", "What it used over time");
    let clock = Clock::of(&seen.metrics.runs);
    let samples: Vec<(f64, &Sample)> = seen.metrics.samples.iter().filter_map(|s| Some((clock.at(s)?, s))).collect();
    if samples.is_empty() {
        return section;
    }
    let Some(last) = seen.metrics.runs.last() else { return section };
    let line = |name: &str, of: &dyn Fn(&Sample) -> f64| {
        Line::new(name, Style::Area, samples.iter().map(|(at, sample)| (*at, of(sample))).collect())
    };
    let end = samples.last().map_or(0.0, |(at, _)| *at);
    let limit = |name: &str, value: f64| Line::new(name, Style::Limit, vec![(end, value)]);
    let rate = |amount: f64, sample: &Sample| if sample.length > 0 { 1e3 * amount / sample.length as f64 } else { 0.0 };
    let mut add = |title: &str, caption: &str, y: Axis, lines: Vec<Line>| {
        section.figures.push(Figure {
            title: title.into(),
            caption: caption.into(),
            x: clock.axis(),
            y,
            marks: Marks::Lines(lines),
        });
    };
    let mut memory = vec![line("host memory", &|sample| (sample.host_memory << 10) as f64)];
    let peak = seen.metrics.samples.iter().map(|sample| sample.host_memory << 10).max().unwrap_or(0);
    let mut caption =
        "The most that the process itself held within each sample. Clean pages of mapped files are not counted."
            .to_owned();
    match last.host_memory {
        0 => {}
        most if peak < most / 10 => caption += &format!(" The limit is far above: {}.", Unit::Bytes.show(most as f64)),
        most => memory.push(limit("limits.host_memory", most as f64)),
    }
    let of_rank = if last.ranks > 1 { " of rank 0" } else { "" };
    add(&format!("Host memory{of_rank}"), &caption, Axis::linear("memory", Unit::Bytes), memory);
    if seen.metrics.samples.iter().any(|sample| sample.gpu_memory > 0) {
        let used = line("GPU memory", &|sample| (sample.gpu_memory << 10) as f64);
        add(
            &format!("GPU memory{of_rank}"),
            "The most that was taken at once within each sample, of the memory that the job holds: that is the limit as a whole, once the GPU is open.",
            Axis::linear("memory", Unit::Bytes),
            vec![used, limit("limits.gpu_memory", last.gpu_memory as f64)],
        );
    }
    let cores = line("busy", &|sample| rate(sample.cpu as f64 / 1e3, sample));
    add(
        &format!("Processors{of_rank}"),
        "Processor time a second: 1 is one core that is always busy.",
        Axis::linear("cores", Unit::Number),
        [cores].into_iter().chain((last.threads > 0).then(|| limit("threads", last.threads as f64))).collect(),
    );
    if seen.metrics.samples.iter().any(|sample| sample.gpu > 0) {
        add(
            &format!("GPU{of_rank}"),
            "The share of time in which a kernel ran on it, of whichever process, as NVML tells; from two seconds on.",
            Axis::linear("busy", Unit::Share),
            vec![line("busy", &|sample| rate(sample.gpu as f64 / 1e3, sample).min(1.0))],
        );
    }
    if seen.metrics.samples.iter().any(|sample| sample.read > 0 || sample.written > 0) {
        let read = line("read from disk", &|sample| rate((sample.read << 10) as f64, sample));
        let written = line("written to disk", &|sample| rate((sample.written << 10) as f64, sample));
        let most = [("most read", fastest(&samples, &|s| s.read)), ("most written", fastest(&samples, &|s| s.written))];
        let most = most.into_iter().filter(|(_, rate)| *rate > 0.0).map(|(name, rate)| limit(name, rate));
        let lines: Vec<Line> = [read, written].into_iter().chain(most).collect();
        let caption = "What the disk itself moved; what the page cache had is not in it.".to_owned();
        let caption = caption + as_seen(&lines);
        add(&format!("Disk{of_rank}"), &caption, Axis::linear("bytes a second", Unit::BytesPerSecond), lines);
    }
    if seen.metrics.samples.iter().any(|sample| sample.sent > 0) {
        let sent = line("sent", &|sample| rate((sample.sent << 10) as f64, sample));
        let most = Some(fastest(&samples, &|s| s.sent)).filter(|&rate| rate > 0.0).map(|rate| limit("most sent", rate));
        let lines: Vec<Line> = [sent].into_iter().chain(most).collect();
        let caption = "What it sent to other ranks, as messages or in memory that they share; small collective operations are not counted.".to_owned();
        let caption = caption + as_seen(&lines);
        add(&format!("Sent{of_rank}"), &caption, Axis::linear("bytes a second", Unit::BytesPerSecond), lines);
    }
    if seen.metrics.samples.iter().any(|sample| sample.energy > 0) {
        let power = line("power", &|sample| rate(sample.energy as f64 / 1e3, sample));
        let caption =
            "Of the processors and the GPU in use, as far as their counters can be read; from two seconds on.";
        add("Power", caption, Axis::linear("power", Unit::Watts), vec![power]);
    }
    section
}

/// Returns what the limits among lines are, if there are any: the rates of the device are known by what the job saw of it alone.
fn as_seen(lines: &[Line]) -> &'static str {
    match lines.iter().any(|line| line.style == Style::Limit) {
        true => {
            " \"Most\" is the highest rate over half a second or longer in this job; the device itself is not measured."
        }
        false => "",
    }
}

/// Returns the most bytes a second over samples of one run that cover [`SPAN`] milliseconds or a little more; 0 if no run was at work for so long.
fn fastest(samples: &[(f64, &Sample)], kib: &dyn Fn(&Sample) -> u64) -> f64 {
    let mut most = 0.0_f64;
    for first in 0..samples.len() {
        let (mut moved, mut length) = (0, 0);
        for (_, sample) in samples[first..].iter().take_while(|(_, sample)| sample.run == samples[first].1.run) {
            (moved, length) = (moved + kib(sample), length + sample.length);
            if length >= SPAN {
                most = most.max(1e3 * (moved << 10) as f64 / length as f64);
                break;
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_transfer_is_one_over_half_a_second_within_a_run() {
        let sample = |run: u64, length: u64, read: u64| Sample { run, length, read, ..Sample::default() };
        // A burst of 50 ms, a second of 1 MiB/s, and a burst that another run goes on with.
        let samples =
            [sample(1, 50, 1000), sample(1, 450, 0), sample(1, 1000, 1024), sample(1, 100, 9000), sample(2, 400, 9000)];
        let timed: Vec<(f64, &Sample)> = samples.iter().map(|sample| (0.0, sample)).collect();
        let kib = |samples: &[(f64, &Sample)]| fastest(samples, &|sample| sample.read) / 1024.0;
        assert_eq!((kib(&timed), kib(&timed[2..]), kib(&timed[3..])), (2000.0, 1024.0, 0.0));
    }
}
