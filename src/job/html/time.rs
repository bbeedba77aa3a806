//! The section about time: the runs of the job and its stages.

use super::page::PageSection;
use super::ranks::{RankWorker, busy};
use super::value::{cell, number};
use super::workdir_contents::WorkdirContents;
use crate::chart::{Axis, Cell, Figure, Marks, Scale, SpanMark, Table, TableColumn, Unit};
use crate::process::log::timestamp;
use crate::process::metrics::{RunMetrics, Sample};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

/// Maximum number of stages in a table of the report.
const MOST: usize = 200;

/// Maps runs and samples to a common time axis, in seconds since the first run of the job started.
pub(super) struct Timeline<'a> {
    runs: Vec<(&'a RunMetrics, f64)>,
}

impl Timeline<'_> {
    /// Creates the timeline of `runs`.
    pub fn of(runs: &[RunMetrics]) -> Timeline<'_> {
        let first = runs.first().map_or(0.0, |run| run.began);
        let mut end = 0.0;
        let begin = |run| {
            let run: &RunMetrics = run;
            // The clocks of hosts may differ, so a run is never placed before the end of the previous run.
            let began = (run.began - first).max(end);
            end = began + run.seconds.max(0.0);
            (run, began)
        };
        Timeline { runs: runs.iter().map(begin).collect() }
    }

    /// Returns the time axis, which is divided at the gaps between runs.
    pub fn axis(&self) -> Axis {
        let parts = self.runs.iter().map(|(run, began)| (*began, began + run.seconds.max(0.0))).collect();
        let label = if self.runs.len() > 1 { "time at work" } else { "time" };
        Axis { label: label.to_owned(), unit: Unit::Seconds, scale: Scale::Parts(parts) }
    }

    /// Returns the time at the end of a sample, in seconds since the first run started; `None` if its run is not
    /// known.
    pub fn at(&self, sample: &Sample) -> Option<f64> {
        let (_, began) = self.runs.iter().find(|(run, _)| run.number == sample.run)?;
        Some(began + sample.at as f64 / 1e3)
    }
}

/// Formats a time, given in seconds since 1970.
pub(super) fn shown_time(seconds: f64) -> String {
    timestamp(UNIX_EPOCH + Duration::from_secs_f64(seconds.clamp(0.0, 1e11)))
}

/// Describes how a run ended, or that it is still running.
fn ended(run: &RunMetrics, is_last: bool, is_running: bool) -> String {
    match &run.ended {
        Some(why) => why.clone(),
        None if is_last && is_running => "at work".to_owned(),
        None => "killed or lost".to_owned(),
    }
}

/// Returns the section about runs and stages.
pub(super) fn stages(seen: &WorkdirContents, is_running: bool) -> PageSection {
    let mut section = PageSection::new("time", "Where the time went");
    let runs = &seen.metrics.runs;
    let clock = Timeline::of(runs);
    if seen.metrics.forgotten > 0 {
        section.text.push(format!("{} older runs of this job are not shown.", seen.metrics.forgotten));
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
        let caption = "When each stage ran. A pale bar is a stage that was interrupted. A dashed band stands for the time between two runs, whatever its length; time counts from the start of the first run.";
        let axes = [clock.axis(), Axis::linear("stage", Unit::Text)];
        section.figures.push(Figure::new("Stages over all runs", caption, axes, Marks::Spans(spans)));
    }
    if runs.len() > 1 {
        let text = [("began", Unit::Text), ("host", Unit::Text)];
        let numbers =
            [("ranks", Unit::Count), ("threads", Unit::Count), ("at work", Unit::Seconds), ("ended", Unit::Text)];
        let columns = text.iter().chain(&numbers).map(|(name, unit)| TableColumn::new(name, *unit));
        let row = |(at, run): (usize, &RunMetrics)| {
            let [began, host] = [shown_time(run.began), run.host.clone()].map(Cell::Text);
            let ended = Cell::Text(ended(run, at + 1 == runs.len(), is_running));
            let seconds = Cell::Number(run.seconds);
            (run.number.to_string(), vec![began, host, run.ranks.into(), run.threads.into(), seconds, ended])
        };
        let table = Table::of_names("run", columns, runs.iter().enumerate().map(row));
        section.tables.push(("Runs of this job".into(), table));
    }
    if let Some(stages) = seen.report["stages"].as_array().filter(|stages| !stages.is_empty()) {
        let table = of_stages(seen, stages);
        match section.figures.is_empty() {
            true => section.tables.push(("Stages over all runs".into(), table)),
            false => section.numbers = Some(table),
        }
    }
    section
}

fn of_stages(seen: &WorkdirContents, stages: &[Value]) -> Table {
    let has_gpu = stages.iter().any(|stage| stage["gpu_seconds"].is_array());
    let columns = [
        ("took", Unit::Seconds),
        ("read", Unit::Bytes),
        ("read a second", Unit::BytesPerSecond),
        ("written", Unit::Bytes),
        ("written a second", Unit::BytesPerSecond),
        ("most host memory", Unit::Bytes),
        ("processors busy", Unit::Share),
        ("GPU busy", Unit::Share),
        ("done by", Unit::Text),
    ];
    let columns = columns.into_iter().filter(|(name, _)| has_gpu || *name != "GPU busy");
    let row = |stage: &Value| {
        let seconds = number(&stage["seconds"]).filter(|&seconds| seconds > 0.0);
        let rate = |bytes: &Value| Cell::from(seconds.and_then(|seconds| Some(number(bytes)? / seconds)));
        let by = match (&stage["done"], &stage["resumed"]) {
            (Value::Bool(false), _) => "not done",
            (_, Value::Bool(true)) => "earlier run",
            _ => "last run",
        };
        let (read, written) = (&stage["read"], &stage["written"]);
        let mut cells = vec![seconds.into(), cell(read), rate(read), cell(written), rate(written)];
        cells.extend([cell(&stage["host_memory_peak"]), busy(seen, stage, RankWorker::Processors).into()]);
        cells.extend(has_gpu.then(|| Cell::from(busy(seen, stage, RankWorker::Gpu))));
        cells.push(by.into());
        (stage["name"].as_str().unwrap_or("–").to_owned(), cells)
    };
    let columns = columns.map(|(name, unit)| TableColumn::new(name, unit));
    Table::of_names("stage", columns, stages.iter().take(MOST).map(row))
}
