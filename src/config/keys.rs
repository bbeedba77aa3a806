//! The tables and keys that a job file may have, and checks of those it has.

use crate::algo::ALGORITHMS;
use crate::jobfile::diagnostics::{Diagnostics, TextSpan};
use crate::jobfile::keys::{advice, nearest};
use crate::jobfile::tree::Table;
use crate::quote::clip;

/// A table that a job file may have.
pub(super) struct KnownTable {
    pub(super) name: &'static str,
    /// The keys of the table.
    pub(super) keys: &'static [&'static str],
}

/// The tables of every job, with their keys, in the order of the documentation.
const JOB_TABLES: [(&str, &[&str]); 5] = [
    ("job", &["name", "workdir", "scratch", "keep"]),
    (
        "input",
        &[
            "path",
            "format",
            "weights",
            "columns",
            "skip_lines",
            "prepared",
            "kronecker",
            "uniform",
            "random",
            "rmat",
            "ssca2",
            "grid",
            "list",
            "expect",
            "directed",
            "first_id",
            "recursive",
        ],
    ),
    ("limits", &["host_memory", "gpu_memory", "threads"]),
    ("run", &["device", "gpu", "gpu_sharing", "trials", "log_interval", "disk_check", "energy"]),
    ("output", &["format"]),
];

/// Returns all tables: those of every job, and those of algorithms.
pub(super) fn tables() -> impl Iterator<Item = KnownTable> {
    let of_jobs = JOB_TABLES.iter().map(|&(name, keys)| KnownTable { name, keys });
    let algorithms = ALGORITHMS.iter().map(|algorithm| KnownTable { name: algorithm.name(), keys: algorithm.keys() });
    of_jobs.chain(algorithms)
}

/// Keys of `[input]` of which a job must have exactly one.
pub(super) const SOURCES: [&str; 9] =
    ["path", "prepared", "kronecker", "uniform", "random", "rmat", "ssca2", "grid", "list"];

/// Keys whose values are arbitrary text, so that on the command line even a number needs no quotes (`--set
/// job.name=2024`).
pub(super) const TEXT: [[&str; 2]; 5] =
    [["job", "name"], ["job", "workdir"], ["job", "scratch"], ["input", "path"], ["input", "prepared"]];

/// Keys of a random graph.
pub(super) const RANDOM: [&str; 3] = ["scale", "edge_factor", "seed"];

/// Keys of the expected size of missing files.
pub(super) const EXPECT: [&str; 2] = ["edges", "ids"];

/// Reports all unknown tables, all values that should be tables, and all unknown keys.
pub(super) fn check(root: &Table, diagnostics: &mut Diagnostics) {
    let names: Vec<&str> = tables().map(|table| table.name).collect();
    for entry in &root.entries {
        let known = tables().find(|table| table.name == entry.key);
        match (known, entry.node.as_table()) {
            (Some(KnownTable { name, keys }), Some(table)) => {
                check_keys(table, &format!("[{name}]"), keys, diagnostics);
            }
            (Some(KnownTable { name, .. }), None) => {
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

/// Reports the keys of `table` that are not in `known`; `place` names the table in the message.
pub(super) fn check_keys(table: &Table, place: &str, known: &[&str], diagnostics: &mut Diagnostics) {
    for entry in table.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        unknown(&entry.key, &entry.place, &format!("in {place}"), known, diagnostics);
    }
}

fn unknown(key: &str, at: &TextSpan, place: &str, known: &[&str], diagnostics: &mut Diagnostics) {
    let owner = tables().find(|table| table.keys.contains(&key));
    let advice = match (owner, nearest(key, known)) {
        (_, Some(near)) => format!("did you mean '{near}'?"),
        (Some(owner), None) => format!("it belongs in [{}]", owner.name),
        (None, None) if known.is_empty() => "every key belongs in a table".to_owned(),
        (None, None) => format!("there are {}", known.join(", ")),
    };
    diagnostics.error(at, format!("unknown key '{}' {place}; {advice}", clip(key)));
}

#[cfg(test)]
mod tests {
    use super::{JOB_TABLES, tables};
    use crate::algo::{self, ALGORITHMS, InputKind};
    use std::path::Path;

    /// An algorithm for tests, which has no example job file.
    const TEST_ALGORITHM: &str = "sums";

    /// Returns the text of the example job file for an algorithm.
    fn shipped(algorithm: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(format!("{algorithm}.toml"));
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }

    /// Returns the texts of the example job files for all algorithms with this kind of input.
    fn shipped_for(input: InputKind) -> Vec<String> {
        let algorithms = ALGORITHMS.iter().filter(|algorithm| algorithm.input() == input);
        let texts: Vec<_> =
            algorithms.map(|algorithm| algorithm.name()).filter(|&name| name != TEST_ALGORITHM).map(shipped).collect();
        assert!(!texts.is_empty());
        texts
    }

    /// Returns true if an example job file has the key in the table, either set or as a comment.
    fn names(shipped: &str, table: &str, key: &str) -> bool {
        let text = shipped.split(&format!("\n[{table}]")).nth(1).unwrap_or_default();
        let text = text.split("\n[").next().unwrap_or_default();
        text.lines().any(|line| line.trim_start_matches("# ").split('=').next().map(str::trim) == Some(key))
    }

    /// Users rely on the example job files, which say "Every key is here".
    #[test]
    fn example_job_files_name_every_key() {
        let (of_graphs, of_lists) = (shipped_for(InputKind::Graph), shipped_for(InputKind::List));
        for table in tables().filter(|table| table.name != TEST_ALGORITHM) {
            let own = algo::find(table.name).map(|algorithm| vec![shipped(algorithm.name())]);
            for key in table.keys {
                let shipped = if *key == "list" { &of_lists } else { own.as_ref().unwrap_or(&of_graphs) };
                let all = shipped.iter().all(|shipped| names(shipped, table.name, key));
                assert!(all, "{}.{key}", table.name);
            }
        }
    }

    /// Lists have none of the keys that only concern graphs.
    #[test]
    fn example_job_files_for_lists_name_exactly_their_keys() {
        for (table, keys) in JOB_TABLES {
            let is_of_graphs = |key: &str| match table {
                "job" => ["scratch", "keep"].contains(&key),
                "input" => !["path", "format", "list"].contains(&key),
                _ => false,
            };
            for shipped in shipped_for(InputKind::List) {
                keys.iter()
                    .for_each(|key| assert_eq!(names(&shipped, table, key), !is_of_graphs(key), "{table}.{key}"));
            }
        }
    }
}
