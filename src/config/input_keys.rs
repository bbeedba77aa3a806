//! The keys of `[input]` with their values, which are stored with results. If a value has changed since, the results
//! are treated as results of another input, and error messages list the keys that differ.

use crate::jobfile::tree::TomlTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys of `[input]` that name a source of edges or of a list; a job must have exactly one of them.
pub(super) const SOURCES: [&str; 9] =
    ["path", "prepared", "kronecker", "uniform", "random", "rmat", "ssca2", "grid", "list"];

/// Keys of `[input]` that configure how files are read. A job whose edges do not come from files is refused if it
/// sets any of them.
pub(super) const OF_FILES: [&str; 7] = ["columns", "skip_lines", "ids", "vertices", "format", "weights", "recursive"];

/// Keys of `[input]` that configure how edges from any source are read.
pub(super) const OF_EDGES: [&str; 2] = ["directed", "first_id"];

/// Keys of `[input]` that only plans read, so that no result depends on them.
const PLAN_KEYS: [&str; 1] = ["expect"];

/// The keys of `[input]` with their values as text, as the job file and overrides set them. Keys in `PLAN_KEYS` are
/// left out. All others are included, even keys that a later version of the program adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputKeys(BTreeMap<String, String>);

impl InputKeys {
    /// Returns the keys of the table `[input]`; none if `table` is `None`.
    pub(super) fn of(table: Option<&TomlTable>) -> InputKeys {
        let entries = table.into_iter().flat_map(|table| &table.entries);
        let kept = entries.filter(|entry| !PLAN_KEYS.contains(&entry.key.as_str()));
        InputKeys(kept.map(|entry| (entry.key.clone(), entry.node.value.to_string())).collect())
    }

    /// Returns the value of a key of `[input]` as text.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns those keys of `[input]` that affect reading and that an opened input does not record, each as `KEY =
    /// VALUE`. Today there are none, because an opened input records the format and columns of each file, the list of
    /// vertices, weights, direction and first id. So `format = "u32"` makes no difference for a file that ends in
    /// `.u32`.
    pub fn reading_keys(&self) -> impl Iterator<Item = String> {
        let is_known = |key: &str| [&SOURCES[..], &OF_FILES, &OF_EDGES].iter().any(|keys| keys.contains(&key));
        self.0.iter().filter(move |(key, _)| !is_known(key)).map(|(key, value)| format!("{key} = {value}"))
    }

    /// Returns the keys of `[input]` whose values differ between `self` and `other`, each as a pair of texts such as
    /// `directed = true` and `no directed`. Files and generators are left out, because messages name them anyway.
    pub fn differences(&self, other: &InputKeys) -> Vec<[String; 2]> {
        let mut keys: Vec<&String> = self.0.keys().chain(other.0.keys()).collect();
        keys.sort();
        keys.dedup();
        let differs = |key: &&&String| !SOURCES.contains(&key.as_str()) && self.0.get(**key) != other.0.get(**key);
        let shown = |keys: &InputKeys, key: &String| match keys.0.get(key) {
            Some(value) => format!("{key} = {value}"),
            None => format!("no {key}"),
        };
        keys.iter().filter(differs).map(|key| [shown(self, key), shown(other, key)]).collect()
    }
}
