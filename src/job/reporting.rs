//! Builds the report of a run from its run record.

use crate::algo::ByInput;
use crate::error::Result;
use crate::job::context::Context;
use crate::job::device;
use crate::job::results::TaskResults;
use crate::job::results::report::{self, Report};
use crate::job::run_record::RunRecord;
use crate::job::state::finished::FinishedInput;
use crate::job::state::record::GraphRecord;
use crate::process::host;

/// Writes the report of a run. If the run did nothing, the report of the earlier run that did the work remains.
/// Collective.
///
/// # Errors
/// Errors of the disk.
pub(crate) fn report(context: &Context, record: &mut RunRecord, finished_input: &FinishedInput) -> Result<Report> {
    let seconds = record.seconds();
    let host = report::HostReport {
        name: host::name(),
        cores: host::cores(),
        memory: host::memory().total,
        gpus: device::names(&context.comm),
    };
    let [gpu_memory, gpu_memory_peak, gpu_memory_beside] = context.gpu.memory();
    let (limit, peak) = (context.budget.limit(), record.progress.peak_memory());
    let mut most = [limit, peak, gpu_memory, gpu_memory_peak, gpu_memory_beside];
    context.comm.all_max(&mut most);
    let [host_memory, host_memory_peak, gpu_memory, gpu_memory_peak, gpu_memory_beside] = most;
    let stages = std::mem::take(&mut record.stages);
    let before = &record.manifest.spent;
    let host_memory_peak = host_memory_peak.max(before.host_memory_peak);
    let gpu_memory_peak = gpu_memory_peak.max(before.gpu_memory_peak);
    let (input, graph) = match finished_input {
        ByInput::Graph(of) => (input(of), Some(graph(of, context.job.keep))),
        ByInput::List(list) => {
            let (path, bytes) = (list.source.name(), list.source.bytes());
            (report::InputReport::List { path, bytes, elements: list.length }, None)
        }
    };
    let mut report = Report {
        schema: Report::SCHEMA,
        job: context.job.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        host,
        ranks: context.comm.ranks(),
        device: device_name(context, record).into(),
        limits: report::LimitsReport { host_memory, host_memory_peak, gpu_memory, gpu_memory_peak, gpu_memory_beside },
        input,
        graph,
        stages: report::in_all(stages, before),
        seconds,
        seconds_total: record.manifest.seconds + seconds,
        resumes: record.manifest.resumes,
        results: TaskResults::of(&record.manifest, context.job.run.trials as usize, &context.job.tasks),
    };
    if context.comm.is_leader() {
        // If this run did nothing, the report of the run that did the work remains.
        let name = "report.json";
        let path = context.job.workdir.join(name);
        let whole = record.manifest.outputs.get(name).is_some_and(|output| output.is_of(&path));
        if !record.is_changed && whole && report.has_same_results(&path) {
            report.seconds_total = record.manifest.seconds;
            return Ok(report);
        }
        // Marks the run as changed, so that the manifest and `report.html` are updated to match this report.
        record.is_changed = true;
        let output = report.save(&context.job.workdir)?;
        record.manifest.outputs.insert("report.json".into(), output);
        if let ByInput::Graph(graph) = finished_input {
            record.manifest.set_content(graph.info.content, &context.job.input_keys);
        }
    }
    Ok(report)
}

/// Returns the input section of the report of a graph.
pub(crate) fn input(GraphRecord { info, stored }: &GraphRecord) -> report::InputReport {
    report::InputReport::Edges {
        path: info.source.clone(),
        bytes: info.bytes,
        edges: info.edges,
        self_loops: info.loops,
        duplicates: info.edges - info.loops - stored.edges,
        checksum: format!("{:016x}", info.checksum),
        first_id: info.first_id,
        counts_from_one: info.counts_from_one,
    }
}

/// Returns the graph section of the report. `kept` is true if the graph stays in the workdir.
pub(crate) fn graph(GraphRecord { info, stored }: &GraphRecord, kept: bool) -> report::GraphReport {
    report::GraphReport {
        vertices: info.vertices,
        isolated: info.vertices - info.connected,
        with_edges: info.connected,
        largest_id: info.largest_id(),
        edges: stored.edges,
        max_degree: stored.summary.max_degree,
        blocks: stored.blocks,
        kept,
        ids: match (info.sparse, info.names) {
            (true, _) => report::ResultOrder::Sorted,
            (_, true) => report::ResultOrder::Strings,
            _ => report::ResultOrder::Input,
        },
        degrees: info.degrees.clone(),
    }
}

/// Returns the device of a run: `gpu` if a GPU computed any of its results, otherwise `cpu`.
fn device_name(context: &Context, record: &RunRecord) -> &'static str {
    let of_task = |name| record.manifest.tasks.get(name).is_some_and(|task| task.device == "gpu");
    let gpu = match context.job.tasks.as_slice() {
        [] => context.gpu.is_open(),
        tasks => tasks.iter().any(|task| of_task(task.name())),
    };
    if gpu { "gpu" } else { "cpu" }
}
