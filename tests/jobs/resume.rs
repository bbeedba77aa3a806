//! Jobs that are stopped, killed, disturbed and run again: with signals, changed inputs and configs, damaged files,
//! full and read-only disks.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, Dice, Place, Ran, Started, answer, number, oracle, random_edges, resumed, root, triangles};

const KEEP: &str = "[job]\nworkdir = 'work'\nkeep = true\n";
const PREPARED: [&str; 4] = ["ingest", "relabel", "partition", "sort"];
/// 8 million edges: long enough to be hit in every stage. The limit makes it spill.
const BIG: &str = "kronecker = { scale = 19, edge_factor = 16, seed = 1 }";
const BIG_LIMITS: &str = "[limits]\nhost_memory = '48MiB'\n[run]\nlog_interval = '1s'\n";
/// Its triangles, as scripts of other programs count them, too.
fn big_answer() -> u64 {
    use std::sync::OnceLock;
    static ANSWER: OnceLock<u64> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let place = Place::new();
        place.job(BIG, "");
        triangles(&place.report(&["--quiet"]))
    })
}

/// Waits for the end, which must come within the 8 s of the contract.
#[track_caller]
fn ends_in_time(job: Started) -> Ran {
    let asked = Instant::now();
    let ran = job.end();
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}: {}", asked.elapsed(), ran.err);
    ran
}

#[test]
fn signals_in_every_stage_stop_it_in_time_and_it_carries_on() {
    for (name, more) in [("plain", ""), ("per vertex", "[triangle]\nper_vertex = true\n")] {
        let place = Place::new();
        place.job(BIG, &format!("{BIG_LIMITS}{more}"));
        let mut stopped = 0;
        for (number, stage) in [(15, "ingest"), (2, "partition"), (10, "sort"), (15, "triangle"), (2, "triangle")] {
            let mut job = place.start(&[]);
            if !job.until(&format!("{stage} begins")) {
                // That stage was done before.
                job.end().expect(0);
                continue;
            }
            job.signal(number);
            let ran = ends_in_time(job);
            // A signal in the last moment of the last stage comes too late to stop anything.
            assert!([75, 0].contains(&ran.code), "{name}: {stage}: {}", ran.err);
            if ran.code == 75 {
                stopped += 1;
                let names = ["SIGTERM", "SIGINT", "SIGUSR1"];
                assert!(names.iter().any(|name| ran.error().contains(name)), "{}", ran.err);
            }
        }
        assert!(stopped >= 2, "{name}: too short a job to be stopped: {stopped}");
        let report = place.report(&[]);
        assert_eq!(triangles(&report), big_answer(), "{name}");
        if !more.is_empty() {
            let corners: u64 = place.npy::<u64>("triangles").iter().sum();
            assert_eq!(corners, 3 * big_answer());
        }
    }
}

