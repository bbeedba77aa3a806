//! What commands print on stdout, and where that fails.

mod support;

use std::fs;
use std::process::Stdio;

use support::{Place, Ran};

/// A job that is done, beside an edge list.
fn done() -> Place {
    let place = Place::new();
    let edges = place.write("a.txt", "0 1\n1 2\n2 0\n");
    place.job_on(&edges, "[run]\ndevice = 'cpu'");
    place.run(&["--quiet"]).expect(0);
    place
}

/// Every command that prints.
const LINES: [&[&str]; 11] = [
    &["run", "job.toml", "--quiet"],
    &["plan", "job.toml"],
    &["status", "job.toml", "--json"],
    &["verify", "job.toml"],
    &["verify", "job.toml", "--json"],
    &["submit", "job.toml", "--scheduler", "slurm", "--print"],
    &["convert", "a.txt", "b.txt"],
    &["generate", "uniform", "--scale", "4", "-o", "c.u32"],
    &["devices"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let place = done();
    let into_nothing = |line: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Ran::command(place.command(line).stdout(writer))
    };
    for line in LINES {
        let ran = into_nothing(line).expect(0);
        assert!(!ran.err.contains("error"), "{line:?}: {}", ran.err);
    }
    // What a check found still counts.
    let result = place.workdir().join("report.json");
    fs::write(&result, "{}").unwrap();
    for line in [&["verify", "job.toml"][..], &["verify", "job.toml", "--json"]] {
        assert!(into_nothing(line).expect(4).error().contains("report.json"));
    }
    into_nothing(&["clean", "work", "--all"]).expect(0);
}

#[test]
fn a_stdout_that_is_full_is_not_taken_for_the_workdir() {
    let place = done();
    for line in LINES {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::command(place.command(line).stdout(Stdio::from(full))).expect(10);
        let error = ran.error();
        assert!(error.starts_with("error: stdout: ") && !error.contains("workdir"), "{line:?}: {error}");
    }
}

#[test]
fn man_prints_every_page_that_it_refers_to() {
    let text = Place::new().gpugraph(&["man"]).expect(0).out;
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(".TH ")?.split(' ').next()).collect();
    assert_eq!(titles[0], "gpugraph");
    let at =
        |name: &str| titles.iter().position(|title| *title == name).unwrap_or_else(|| panic!("{name}: {titles:?}"));
    let generate = at("gpugraph-generate");
    assert_eq!(titles[generate + 1], "gpugraph-generate-kronecker");
    assert_eq!(at("gpugraph-convert"), at("gpugraph-generate-product") + 1);
    // As in `gpugraph\-generate\-kronecker(1)`.
    for word in text.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
        at(&word.replace('\\', ""));
    }
}
