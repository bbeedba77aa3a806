//! `report.json`: what a run did and computed, with times in seconds and sizes in bytes.

use crate::error::Result;
use crate::graph::bins::Bin;
use crate::graph::ids::{FirstId, InputId};
use crate::job::results::TaskResults;
use crate::prepare::prepared::numbering;
use crate::process::measurements::{StageMeasurements, StageTotals};
use crate::results::{IDS, NAMES, Output};
use crate::store::regular;
use crate::store::replace::replace;
use serde::Serialize;
use std::path::Path;

/// Report of one run. `docs/reference/report.md` describes the fields, which are a stable interface for users.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // each is named in the contract
pub struct Report {
    pub schema: u32,
    pub job: String,
    pub version: &'static str,
    pub host: HostReport,
    pub ranks: usize,
    pub device: String,
    pub limits: LimitsReport,
    pub input: InputReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphReport>,
    pub stages: Vec<StageReport>,
    pub seconds: f64,
    pub seconds_total: f64,
    pub resumes: u64,
    pub results: TaskResults,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct HostReport {
    pub name: String,
    pub cores: usize,
    pub memory: u64,
    pub gpus: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct LimitsReport {
    pub host_memory: u64,
    pub host_memory_peak: u64,
    pub gpu_memory: u64,
    pub gpu_memory_peak: u64,
    pub gpu_memory_beside: u64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum InputReport {
    /// Input that consists of edges.
    Edges {
        path: String,
        bytes: u64,
        edges: u64,
        self_loops: u64,
        duplicates: u64,
        checksum: String,
        first_id: FirstId,
        counts_from_one: bool,
    },
    /// Input that is a list.
    List { path: String, bytes: u64, elements: u64 },
}

#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct GraphReport {
    pub vertices: u64,
    pub isolated: u64,
    /// Number of vertices that have an edge other than a self-loop.
    pub with_edges: u64,
    /// Largest id of a vertex; `None` if there is no vertex.
    pub largest_id: Option<InputId>,
    pub edges: u64,
    pub max_degree: u64,
    pub blocks: u64,
    /// True if the prepared graph remains in the workdir.
    pub kept: bool,
    /// Which vertex each row of a result column describes.
    pub ids: ResultOrder,
    /// Histogram of the degrees of the vertices in the input.
    pub degrees: Vec<Bin>,
}

/// Which vertex each row of a result column describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultOrder {
    /// Row `i` describes the vertex with id `i` in the input.
    Input,
    /// Row `i` describes the vertex whose id is in row `i` of `out/ids.npy`, the sorted list of the ids that occur.
    Sorted,
    /// Row `i` describes the vertex whose string id is on line `i` (0-based) of `out/ids.txt`, the sorted list of the
    /// string ids that occur.
    Strings,
}

#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct StageReport {
    pub name: &'static str,
    #[serde(flatten)]
    pub figures: StageMeasurements,
    pub resumed: bool,
    /// CPU time of each rank in this run, in seconds; empty if an earlier run completed the stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_seconds: Vec<f64>,
    /// Time in which the GPU of each rank computed in this run, in seconds; empty if not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu_seconds: Vec<f64>,
}

/// Merges the entries of each stage. The measurements of a stage become totals over this run and all runs `before`
/// it. A stage is marked as resumed if this run did none of its work.
pub(crate) fn in_all(parts: Vec<StageReport>, before: &StageTotals) -> Vec<StageReport> {
    let mut stages: Vec<StageReport> = Vec::new();
    for mut part in parts {
        if let Some(stage) = stages.iter_mut().find(|stage| stage.name == part.name) {
            if !part.resumed {
                stage.figures.add(&part.figures);
                stage.resumed = false;
                add(&mut stage.cpu_seconds, &part.cpu_seconds);
                add(&mut stage.gpu_seconds, &part.gpu_seconds);
            }
            continue;
        }
        match (before.stages.get(part.name), part.resumed) {
            (Some(before), true) => part.figures = before.clone(),
            (Some(before), false) => part.figures.add(before),
            (None, _) => {}
        }
        stages.push(part);
    }
    stages
}

