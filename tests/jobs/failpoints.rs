//! A job dies, fails or is stopped at every place where it writes, syncs, renames or finishes a unit; the same line
//! then carries on to the same answer, and does not do again what was done.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Place, Started, answer, number, oracle, random_edges, resumed, triangles};
use serde_json::Value;

const KILLED: i32 = 128 + 9;
const PREPARED: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// Places and hits in a file that GPUGRAPH_FAILPOINTS_COUNT named.
fn hits(path: &Path) -> Vec<(String, u64)> {
    let text = fs::read_to_string(path).expect("counts");
    let line = |line: &str| line.split_once(' ').map(|(name, hits)| (name.to_owned(), hits.parse().expect("a number")));
    text.lines().map(|l| line(l).expect("two columns")).collect()
}

fn hits_of(path: &Path, name: &str) -> u64 {
    hits(path).into_iter().find(|(n, _)| n == name).map_or(0, |(_, hits)| hits)
}

/// Runs to the end, counting hits.
#[track_caller]
fn counted(place: &Place) -> (Value, Vec<(String, u64)>) {
    let file = place.path("hits");
    let status = place.command(&["run", "job.toml", "--quiet"]).env("GPUGRAPH_FAILPOINTS_COUNT", &file).status();
    assert!(status.expect("run").success());
    (place.read_report(), hits(&file))
}

fn forget(place: &Place) {
    let _ = fs::remove_dir_all(place.workdir());
}

/// First, second, middle and last of `n` hits.
fn some_of(n: u64) -> Vec<u64> {
    let mut some = vec![1, 2.min(n), n.div_ceil(2), n];
    some.dedup();
    some
}

/// Hits of a place, out of [`some_of`]: all of them in the first job that has the place, in each later job one of them in turn. `jobs` counts those
/// that had it.
fn some_in_turn(jobs: &mut BTreeMap<String, usize>, place: &str, n: u64) -> Vec<(usize, u64)> {
    let some: Vec<_> = some_of(n).into_iter().enumerate().collect();
    let job = jobs.entry(place.to_owned()).or_default();
    *job += 1;
    if *job == 1 { some } else { vec![some[*job % some.len()]] }
}

/// Stages that the manifest in the workdir says are done.
fn done(place: &Place) -> Vec<String> {
    let Ok(bytes) = fs::read(place.workdir().join("manifest.json")) else { return Vec::new() };
    let manifest: Value = serde_json::from_slice(&bytes).expect("whole after a kill");
    manifest["manifest"]["stages"].as_object().expect("stages").keys().cloned().collect()
}

/// Jobs small enough to be killed a hundred times: with blocks to spare, per vertex, with sparse ids, with strings as ids, with whole rows, and
/// with weights of a graph that keeps direction, whose rows of all neighbours are merged for triangles.
fn jobs() -> Vec<(&'static str, Place)> {
    let edges = random_edges(600, 20_000, 3);
    let sparse: Vec<_> = edges.iter().map(|pair| pair.map(|id| id * 0x9e37_79b9_7f4a)).collect();
    let (plain, corners, strings, rows) = (Place::new(), Place::new(), Place::new(), Place::new());
    plain.job_on(&plain.u32("edges.u32", &edges), "[limits]\nthreads = 2\n");
    let more = "[limits]\nthreads = 2\n[triangle]\nper_vertex = true\n";
    corners.job_on(&corners.u64("edges.u64", &sparse), more);
    strings.write("edges.csv", edges.iter().map(|[u, v]| format!("user {u},user {v}\n")).collect::<String>());
    // How often numbering writes depends on which thread takes which lines.
    strings.job("path = 'edges.csv'\nids = 'string'", "[limits]\nthreads = 1\n[triangle]\nper_vertex = true\n");
    rows.job_on(&rows.u32("edges.u32", &edges), "[limits]\nthreads = 2\n[sums]\nupper = true\n");
    let weights = Place::new();
    let line = |(i, [u, v]): (usize, &[u64; 2])| format!("{u} {v} {}\n", i % 7);
    let text: String = edges.iter().enumerate().map(line).collect();
    let path = weights.write("edges.wel", text);
    let sums = "[limits]\nthreads = 2\n[sums]\nupper = true\ndirection = true\nweights = \"file\"\n";
    weights.job(&format!("path = '{}'\ndirected = true", path.display()), sums);
    vec![
        ("plain", plain),
        ("per vertex, sparse", corners),
        ("per vertex, strings", strings),
        ("whole rows", rows),
        ("weights", weights),
    ]
}

