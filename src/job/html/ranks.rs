//! The section about MPI ranks: how busy the CPU cores and the GPU of each rank were.

use super::page::PageSection;
use super::value::number;
use super::workdir_contents::WorkdirContents;
use crate::chart::{Axis, Bars, Figure, Marks, Table, TableColumn, Unit};
use serde_json::Value;

/// Maximum number of ranks in the section.
const MOST: usize = 200;

/// The hardware that does the work of a rank: its CPU cores or its GPU.
#[derive(Clone, Copy)]
pub(super) enum RankWorker {
    /// The CPU cores on which the rank's threads run.
    Processors,
    /// The GPU of the rank.
    Gpu,
}

impl RankWorker {
    /// Returns for each rank the time in seconds for which its CPU cores or its GPU, whichever `self` is, were busy in
    /// a stage of the last run; `None` if not known.
    fn times(self, stage: &Value) -> Option<Vec<f64>> {
        let key = match self {
            RankWorker::Processors => "cpu_seconds",
            RankWorker::Gpu => "gpu_seconds",
        };
        Some(stage[key].as_array()?.iter().filter_map(number).collect())
    }

    /// Returns the fraction of the time of `stage` for which the CPU cores or the GPU of a rank were busy, if they were
    /// busy for `time` seconds. Returns `None` if the time of the stage is unknown.
    fn share(self, seen: &WorkdirContents, stage: &Value, time: f64) -> Option<f64> {
        let run = seen.metrics.runs.last();
        let each = match self {
            RankWorker::Processors => run.map_or(0.0, |run| run.threads as f64),
            RankWorker::Gpu => 1.0,
        };
        // `seconds` in the report is the total over all runs.
        let spans = run.map_or(&[][..], |run| &run.stages).iter().filter(|span| stage["name"] == *span.name);
        let in_last_run = Some(spans.map(|span| span.to - span.from).sum()).filter(|&seconds: &f64| seconds > 0.0);
        let all = each * in_last_run.or_else(|| number(&stage["seconds"]))?;
        (all > 0.0).then(|| (time / all).min(1.0))
    }
}

/// Returns the busy fraction of `worker` in a stage, averaged over all ranks; `None` if the last run did not execute
/// the stage.
pub(super) fn busy(seen: &WorkdirContents, stage: &Value, worker: RankWorker) -> Option<f64> {
    let times = worker.times(stage).filter(|times| !times.is_empty())?;
    worker.share(seen, stage, times.iter().sum::<f64>() / times.len() as f64)
}

/// Returns the section about MPI ranks: how busy the CPU cores and the GPU of each rank were in the stages of the
/// last run. If there is only one rank, only the GPU is shown.
pub(super) fn section(seen: &WorkdirContents) -> PageSection {
    let mut section = PageSection::new("ranks", "Ranks");
    let texts = [
        (
            RankWorker::Processors,
            ["Processor time of each rank", "processor time", "Busy share of each rank's processors"],
            "In the last run, by stage. A rank that waits for others leaves its cores to them.",
        ),
        (
            RankWorker::Gpu,
            ["GPU time of each rank", "time in which the GPU computed", "Busy share of each rank's GPU"],
            "In the last run, by stage: time in which a kernel ran, as NVML reports for stages of two seconds or more. Ranks that share a GPU share one time.",
        ),
    ];
    for (worker, [title, axis, shares], caption) in texts {
        let all = seen.report["stages"].as_array().into_iter().flatten();
        let stages: Vec<(&Value, Vec<f64>)> = all.filter_map(|stage| Some((stage, worker.times(stage)?))).collect();
        let ranks = stages.iter().map(|(_, times)| times.len()).max().unwrap_or(0).min(MOST);
        if ranks == 0 || ranks == 1 && matches!(worker, RankWorker::Processors) {
            continue;
        }
        let names: Vec<String> = (0..ranks).map(|rank| format!("rank {rank}")).collect();
        let name = |stage: &Value| stage["name"].as_str().unwrap_or("?").to_owned();
        let parts = stages.iter().map(|(stage, times)| (name(stage), times.clone())).collect();
        let axes = [Axis::linear(axis, Unit::Seconds), Axis::linear("rank", Unit::Text)];
        section.figures.push(Figure::new(title, caption, axes, Marks::Bars(Bars { names: names.clone(), parts })));
        // Without metrics the number of threads is unknown, so no fractions can be computed.
        if stages.iter().any(|(stage, _)| busy(seen, stage, worker).is_some()) {
            let share = |(stage, times): &(&Value, Vec<f64>), rank: usize| worker.share(seen, stage, *times.get(rank)?);
            let row = |(rank, name)| (name, stages.iter().map(|stage| share(stage, rank).into()).collect());
            let columns = stages.iter().map(|(stage, _)| TableColumn::new(&name(stage), Unit::Share));
            let table = Table::of_names("rank", columns, names.into_iter().enumerate().map(row));
            section.tables.push((shares.into(), table));
        }
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::html::workdir_contents::RunState;
    use crate::process::metrics::{Metrics, RunMetrics, Span};
    use serde_json::json;

    #[test]
    fn shares_refer_to_the_time_of_the_last_run() {
        let span = |name: &str, from: f64, to: f64| Span { name: name.into(), from, to, done: true };
        let stages = vec![span("sort", 0.0, 2.0), span("triangle", 2.0, 4.0), span("triangle", 5.0, 7.0)];
        let mut metrics = Metrics::default();
        metrics.runs = vec![RunMetrics::default(), RunMetrics { threads: 4, stages, ..RunMetrics::default() }];
        // The time of `triangle` includes earlier runs.
        let report = json!({ "stages": [
            { "name": "ingest", "seconds": 9.0 },
            { "name": "sort", "seconds": 2.0, "cpu_seconds": [8.0, 4.0] },
            { "name": "triangle", "seconds": 100.0, "cpu_seconds": [4.0, 0.0], "gpu_seconds": [3.0, 1.0] },
        ] });
        let (state, log) = (RunState::Finished, Vec::new);
        let mut seen = WorkdirContents {
            workdir: "w".into(),
            state,
            why: None,
            report,
            unfinished: Vec::new(),
            metrics,
            warnings: log(),
            log: log(),
            files: log(),
            faults: log(),
        };
        let told = section(&seen);
        let titles: Vec<&str> = told.figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["Processor time of each rank", "GPU time of each rank"]);
        let csv: Vec<String> = told.tables.iter().map(|(_, table)| table.csv()).collect();
        assert_eq!(csv[0], "rank,sort (share),triangle (share)\nrank 0,1,0.25\nrank 1,0.5,0\n");
        assert_eq!(csv[1], "rank,triangle (share)\nrank 0,0.75\nrank 1,0.25\n");
        let stage = |at: usize| &seen.report["stages"][at];
        let shares =
            [0, 1, 2].map(|at| [RankWorker::Processors, RankWorker::Gpu].map(|worker| busy(&seen, stage(at), worker)));
        assert_eq!(shares, [[None, None], [Some(0.75), None], [Some(0.125), Some(0.5)]]);
        // For a single rank, only the GPU is shown. Without metrics there are no busy fractions of the CPU.
        seen.report =
            json!({ "stages": [{ "name": "bfs", "seconds": 2.0, "cpu_seconds": [1.0], "gpu_seconds": [1.5] }] });
        seen.metrics = Metrics::default();
        let told = section(&seen);
        assert_eq!((told.figures.len(), told.tables.len()), (1, 1));
        assert_eq!(told.tables[0].1.csv(), "rank,bfs (share)\nrank 0,0.75\n");
    }
}
