//! The manifest's record of a task: which trials are done, what they found, which files it left.

use crate::algo::{Outcome, Task};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::WeightType;
use crate::graph::ids::FirstId;
use crate::graph::weights::stored::GraphWeights;
use crate::job::state::manifest::{hex, key, weights_of};
use crate::prepare::prepared::{InputInfo, StoreInfo};
use crate::process::figures::Figures;
use crate::process::log;
use crate::results::{Output, OutputFormat};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

/// One task of a workdir, done or begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Hash of the graph's contents and of the table.
    key: String,
    /// The id that its results give the first vertex.
    #[serde(default)]
    pub first_id: FirstId,
    /// Key of the weights that are among these contents, if the task reads them.
    #[serde(default)]
    weights: Option<u64>,
    /// The table with every default filled in.
    pub table: Value,
    /// Units of a trial.
    pub units: u64,
    /// The device of its last trial, as the report says: `cpu` or `gpu`.
    pub device: String,
    /// The result that every trial found; `None` before the first is done.
    pub found: Option<Value>,
    /// More of it, which tells how the last trial found it.
    #[serde(default)]
    pub how: Value,
    /// Seconds of each trial that is done.
    pub seconds: Vec<f64>,
    /// True if the last trial that was asked for is done, the one whose results stay.
    pub done: bool,
    /// The measurements of its last run, for the report.
    pub figures: Figures,
    /// The format of its files.
    pub format: OutputFormat,
    /// Its files of results, by their paths in the workdir.
    pub outputs: BTreeMap<String, Output>,
    /// The graph that it is computed on; `None` for a list. The workdir may have prepared another graph since.
    #[serde(default)]
    pub graph: Option<ComputedOn>,
    /// The job that found its result; `None` before there is one, and in manifests of older versions.
    #[serde(default)]
    pub from: Option<Origin>,
    /// Number of the files that hold it.
    #[serde(default)]
    pub files: Option<usize>,
}

/// The graph that a task is computed on, by which `verify` checks its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComputedOn {
    /// The facts about the input.
    pub info: InputInfo,
    /// The facts about the rows that the task reads.
    pub stored: StoreInfo,
}

/// The job that found a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Its job file, as it was named on the command line.
    pub job: String,
    /// The time at which the result was there, as `2026-11-20T12:00:00Z`.
    pub time: String,
}

impl Origin {
    /// Returns that of a result of `job` which is there now.
    pub(crate) fn now(job: &Job) -> Origin {
        Origin { job: job.file.display().to_string(), time: log::timestamp(SystemTime::now()) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} at {}", self.job, self.time)
    }
}

/// The contents that tasks are computed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Hash of the edges, or of the list.
    pub edges: u64,
    /// The id that users give the first vertex of the graph.
    pub first_id: FirstId,
    /// The weights, if the graph carries some.
    pub weights: Option<GraphWeights>,
}

impl Contents {
    /// Returns those of a graph.
    pub fn of(info: &InputInfo) -> Contents {
        Contents { edges: info.content, first_id: info.first_id, weights: info.weights }
    }

    /// Returns the contents of a list.
    pub fn of_list(identity: u64) -> Contents {
        Contents { edges: identity, first_id: FirstId::default(), weights: None }
    }

    /// Returns the key of the weights if `task` reads them.
    pub fn weights_for(self, task: &dyn Task) -> Option<u64> {
        let weights = self.weights.filter(|_| task.needs().weights);
        weights.map(|weights| weights.key)
    }
}

/// Returns the key of a task on these contents. It is bound to neither limits nor device.
///
/// # Errors
/// None in practice; see [`key`].
pub fn task_key(task: &dyn Task, contents: Contents) -> Result<u64> {
    let graph = (contents.edges, contents.first_id);
    key_of(task.name(), graph, contents.weights_for(task), &task.table())
}

fn key_of(name: &str, (edges, first_id): (u64, FirstId), weights: Option<u64>, table: &Value) -> Result<u64> {
    match (weights, first_id) {
        (None, FirstId(0)) => key(name, &(edges, table)),
        (Some(weights), FirstId(0)) => key(name, &(edges, weights, table)),
        (weights, first_id) => key(name, &(edges, weights, first_id, table)),
    }
}

impl TaskRecord {
    /// Returns true if this is of the work of that key.
    pub fn is_of(&self, key: u64) -> bool {
        self.key == hex(key)
    }

    /// Returns true if this is of a task `name` on a graph or a list of these edges, with whatever weights and numbering they had.
    pub fn is_on(&self, name: &str, edges: u64) -> bool {
        key_of(name, (edges, self.first_id), self.weights, &self.table).is_ok_and(|key| self.is_of(key))
    }

    /// Returns true if this has results of a graph of these contents with other weights than it has, of either type.
    pub fn is_of_other_weights(&self, name: &str, edges: u64, weights: GraphWeights) -> bool {
        let of = |kind| weights_of(edges, kind, weights.checksum).ok().map(|weights| weights.key);
        let same = [WeightType::U32, WeightType::F32].map(of).contains(&self.weights);
        self.weights.is_some() && !same && self.found.is_some() && self.is_on(name, edges)
    }

    /// Returns the keys of the table that have other values in `task`, as both have them: first those of this result, if there is one.
    pub fn other_keys(&self, task: &dyn Task) -> Vec<[String; 2]> {
        let (before, now) = (&self.table, task.table());
        let mut keys: Vec<&String> =
            [before, &now].into_iter().filter_map(Value::as_object).flat_map(|table| table.keys()).collect();
        keys.sort();
        keys.dedup();
        let differs = |key: &&&String| self.found.is_some() && before.get(key.as_str()) != now.get(key.as_str());
        let told = |table: &Value, key: &str| format!("{key} = {}", table.get(key).unwrap_or(&Value::Null));
        keys.iter().filter(differs).map(|key| [told(before, key), told(&now, key)]).collect()
    }

    /// Returns the key, which the files of its units have too.
    pub fn key(&self) -> Option<u64> {
        u64::from_str_radix(&self.key, 16).ok()
    }

    /// Returns true if nothing of the task is left to do for `job`, by what the manifest says.
    pub fn is_done(&self, key: u64, job: &Job) -> bool {
        let enough = self.done && self.seconds.len() >= job.run.trials as usize;
        let written = self.outputs.is_empty() || self.format == job.output.format;
        self.is_of(key) && self.found.is_some() && enough && written
    }

    /// Returns true if every file of its results is in `workdir` as it was written.
    pub fn is_whole(&self, workdir: &Path) -> bool {
        let has_all = self.files.is_none_or(|files| files == self.outputs.len());
        has_all && self.outputs.iter().all(|(name, output)| output.is_of(&workdir.join(name)))
    }

    /// Begins the work of this key: what is noted of other work goes, trials of the same stay. Its files are removed by now.
    pub(crate) fn begin(
        &mut self,
        key: u64,
        task: &dyn Task,
        (contents, graph): (Contents, Option<ComputedOn>),
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

    /// Notes trial `number`, and that no later one is done.
    ///
    /// # Errors
    /// [`Error::Validation`] if it found something else than the trials before it.
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