#[test]
fn killed_at_every_place_it_carries_on() {
    let known = oracle(600, &random_edges(600, 20_000, 3)).0;
    let mut had = BTreeMap::new();
    for (name, place) in jobs() {
        let (report, places) = counted(&place);
        assert_eq!(triangles(&report), known);
        assert!(number(&report, "graph.blocks") >= 3, "too few blocks to be of use: {report:#}");
        let columns = fs::read(place.workdir().join("out/triangles.npy")).ok();
        assert!(places.len() >= 8, "{places:?}");
        // Clips shorten a write; they are no places to die at.
        for (point, n) in places.iter().filter(|(point, _)| !point.ends_with(".short")) {
            for (_, hit) in some_in_turn(&mut had, point, *n) {
                forget(&place);
                let rule = format!("{point}={hit}:kill");
                // Files are synced in the background, and only a job that keeps its graph waits for all of them.
                let waits: &[&str] = if point == "store.fsync" { &["--set", "job.keep=true"] } else { &[] };
                let ran = place.run_failing(&rule, waits);
                assert_eq!(ran.code, KILLED, "{name}: {rule}: {}", ran.err);
                let before = done(&place);
                let stood = fs::read(place.workdir().join("report.json")).ok();
                let again = place.run(&["--quiet"]);
                assert_eq!(again.code, 0, "{name}: after {rule}: {}", again.err);
                let found = place.read_report();
                assert_eq!(answer(&found), answer(&report), "{name}: after {rule}");
                assert_eq!(fs::read(place.workdir().join("out/triangles.npy")).ok(), columns, "{name}: after {rule}");
                let kept = resumed(&found);
                // A report that stands already is that of the run that was killed.
                let stands = stood.is_some() && stood == fs::read(place.workdir().join("report.json")).ok();
                for stage in before.into_iter().filter(|_| !stands) {
                    assert!(kept.contains(&stage.as_str()), "{name}: {stage} was done again after {rule}: {kept:?}");
                }
                assert_eq!(leftovers(&place.workdir()), Vec::<String>::new(), "{name}: after {rule}");
            }
        }
    }
}

/// Files that no finished job should have beside its results.
fn leftovers(workdir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in [workdir.to_owned(), workdir.join("out"), workdir.join("units"), workdir.join("graph")] {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        found.extend(
            names.filter(|name| name.contains(".tmp-") || name.ends_with(".part") || name.starts_with("spill")),
        );
    }
    found
}

#[test]
fn an_error_at_every_place_has_its_exit_code_and_the_next_run_succeeds() {
    let kept = Place::new();
    let edges = kept.u32("edges.u32", &random_edges(600, 20_000, 3));
    kept.job_on(&edges, "[job]\nworkdir = 'work'\nkeep = true\n[limits]\nthreads = 2\n");
    let mut had = BTreeMap::new();
    // The first job is the one that waits for every sync.
    for (name, place) in [("kept", kept)].into_iter().chain(jobs()) {
        let (report, places) = counted(&place);
        for (point, n) in places.iter().filter(|(point, _)| !point.ends_with(".short")) {
            for (number, hit) in some_in_turn(&mut had, point, *n) {
                let (action, code) = [("eio", 10), ("enospc", 6)][number % 2];
                forget(&place);
                let rule = format!("{point}={hit}:{action}");
                let ran = place.run_failing(&rule, &[]);
                // Blocks of a graph that is thrown away when it is counted may do without the disk: nobody waits for it.
                let unseen = point == "store.fsync" && name != "kept" && ran.code == 0;
                if !unseen {
                    assert_eq!(ran.code, code, "{name}: {rule}: {}", ran.err);
                    ran.error();
                }
                let again = place.run(&["--quiet"]);
                assert_eq!(again.code, 0, "{name}: after {rule}: {}", again.err);
                assert_eq!(answer(&place.read_report()), answer(&report), "{name}: after {rule}");
                assert_eq!(leftovers(&place.workdir()), Vec::<String>::new(), "{name}: after {rule}");
            }
        }
    }
}

