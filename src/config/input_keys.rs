//! The keys of `[input]` as they are written. They are part of what identifies results, and messages name them if
//! results belong to another input.

use crate::jobfile::tree::TomlTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys of `[input]` of which a job must have exactly one.
pub(super) const SOURCES: [&str; 9] =
    ["path", "prepared", "kronecker", "uniform", "random", "rmat", "ssca2", "grid", "list"];

/// Keys whose effect is known from the opened input, however they are written: format and columns of each file,
/// weights, direction, files and generators. For example, `format = "u32"` adds nothing for a file that ends in `.u32`.
const KNOWN_FROM_INPUT: [&str; 8] =
    ["format", "weights", "columns", "skip_lines", "ids", "recursive", "directed", "first_id"];

/// Keys on which no result depends.
const PLAN_KEYS: [&str; 1] = ["expect"];

/// The keys of `[input]` with their values as text, including overrides. All keys of the table are included, so that a
/// new key is included, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputKeys(BTreeMap<String, String>);

impl InputKeys {
    /// Returns the keys of a table `[input]`.
    pub(super) fn of(table: Option<&TomlTable>) -> InputKeys {
        let entries = table.into_iter().flat_map(|table| &table.entries);
        let kept = entries.filter(|entry| !PLAN_KEYS.contains(&entry.key.as_str()));
        InputKeys(kept.map(|entry| (entry.key.clone(), entry.node.value.to_string())).collect())
    }

    /// Returns the value of a key, as text.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns the keys that affect what is read and whose effect is not known from the opened input, each as `KEY =
    /// VALUE`.
    pub fn beside_input(&self) -> impl Iterator<Item = String> {
        let is_known = |key: &str| SOURCES.contains(&key) || KNOWN_FROM_INPUT.contains(&key);
        self.0.iter().filter(move |(key, _)| !is_known(key)).map(|(key, value)| format!("{key} = {value}"))
    }

    /// Returns the keys whose values differ between `self` and `other`, each as a pair of texts such as `directed =
    /// true` and `no directed`. Files and generators are left out, because messages name them anyway.
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
