//! A graph that was kept without the upper half of its rows gets that half later, and nothing else again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::support::{Place, random_edges, resumed};

/// Names, bytes and times of the files of a graph whose names begin with `part`.
fn files(place: &Place, folder: &str, part: &str) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let of = |path: PathBuf| {
        let time = path.metadata().and_then(|about| about.modified()).expect("a time");
        (path.file_name().expect("a name").into(), (fs::read(&path).expect("a file"), time))
    };
    let entries = fs::read_dir(place.path(folder).join("graph")).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(part))
        .map(|entry| of(entry.path()))
        .collect()
}

fn bytes(files: BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) -> Vec<Vec<u8>> {
    files.into_values().map(|(bytes, _)| bytes).collect()
}

const SUMS: [&str; 2] = ["[sums]\n", "[sums]\nupper = true\n"];

#[test]
fn a_kept_graph_and_a_prepared_one_get_the_upper_half_later() {
    // The algorithm that asks for it is one of tests.
    let place = Place::new();
    let input = place.u32("edges.u32", &random_edges(2000, 60_000, 8));
    let job = |workdir: &str, sums: &str| {
        place.job_on(&input, &format!("[job]\nworkdir = '{workdir}'\nkeep = true\n[limits]\nthreads = 2\n{sums}"));
    };
    // As a whole, at once.
    job("known", SUMS[1]);
    place.run(&["--quiet"]).expect(0);
    let known = bytes(files(&place, "known", "upper."));
    assert!(known.len() >= 3, "{} blocks", known.len());

    job("work", SUMS[0]);
    place.report(&["--quiet"]);
    let lower = files(&place, "work", "lower.");
    assert!(!lower.is_empty() && files(&place, "work", "upper.").is_empty());

    // Another job, which reads that graph: the half is made in its own workdir.
    let prepared = "[job]\nworkdir = 'later'\nkeep = true\n[limits]\nthreads = 2\n";
    place.job("prepared = 'work'", &format!("{prepared}{}", SUMS[1]));
    place.run(&["--quiet"]).expect(0);
    assert!(bytes(files(&place, "later", "upper.")) == known);
    assert!(files(&place, "later", "lower.").is_empty() && files(&place, "work", "upper.").is_empty());

    // The same job, which now asks for it.
    job("work", SUMS[1]);
    let report = place.report(&["--quiet"]);
    for stage in ["ingest", "relabel", "partition", "sort"] {
        assert!(resumed(&report).contains(&stage), "{stage} was done again");
    }
    assert!(!resumed(&report).contains(&"transpose"));
    assert!(bytes(files(&place, "work", "upper.")) == known);
    assert!(files(&place, "work", "lower.") == lower, "blocks of the lower half were touched");

    // From now on a prepared one finds it there.
    place.job("prepared = 'work'", &format!("{}{}", prepared.replace("later", "last"), SUMS[1]));
    place.run(&["--quiet"]).expect(0);
    assert!(files(&place, "last", "upper.").is_empty());
}