#[test]
fn short_writes_are_completed() {
    let mut had = BTreeMap::new();
    for (name, place) in jobs() {
        let (report, places) = counted(&place);
        let short: Vec<_> = places.iter().filter(|(point, _)| point.ends_with(".short")).collect();
        assert!(!short.is_empty(), "{name}: {places:?}");
        for (point, n) in short {
            for (_, hit) in some_in_turn(&mut had, point, *n) {
                forget(&place);
                place.run_failing(&format!("{point}={hit}:short"), &[]).expect(0);
                assert_eq!(answer(&place.read_report()), answer(&report), "{name}: {point}={hit}");
            }
        }
    }
}

#[test]
fn a_torn_record_of_the_journal_is_counted_again() {
    let (_, place) = jobs().swap_remove(0);
    let (report, _) = counted(&place);
    forget(&place);
    // Dies after one byte of the record: the first write is short, the process ends at the next place.
    place.run_failing("unit.done=3:kill", &[]).expect(KILLED);
    let journal = place.workdir().join("units/triangle.0");
    let bytes = fs::read(&journal).expect("a journal");
    fs::write(&journal, &bytes[..bytes.len() - 17]).expect("tear");
    let file = place.path("hits");
    let status = place.command(&["run", "job.toml", "--quiet"]).env("GPUGRAPH_FAILPOINTS_COUNT", &file).status();
    assert!(status.expect("run").success());
    assert_eq!(answer(&place.read_report()), answer(&report));
    let units = number(&report, "results.triangle.units");
    assert_eq!(hits_of(&file, "unit.done"), units - 2, "two of three units were whole");
    // After the end of the job nothing may be missing.
    place.gpugraph(&["verify", "work"]).expect(0);
    let bytes = fs::read(&journal).expect("a journal");
    fs::write(&journal, &bytes[..bytes.len() - 1]).expect("tear");
    let refused = place.gpugraph(&["verify", "work"]).expect(4);
    assert!(refused.out.contains("part of a record") || refused.err.contains("part of a record"), "{}", refused.out);
}

#[test]
fn counting_goes_on_at_the_unit_however_often_it_is_killed() {
    let (_, place) = jobs().swap_remove(0);
    let (report, places) = counted(&place);
    let units = number(&report, "results.triangle.units");
    assert_eq!(places.iter().find(|(point, _)| point == "unit.done").map(|p| p.1), Some(units));
    forget(&place);
    // Those of a partner with all fronts are counted and journalled together.
    let blocks = number(&report, "graph.blocks");
    assert_eq!(units, blocks * (blocks + 1) / 2);
    for _ in 0..blocks {
        place.run_failing("unit.done=1:kill", &[]).expect(KILLED);
    }
    let (found, places) = counted(&place);
    assert!(!places.iter().any(|(point, _)| point == "unit.done"), "every unit was done: {places:?}");
    assert_eq!(answer(&found), answer(&report));
    assert_eq!(number(&found, "resumes"), blocks);
    assert_eq!(resumed(&found), PREPARED);
}

#[test]
fn killed_while_it_carries_on_it_still_carries_on() {
    for (name, place) in jobs() {
        let (report, places) = counted(&place);
        forget(&place);
        // Down the list of places, the state on disk growing with each run.
        for (point, _) in &places {
            let ran = place.run_failing(&format!("{point}=1:kill"), &["--quiet"]);
            assert!([KILLED, 0].contains(&ran.code), "{name}: {point}: {}", ran.err);
        }
        assert_eq!(answer(&place.report(&["--quiet"])), answer(&report), "{name}");
    }
}

