//! The tables that a job file may contain, and the check that it contains no others.

use super::keys::{input, job, limits, output, run};
use crate::algo::{ALGORITHMS, Entry};
use crate::jobfile::AnyKey;
use crate::jobfile::advice::{advice, nearest};
use crate::jobfile::diagnostics::{Diagnostics, TextSpan};
use crate::jobfile::tree::TomlTable;
use crate::quote::clip;

/// A table of the job file.
#[derive(Clone, Copy)]
pub struct TableInfo {
    /// Name of the table.
    pub name: &'static str,
    /// A phrase that describes what the table configures, or what its algorithm computes.
    pub about: &'static str,
    /// Keys of the table.
    pub keys: &'static [&'static dyn AnyKey],
}

/// The tables of job files other than those of algorithms, in the order of the documentation.
const JOB_TABLES: [TableInfo; 5] = [
    TableInfo {
        name: "job",
        about: "the job's name and folders",
        keys: &[&job::NAME, &job::WORKDIR, &job::SCRATCH, &job::KEEP],
    },
    TableInfo {
        name: "input",
        about: "exactly one source of edges, or of a list",
        keys: &[
            &input::PATH,
            &input::FORMAT,
            &input::WEIGHTS,
            &input::COLUMNS,
            &input::SKIP_LINES,
            &input::IDS,
            &input::VERTICES,
            &input::PREPARED,
            &input::KRONECKER,
            &input::UNIFORM,
            &input::RANDOM,
            &input::RMAT,
            &input::SSCA2,
            &input::GRID,
            &input::LIST,
            &input::EXPECT,
            &input::DIRECTED,
            &input::FIRST_ID,
            &input::RECURSIVE,
        ],
    },
    TableInfo {
        name: "limits",
        about: "limits of each rank; they may change when a job is resumed",
        keys: &[&limits::HOST_MEMORY, &limits::GPU_MEMORY, &limits::THREADS],
    },
    TableInfo {
        name: "run",
        about: "how to compute, not what; it may change when a job is resumed",
        keys: &[
            &run::DEVICE,
            &run::GPU,
            &run::GPU_SHARING,
            &run::TRIALS,
            &run::LOG_INTERVAL,
            &run::DISK_CHECK,
            &run::ENERGY,
        ],
    },
    TableInfo { name: "output", about: "results of each vertex", keys: &[&output::FORMAT] },
];

/// Returns all tables of job files: the general tables, then the tables of algorithms.
pub fn tables() -> impl Iterator<Item = TableInfo> {
    let of_algorithm =
        |algorithm: &Entry| TableInfo { name: algorithm.name, about: algorithm.about, keys: algorithm.keys };
    JOB_TABLES.into_iter().chain(ALGORITHMS.iter().map(of_algorithm))
}

/// Reports every unknown table, every unknown key, and every value that should be a table.
pub(super) fn check(root: &TomlTable, diagnostics: &mut Diagnostics) {
    let names: Vec<&str> = tables().map(|table| table.name).collect();
    for entry in &root.entries {
        let known = tables().find(|table| table.name == entry.key);
        match (known, entry.node.as_table()) {
            (Some(TableInfo { name, keys, .. }), Some(table)) => {
                let keys: Vec<&str> = keys.iter().map(|key| key.name()).collect();
                check_keys(table, &format!("[{name}]"), &keys, diagnostics);
            }
            (Some(TableInfo { name, .. }), None) => {
                diagnostics.error(&entry.place, format!("'{name}' is a table: write [{name}] once, its keys below it"));
            }
            (None, Some(_)) => {
                let advice = advice(&entry.key, &names, |name| format!("[{name}]"));
                diagnostics.error(&entry.place, format!("unknown table [{}]; {advice}", clip(&entry.key)));
            }
            (None, None) => {
                let advice = "every key belongs in a table";
                unknown(&entry.key, &entry.place, "before the first table", (&[], advice), diagnostics);
            }
        }
    }
}

/// Reports the keys of `table` that are not in `known`; `place` is the name of the table in the message.
pub(super) fn check_keys(table: &TomlTable, place: &str, known: &[&str], diagnostics: &mut Diagnostics) {
    for entry in table.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        unknown(&entry.key, &entry.place, &format!("in {place}"), (known, "it has no keys"), diagnostics);
    }
}

/// Reports an unknown key, and suggests known keys. `none` is the suggestion if the table has no keys at all.
fn unknown(key: &str, at: &TextSpan, place: &str, (known, none): (&[&str], &str), diagnostics: &mut Diagnostics) {
    let owner = tables().find(|table| table.keys.iter().any(|other| other.name() == key));
    let advice = match (owner, nearest(key, known)) {
        (_, Some(near)) => format!("did you mean '{near}'?"),
        (Some(owner), None) => format!("it belongs in [{}]", owner.name),
        (None, None) if known.is_empty() => none.to_owned(),
        (None, None) => format!("there are {}", known.join(", ")),
    };
    diagnostics.error(at, format!("unknown key '{}' {place}; {advice}", clip(key)));
}

#[cfg(test)]
mod tests {
    use super::{AnyKey, JOB_TABLES, TableInfo, tables};
    use crate::algo::{self, ALGORITHMS};
    use crate::config::Job;
    use crate::formats::Format;
    use std::path::Path;

    /// Name of an algorithm that exists only in tests and has no example job file.
    const TEST_ALGORITHM: &str = "sums";

    /// Returns the text of the example job file for an algorithm.
    fn shipped(algorithm: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(format!("{algorithm}.toml"));
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }

