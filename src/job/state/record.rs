//! The manifest's record of a task: which trials are complete, their result, and the files they wrote.

use crate::algo::{Outcome, Task};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::graph::ids::FirstId;
use crate::graph::weights::stored::GraphWeights;
use crate::job::state::key::{hex, key, weights_of};
use crate::prepare::prepared::{InputInfo, StoreInfo};
use crate::process::log;
use crate::process::measurements::StageMeasurements;
use crate::results::{Output, OutputFormat};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

/// Record of a task in a workdir, complete or in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Hash of everything that the results depend on: the graph's contents and the task's table.
    key: String,
    /// Whether the ids in the results are 0-based or 1-based.
    #[serde(default)]
    pub first_id: FirstId,
    /// Key that identifies the weights that the task read; `None` if it reads no weights.
    #[serde(default)]
    weights: Option<u64>,
    /// The task's table in the job file, with all defaults filled in.
    pub table: Value,
    /// Number of work units per trial.
    pub units: u64,
    /// Device of the last trial, as in the report: `cpu` or `gpu`.
    pub device: String,
    /// The result, which all trials must agree on; `None` before the first trial is complete.
    pub found: Option<Value>,
    /// Details of how the last trial computed the result.
    #[serde(default)]
    pub how: Value,
    /// Time in seconds of each complete trial.
    pub seconds: Vec<f64>,
    /// True if the last requested trial is complete. The result files are those of this trial.
    pub done: bool,
    /// Measurements of the task's last run, for the report.
    pub figures: StageMeasurements,
    /// Format of the result files.
    pub format: OutputFormat,
    /// Result files, by path relative to the workdir.
    pub outputs: BTreeMap<String, Output>,
    /// The graph on which the result was computed; `None` for a list. The workdir may have prepared another graph
    /// since.
    #[serde(default)]
    pub graph: Option<GraphRecord>,
    /// The job that computed the result; `None` before there is a result, and in manifests of older versions.
    #[serde(default)]
    pub from: Option<ResultOrigin>,
    /// Number of result files.
    #[serde(default)]
    pub files: Option<usize>,
}

/// Statistics of a graph. `verify` checks a result against the statistics of the graph on which it was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphRecord {
    /// Statistics of the input.
    pub info: InputInfo,
    /// Statistics of the graph's rows. In the record of a task, these are the rows that the task reads.
    pub stored: StoreInfo,
}

/// The job that computed a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultOrigin {
    /// The job file, as named on the command line.
    pub job: String,
    /// Time at which the result was complete, as `2026-11-20T12:00:00Z`.
    pub time: String,
}

impl ResultOrigin {
    /// Returns the origin of a result that `job` has just computed.
    pub(crate) fn now(job: &Job) -> ResultOrigin {
        ResultOrigin { job: job.file.display().to_string(), time: log::timestamp(SystemTime::now()) }
    }
}

impl fmt::Display for ResultOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} at {}", self.job, self.time)
    }
}

/// Identity of the graph or list that tasks are computed on. Results are reused only if their contents are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Hash of the edges or of the list.
    pub edges: u64,
    /// Whether the graph's ids are 0-based or 1-based in results and in job files.
    pub first_id: FirstId,
    /// Weights, if the graph stores weights.
    pub weights: Option<GraphWeights>,
}

impl Contents {
    /// Returns the identity of the graph whose input has the statistics `info`.
    pub fn of(info: &InputInfo) -> Contents {
        Contents { edges: info.content, first_id: info.first_id, weights: info.weights }
    }

    /// Returns the identity of the list with hash `identity`.
    pub fn of_list(identity: u64) -> Contents {
        Contents { edges: identity, first_id: FirstId::default(), weights: None }
    }

    /// Returns the key of the weights if `task` reads them.
    pub fn weights_for(self, task: &dyn Task) -> Option<u64> {
        let weights = self.weights.filter(|_| task.needs().weights);
        weights.map(|weights| weights.key)
    }
}

/// Returns the key of a task on the graph or list `contents`. It depends neither on limits nor on the device.
pub fn task_key(task: &dyn Task, contents: Contents) -> u64 {
    let graph = (contents.edges, contents.first_id);
    key_of(task.name(), graph, contents.weights_for(task), &task.table())
}

fn key_of(name: &str, (edges, first_id): (u64, FirstId), weights: Option<u64>, table: &Value) -> u64 {
    match (weights, first_id) {
        (None, FirstId(0)) => key(name, &(edges, table)),
        (Some(weights), FirstId(0)) => key(name, &(edges, weights, table)),
        (weights, first_id) => key(name, &(edges, weights, first_id, table)),
    }
}

