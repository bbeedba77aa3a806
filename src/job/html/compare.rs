//! Compares several runs: time, speed-up, efficiency and memory, for example for a paper or an allocation request.

use super::page::{Page, PageSection, Severity};
use super::value::{cell, number};
use super::workdir_contents::{RunState, WorkdirContents, results};
use crate::chart::{Axis, Bars, Cell, Figure, Line, Marks, Style, Table, TableColumn, Unit};
use crate::error::Result;
use crate::quote::clip_to;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One of the runs to compare, with the contents of its workdir.
struct ComparedRun {
    name: String,
    seen: WorkdirContents,
    /// Number of CPU cores or GPUs that did the work.
    workers: f64,
    on_gpu: bool,
}

/// Returns a page that compares the jobs of several workdirs. Speed-ups are relative to the first.
///
/// # Errors
/// [`crate::Error::Usage`] for a folder in which no job has run.
pub fn page(workdirs: &[impl AsRef<Path>]) -> Result<Page> {
    let named = names(workdirs).into_iter().zip(workdirs);
    let runs = named.map(|(name, workdir)| ComparedRun::of(name, workdir.as_ref())).collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let mut section = PageSection::new("runs", "Runs side by side");
    section
        .text
        .push(format!("Speed-up and efficiency are relative to {}, the first one.", names.first().unwrap_or(&"none")));
    section.tables = tables(&runs);
    section.figures.extend([by_stage(&runs), speed_up(&runs)].into_iter().filter(|figure| !figure.is_empty()));
    let notices = differences(&runs);
    Ok(Page {
        title: clip_to(&format!("Comparison of {}", names.join(", ")), 200),
        state: format!("{} runs", runs.len()),
        mood: if notices.is_empty() { Severity::Good } else { Severity::Wait },
        lead: "Each row is the job of one workdir.".to_owned(),
        notices,
        sections: vec![section],
        footer: format!(
            "Made by gpugraph {}. To recreate it, run gpugraph report with the same workdirs.",
            env!("CARGO_PKG_VERSION")
        ),
        ..Page::default()
    })
}

/// Returns a name for each workdir: the shortest trailing path components that distinguish all workdirs.
fn names(workdirs: &[impl AsRef<Path>]) -> Vec<String> {
    let components = |workdir: &Path| workdir.components().count();
    let longest = workdirs.iter().map(|workdir| components(workdir.as_ref())).max().unwrap_or(0);
    let end = |workdir: &Path, length: usize| {
        let end: PathBuf = workdir.components().skip(components(workdir).saturating_sub(length)).collect();
        end.display().to_string()
    };
    let ends = |length: usize| workdirs.iter().map(|workdir| end(workdir.as_ref(), length)).collect::<Vec<String>>();
    let differ = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    (1..longest).map(ends).find(differ).unwrap_or_else(|| ends(longest))
}

impl ComparedRun {
    fn of(name: String, workdir: &Path) -> Result<ComparedRun> {
        let seen = WorkdirContents::at(workdir)?;
        let ranks = number(&seen.report["ranks"]).unwrap_or(1.0);
        let threads = seen.metrics.runs.last().map_or(1.0, |run| run.threads as f64);
        let on_gpu = seen.report["device"] == "gpu";
        Ok(ComparedRun { name, workers: if on_gpu { ranks } else { ranks * threads }, on_gpu, seen })
    }

    fn report(&self) -> &Value {
        &self.seen.report
    }

    fn stages(&self) -> impl Iterator<Item = &Value> {
        self.report()["stages"].as_array().into_iter().flatten()
    }

    /// Returns the time in seconds that `algorithm` took, not including preparation.
    fn seconds(&self, algorithm: &str) -> Option<f64> {
        number(&self.report()["results"][algorithm]["seconds"]).filter(|&seconds| seconds > 0.0)
    }

    /// Returns true if both runs have the same edges or the same list as input.
    fn has_input_of(&self, other: &ComparedRun) -> bool {
        let (mine, others) = (self.report(), other.report());
        mine["input"]["checksum"] == others["input"]["checksum"] && mine["graph"]["edges"] == others["graph"]["edges"]
    }

