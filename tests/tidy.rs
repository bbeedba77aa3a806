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
    assert_eq!(places(&others, &["job::manifest", "Manifest"]), Vec::<String>::new());
}

#[test]
fn features_are_asked_about_in_one_place_each() {
    let allowed = ["src/gpu/mod.rs", "src/comm/mod.rs", "src/failpoint.rs"];
    for (name, text) in source() {
        let asks = text.lines().any(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && line.contains("feature = \"") && line.contains("cfg")
        });
        assert!(!asks || allowed.contains(&name.as_str()), "{name} asks for a feature");
    }
}

#[test]
fn files_are_short_and_named_for_what_they_hold() {
    for (name, text) in source() {
        let lines = text.lines().count();
        assert!(lines <= 400, "{name} has {lines} lines");
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!["utils", "util", "helpers", "helper", "misc", "common"].contains(&stem), "{name}: named for nothing");
        let (mpi, cuda) = (stem.contains("mpi"), stem.contains("gpu") || stem.contains("cuda"));
        assert!(!(mpi && cuda), "{name}: named after a backend and a transport");
        assert!(text.starts_with("//!") || stem == "tests", "{name}: its first line should say what it is for");
    }
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
        gpugraph::config::load(&root().join(&name), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        seen += 1;
    }
    assert!(seen >= 4, "{seen} job files");
}

#[test]
fn no_file_names_a_path_of_some_machine() {
    let mut all = Vec::new();
    for folder in ["src", "tests", "configs", "benches", "kernels", "pbs", "slurm", "scheduler", ".ci"] {
        all.extend(files(folder, &["rs", "toml", "cu", "cuh", "pbs", "sbatch", "sh", "md", "py"]));
    }
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Cargo.toml", "site.env", "tests/run", ".ci/run"] {
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
