//! What ARCHITECTURE and the crate docs promise of the source, as far as a program can check it.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    let wanted = |path: &&PathBuf| endings.iter().any(|e| path.extension().is_some_and(|x| x == *e));
    let named = |path: &PathBuf| path.strip_prefix(root()).expect("inside").display().to_string();
    paths.iter().filter(wanted).map(|path| (named(path), fs::read_to_string(path).expect("text"))).collect()
}

fn source() -> Vec<(String, String)> {
    let found = files("src", &["rs"]);
    assert!(found.len() > 40, "the source was not found: {}", found.len());
    found
}

/// Lines with their numbers: without comments, without strings, and without what only tests compile.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut kept = Vec::new();
    // A `#[cfg(...test...)]` takes away the item behind it: up to its `;`, or to the brace that closes it.
    let (mut depth, mut skipping, mut opened) = (0i32, false, false);
    for (number, line) in text.lines().enumerate() {
        let line = bare(line);
        if !skipping && line.trim_start().starts_with("#[cfg(") && line.contains("test") {
            (skipping, opened, depth) = (true, false, 0);
            continue;
        }
        if skipping {
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            opened |= line.contains('{');
            skipping = !(opened && depth <= 0 || !opened && line.trim_end().ends_with(';'));
            continue;
        }
        kept.push((number + 1, line));
    }
    kept
}

/// One line without comment and contents of strings.
fn bare(line: &str) -> String {
    let (mut out, mut in_string, mut chars) = (String::new(), false, line.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            '\'' if !in_string && chars.peek().is_some_and(|&n| "\"{}".contains(n)) => {
                chars.next();
                chars.next();
            }
            '"' => {
                in_string = !in_string;
                out.push('"');
            }
            '/' if !in_string && chars.peek() == Some(&'/') => break,
            c if !in_string => out.push(c),
            _ => {}
        }
    }
    out
}

/// Every place where one of `words` stands in code, as `file:line: word`.
fn places(files: &[(String, String)], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files {
        for (number, line) in code(text) {
            found.extend(words.iter().filter(|w| line.contains(**w)).map(|word| format!("{name}:{number}: {word}")));
        }
    }
    found
}

fn below(folder: &str) -> Vec<(String, String)> {
    let prefix = format!("src/{folder}/");
    let found: Vec<_> = source().into_iter().filter(|(name, _)| name.starts_with(&prefix)).collect();
    assert!(!found.is_empty(), "nothing in {prefix}");
    found
}

#[test]
fn the_reader_of_code_leaves_out_comments_strings_and_tests() {
    let text = "let a = \"unsafe // \\\" {\"; // unsafe\n#[cfg(test)]\nmod tests {\n    fn f() { panic!() }\n}\nlet c = '\"'; b()\n";
    let code: Vec<_> = code(text).into_iter().map(|(n, line)| format!("{n}{}", line.trim_end())).collect();
    assert_eq!(code, ["1let a = \"\";", "6let c = ; b()"]);
}

