//! The keys of `[input]` as they are written: part of what results are of, and what a message names when they are of something else.

use super::keys::SOURCES;
use crate::jobfile::tree::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys whose effect the opened input tells, however they are written: format and columns of each file, weights, direction, files and
/// generators. `format = "u32"` says nothing new of a file that ends in `.u32`.
const TOLD_BY_INPUT: [&str; 7] = ["format", "weights", "columns", "skip_lines", "recursive", "directed", "first_id"];

/// Keys that no result depends on.
const OF_PLANS: [&str; 1] = ["expect"];

/// The keys of `[input]` with their values as text, overrides included. Every key of the table is among them, so a new one is as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputKeys(BTreeMap<String, String>);

impl InputKeys {
    /// Returns those of a table `[input]`.
    pub(super) fn of(table: Option<&Table>) -> InputKeys {
        let entries = table.into_iter().flat_map(|table| &table.entries);
        let kept = entries.filter(|entry| !OF_PLANS.contains(&entry.key.as_str()));
        InputKeys(kept.map(|entry| (entry.key.clone(), entry.node.value.to_string())).collect())
    }

    /// Returns the value of a key, as text.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns the keys that decide what is read and that the opened input does not tell of, each as `KEY = VALUE`.
    pub fn beside_input(&self) -> impl Iterator<Item = String> {
        let is_told = |key: &str| SOURCES.contains(&key) || TOLD_BY_INPUT.contains(&key);
        self.0.iter().filter(move |(key, _)| !is_told(key)).map(|(key, value)| format!("{key} = {value}"))
    }

    /// Returns the keys that have another value in `other`, as both have them, such as `directed = true` and `no directed`. Files and
    /// generators are left out: these have names.
    pub fn differences(&self, other: &InputKeys) -> Vec<[String; 2]> {
        let mut keys: Vec<&String> = self.0.keys().chain(other.0.keys()).collect();
        keys.sort();
        keys.dedup();
        let differs = |key: &&&String| !SOURCES.contains(&key.as_str()) && self.0.get(**key) != other.0.get(**key);
        let told = |keys: &InputKeys, key: &String| match keys.0.get(key) {
            Some(value) => format!("{key} = {value}"),
            None => format!("no {key}"),
        };
        keys.iter().filter(differs).map(|key| [told(self, key), told(other, key)]).collect()
    }
}