impl TaskRecord {
    /// Returns the result of the task.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no result, or if it belongs to another algorithm.
    pub(crate) fn output<O: DeserializeOwned>(&self) -> Result<O> {
        let output = serde_json::from_value(self.found.clone().unwrap_or_default());
        output.map_err(|e| Error::internal("read a result", e))
    }

    /// Returns true if `key` is the key of the work that this record describes.
    pub fn is_of(&self, key: u64) -> bool {
        self.key == hex(key)
    }

    /// Returns true if this record describes the task `name` on the graph or list with hash `edges`. The weights and
    /// the first id are not compared.
    pub fn is_on(&self, name: &str, edges: u64) -> bool {
        self.is_of(key_of(name, (edges, self.first_id), self.weights, &self.table))
    }

    /// If this record contains results of the graph with hash `before`, assigns them to the graph with hash `edges`,
    /// which has the same edges but is directed. The results are the same if the task ignores direction.
    pub(crate) fn adopt_direction(&mut self, name: &str, before: u64, edges: u64) {
        if self.done && self.is_on(name, before) {
            self.key = hex(key_of(name, (edges, self.first_id), self.weights, &self.table));
        }
    }

    /// Returns true if this record contains results of the graph with hash `edges` that were computed with weights
    /// other than `weights`. Weights that differ only in their type are treated as equal.
    pub fn is_of_other_weights(&self, name: &str, edges: u64, weights: GraphWeights) -> bool {
        let of = |kind| Some(weights_of(edges, kind, weights.checksum).key);
        let same = WeightType::ALL.map(of).contains(&self.weights);
        self.weights.is_some() && !same && self.found.is_some() && self.is_on(name, edges)
    }

    /// Returns the keys of the table whose values differ between this result and `task`. Each element is a pair of
    /// texts: the key with its value for the result, and with its value in `task`. The list is empty if there is no
    /// result.
    pub fn other_keys(&self, task: &dyn Task) -> Vec<[String; 2]> {
        let (before, now) = (&self.table, task.table());
        let mut keys: Vec<&String> =
            [before, &now].into_iter().filter_map(Value::as_object).flat_map(|table| table.keys()).collect();
        keys.sort();
        keys.dedup();
        let differs = |key: &&&String| self.found.is_some() && before.get(key.as_str()) != now.get(key.as_str());
        let shown = |table: &Value, key: &str| format!("{key} = {}", table.get(key).unwrap_or(&Value::Null));
        keys.iter().filter(differs).map(|key| [shown(before, key), shown(&now, key)]).collect()
    }

    /// Returns the key of the task's work, which is also the key of the task's journals and checkpoints. Returns
    /// `None` if the text of the key can't be parsed.
    pub fn key(&self) -> Option<u64> {
        u64::from_str_radix(&self.key, 16).ok()
    }

    /// Returns true if the task is complete for `job` according to this record. `key` is the key of the task in
    /// `job`.
    pub fn is_done(&self, key: u64, job: &Job) -> bool {
        let enough = self.done && self.seconds.len() >= job.run.trials as usize;
        let written = self.outputs.is_empty() || self.format == job.format;
        self.is_of(key) && self.found.is_some() && enough && written
    }

    /// Returns true if every result file in `workdir` exists and is unchanged since it was written.
    pub fn is_whole(&self, workdir: &Path) -> bool {
        let has_all = self.files.is_none_or(|files| files == self.outputs.len());
        has_all && self.outputs.iter().all(|(name, output)| output.is_of(&workdir.join(name)))
    }

    /// Starts the work identified by `key`. Keeps complete trials of the same work. A record of other work is
    /// dropped; its files must have been removed before.
    pub(crate) fn begin(
        &mut self,
        key: u64,
        task: &dyn Task,
        (contents, graph): (Contents, Option<GraphRecord>),
        units: u64,
        format: OutputFormat,
    ) {
        if !self.is_of(key) {
            *self = TaskRecord { key: hex(key), ..TaskRecord::default() };
        }
        self.graph = graph;
        (self.first_id, self.weights) = (contents.first_id, contents.weights_for(task));
        (self.table, self.units, self.format, self.done) = (task.table(), units, format, false);
    }

    /// Records that trial `number` (0-based) is complete, and drops the records of later trials.
    ///
    /// # Errors
    /// [`Error::Validation`] if its result differs from the result of earlier trials.
    pub(crate) fn note(&mut self, number: u32, outcome: Outcome, is_last: bool) -> Result<()> {
        let Outcome { found, how, seconds } = outcome;
        if let Some(first) = self.found.as_ref().filter(|first| **first != found) {
            return Err(Error::Validation(format!("trial {number} found {found}, the first {first}")));
        }
        (self.found, self.how) = (Some(found), how);
        self.seconds.truncate(number as usize);
        self.seconds.push(seconds);
        self.done = is_last;
        Ok(())
    }
}