#[test]
fn killed_ten_times_at_random_it_has_the_same_answer() {
    let place = Place::new();
    place.job(BIG, BIG_LIMITS);
    let mut dice = Dice(std::process::id().into());
    let seed = dice.0;
    for round in 0..10 {
        let job = place.start(&["--quiet"]);
        std::thread::sleep(Duration::from_millis(50 + dice.below(1000)));
        job.signal(9);
        let ran = job.end();
        assert!([137, 0].contains(&ran.code), "seed {seed}, round {round}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    assert_eq!(triangles(&place.report(&["--quiet"])), big_answer(), "seed {seed}");
}

#[test]
fn figures_are_of_all_runs_and_of_those_that_were_killed_too() {
    let place = Place::new();
    // On one thread and in some trials, so that it still runs when it is killed for the second time.
    place.job(BIG, &format!("{}trials = 3\n", BIG_LIMITS.replace("[limits]", "[limits]\nthreads = 1")));
    let status = || -> serde_json::Value {
        let text = fs::read(place.workdir().join("status.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    };
    let (mut killed, mut lived) = (Vec::new(), 0.0);
    for _ in 0..2 {
        let begun = Instant::now();
        let job = place.start(&["--quiet"]);
        let is_up = || status()["pid"] == job.id() && status()["seconds"].as_f64() > Some(0.5);
        while !is_up() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        job.signal(9);
        job.end().expect(137);
        lived += begun.elapsed().as_secs_f64();
        killed.push(status());
    }
    let report = place.report(&["--quiet"]);
    assert_eq!((triangles(&report), number(&report, "resumes")), (big_answer(), 2));
    // A killed run says every second what it did.
    let (alone, all) =
        (report["seconds"].as_f64().expect("seconds"), report["seconds_total"].as_f64().expect("seconds"));
    assert!(all > alone + lived - 2.0 * 2.5 && all > alone + 0.9, "{all} s, {alone} s, and {lived} s of killed ones");
    let stages = report["stages"].as_array().expect("stages");
    for name in ["ingest", "relabel", "partition", "sort", "triangle"] {
        let stage = stages.iter().filter(|stage| stage["name"] == name).collect::<Vec<_>>();
        assert_eq!(stage.len(), 1, "{report:#}");
        let of = |key: &str| killed.iter().filter_map(|status| status["spent"]["stages"][name][key].as_f64()).collect();
        let [seconds, read, peak]: [Vec<f64>; 3] = ["seconds", "read", "host_memory_peak"].map(of);
        let is_at_least =
            |key: &str, least: f64| assert!(stage[0][key].as_f64() >= Some(least), "{name}.{key}: {least}, {report:#}");
        is_at_least("seconds", seconds.iter().sum());
        is_at_least("read", read.iter().sum());
        is_at_least("host_memory_peak", peak.iter().copied().fold(0.0, f64::max));
    }
    // What both read of the input is in there.
    let bytes = number(&report, "input.bytes") as f64;
    let ingest: f64 = killed.iter().filter_map(|status| status["spent"]["stages"]["ingest"]["read"].as_f64()).sum();
    let all = stages[0]["read"].as_f64().expect("bytes");
    assert!(ingest > 0.0 && (all >= bytes + ingest || stages[0]["resumed"] == true), "{all} of {bytes} and {ingest}");
}

#[test]
fn status_counts_units_says_a_stop_once_and_how_long_a_run_is_silent() {
    let (place, _) = kept("");
    let units = number(&place.read_report(), "results.triangle.units");
    fs::remove_dir_all(place.workdir()).expect("removed");
    place.run_failing("unit.done=2:kill", &[]).expect(137);
    let line = |place: &Place, name: &str| {
        let told = place.gpugraph(&["status", "work"]).expect(0).out;
        told.lines().find(|line| line.starts_with(name)).map(str::to_owned).unwrap_or_else(|| panic!("{name}: {told}"))
    };
    let counted = line(&place, "triangle ");
    let done =
        counted.trim_start_matches("triangle").trim().strip_suffix(&format!(" of {units}")).map(str::parse::<u64>);
    assert!(matches!(done, Some(Ok(1..))), "{counted}");

    let place = Place::new();
    place.job(BIG, BIG_LIMITS);
    // So many trials that it is still at work when it is held.
    let mut job = place.start(&["--set", "run.trials=40"]);
    assert!(job.until("partition begins"));
    // What never wrote is not silent: it has begun just now.
    std::thread::sleep(Duration::from_millis(1500));
    job.signal(19);
    std::thread::sleep(Duration::from_secs(7));
    let silent = line(&place, "state ");
    assert!(silent.contains("running") && silent.contains(", silent for "), "{silent}");
    job.signal(18);
    job.signal(1);
    let ran = ends_in_time(job);
    assert!(ran.code == 75 && ran.error().contains("SIGHUP"), "{}", ran.err);
    let stopped = line(&place, "state ");
    assert!(stopped.starts_with("state     stopped by SIGHUP") && stopped.matches("stopped").count() == 1, "{stopped}");
    assert_eq!(triangles(&place.report(&["--quiet"])), big_answer());
}

/// As nohup does, a shell may start a job with SIGHUP ignored: the terminal's end is then none of the job's.
#[test]
fn a_job_that_was_started_with_sighup_ignored_goes_on_ignoring_it() {
    let place = Place::new();
    place.job(BIG, BIG_LIMITS);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "trap '' HUP; exec \"$0\" run job.toml", env!("CARGO_BIN_EXE_gpugraph")]);
    let mut job = support::Started::new(shell.current_dir(place.path("")));
    assert!(job.until("partition begins"));
    job.signal(1);
    // The next stage tells that it went on.
    assert!(job.until("sort begins"), "it stopped");
    job.signal(15);
    let ran = ends_in_time(job);
    assert!(ran.code == 75 && ran.error().contains("SIGTERM"), "{}", ran.err);
}

#[test]
fn a_workdir_in_use_is_refused() {
    let place = Place::new();
    place.job(BIG, BIG_LIMITS);
    let mut job = place.start(&[]);
    assert!(job.until("ingest begins"));
    let ran = place.run(&[]).expect(5);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    for word in [host.trim(), &job.id().to_string()] {
        assert!(ran.error().contains(word), "{word} is not in {}", ran.err);
    }
    // Being refused is no reason to disturb the owner.
    job.signal(9);
    job.end().expect(137);
    assert_eq!(triangles(&place.report(&["--quiet"])), big_answer());
}

/// A finished job with everything kept.
fn kept(more: &str) -> (Place, Vec<[u64; 2]>) {
    let place = Place::new();
    let edges = random_edges(700, 24_000, 17);
    let path = place.u32("edges.u32", &edges);
    place.job_on(&path, &format!("{KEEP}{more}"));
    let report = place.report(&[]);
    assert_eq!(triangles(&report), oracle(700, &edges).0);
    assert_eq!(resumed(&report), Vec::<&str>::new());
    (place, edges)
}

#[test]
fn a_finished_job_is_not_done_again_unless_asked() {
    for keep in ["", KEEP] {
        let place = Place::new();
        let path = place.u32("edges.u32", &random_edges(300, 4000, 1));
        place.job_on(&path, keep);
        let first = place.report(&[]);
        // Its report stays that of the run that did it, byte for byte.
        let left = || ["report.json", "manifest.json"].map(|name| fs::read(place.workdir().join(name)).expect(name));
        let before = left();
        for _ in 0..2 {
            let again = place.run(&[]).expect(0);
            assert!(again.out.starts_with(&format!("triangles {}  ", triangles(&first))), "{}", again.out);
            assert!(left() == before, "{}", again.err);
        }
        // One that is gone is made again.
        fs::remove_file(place.workdir().join("report.json")).expect("removed");
        let again = place.report(&[]);
        assert_eq!(answer(&first), answer(&again));
        assert_eq!(resumed(&again), ["ingest", "relabel", "partition", "sort", "triangle"]);
        assert_eq!(again["stages"][0]["seconds"], first["stages"][0]["seconds"]);
        assert_eq!(number(&again, "resumes"), 0);
        let fresh = place.report(&["--fresh"]);
        assert_eq!(answer(&first), answer(&fresh));
        assert_eq!(resumed(&fresh), Vec::<&str>::new());
        assert_eq!(place.workdir().join("graph").exists(), !keep.is_empty());
    }
}

#[test]
fn an_input_of_the_same_bytes_but_another_time_keeps_its_blocks() {
    let (place, _) = kept("");
    let before = place.read_report();
    let file = fs::File::options().append(true).open(place.path("edges.u32")).expect("open");
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).expect("touch");
    let report = place.report(&[]);
    assert_eq!(answer(&report), answer(&before));
    assert_eq!(resumed(&report), ["partition", "sort", "triangle"]);
}

#[test]
fn a_changed_input_is_counted_anew() {
    let (place, mut edges) = kept("");
    // One more clique of ids that were hardly connected; then, as many bytes, one edge turned into another.
    edges.extend(support::complete(40).iter().map(|pair| pair.map(|id| 650 + id)));
    place.u32("edges.u32", &edges);
    // That is asked for: its results replace those of what it was.
    let fresh = |more: &[&str]| {
        assert!(place.run(more).expect(5).error().contains("--fresh"));
        place.report(&[more, &["--fresh"]].concat())
    };
    let report = fresh(&[]);
    assert_eq!(triangles(&report), oracle(700, &edges).0);
    assert_eq!(resumed(&report), Vec::<&str>::new());
    let file = fs::File::options().write(true).open(place.path("edges.u32")).expect("open");
    edges[12_345] = [1, 2];
    file.write_all_at(&[1, 0, 0, 0, 2, 0, 0, 0], 12_345 * 8).expect("write");
    assert_eq!(triangles(&fresh(&[])), oracle(700, &edges).0);
    // Another file altogether under another name.
    let other = random_edges(100, 2000, 3);
    place.u32("other.u32", &other);
    assert_eq!(triangles(&fresh(&["--set", "input.path=other.u32"])), oracle(100, &other).0);
}

#[test]
fn the_same_bytes_read_in_another_format_are_another_graph() {
    let place = Place::new();
    let edges = random_edges(400, 3000, 8);
    let path = place.u32("edges.bin", &edges);
    place.job_on(&path, KEEP);
    assert_eq!(triangles(&place.report(&[])), oracle(400, &edges).0);
    // Pairs of u32 as u64: each edge is one id of a new edge.
    let wide: Vec<[u64; 2]> =
        edges.chunks_exact(2).map(|p| [p[0][0] | p[0][1] << 32, p[1][0] | p[1][1] << 32]).collect();
    let mut ids: Vec<u64> = wide.iter().flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let dense: Vec<[u64; 2]> = wide.iter().map(|p| p.map(|id| ids.binary_search(&id).expect("there") as u64)).collect();
    assert!(place.run(&["--set", "input.format=u64"]).expect(5).error().contains("--fresh"));
    let report = place.report(&["--set", "input.format=u64", "--fresh"]);
    assert_eq!(triangles(&report), oracle(ids.len(), &dense).0);
    assert_eq!(number(&report, "input.edges"), 1500);
}

#[test]
fn another_algorithm_table_redoes_the_count_alone() {
    let (place, edges) = kept("");
    let report = place.report(&["--set", "triangle.per_vertex=true"]);
    assert_eq!(triangles(&report), oracle(700, &edges).0);
    assert_eq!(resumed(&report), PREPARED);
    assert_eq!(place.npy::<u64>("triangles"), oracle(700, &edges).1);
}

#[test]
fn more_trials_are_counted() {
    let (place, _) = kept("");
    let report = place.report(&["--set", "run.trials=3"]);
    assert_eq!(report["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(3));
}

#[test]
fn fewer_trials_are_taken_from_those_that_are_done() {
    let (place, _) = kept("[run]\ntrials = 3\n");
    let three = place.read_report();
    let one = place.report(&["--set", "run.trials=1"]);
    assert_eq!((answer(&one), resumed(&one).contains(&"triangle")), (answer(&three), true));
    assert_eq!(one["results"]["triangle"]["trials"][0], three["results"]["triangle"]["trials"][0]);
    assert_eq!(one["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["results"]["triangle"]["seconds"], one["results"]["triangle"]["trials"][0]);
}

/// Counts at vertices are saved seldom: the trials that were done must not be counted again for that.
#[test]
fn trials_that_are_done_are_not_repeated() {
    let (place, edges) = kept("[run]\ntrials = 3\n[triangle]\nper_vertex = true\n");
    let units = number(&place.read_report(), "results.triangle.units");
    fs::remove_dir_all(place.workdir()).expect("removed");
    place.run_failing(&format!("unit.done={}:kill", 2 * units + 1), &[]).expect(137);
    // Two trials have all units of the third to count, and no more.
    place.run_failing(&format!("unit.done={}:kill", units + 1), &[]).expect(0);
    let report = place.read_report();
    assert_eq!(triangles(&report), oracle(700, &edges).0);
    assert_eq!(report["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(3));
    assert_eq!(place.npy::<u64>("triangles"), oracle(700, &edges).1);
}

/// Every file below a folder, but those that tell rather than hold.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn damaged_files_are_noticed_and_only_what_depends_on_them_is_made_again() {
    let (place, edges) = kept("[triangle]\nper_vertex = true\n");
    let (total, corners) = oracle(700, &edges);
    let intact = files(&place.workdir());
    let blocks: Vec<_> = intact.iter().filter(|path| path.extension().is_some_and(|e| e == "block")).collect();
    let written: Vec<_> = blocks.iter().map(|path| fs::read(path).expect("read")).collect();
    assert!(blocks.len() >= 3);
    for path in &intact {
        let name = path.strip_prefix(place.workdir()).expect("inside").display().to_string();
        if ["lock", "run.log", "status.json", "metrics.json", "report.html"].contains(&name.as_str()) {
            continue;
        }
        for damage in ["flipped", "cut", "gone", "empty"] {
            let mut bytes = fs::read(path).expect("read");
            let half = bytes.len() / 2;
            match damage {
                "flipped" => bytes[half] ^= 4,
                "cut" => bytes.truncate(half),
                _ => bytes.clear(),
            }
            match damage {
                "gone" => fs::remove_file(path).expect("remove"),
                _ => fs::write(path, &bytes).expect("write"),
            }
            let ran = place.run(&[]);
            assert_eq!(ran.code, 0, "{name} {damage}: {}", ran.err);
            let report = place.read_report();
            assert_eq!(triangles(&report), total, "{name} {damage}");
            assert_eq!(place.npy::<u64>("triangles"), corners, "{name} {damage}");
            assert_eq!(place.npy::<f64>("clustering").len(), corners.len(), "{name} {damage}");
            for (block, bytes) in blocks.iter().zip(&written) {
                assert_eq!(&fs::read(block).expect("read"), bytes, "{name} {damage}: {}", block.display());
            }
            let kept = resumed(&report);
            if name.starts_with("out/") || name.starts_with("units/") || name == "report.json" {
                assert!(PREPARED.iter().all(|stage| kept.contains(stage)), "{name} {damage}: {kept:?}");
            } else if name.starts_with("graph/lower") || name.starts_with("graph/degrees") {
                // Degrees are no stage: they are made again beside a report that stands.
                let stands = name.starts_with("graph/degrees") && kept.is_empty();
                assert!(stands || kept.contains(&"ingest") && kept.contains(&"triangle"), "{name} {damage}: {kept:?}");
            }
            assert!(path.exists() || name.starts_with("units/"), "{name} {damage}: not made again");
        }
    }
}

#[test]
fn a_damaged_list_of_sparse_ids_is_made_again() {
    let place = Place::new();
    let edges: Vec<_> = random_edges(300, 5000, 2).iter().map(|p| p.map(|id| id * 0x1234_5678_9abc)).collect();
    place.job_on(&place.u64("edges.u64", &edges), &format!("{KEEP}[triangle]\nper_vertex = true\n"));
    place.report(&[]);
    let (ids, corners) = (place.npy::<u64>("ids"), place.npy::<u64>("triangles"));
    for stale in ["out/ids.npy", "out/triangles.npy"] {
        let path = place.workdir().join("graph/ids");
        let mut bytes = fs::read(&path).expect("read");
        let half = bytes.len() / 2;
        bytes[half] ^= 1;
        fs::write(&path, bytes).expect("write");
        fs::remove_file(place.workdir().join(stale)).expect("remove");
        place.run(&[]).expect(0);
        assert_eq!((place.npy::<u64>("ids"), place.npy::<u64>("triangles")), (ids.clone(), corners.clone()));
    }
}

#[test]
fn a_kept_graph_serves_another_job() {
    let (place, edges) = kept("");
    let (total, corners) = oracle(700, &edges);
    // Its own workdir, and the input is not needed any more.
    fs::remove_file(place.path("edges.u32")).expect("remove");
    let job = "[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n[triangle]\nper_vertex = true\n";
    place.write("other.toml", job);
    for _ in 0..2 {
        place.gpugraph(&["run", "other.toml"]).expect(0);
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(place.path("other/report.json")).expect("a report")).expect("JSON");
        assert_eq!(triangles(&report), total);
        assert_eq!(support::npy::<u64>(&place.path("other/out/triangles.npy")), corners);
    }
    assert!(place.workdir().join("graph").exists(), "the graph of another job is not to be removed");
    // A damaged one is refused, naming the file: it is not this job's to repair.
    let block = place.workdir().join("graph/lower.000000.block");
    let mut bytes = fs::read(&block).expect("read");
    let half = bytes.len() / 2;
    bytes[half] ^= 1;
    fs::write(&block, bytes).expect("write");
    let ran = place.gpugraph(&["run", "other.toml", "--fresh"]).expect(4);
    assert!(ran.error().contains("lower.000000.block"), "{}", ran.err);
}

#[test]
fn a_graph_that_was_not_kept_is_refused() {
    let place = Place::new();
    place.job_on(&place.u32("edges.u32", &random_edges(100, 900, 1)), "");
    place.report(&[]);
    for (prepared, words) in [("work", "keep"), ("nowhere", "nowhere")] {
        place.write("other.toml", format!("[job]\nworkdir = 'other'\n[input]\nprepared = '{prepared}'\n[triangle]\n"));
        let ran = place.gpugraph(&["run", "other.toml"]).expect(3);
        assert!(ran.error().contains(words), "{}", ran.err);
    }
}

#[test]
fn an_input_cut_short_while_it_is_read_is_bad_input() {
    let place = Place::new();
    // 64 MiB, long enough to be cut while it is read; with text it takes longer.
    let line = b"123456 654321\n";
    let path = place.write("edges.txt", line.repeat((64 << 20) / line.len()));
    place.job_on(&path, "[limits]\nthreads = 1\n");
    let mut seen = 0;
    for _ in 0..3 {
        place.write("edges.txt", line.repeat((64 << 20) / line.len()));
        let mut job = place.start(&["--fresh"]);
        if !job.until("ingest begins") {
            job.end();
            continue;
        }
        fs::File::options().write(true).open(&path).and_then(|f| f.set_len(1 << 20)).expect("cut");
        let ran = job.end();
        assert!([0, 3].contains(&ran.code), "{}: {}", ran.code, ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        seen += usize::from(ran.code == 3);
    }
    println!("cut in time {seen} of 3 times");
    // Whatever it saw, what it does now is right for the file as it is now, which ends within a line or behind it.
    let now = fs::read(&path).expect("read");
    let whole = now.len() / line.len() * line.len();
    fs::write(&path, &now[..whole]).expect("write");
    let report = place.report(&[]);
    assert_eq!(number(&report, "input.edges"), (whole / line.len()) as u64);
    assert_eq!(number(&report, "graph.edges"), 1);
}

#[test]
fn a_full_disk_is_said_and_survived() {
    if !root() {
        println!("SKIPPED: only root may mount a small tmpfs");
        return;
    }
    let place = Place::new();
    let small = Mount::tmpfs(&place.path("small"), "size=1536k");
    let Some(small) = small else { return };
    // 0.8 MB of edges: blocks and order take a little less, and there is room for some of it alone.
    let edges = random_edges(30_000, 300_000, 4);
    place.job_on(
        &place.u32("edges.u32", &edges),
        "[job]\nworkdir = 'small/work'\nkeep = true\n[triangle]\nper_vertex = true\n",
    );
    let filler = place.path("small/filler");
    let mut codes = Vec::new();
    for free in [0, 4, 40, 400, 700, 1000, 1200] {
        fs::write(&filler, vec![1; (1536 - free) << 10])
            .or_else(|_| fs::write(&filler, vec![1; (1532 - free) << 10]))
            .expect("fill");
        let ran = place.run(&["--quiet"]);
        codes.push(ran.code);
        assert_eq!(ran.code, 6, "{free} KiB free: {}", ran.err);
        assert!(ran.error().contains("out of disk"), "{}", ran.err);
    }
    // Nothing is free, not even for the record of who works there, and it is what makes room.
    let full = fs::write(&filler, vec![1; 2 << 20]).expect_err("a full disk");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    place.run(&["--quiet"]).expect(6);
    place.gpugraph(&["clean", "small/work", "--all"]).expect(0);
    assert!(!place.path("small/work/graph").exists() && !place.path("small/work/manifest.json").exists());
    // Refused before it begins where the blocks can't fit, and in the middle where they nearly do.
    fs::remove_file(&filler).expect("remove");
    drop(small);
    let _roomy = Mount::tmpfs(&place.path("small"), "size=64m").expect("a second mount");
    place.run(&["--quiet"]).expect(0);
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("small/work/report.json")).expect("a report")).expect("JSON");
    let known = oracle(30_000, &edges).0;
    assert_eq!(triangles(&report), known);
}

/// A mount that ends with the test.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(at: &Path, options: &str) -> Option<Mount> {
        fs::create_dir_all(at).expect("a folder");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Mount(at.to_owned()));
        }
        println!("SKIPPED: this machine lets nobody mount a tmpfs");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_file_size_limit_is_a_full_disk() {
    let place = Place::new();
    let edges = random_edges(2000, 60_000, 4);
    place.job_on(&place.u32("edges.u32", &edges), "");
    // 8 blocks of 512 bytes: less than any block of the graph.
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -f 8; exec \"$0\" run job.toml", env!("CARGO_BIN_EXE_gpugraph")]);
    let output = shell.current_dir(place.path("")).output().expect("run");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{err}");
    assert!(
        err.lines().last().is_some_and(|line| line.starts_with("error: ")
            && line.contains("out of disk")
            && line.contains("ulimit -f")),
        "{err}"
    );
    assert_eq!(triangles(&place.report(&[])), oracle(2000, &edges).0);
}

#[test]
fn a_workdir_that_cannot_be_written_is_named() {
    let place = Place::new();
    place.job_on(&place.u32("edges.u32", &random_edges(100, 900, 1)), "");
    place.write("file", "");
    let ran = place.run(&["--set", "job.workdir=file/work"]).expect(10);
    assert!(ran.error().contains("file/work"), "{}", ran.err);
    // Root may write where the mode says no, so it must be another user, or a read-only mount.
    fs::create_dir(place.path("closed")).expect("a folder");
    let _mount = if root() {
        let Some(mount) = Mount::tmpfs(&place.path("closed"), "size=1m,ro") else { return };
        Some(mount)
    } else {
        fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o555)).expect("close");
        None
    };
    for workdir in ["closed", "closed/work"] {
        let ran = place.run(&["--set", &format!("job.workdir={workdir}")]).expect(10);
        assert!(ran.error().contains("closed"), "{}", ran.err);
    }
}

#[test]
fn a_closed_output_or_error_stream_ends_nothing() {
    let place = Place::new();
    place.job_on(&place.u32("edges.u32", &random_edges(100, 900, 1)), "");
    for closed in [">&-", "2>&-", ">&- 2>&- <&-", "> /dev/full", "2> /dev/full"] {
        let line = format!("\"$0\" run job.toml --fresh {closed}");
        let mut shell = Command::new("bash");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_gpugraph")]).stdin(Stdio::null());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let status = shell.current_dir(place.path("")).status().expect("run");
        assert!(place.workdir().join("report.json").exists(), "{closed}");
        assert_ne!(status.code(), Some(101), "{closed}: it panicked");
        assert_eq!(triangles(&place.read_report()), oracle(100, &random_edges(100, 900, 1)).0);
    }
}