    fn total(&self) -> Option<f64> {
        number(&self.report()["seconds_total"]).filter(|&seconds| seconds > 0.0)
    }
}

/// Returns the names in `all` without duplicates, in order of first appearance.
fn unique<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the names of all algorithms that have a result in at least one of the runs.
fn algorithms(runs: &[ComparedRun]) -> Vec<&str> {
    unique(runs.iter().flat_map(|run| results(run.report())).map(|(name, _)| name.as_str()))
}

/// Returns tables with one row per run, always in the same order. The tables are narrow enough for paper and small
/// windows.
fn tables(runs: &[ComparedRun]) -> Vec<(String, Table)> {
    let table = |columns: &[(&str, Unit)], cells: &dyn Fn(&ComparedRun) -> Vec<Cell>| {
        let columns = columns.iter().map(|(name, unit)| TableColumn::new(name, *unit));
        Table::of_names("run", columns, runs.iter().map(|run| (run.name.clone(), cells(run))))
    };
    let first = &runs[0];
    let machine = [
        ("state", Unit::Text),
        ("device", Unit::Text),
        ("ranks", Unit::Count),
        ("threads", Unit::Count),
        ("host memory limit", Unit::Bytes),
        ("host memory at most", Unit::Bytes),
        ("GPU memory limit", Unit::Bytes),
        ("GPU memory at most", Unit::Bytes),
    ];
    let machine = table(&machine, &|run| {
        let state = match run.seen.state {
            RunState::Finished => "finished",
            RunState::Running => "running",
            _ => "not finished",
        };
        let threads = run.seen.metrics.runs.last().map_or(Cell::Nothing, |run| run.threads.into());
        let memory = ["host_memory", "host_memory_peak", "gpu_memory", "gpu_memory_peak"];
        let memory = memory.map(|key| positive(&run.report()["limits"][key]));
        let whole = [state.into(), cell(&run.report()["device"]), cell(&run.report()["ranks"]), threads];
        whole.into_iter().chain(memory).collect()
    });
    let whole = [("edges", Unit::Count), ("all runs took", Unit::Seconds), ("speed-up", Unit::Number)];
    let whole = table(&whole, &|run| {
        vec![cell(&run.report()["graph"]["edges"]), run.total().into(), faster(first, run, &ComparedRun::total).into()]
    });
    let alone = |name: &str| {
        let [alone, up, efficiency] = ["alone", "speed-up", "efficiency"].map(|what| format!("{name} {what}"));
        table(&[(&alone, Unit::Seconds), (&up, Unit::Number), (&efficiency, Unit::Share)], &|run| {
            let up = faster(first, run, &|run| run.seconds(name));
            let alike = up.filter(|_| run.on_gpu == first.on_gpu && run.workers > 0.0);
            let efficiency = alike.map(|up| up * first.workers / run.workers);
            vec![run.seconds(name).into(), up.into(), efficiency.into()]
        })
    };
    let mut tables = vec![("Devices and memory".to_owned(), machine), ("Time of whole jobs".to_owned(), whole)];
    tables.extend(algorithms(runs).into_iter().map(|name| (format!("Time of {name}"), alone(name))));
    tables
}

/// Returns the speed-up of `run` over `first`, based on the times that `seconds` returns; `None` if their inputs
/// differ.
fn faster(first: &ComparedRun, run: &ComparedRun, seconds: &dyn Fn(&ComparedRun) -> Option<f64>) -> Option<f64> {
    let ratio = || Some(seconds(first)? / seconds(run)?);
    run.has_input_of(first).then(ratio).flatten()
}

fn positive(value: &Value) -> Cell {
    if number(value).is_some_and(|number| number > 0.0) { cell(value) } else { Cell::Nothing }
}

