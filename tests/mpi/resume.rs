//! Jobs that are stopped and go on with other numbers of ranks, or without MPI; files that are damaged in between.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use libc::{SIGTERM, SIGUSR1};

use crate::support::{answer, number, resumed, triangles};
use crate::{CORNERS, KEEP, Ranks, error, files, same_files, signal_launcher};

const SMALL: &str = "kronecker = { scale = 14, edge_factor = 8, seed = 1 }";

fn hits(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    found.unwrap_or(0)
}

/// Stopped at 4 ranks, then at 3 and at 1, and done by 2: the units of all runs are just those of one.
#[test]
fn no_unit_is_counted_twice_by_any_ranks() {
    no_unit_twice("", &[4, 3, 1], 2);
}

/// Counters of all ranks are saved with the units in them when ranks stop: those that go on count none of these again.
#[test]
fn no_corner_is_counted_twice_by_any_ranks() {
    no_unit_twice(CORNERS, &[3], 2);
    no_unit_twice(CORNERS, &[2, 1, 3], 0);
}

#[test]
fn no_link_is_counted_twice_by_any_ranks() {
    no_unit_twice("[triangle]\nclustering = 'directed'\n", &[3, 1], 2);
}

fn no_unit_twice(table: &str, stopped: &[usize], last: usize) {
    let Some(mut job) = Ranks::new() else { return };
    let input = format!("{SMALL}\ndirected = {}", table.contains("'directed'"));
    job.place.job(&input, &format!("{KEEP}{table}[limits]\nthreads = 2\n"));
    let file = job.place.path("hits");
    job.hits = Some(file.clone());
    let alone = job.report(0, &[]);
    // Counts at vertices are kept by partners, else by units.
    let (units, least) = (hits(&file, "unit.done"), if table.is_empty() { 6 } else { 2 });
    let stored = files(&job.place.workdir(), &["graph"]);
    let results = files(&job.place.workdir(), &["out"]);
    job.forget();
    let mut counted = 0;
    for &ranks in stopped {
        job.failing(0, &format!("unit.done={least}:stop"));
        let ran = job.run(ranks, &["--quiet"]);
        assert_eq!(ran.code, 75, "{ranks} ranks: {}", ran.err);
        assert!(error(&ran).contains("SIGTERM"), "{}", ran.err);
        let now = hits(&file, "unit.done");
        assert!(now >= least && counted + now < units, "{counted} + {now} of {units}");
        counted += now;
        same_files("stopped", &files(&job.place.workdir(), &["graph"]), &stored);
        let checkpoint = job.place.workdir().join("units/triangle.0.checkpoint");
        assert_eq!(checkpoint.is_file(), !table.is_empty(), "{ranks} ranks");
    }
    job.alike();
    let report = job.report(last, &[]);
    job.hits = None;
    counted += hits(&file, "unit.done");
    assert_eq!(counted, units, "units of all runs");
    assert_eq!(answer(&report), answer(&alone));
    assert_eq!(number(&report, "resumes"), stopped.len() as u64);
    same_files("results", &files(&job.place.workdir(), &["out"]), &results);
    assert_eq!(resumed(&report), ["ingest", "relabel", "partition", "sort"]);
    // Done, it is not done again, by whomever.
    for ranks in [3, 0] {
        assert_eq!(answer(&job.report(ranks, &[])), answer(&alone));
    }
}

/// A signal to one of two ranks, which both read the input again to count its loops.
#[test]
fn ranks_stop_together_while_they_read_the_input_again() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.job(SMALL, "[triangle]\ncomparisons = true\n");
    job.failing(1, "input.again=1:stop");
    let ran = job.run(2, &["--quiet"]);
    assert_eq!(ran.code, 75, "{}", ran.err);
    assert!(error(&ran).contains("stopped by a signal to another rank"), "{}", ran.err);
    goes_on(job);
}

/// A signal to the rank that saves the forests of all ranks.
#[test]
fn components_are_saved_when_ranks_stop() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.job(SMALL, "[components]\n[limits]\nthreads = 2\n");
    job.failing(0, "components.unit=1:stop");
    let ran = job.run(2, &["--quiet"]);
    assert_eq!(ran.code, 75, "{}", ran.err);
    assert!(job.place.workdir().join("units/components.0.checkpoint").is_file(), "{}", ran.err);
    goes_on(job);
}

/// Two ranks resume the job once, and find what one process finds.
#[track_caller]
fn goes_on(mut job: Ranks) {
    job.alike();
    let report = job.report(2, &[]);
    assert_eq!(report["resumes"], 1, "{report:#}");
    job.forget();
    assert_eq!(answer(&report), answer(&job.report(0, &[])));
}

