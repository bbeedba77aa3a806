//! The results of tasks, as the report and `gpugraph status` show them.

pub mod report;

use crate::algo::{self, Answer, Task};
use crate::job::results::report::median;
use crate::job::state::manifest::Manifest;
use crate::job::state::record::{ResultOrigin, TaskRecord};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::sync::Arc;

/// Results of all tasks, in order. They are serialised as an object with a field for each algorithm.
#[derive(Debug, Clone, Default)]
pub struct TaskResults(pub Vec<TaskResult>);

/// Result of one task.
#[derive(Debug, Clone, Serialize)]
pub struct TaskResult {
    /// Name of the algorithm.
    #[serde(skip)]
    pub name: String,
    /// The fields of the result, and details of the computation.
    #[serde(flatten)]
    pub fields: Value,
    /// Median time of the trials, in seconds.
    pub seconds: f64,
    /// Time in seconds of every trial.
    pub trials: Vec<f64>,
    /// The result in words. Only its main line is serialised. `None` if this version of gpugraph does not have the
    /// algorithm.
    #[serde(serialize_with = "main_of", skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The job that computed the result; `None` if it is the job that ran last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ResultOrigin>,
}

fn main_of<S: Serializer>(answer: &Option<Answer>, serializer: S) -> Result<S::Ok, S::Error> {
    answer.as_ref().map(|answer| &answer.main).serialize(serializer)
}

impl TaskResults {
    /// Returns the results of all complete tasks. Of a result of the job that ran last, at most `trials` trials are
    /// included. `own` are the tasks of the calling job, whose options determine the wording of their answers.
    pub fn of(manifest: &Manifest, trials: usize, own: &[Arc<dyn Task>]) -> TaskResults {
        let result = |(name, record): (&str, &TaskRecord)| {
            let is_asked = manifest.asked.iter().any(|asked| asked == name);
            let found = record.found.clone().filter(|_| record.done)?;
            let mut seconds = record.seconds.clone();
            seconds.truncate(if is_asked { trials } else { usize::MAX });
            let own = own.iter().find(|task| task.name() == name).cloned();
            let task = own.or_else(|| (algo::find(name)?.recall)(&record.table));
            let answer = task.map(|task| task.answer(&found, &record.how));
            let fields = merge(found, record.how.clone());
            let from = record.from.clone().filter(|_| !is_asked);
            Some(TaskResult { name: name.to_owned(), fields, seconds: median(&seconds), trials: seconds, answer, from })
        };
        TaskResults(manifest.tasks_in_order().filter_map(result).collect())
    }
}

/// Merges the fields of two JSON objects. Arrays of the same length are merged element by element.
fn merge(found: Value, details: Value) -> Value {
    match (found, details) {
        (Value::Object(mut found), Value::Object(details)) => {
            for (key, value) in details {
                let there = found.remove(&key).unwrap_or(Value::Null);
                found.insert(key, merge(there, value));
            }
            Value::Object(found)
        }
        (Value::Array(found), Value::Array(details)) if found.len() == details.len() => {
            Value::Array(found.into_iter().zip(details).map(|(found, details)| merge(found, details)).collect())
        }
        (found, Value::Null) => found,
        (_, details) => details,
    }
}

impl Serialize for TaskResults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|result| map.serialize_entry(&result.name, result))?;
        map.end()
    }
}

impl TaskResult {
    /// Returns a line with the answer, the size of the input (`size`) and the time, such as `triangles 45  ...  counted
    /// in 0.1 s`.
    pub(crate) fn line(&self, size: &str) -> String {
        let times = || self.trials.iter().copied();
        let spread = match (times().reduce(f64::min), times().reduce(f64::max)) {
            (Some(min), Some(max)) if self.trials.len() > 1 => {
                format!(" (min {min:.3}, max {max:.3} of {} trials)", self.trials.len())
            }
            _ => String::new(),
        };
        let (main, more) = match &self.answer {
            Some(Answer { main, more, .. }) => (main.as_str(), more.as_str()),
            None => (self.name.as_str(), "done"),
        };
        format!("{main}  {size}  {more} in {:.3} s{spread}", self.seconds)
    }
}