/// Returns a bar chart of the time of each stage in all runs.
fn by_stage(runs: &[ComparedRun]) -> Figure {
    let of = |run: &ComparedRun, stage: &str| {
        let times = run.stages().filter(|one| one["name"] == stage).filter_map(|one| number(&one["seconds"]));
        // If a run lacks the stage, the time is unknown, not 0.
        times.reduce(|sum, more| sum + more).unwrap_or(f64::NAN)
    };
    let stages = unique(runs.iter().flat_map(ComparedRun::stages).filter_map(|stage| stage["name"].as_str()));
    let part = |stage: &str| (stage.to_owned(), runs.iter().map(|run| of(run, stage)).collect());
    let names = runs.iter().map(|run| run.name.clone()).collect();
    let axes = [Axis::linear("time", Unit::Seconds), Axis::linear("run", Unit::Text)];
    let bars = Bars { names, parts: stages.into_iter().map(part).collect() };
    Figure::new("Time of each stage", "Seconds of all runs of each job, by stage.", axes, Marks::Bars(bars))
}

/// Returns a chart of the speed-up of each algorithm over the number of cores or GPUs, next to the ideal speed-up.
fn speed_up(runs: &[ComparedRun]) -> Figure {
    let first = &runs[0];
    let alike = || runs.iter().filter(|run| run.on_gpu == first.on_gpu && run.has_input_of(first));
    let workers: BTreeSet<u64> = alike().map(|run| run.workers as u64).collect();
    let mut lines: Vec<Line> = Vec::new();
    if workers.len() > 1 && first.workers > 0.0 {
        for name in algorithms(runs) {
            let point = |run: &ComparedRun| Some((run.workers, faster(first, run, &|run| run.seconds(name))?));
            let mut points: Vec<(f64, f64)> = alike().filter_map(point).collect();
            // Keeps the fastest of the runs with the same number of workers.
            points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
            points.dedup_by_key(|point| point.0);
            lines.extend(Some(Line::new(name, Style::Line, points)).filter(|line| !line.points.is_empty()));
        }
        let ideal = workers.iter().map(|&workers| (workers as f64, workers as f64 / first.workers)).collect();
        lines.push(Line::new("ideal", Style::Line, ideal));
    }
    let unit = if first.on_gpu { "GPUs" } else { "processor cores" };
    let caption = format!(
        "How many times faster than {} each algorithm was without preparation, by number of {unit}. Of several runs with the same number, the fastest counts.",
        first.name
    );
    let axes = [Axis::linear(unit, Unit::Count), Axis::linear("speed-up", Unit::Number)];
    Figure::new("Speed-up", caption, axes, Marks::Lines(lines))
}

/// Returns notices about differences that make the runs hard to compare.
fn differences(runs: &[ComparedRun]) -> Vec<String> {
    let mut notices: Vec<String> = Vec::new();
    let first = &runs[0];
    for run in &runs[1..] {
        if !run.has_input_of(first) {
            notices.push(format!("{} has another input than {}, so no speed-up is shown.", run.name, first.name));
        }
        for (name, result) in results(run.report()) {
            let (mine, others) = (&result["answer"], &first.report()["results"][name.as_str()]["answer"]);
            if let (Some(mine), Some(others)) = (mine.as_str(), others.as_str())
                && mine != others
            {
                notices.push(format!("{name}: {} found {mine}, {} found {others}.", run.name, first.name));
            }
        }
    }
    for run in runs {
        notices.extend(run.seen.faults.iter().map(|fault| format!("{}: {fault}", run.name)));
        if run.seen.state != RunState::Finished {
            notices.push(format!("{} is not finished.", run.name));
        }
    }
    notices.truncate(50);
    notices
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn workdirs_with_the_same_name_get_different_labels() {
        assert_eq!(names(&["runs/s22", "/x/s23/"]), ["s22", "s23"]);
        assert_eq!(names(&["runs/h100/s22", "runs/h200/s22", "s23"]), ["h100/s22", "h200/s22", "s23"]);
        assert_eq!(names(&["/a/b/w", "/b/w", "w"]), ["a/b/w", "/b/w", "w"]);
        assert_eq!(names(&["w", "w"]), ["w", "w"]);
        assert_eq!(names(&["/"]), ["/"]);
    }
}