/// The launcher passes the signal of a scheduler on.
#[test]
fn signals_to_mpirun_stop_every_stage_in_time() {
    let Some(mut job) = Ranks::new() else { return };
    let big = "kronecker = { scale = 18, edge_factor = 16, seed = 1 }";
    job.place.job(big, &format!("{KEEP}[limits]\nthreads = 1\nhost_memory = '128MiB'\n{CORNERS}"));
    job.forget();
    let mut stopped = 0;
    for (ranks, signal, stage) in [
        (4, SIGUSR1, "ingest"),
        (3, SIGUSR1, "partition"),
        (2, SIGUSR1, "sort"),
        (2, SIGTERM, "triangle"),
        (3, SIGUSR1, "triangle"),
    ] {
        job.alike();
        // SIGTERM makes Open MPI end the ranks; SIGUSR1 it passes on.
        job.patient = signal == SIGTERM;
        let mut started = job.start(ranks, &[]);
        if !started.until(&format!("{stage} begins")) {
            let ran = started.end();
            assert_eq!(ran.code, 0, "{}", ran.err);
            continue;
        }
        signal_launcher(&started, signal);
        let asked = Instant::now();
        let ran = started.end();
        // Open MPI waits before it sends SIGTERM on, and says 1 where the ranks had come to their end by then, or, on a busy machine, where
        // a rank said 75.
        let said = ["triangle done", "stopped by SIGTERM"].iter().any(|text| ran.err.contains(text));
        let too_late = ran.code == 0 || ran.code == 1 && signal == SIGTERM && said;
        assert!(ran.code == 75 || too_late, "{stage}: {}: {}", ran.code, ran.err);
        // The contract's 8 s, and twice the time that Open MPI waits before it kills.
        assert!(
            asked.elapsed() < Duration::from_secs(8 + if signal == SIGTERM { 20 } else { 4 }),
            "{stage}: {:?}: {}",
            asked.elapsed(),
            ran.err
        );
        if ran.code == 75 {
            stopped += 1;
            // More than one where the leader took its time.
            let mut lines = ran.err.lines().filter(|line| line.starts_with("error: ")).peekable();
            assert!(lines.peek().is_some() && lines.all(|line| line.contains("stopped by SIG")), "{}", ran.err);
        }
    }
    assert!(stopped >= 3, "too short a job to be stopped: {stopped}");
    let report = job.report(0, &[]);
    let found = triangles(&report);
    assert_eq!(job.place.npy::<u64>("triangles").iter().sum::<u64>(), 3 * found);
    job.place.job(big, "[job]\nworkdir = 'other'\n");
    let ran = job.place.run(&["--quiet", "--fresh"]).expect(0);
    assert!(ran.out.contains(&format!("triangles {found} ")), "{found} triangles, and {}", ran.out);
}

#[test]
fn what_is_damaged_is_made_again_by_ranks_and_the_rest_kept() {
    let Some(job) = Ranks::new() else { return };
    job.place.job(SMALL, &format!("{KEEP}{CORNERS}[limits]\nthreads = 2\n"));
    let alone = job.report(0, &[]);
    let all = ["graph", "out"];
    let stored = files(&job.place.workdir(), &all);
    let made =
        |name: &str| fs::metadata(job.place.workdir().join(name)).and_then(|meta| meta.modified()).expect("a time");
    for (ranks, name, damage) in [
        (3, "graph/lower.000003.block", "flipped"),
        (2, "graph/lower.000011.block", "gone"),
        (3, "graph/order", "flipped"),
        (3, "graph/order", "cut"),
        (2, "graph/degrees", "flipped"),
        (3, "out/triangles.npy", "gone"),
        (3, "manifest.json", "cut"),
    ] {
        let path = job.place.workdir().join(name);
        let times: Vec<_> = stored.keys().map(|name| (name, made(name))).collect();
        let mut bytes = fs::read(&path).expect("read");
        let half = bytes.len() / 2;
        match damage {
            "flipped" => bytes[half] ^= 4,
            _ => bytes.truncate(half),
        }
        match damage {
            "gone" => fs::remove_file(&path).expect("remove"),
            _ => fs::write(&path, &bytes).expect("write"),
        }
        let report = job.report(ranks, &[]);
        let what = format!("{name} {damage}, {ranks} ranks");
        assert_eq!(answer(&report), answer(&alone), "{what}");
        same_files(&what, &files(&job.place.workdir(), &all), &stored);
        let blocks = times.iter().filter(|(other, _)| other.ends_with(".block") && *other != name);
        blocks.for_each(|(other, time)| assert_eq!(made(other), *time, "{what}: {other} was made again"));
    }
}
