//! `benches/run`, which measures docs/performance.md and writes it. No test measures anything: graphs are small.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Place, Ran};

const REPO: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the script of a tree with these words. Without Python 3.11 it says so and is nothing.
fn benches(tree: &Path, words: &[&str]) -> Option<Ran> {
    let python = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !python.is_ok_and(|python| python.status.success()) {
        println!("SKIPPED: benches/run: no Python 3.11");
        return None;
    }
    let mut script = Command::new("python3");
    Some(Ran::command(script.arg(tree.join("benches/run")).args(words)))
}

#[test]
fn the_page_is_what_the_figures_give() {
    if let Some(ran) = benches(Path::new(REPO), &["--check"]) {
        ran.expect(0);
    }
}

#[test]
fn rows_run_and_write_nothing_if_quick() {
    let place = Place::new();
    let files = ["benches/figures.tsv", "docs/performance.md"].map(|name| Path::new(REPO).join(name));
    let before = files.clone().map(|file| fs::read(file).expect("a file"));
    let work = place.path("work");
    let words = ["--quick", "--program", env!("CARGO_BIN_EXE_gpugraph"), "--work", work.to_str().expect("text")];
    let Some(ran) = benches(Path::new(REPO), &[&words[..], &["components/s22", "strong", "listrank"]].concat()) else {
        return;
    };
    let out = ran.expect(0).out;
    assert!(out.contains("components/s22: ") && out.contains(" rows ran, 0 failed"), "{out}");
    assert!(!out.contains("components/s26: "), "{out}");
    assert_eq!(before, files.map(|file| fs::read(file).expect("a file")));
    // A row that fails is reported, and the others run.
    let failed = benches(Path::new(REPO), &["--quick", "--program", "/bin/false", "--work", words[4], "components"])
        .expect("as before");
    assert!(failed.expect(1).out.contains("0 rows ran, 3 failed"));
}

#[test]
fn a_figure_is_written_with_its_commit_and_measured_once() {
    let place = Place::new();
    for folder in ["benches", "configs", "docs/performance"] {
        fs::create_dir_all(place.path(folder)).expect("a folder");
        for file in fs::read_dir(Path::new(REPO).join(folder)).expect("a folder").map(|file| file.expect("a file")) {
            fs::copy(file.path(), place.path(folder).join(file.file_name())).expect("a copy");
        }
    }
    let tables = fs::read_to_string(place.path("benches/tables.toml")).expect("text");
    place.write("benches/tables.toml", tables.replace("kron 22", "kron 10"));
    let words = ["--program", env!("CARGO_BIN_EXE_gpugraph"), "--commit", "0123abcd", "strong"];
    let Some(ran) = benches(&place.path(""), &words) else { return };
    ran.expect(0);
    let line = |name: &str| {
        let text = fs::read_to_string(place.path(name)).expect("text");
        text.lines().find(|line| line.contains("0123abcd")).expect("the figure").to_owned()
    };
    let figure = line("benches/figures.tsv");
    let columns: Vec<&str> = figure.split('\t').collect();
    assert_eq!((columns.len(), columns[0], columns[1], columns[5]), (15, "strong", "s22", "3"), "{figure}");
    assert!(columns[7..10].iter().all(|time| time.parse::<f64>().is_ok_and(|time| time > 0.0)), "{figure}");
    let shown = line("docs/performance.md");
    assert!(shown.contains(&format!("| {} s ({} to {}) |", columns[7], columns[8], columns[9])), "{shown}");
    benches(&place.path(""), &["--check"]).expect("as before").expect(0);
    let again = benches(&place.path(""), &words).expect("as before").expect(0);
    assert!(again.out.contains("skipped: measured at this commit"), "{}", again.out);
}

#[test]
fn a_table_that_is_not_there_is_answered_with_those_that_are() {
    let Some(ran) = benches(Path::new(REPO), &["triangels"]) else { return };
    let said = ran.expect(2).err;
    assert!(said.contains("no table triangels: expected triangles-gpu, ") && said.contains("listrank"), "{said}");
}
