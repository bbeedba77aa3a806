//! The tables and keys that a job file may have, and the nearest to one that it may not.

use super::diagnostics::{Diagnostics, Place};
use super::tree::Table;
use crate::quote::clip;

/// A table of the job file.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
    /// What an algorithm table computes, where this version can't; else `None`.
    pub(super) not_built: Option<&'static str>,
}

const fn built(name: &'static str, keys: &'static [&'static str]) -> Known {
    Known { name, keys, not_built: None }
}

const fn later(name: &'static str, keys: &'static [&'static str], what: &'static str) -> Known {
    Known { name, keys, not_built: Some(what) }
}

/// Every table, in the order of the documentation.
pub(super) const TABLES: [Known; 11] = [
    built("job", &["name", "workdir", "scratch", "keep"]),
    built(
        "input",
        &[
            "path",
            "format",
            "columns",
            "skip_lines",
            "prepared",
            "kronecker",
            "uniform",
            "ssca2",
            "grid",
            "list",
            "expect",
            "directed",
            "recursive",
        ],
    ),
    built("limits", &["host_memory", "gpu_memory", "threads"]),
    built("run", &["device", "gpu", "gpu_sharing", "trials", "log_interval", "disk_check"]),
    built("output", &["format"]),
    built("triangle", &["per_vertex"]),
    later("bfs", &["roots", "sources", "seed", "validate", "write"], "breadth-first search"),
    later("traverse", &["sources", "strategy"], "distributed traversal"),
    later("dfs", &["source"], "depth-first search"),
    later("sssp", &["roots", "sources", "seed", "method", "weights"], "shortest paths"),
    later("listrank", &["method"], "list ranking"),
];

/// Keys of `[input]` of which a job has exactly one.
pub(super) const SOURCES: [&str; 7] = ["path", "prepared", "kronecker", "uniform", "ssca2", "grid", "list"];

/// Keys whose values are any text: on the command line even a number needs no quotes (`--set job.name=2024`).
pub(super) const TEXT: [[&str; 2]; 5] =
    [["job", "name"], ["job", "workdir"], ["job", "scratch"], ["input", "path"], ["input", "prepared"]];

/// Keys of a random graph.
pub(super) const RANDOM: [&str; 3] = ["scale", "edge_factor", "seed"];

/// Keys of the size of files that are not there.
pub(super) const EXPECT: [&str; 2] = ["edges", "ids"];

/// Whether a character may stand in a key without quotes.
pub(super) fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Refuses all tables that are not known, all that are not tables, and all keys that are not known in theirs.
pub(super) fn check(root: &Table, diagnostics: &mut Diagnostics) {
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    for entry in &root.entries {
        let known = TABLES.iter().find(|table| table.name == entry.key);
        match (known, entry.node.as_table()) {
            (Some(known), Some(table)) => check_keys(table, &format!("[{}]", known.name), known.keys, diagnostics),
            (Some(known), None) => {
                let name = known.name;
                diagnostics.error(&entry.place, format!("'{name}' is a table: write [{name}] once, its keys below it"));
            }
            (None, Some(_)) => {
                let advice = advice(&entry.key, &names, |name| format!("[{name}]"));
                diagnostics.error(&entry.place, format!("unknown table [{}]; {advice}", clip(&entry.key)));
            }
            (None, None) => unknown(&entry.key, &entry.place, "before the first table", &[], diagnostics),
        }
    }
}

/// Refuses the keys of `table` that are not in `known`; `place` names the table in the message.
pub(super) fn check_keys(table: &Table, place: &str, known: &[&str], diagnostics: &mut Diagnostics) {
    for entry in table.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        unknown(&entry.key, &entry.place, &format!("in {place}"), known, diagnostics);
    }
}

fn unknown(key: &str, at: &Place, place: &str, known: &[&str], diagnostics: &mut Diagnostics) {
    let home = TABLES.iter().find(|table| table.keys.contains(&key));
    let advice = match (home, nearest(key, known)) {
        (_, Some(near)) => format!("did you mean '{near}'?"),
        (Some(home), None) => format!("it belongs in [{}]", home.name),
        (None, None) if known.is_empty() => "every key stands in a table".to_owned(),
        (None, None) => format!("there are {}", known.join(", ")),
    };
    diagnostics.error(at, format!("unknown key '{}' {place}; {advice}", clip(key)));
}

/// "did you mean …?", or what there is.
pub(super) fn advice(word: &str, known: &[&str], quote: impl Fn(&str) -> String) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean {}?", quote(near)),
        None => format!("there are {}", known.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")),
    }
}

/// The known word that `word` may be a slip of.
fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_lowercase().replace('-', "_");
    // The distance takes the product of both lengths: no slip makes a word that long.
    let length = word.chars().count();
    if length > 40 {
        return None;
    }
    let (distance, near) = known.iter().map(|near| (strsim::damerau_levenshtein(&word, near), *near)).min()?;
    (distance <= 1.max(length.min(near.len()) / 3)).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::TABLES;

    /// It is what users read: "Every key is here".
    #[test]
    fn the_job_file_that_ships_names_every_key() {
        let shipped = include_str!("../../configs/triangle.toml");
        let later = ["ssca2", "grid", "list"];
        for table in TABLES.iter().filter(|table| table.not_built.is_none()) {
            let text = shipped.split(&format!("\n[{}]", table.name)).nth(1).unwrap_or_default();
            let text = text.split("\n[").next().unwrap_or_default();
            for key in table.keys.iter().filter(|key| !later.contains(key)) {
                let set = |line: &str| line.trim_start_matches("# ").split('=').next().map(str::trim) == Some(key);
                assert!(text.lines().any(set), "{}.{key}", table.name);
            }
        }
    }
}
