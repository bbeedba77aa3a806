//! Compares `report.json` with the manifest, which has the figures that results are checked by.

use crate::error::{Error, Result};
use crate::job::reporting;
use crate::job::results::Results;
use crate::job::results::report::median;
use crate::job::state::finished::{Finished, Subject};
use crate::job::state::manifest::Manifest;
use crate::store::regular;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// Relative difference of numbers that went through text.
const TOLERANCE: f64 = 1e-9;

/// Checks that the report of `workdir` tells what the manifest does of each task and, if `finished` is there, of the graph.
///
/// # Errors
/// [`Error::Validation`] for a figure that differs; [`Error::Io`].
pub(super) fn agrees(workdir: &Path, manifest: &Manifest, finished: Option<Finished>) -> Result<String> {
    let path = workdir.join("report.json");
    let wrong = |what: String| Error::Validation(format!("{}: {what}", path.display()));
    let text = regular::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let report: Value = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let results = report["results"].as_object().ok_or_else(|| wrong("no results".into()))?;
    for (name, told) in results {
        let record = manifest.tasks.get(name).ok_or_else(|| wrong(format!("{name}, which the manifest does not have")))?;
        let seconds: Vec<f64> = told["trials"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let mine = Results::of([(name.as_str(), record)].into_iter(), seconds.len());
        differing(&value(&mine)?, &json!({ name: told }), "results").map_or(Ok(()), |what| Err(wrong(what)))?;
        let of_trials = json!(median(&seconds));
        differing(&of_trials, &told["seconds"], name).map_or(Ok(()), |what| Err(wrong(what)))?;
    }
    if let Some(finished) = finished {
        let subject = Subject::Graph(Box::new(finished));
        let kept = report["graph"]["kept"] == true;
        let mine = json!({ "input": reporting::input(&subject), "graph": reporting::graph(&subject, kept) });
        differing(&mine, &report, "").map_or(Ok(()), |what| Err(wrong(what)))?;
    }
    Ok(format!("tells what the manifest does of {} results", results.len()))
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|e| Error::internal("compare the report", e))
}

/// Returns the first field of the manifest, at `place`, that the report has not or has otherwise.
fn differing(manifest: &Value, report: &Value, place: &str) -> Option<String> {
    let is_same = match (manifest, report) {
        (Value::Object(mine), Value::Object(theirs)) => {
            let below = |key: &str| format!("{place}.{key}").trim_start_matches('.').to_owned();
            return mine.iter().find_map(|(key, of)| differing(of, theirs.get(key).unwrap_or(&Value::Null), &below(key)));
        }
        (Value::Array(mine), Value::Array(theirs)) if mine.len() == theirs.len() => {
            let mut pairs = mine.iter().zip(theirs).enumerate();
            return pairs.find_map(|(at, (mine, theirs))| differing(mine, theirs, &format!("{place}[{at}]")));
        }
        (Value::Number(mine), Value::Number(theirs)) if mine.is_f64() && theirs.is_f64() => {
            let [mine, theirs] = [mine, theirs].map(|number| number.as_f64().unwrap_or(f64::NAN));
            (mine - theirs).abs() <= TOLERANCE * mine.abs()
        }
        (mine, theirs) => mine == theirs,
    };
    (!is_same).then(|| format!("{place} is {report}, in the manifest it is {manifest}"))
}