    /// Returns the texts of the example job files of all algorithms on lists (`lists`), or on graphs.
    fn shipped_for(lists: bool) -> Vec<String> {
        let algorithms = ALGORITHMS.iter().filter(|algorithm| algorithm.is_on_list == lists);
        let texts: Vec<_> =
            algorithms.map(|algorithm| algorithm.name).filter(|&name| name != TEST_ALGORITHM).map(shipped).collect();
        assert!(!texts.is_empty());
        texts
    }

    /// Returns true if an example job file contains the key in the table, either set or commented out.
    fn names(shipped: &str, table: &str, key: &str) -> bool {
        let text = shipped.split(&format!("\n[{table}]")).nth(1).unwrap_or_default();
        let text = text.split("\n[").next().unwrap_or_default();
        text.lines().any(|line| line.trim_start_matches("# ").split('=').next().map(str::trim) == Some(key))
    }

    /// Checks that the example job files contain every key, because they claim to ("Every key is here") and users
    /// rely on it.
    #[test]
    fn example_job_files_name_every_key() {
        let (of_graphs, of_lists) = (shipped_for(false), shipped_for(true));
        for table in tables().filter(|table| table.name != TEST_ALGORITHM) {
            let own = algo::find(table.name).map(|algorithm| vec![shipped(algorithm.name)]);
            for key in table.keys.iter().map(|key| key.name()) {
                let shipped = if key == "list" { &of_lists } else { own.as_ref().unwrap_or(&of_graphs) };
                let all = shipped.iter().all(|shipped| names(shipped, table.name, key));
                assert!(all, "{}.{key}", table.name);
            }
        }
    }

    fn job(text: &str) -> Job {
        let job = crate::config::of_text("job.toml", text.to_owned(), &[], None);
        job.unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// Checks that defaults are as documented: if a key's documented default is a TOML value, a job file that sets
    /// the key to it must mean the same as one without the key.
    #[test]
    fn defaults_are_as_documented() {
        let mut values = 0;
        for table in tables() {
            let source = if algo::find(table.name).is_some_and(|algorithm| algorithm.is_on_list) {
                "list = { length = 5 }"
            } else {
                "path = 'x.u32'"
            };
            // `[dfs]` needs a source.
            let needed = if table.name == "dfs" { "source = 1\n" } else { "" };
            let text = |line: &str| match table.name {
                "input" => format!("[input]\n{source}\n{line}\n"),
                name => format!("[input]\n{source}\n[{name}]\n{needed}{line}\n"),
            };
            let without = job(&text(""));
            for key in table.keys {
                let line = format!("{} = {}", key.name(), key.default());
                if toml::de::DeTable::parse(&line).is_err() {
                    continue;
                }
                values += 1;
                let with = Job { input_keys: without.input_keys.clone(), ..job(&text(&line)) };
                assert_eq!(with, without, "{}: {line}", table.name);
            }
        }
        assert!(values > 20, "{values}");
    }

    /// Checks that the documented values of `format`, which are written as one string, name all formats.
    #[test]
    fn the_key_of_formats_names_all() {
        let names = Format::ALL.iter().map(|format| format.name());
        let expected = names.chain(["auto"]).collect::<Vec<_>>().join(" | ");
        assert_eq!(super::input::FORMAT.values(), expected);
    }

    /// Returns a key's default as the documentation shows it: in backticks if it is TOML, otherwise as plain text.
    fn shown(key: &dyn AnyKey) -> String {
        let default = key.default();
        let is_toml = toml::de::DeTable::parse(&format!("x = {default}")).is_ok();
        if is_toml { format!("`{default}`") } else { default }
    }

    /// Checks that `docs/reference/job-file.md` lists each key with its default, and has exactly the tables of
    /// algorithms that the code defines.
    #[test]
    fn the_page_about_job_files_has_every_key() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/job-file.md");
        let page = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let section = |name: &str| {
            let text = page.split(&format!("\n## [{name}]\n")).nth(1).unwrap_or_default();
            text.split("\n## ").next().unwrap_or_default().to_owned()
        };
        for table in JOB_TABLES {
            let text = section(table.name);
            for key in table.keys {
                let row = text.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name())));
                let row = row.unwrap_or_else(|| panic!("[{}] has no row of {}", table.name, key.name()));
                let is_source = crate::config::input_keys::SOURCES.contains(&key.name());
                assert!(is_source || row.contains(&format!("| {} |", shown(*key))), "{row} for {}", shown(*key));
            }
        }
        let mut missing = String::new();
        for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.name != TEST_ALGORITHM) {
            let row = |key: &&dyn AnyKey| {
                let values = key.values().replace('|', "\\|");
                format!("| `{}` | {values} | {} | {} |\n", key.name(), shown(*key), key.meaning())
            };
            let rows: String = algorithm.keys.iter().map(row).collect();
            let expected = match algorithm.keys {
                [] => "It has no keys.".to_owned(),
                _ => format!("| key | values | default | meaning |\n|---|---|---|---|\n{rows}"),
            };
            let name = algorithm.name;
            if !section(name).contains(&expected) {
                missing += &format!("\n## [{name}]\n\n`[{name}]` {}.\n\n{expected}", algorithm.about);
            }
        }
        assert_eq!(missing, "");
    }

    /// Checks that example job files for lists contain every key that applies to lists, and none that only concerns
    /// graphs.
    #[test]
    fn example_job_files_for_lists_name_exactly_their_keys() {
        for TableInfo { name: table, keys, .. } in JOB_TABLES {
            let is_of_graphs = |key: &str| match table {
                "job" => ["scratch", "keep"].contains(&key),
                "input" => !["path", "format", "list"].contains(&key),
                _ => false,
            };
            for shipped in shipped_for(true) {
                keys.iter()
                    .map(|key| key.name())
                    .for_each(|key| assert_eq!(names(&shipped, table, key), !is_of_graphs(key), "{table}.{key}"));
            }
        }
    }
}