#[test]
fn a_stop_is_obeyed_with_75_and_limits_and_threads_may_change() {
    for (name, place) in jobs() {
        let (report, places) = counted(&place);
        let units = places.iter().find(|(point, _)| point == "unit.done").expect("units").1;
        let columns = fs::read(place.workdir().join("out/triangles.npy")).ok();
        for how in [
            ["limits.threads=1", "run.device=cpu"],
            ["limits.threads=7", "limits.host_memory=256MiB"],
            ["run.log_interval=1s", "limits.host_memory=2GiB"],
        ] {
            forget(&place);
            let ran = place.run_failing("unit.done=2:stop", &[]).expect(75);
            assert!(ran.error().contains("SIGTERM"), "{}", ran.err);
            let sets: Vec<&str> = how.iter().flat_map(|set| ["--set", set]).chain(["--quiet"]).collect();
            let file = place.path("hits");
            let args = [&["run", "job.toml"], &sets[..]].concat();
            let status = place.command(&args).env("GPUGRAPH_FAILPOINTS_COUNT", &file).status();
            assert!(status.expect("run").success(), "{name}: {how:?}");
            let found = place.read_report();
            assert_eq!(answer(&found), answer(&report), "{name}: {how:?}");
            let kept: Vec<_> = resumed(&found).into_iter().filter(|stage| *stage != "dictionary").collect();
            let parts: &[&str] = match name {
                "whole rows" => &["transpose"],
                "weights" => &["transpose", "merge"],
                _ => &[],
            };
            let prepared = [&PREPARED, parts].concat();
            assert_eq!(kept, prepared, "{name}: {how:?}");
            // The unit at which the stop came was saved; the one begun behind it may have been, too.
            assert!(hits_of(&file, "unit.done") <= units - 2, "{name}: {how:?}");
            assert_eq!(fs::read(place.workdir().join("out/triangles.npy")).ok(), columns, "{name}: {how:?}");
        }
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for (name, place) in jobs() {
        let (report, _) = counted(&place);
        forget(&place);
        // Between two units it sleeps for longer than it may take to stop, so the first signal is not seen.
        let mut command = place.command(&["run", "job.toml"]);
        let mut job = Started::new(command.env("GPUGRAPH_FAILPOINTS", "unit.done=2:sleep(20000)"));
        assert!(job.until("triangle begins"), "{name}");
        let asked = Instant::now();
        // The journal or checkpoint folder is there at the latest when the first unit is counted.
        std::thread::sleep(Duration::from_millis(500));
        job.signal(15);
        // Within a second it would count as the same.
        std::thread::sleep(Duration::from_millis(1200));
        job.signal(2);
        let ran = job.end();
        assert_eq!(ran.code, 75, "{name}: {}", ran.err);
        assert!(asked.elapsed() < Duration::from_secs(8), "{name}: {:?}", asked.elapsed());
        assert!(ran.err.lines().all(|line| !line.starts_with("error")), "it was no good end: {}", ran.err);
        assert_eq!(answer(&place.report(&["--quiet"])), answer(&report), "{name}");
    }
}

#[test]
fn edges_that_spill_to_disk_are_no_weaker() {
    let place = Place::new();
    place.job(
        "kronecker = { scale = 16, edge_factor = 24, seed = 2 }",
        "[limits]\nthreads = 1\nhost_memory = '14MiB'\n",
    );
    let (report, places) = counted(&place);
    let n = places.iter().find(|(point, _)| point == "spill.write").map_or(0, |p| p.1);
    assert!(n > 10, "this limit should make it spill: {places:?}");
    let kills = some_of(n).into_iter().map(|hit| (hit, "kill", KILLED));
    for (hit, action, code) in kills.chain([(1, "eio", 10), (n, "eio", 10), (n / 2, "enospc", 6)]) {
        forget(&place);
        let ran = place.run_failing(&format!("spill.write={hit}:{action}"), &["--quiet"]);
        assert_eq!(ran.code, code, "{action}: {}", ran.err);
        let found = place.report(&["--quiet"]);
        assert_eq!(answer(&found), answer(&report), "{action}");
        assert_eq!(resumed(&found), PREPARED[..2], "{action}");
    }
}