#[test]
fn unsafe_stands_only_in_files_that_say_so() {
    for (name, text) in source() {
        let uses =
            code(&text).iter().any(|(_, l)| l.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe"));
        let says = text.lines().any(|line| line.starts_with("#![allow(unsafe_code)] //"));
        assert_eq!(uses, says, "{name}: `unsafe` and `#![allow(unsafe_code)] // why` belong together");
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("text");
    assert!(manifest.contains("unsafe_code = \"deny\""));
}

/// The layers, from the lowest up: a module imports what stands before it here, and nothing behind it.
const LAYERS: [&str; 25] = [
    "quote",
    "size",
    "error",
    "failpoint",
    "memory",
    "store",
    "process",
    "chart",
    "stdout",
    "comm",
    "gpu",
    "formats",
    "list",
    "convert",
    "generate",
    "graph",
    "stream",
    "prepare",
    "results",
    "jobfile",
    "algo",
    "config",
    "job",
    "library",
    "commands",
];

/// The modules of this crate that a line of code names by `crate::`.
fn imports(line: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let of = |rest: &str| match rest.strip_prefix('{') {
        Some(list) => {
            list.split(['}', '\n']).next().unwrap_or_default().split(',').map(|one| name(one.trim())).collect()
        }
        None => vec![name(rest)],
    };
    let named: Vec<String> = line.split("crate::").skip(1).flat_map(of).collect();
    // Types and macros of the crate's root belong to no layer.
    named.into_iter().filter(|name| name.starts_with(|c: char| c.is_lowercase())).collect()
}

#[test]
fn imports_go_down_alone() {
    assert_eq!(imports("use crate::{a::B, failpoint, size::{self}};"), ["a", "failpoint", "size"]);
    assert_eq!(imports("crate::job::run(crate::error::Error)"), ["job", "error"]);
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let mut found = 0;
    for (file, text) in source() {
        let module = file.trim_start_matches("src/").split(['/', '.']).next().expect("a name");
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let own = layer(module).unwrap_or_else(|| panic!("{module} has no layer: say where it stands in LAYERS"));
        // Tests within the source, too: what they need from above belongs into a test above.
        for (number, line) in text.lines().enumerate() {
            for import in imports(&bare(line)) {
                found += 1;
                let other = layer(&import).unwrap_or_else(|| panic!("{file}:{}: no module {import}", number + 1));
                assert!(other <= own, "{file}:{}: {module} imports {import}, which stands above it", number + 1);
            }
        }
    }
    assert!(found > 500, "imports were not found: {found}");
}

/// The layers within `job/`, likewise.
const LAYERS_OF_JOB: [&str; 21] = [
    "state",
    "input",
    "results",
    "plan",
    "ranks",
    "device",
    "context",
    "run_record",
    "stage",
    "graph",
    "tasks",
    "list",
    "start",
    "session",
    "reporting",
    "status",
    "html",
    "ending",
    "verify",
    "run",
    "mod",
];

#[test]
fn imports_within_job_go_down_alone() {
    let layer = |name: &str| LAYERS_OF_JOB.iter().position(|layer| *layer == name);
    let mut found = 0;
    for (file, text) in below("job") {
        let module = file.trim_start_matches("src/job/").split(['/', '.']).next().expect("a name");
        let own = layer(module).unwrap_or_else(|| panic!("job/{module} has no layer: say where it stands"));
        let is_flat = !file.trim_start_matches("src/job/").contains('/');
        for (number, line) in text.lines().enumerate().filter(|_| module != "mod") {
            let (line, place) = (bare(line), format!("{file}:{}", number + 1));
            assert!(!(is_flat && line.starts_with("use super::")), "{place}: crate::job::, so that this test sees it");
            assert!(!line.contains("super::super::"), "{place}: crate::job::, so that this test sees it");
            for import in
                imports(&line.replace("crate::job::", "crate::")).into_iter().filter(|_| line.contains("crate::job::"))
            {
                found += 1;
                let other = layer(&import).unwrap_or_else(|| panic!("{place}: no module job::{import}"));
                assert!(other <= own, "{place}: job::{module} imports job::{import}, which stands above it");
            }
        }
    }
    assert!(found > 100, "imports were not found: {found}");
}

/// Types whose own methods stand in a file for each kind of operation, as one file could not hold them.
const IN_SEVERAL_FILES: [&str; 4] = ["Ranks", "Partition", "Sorters", "Shared"];

#[test]
fn the_methods_of_a_type_stand_in_the_file_that_defines_it() {
    let (mut impls, mut strays) = (0, Vec::new());
    for (name, text) in source() {
        for line in text.lines().filter(|line| line.starts_with("impl") && !line.contains(" for ")) {
            // `impl<'a, F: Fn()> path::Type<'a> {`: the last name before the generics of the type.
            let mut rest = line.trim_start_matches("impl");
            if rest.starts_with('<') {
                let mut depth = 0;
                let end = rest.char_indices().find(|&(at, c)| {
                    depth += i32::from(c == '<') - i32::from(c == '>' && !rest[..at].ends_with('-'));
                    depth == 0
                });
                rest = &rest[end.expect("generics end").0 + 1..];
            }
            let of =
                rest.trim().split(['<', ' ', '{']).next().and_then(|path| path.rsplit("::").next()).expect("a type");
            impls += 1;
            let defines = ["struct", "enum", "union"].iter().any(|kind| text.contains(&format!("{kind} {of}")));
            if !defines && !IN_SEVERAL_FILES.contains(&of) {
                strays.push(format!("{name}: {line}"));
            }
        }
    }
    assert!(impls > 200, "impls were not found: {impls}");
    assert_eq!(strays, Vec::<String>::new());
}

#[test]
fn no_folder_holds_more_than_fifteen_files() {
    let mut folders = std::collections::BTreeMap::<_, usize>::new();
    for (name, _) in source() {
        *folders.entry(Path::new(&name).parent().expect("a folder").to_owned()).or_default() += 1;
    }
    let full: Vec<_> = folders.into_iter().filter(|(_, files)| *files > 15).collect();
    assert_eq!(full, Vec::new());
}

#[test]
fn preparation_and_algorithms_know_neither_cuda_nor_mpi() {
    let files: Vec<_> = below("prepare").into_iter().chain(below("algo")).collect();
    let drivers: Vec<_> = files.into_iter().filter(|(name, _)| !name.ends_with("/gpu.rs")).collect();
    // Ranks come in through `crate::comm`, whichever transport is beneath.
    assert_eq!(places(&drivers, &["cudarc", "mpi::", "comm::{mpi", "comm::absent"]), Vec::<String>::new());
}

#[test]
fn algorithms_open_no_file() {
    assert_eq!(places(&below("algo"), &["std::fs", "File::", "std::io", "OpenOptions"]), Vec::<String>::new());
}

#[test]
fn only_job_writes_the_manifest() {
    let others: Vec<_> = source().into_iter().filter(|(name, _)| !name.starts_with("src/job/")).collect();
    assert_eq!(places(&others, &["job::state::manifest", "Manifest"]), Vec::<String>::new());
}

#[test]
fn features_are_asked_about_in_one_place_each() {
    let allowed = ["src/gpu/mod.rs", "src/comm/mod.rs", "src/formats/mod.rs", "src/process/panics.rs"];
    for (name, text) in source() {
        let asks = text.lines().any(|line| {
            let line = line.trim_start();
            // What only tests call says so where it stands.
            let is_asked = line.contains("cfg") && line.contains("feature = \"") && !line.contains("\"testing\"");
            is_asked && !line.starts_with("//")
        });
        assert!(!asks || allowed.contains(&name.as_str()), "{name} asks for a feature");
    }
}

#[test]
fn files_are_short_and_named_for_what_they_hold() {
    for (name, text) in source() {
        let lines = text.lines().count();
        assert!(lines <= 450, "{name} has {lines} lines");
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!["utils", "util", "helpers", "helper", "misc", "common"].contains(&stem), "{name}: named for nothing");
        let (mpi, cuda) = (stem.contains("mpi"), stem.contains("gpu") || stem.contains("cuda"));
        assert!(!(mpi && cuda), "{name}: named after a backend and a transport");
        assert!(text.starts_with("//!") || stem == "tests", "{name}: its first line should say what it is for");
    }
}

/// Cargo.toml says that no test of `main.rs` is run.
#[test]
fn no_test_stands_where_none_is_run() {
    let main = fs::read_to_string(root().join("src/main.rs")).expect("main.rs");
    assert!(!main.contains("#[test]"), "a test, which would not run");
}

#[test]
fn nothing_but_tests_panics() {
    let words = [".unwrap()", "panic!(", "todo!(", "unimplemented!(", "dbg!("];
    // Failpoints panic by order of a test; what cannot be reached says so with `unreachable!` and why.
    let files: Vec<_> =
        source().into_iter().filter(|(name, _)| name != "src/failpoint.rs" && !name.ends_with("tests.rs")).collect();
    assert_eq!(places(&files, &words), Vec::<String>::new());
}

#[test]
fn shipped_job_files_load() {
    let mut seen = 0;
    for (name, _) in files("configs", &["toml"]) {
        gpugraph::internals::config::load(&root().join(&name), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        seen += 1;
    }
    assert!(seen >= 4, "{seen} job files");
}

#[test]
fn no_file_names_a_path_of_some_machine() {
    let mut all = Vec::new();
    for folder in [
        "src",
        "tests",
        "configs",
        "benches",
        "kernels",
        "pbs",
        "slurm",
        "scheduler",
        "examples",
        ".ci",
        "docs",
        "python/src",
        "python/gpugraph",
        "python/tests",
    ] {
        all.extend(files(
            folder,
            &["rs", "toml", "cu", "cuh", "pbs", "sbatch", "sh", "sge", "lsf", "flux", "nf", "md", "py"],
        ));
    }
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "Cargo.toml",
        "site.env",
        "benches/run",
        "tests/run",
        "tests/python",
        ".ci/run",
    ] {
        all.extend(fs::read_to_string(root().join(name)).ok().map(|text| (name.to_owned(), text)));
    }
    assert!(all.len() > 50);
    // Written so that this file does not contain them.
    let words = [
        concat!("\"/wo", "rk/"),
        concat!("\'/wo", "rk/"),
        concat!(" /wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
    ];
    for (name, text) in all {
        for word in words {
            assert!(!text.contains(word), "{name} contains {word}");
        }
    }
}

#[test]
fn files_that_the_architecture_names_are_there() {
    let mut pages = files("docs/design", &["md"]);
    assert!(pages.len() > 4, "pages were not found: {}", pages.len());
    pages.push(("ARCHITECTURE.md".to_owned(), fs::read_to_string(root().join("ARCHITECTURE.md")).expect("text")));
    let mut named = 0;
    for (page, text) in pages {
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = name.contains('/') && !name.contains([' ', '{', '*', '<', '|']) && !name.contains("NAME");
            // What jobs and builds write is not there before them.
            if !is_path || name.starts_with("out/") || name.starts_with("target/") {
                continue;
            }
            named += 1;
            let there = ["", "src/"].iter().any(|folder| root().join(format!("{folder}{name}")).exists())
                || root().join(format!("src/{name}.rs")).exists();
            assert!(there, "{page} names {name}, which is not there");
        }
    }
    assert!(named > 100, "names were not found: {named}");
}
