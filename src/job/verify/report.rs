//! Compares `report.json` with the manifest. The other checks use the numbers in the manifest, so the report must
//! contain the same numbers.

use crate::error::{Error, Result};
use crate::job::reporting;
use crate::job::results::TaskResults;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::GraphRecord;
use crate::prepare::prepared::InputInfo;
use crate::store::regular;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// Maximum relative difference between a number and the same number read back from text.
const TOLERANCE: f64 = 1e-9;

/// Checks that the report in `workdir` agrees with the manifest on each task in the report and, if `graph` is given,
/// on the graph.
///
/// # Errors
/// [`Error::Validation`] for a value that differs; [`Error::Io`].
pub(super) fn agrees(workdir: &Path, manifest: &Manifest, graph: Option<GraphRecord>) -> Result<String> {
    let path = workdir.join("report.json");
    let wrong = |what: String| Error::Validation(format!("{}: {what}", path.display()));
    let text = regular::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let report: Value = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let results = report["results"].as_object().ok_or_else(|| wrong("no results".into()))?;
    for (name, reported) in results {
        let trials = reported["trials"].as_array().map_or(0, Vec::len);
        let mine = TaskResults::of(manifest, trials, &[]).0.into_iter().find(|result| result.name == *name);
        let mine = mine.ok_or_else(|| wrong(format!("a result of {name}, which the manifest does not have")))?;
        agree(&value(&mine)?, reported, &format!("results.{name}")).map_err(wrong)?;
    }
    if let Some(GraphRecord { info, stored }) = graph {
        // All results of a workdir have the same first id. For a job without tasks, only the report records it.
        let of_report = || serde_json::from_value(report["input"]["first_id"].clone()).unwrap_or_default();
        let first_id = manifest.tasks.values().next().map_or_else(of_report, |record| record.first_id);
        let graph = GraphRecord { info: InputInfo { first_id, ..info }, stored };
        let kept = report["graph"]["kept"] == true;
        agree(&value(&reporting::input(&graph))?, &report["input"], "input").map_err(wrong)?;
        agree(&value(&reporting::graph(&graph, kept))?, &report["graph"], "graph").map_err(wrong)?;
    }
    Ok(format!("has the manifest's figures of {} results", results.len()))
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|e| Error::internal("compare the report", e))
}

/// Compares a field of the manifest with the same field of the report. `place` is the name of the field, such as
/// `input.edges`.
///
/// # Errors
/// A message about the first difference.
fn agree(manifest: &Value, report: &Value, place: &str) -> std::result::Result<(), String> {
    let is_same = match (manifest, report) {
        (Value::Object(mine), Value::Object(theirs)) => {
            let of = |fields: &Map<String, Value>, key: &str| fields.get(key).cloned().unwrap_or_default();
            let mut keys = mine.keys().chain(theirs.keys());
            return keys.try_for_each(|key| agree(&of(mine, key), &of(theirs, key), &format!("{place}.{key}")));
        }
        (Value::Array(mine), Value::Array(theirs)) if mine.len() == theirs.len() => {
            let mut pairs = mine.iter().zip(theirs).enumerate();
            return pairs.try_for_each(|(at, (mine, theirs))| agree(mine, theirs, &format!("{place}[{at}]")));
        }
        (Value::Number(mine), Value::Number(theirs)) if mine.is_f64() && theirs.is_f64() => {
            let [mine, theirs] = [mine, theirs].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (mine - theirs).abs() <= TOLERANCE * mine.abs()
        }
        (mine, theirs) => mine == theirs,
    };
    if is_same { Ok(()) } else { Err(format!("{place} is {report}, in the manifest it is {manifest}")) }
}