/// Adds the times `more` of each rank to the sums `sums`. An empty slice stands for unknown times.
fn add(sums: &mut Vec<f64>, more: &[f64]) {
    sums.resize(sums.len().max(more.len()), 0.0);
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Returns the median of `seconds`: for an even number of values the mean of the two middle ones, and 0 for no values.
pub(crate) fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

impl Report {
    /// Version of the report's format. It changes when the meaning of a field changes or a field is removed.
    pub const SCHEMA: u32 = 1;

    /// Returns true if the report at `path` has the same format version, job, graph and results as this one.
    pub(crate) fn has_same_results(&self, path: &Path) -> bool {
        let read = |text: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&text).ok();
        let (there, mine) = (regular::read(path).ok().and_then(read), serde_json::to_vec(self).ok().and_then(read));
        let same = |name: &str| there.as_ref().map(|report| &report[name]) == mine.as_ref().map(|report| &report[name]);
        ["schema", "job", "graph", "results"].into_iter().all(same)
    }

    /// Writes this report to `report.json` in `workdir`, replacing an older one. Returns its length and checksum.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`], [`crate::Error::Io`].
    pub fn save(&self, workdir: &Path) -> Result<Output> {
        let path = workdir.join("report.json");
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|e| crate::Error::io("write the report", &path, e.into()))?;
        text.push(b'\n');
        replace(&path, &text)?;
        Ok(Output::of(&text))
    }

    /// Returns the text that `gpugraph run` prints at the end: a line for each task of the job. `workdir` is the
    /// job's workdir.
    pub fn answer(&self, workdir: &Path) -> String {
        let size = match (&self.graph, &self.input) {
            (Some(GraphReport { vertices, with_edges, largest_id, edges, .. }), _) => {
                let largest = largest_id.map_or_else(String::new, |largest| format!(", largest id {largest}"));
                format!("vertices {vertices} ({with_edges} with an edge{largest})  edges {edges}")
            }
            (None, InputReport::List { elements, .. }) => format!("elements {elements}"),
            (None, InputReport::Edges { edges, .. }) => format!("edges {edges}"),
        };
        let own = || self.results.0.iter().filter(|result| result.from.is_none());
        let lines: Vec<String> = own().map(|result| result.line(&size)).collect();
        let answer = if lines.is_empty() { format!("prepared  {size} ") } else { lines.join("\n") + "," };
        let mut ids = String::new();
        if self.graph.as_ref().is_some_and(|graph| graph.ids == ResultOrder::Sorted) && workdir.join(IDS).is_file() {
            ids += "  ids sorted: results are in the order of out/ids.npy";
        }
        if self.graph.as_ref().is_some_and(|graph| graph.ids == ResultOrder::Strings) && workdir.join(NAMES).is_file() {
            ids += "  ids are strings: results are in the order of out/ids.txt";
        }
        if let InputReport::Edges { counts_from_one, first_id, .. } = &self.input
            && let Some(numbering) = numbering(*counts_from_one, *first_id)
        {
            ids += &format!("  {numbering}");
        }
        let report = workdir.join("report.json");
        let line = format!("{answer} {:.1} s in all{ids}  {}", self.seconds_total, report.display());
        let blocks = own().filter_map(|result| result.answer.as_ref()?.block.as_deref());
        [line.as_str()].into_iter().chain(blocks).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::state::manifest::Manifest;
    use crate::job::state::record::TaskRecord;

    fn report(trials: &[f64], ids: ResultOrder) -> Report {
        let found = serde_json::json!({
            "triangles": 45, "units": 1, "probes": 2, "wedges": 528, "transitivity": 135.0 / 528.0
        });
        let mut record = TaskRecord::default();
        record.table = serde_json::json!({ "per_vertex": false });
        (record.found, record.seconds, record.done) = (Some(found), trials.to_vec(), true);
        let mut manifest = Manifest::default();
        manifest.tasks.insert("triangle".into(), record);
        manifest.asked = vec!["triangle".into()];
        Report {
            schema: Report::SCHEMA,
            job: "karate".into(),
            version: "0",
            host: HostReport { name: "here".into(), cores: 1, memory: 1, gpus: Vec::new() },
            ranks: 1,
            device: "cpu".into(),
            limits: LimitsReport {
                host_memory: 1,
                host_memory_peak: 1,
                gpu_memory: 0,
                gpu_memory_peak: 0,
                gpu_memory_beside: 0,
            },
            input: InputReport::Edges {
                path: "karate.txt".into(),
                bytes: 1,
                edges: 78,
                self_loops: 0,
                duplicates: 0,
                checksum: "0".into(),
                first_id: FirstId(0),
                counts_from_one: false,
            },
            graph: Some(GraphReport {
                vertices: 34,
                isolated: 0,
                with_edges: 34,
                largest_id: Some(InputId::Number(33)),
                edges: 78,
                max_degree: 17,
                blocks: 1,
                kept: false,
                ids,
                degrees: Vec::new(),
            }),
            stages: Vec::new(),
            seconds: 2.0,
            seconds_total: 3.5,
            resumes: 1,
            results: TaskResults::of(&manifest, usize::MAX, &[]),
        }
    }

    #[test]
    fn the_answer_line_has_the_result_and_the_path_of_the_report() {
        let one = report(&[0.25], ResultOrder::Input).answer(Path::new("gpugraph.work/karate"));
        assert_eq!(
            one,
            "triangles 45  vertices 34 (34 with an edge, largest id 33)  edges 78  transitivity 0.255682  counted in 0.250 s, 3.5 s in all  \
             gpugraph.work/karate/report.json"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let sorted = || report(&[0.5, 0.25, 1.0], ResultOrder::Sorted).answer(folder.path());
        assert!(!sorted().contains("ids.npy"), "there is none");
        std::fs::create_dir(folder.path().join("out")).expect("made");
        std::fs::write(folder.path().join(IDS), "").expect("written");
        let three = sorted();
        assert!(three.contains("counted in 0.500 s (min 0.250, max 1.000 of 3 trials), 3.5 s in all"), "{three}");
        assert!(three.contains("in the order of out/ids.npy"), "{three}");
        let none = Report { results: TaskResults::default(), ..report(&[], ResultOrder::Input) }.answer(Path::new("w"));
        assert_eq!(
            none,
            "prepared  vertices 34 (34 with an edge, largest id 33)  edges 78  3.5 s in all  w/report.json"
        );
    }
}
