//! The published experiment on list ranking, from one submission.

use std::fs;

use serde_json::Value;

use crate::server::Pbs;

const VARIANTS: [&str; 7] = ["serial", "wyllie", "cpu", "ranks-wyllie", "ranks", "gpu-wyllie", "gpu"];
const WORK: &str = "gpugraph.work/listrank-swapped-20000";

/// A site whose gpugraph takes itself to have ranks and a GPU: those are a process alone, on the CPU. `text` is run before it, `$method` by
/// `$device`.
fn site(text: &str) -> Pbs {
    let pbs = Pbs::new();
    pbs.command(
        "bin/openmpi",
        "if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi\necho \"mpirun $1 $2\"; exec \"${@:7}\"",
    );
    let real = env!("CARGO_BIN_EXE_gpugraph");
    pbs.command(
        "ranks",
        &format!(
            "if [ \"$1\" = devices ]; then echo '{{ \"gpus\": [ {{}} ], \"built_in\": true }}'; exit; fi\n\
             [ \"$1\" = run ] || exec {real} \"$@\"\n\
             [[ \"$*\" =~ device=([a-z]*).*method=([a-z]*) ]]; device=${{BASH_REMATCH[1]}} method=${{BASH_REMATCH[2]}}\n\
             {text}\nexec {real} \"${{@/device=gpu/device=cpu}}\""
        ),
    );
    pbs
}

fn variables(more: &str) -> String {
    format!("GPUGRAPH=./ranks,MPIRUN=bin/openmpi,LENGTH=20000{more}")
}

fn report(pbs: &Pbs, variant: &str) -> Value {
    let report = fs::read(pbs.place.path(WORK).join(variant).join("report.json")).expect("a report");
    serde_json::from_slice(&report).expect("JSON")
}

/// The lines of the table, by variant.
fn table(pbs: &Pbs) -> Vec<Vec<String>> {
    let text = fs::read_to_string(pbs.place.path(WORK).join("times.txt")).expect("a table");
    assert!(pbs.log().contains(&text), "{}", pbs.log());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = text.lines().map(words).filter(|line| VARIANTS.contains(&line[0].as_str())).collect();
    let names: Vec<&str> = lines.iter().map(|line| line[0].as_str()).collect();
    assert_eq!(names, VARIANTS, "{text}");
    lines
}

#[test]
fn every_variant_ranks_the_list_and_stands_in_the_table() {
    let pbs = site("");
    let job = pbs.qsub(&["-v", &variables(""), "pbs/listrank.pbs"]);
    assert_eq!(pbs.run(job, &["n1"; 8]), [0], "{}", pbs.log());
    for (line, variant) in table(&pbs).iter().zip(VARIANTS) {
        let size = match variant {
            "serial" => ["1", "1"],
            _ if variant.starts_with("ranks") => ["8", "1"],
            _ => ["1", "8"],
        };
        assert_eq!(line[2..4], size, "{line:?}");
        let method = match variant {
            "serial" => "serial",
            _ if variant.ends_with("wyllie") => "wyllie",
            _ => "ruling-set",
        };
        let report = report(&pbs, variant);
        assert_eq!((line[1].as_str(), report["results"]["listrank"]["method"].as_str()), (method, Some(method)));
        let ranking = report["results"]["listrank"]["seconds"].as_f64().expect("seconds");
        // Those of all rounds, which have seconds of their own.
        let rounds = report["results"]["listrank"]["rounds"].as_array().map_or(0, Vec::len);
        assert!(rounds > 0 || variant == "serial", "{report}");
        // Three digits of each.
        let close = |column: usize, value: f64| {
            let told: f64 = line[column].parse().expect("a number");
            assert!((told - value).abs() <= 0.006 * value.max(0.0001), "{} for {value} in {line:?}", line[column]);
            assert!(line[column].trim_start_matches(['0', '.']).len() <= 4, "{line:?}");
        };
        let whole = report["seconds"].as_f64().expect("seconds");
        close(4, ranking);
        close(6, whole);
        assert!(whole > ranking, "{line:?}");
        // A process takes a time to start and to exit, which is not counted there.
        let start: f64 = line[8].parse().expect("seconds");
        assert!(start > 0.001, "{line:?}");
    }
    let log = pbs.log();
    assert_eq!(log.matches("mpirun -n 8\n").count(), 2, "{log}");
    assert_eq!(log.matches("launcher: none").count(), 5, "{log}");
    assert!(log.contains("all ranks are the same: checksum "), "{log}");
    let list = fs::read_to_string(pbs.place.path(WORK).join("swapped.list")).expect("a list");
    assert_eq!(list.split_whitespace().count(), 20_001);

    // All that is done stays so, and the table is printed again.
    let job = pbs.qsub(&["-v", &variables(""), "pbs/listrank.pbs"]);
    let log = pbs.place.path("listrank.1.log");
    fs::remove_file(log).expect("a file");
    assert_eq!(pbs.run(job, &["n1"; 8]), [0], "{}", pbs.log());
    assert_eq!(pbs.log().matches(": done already").count(), VARIANTS.len(), "{}", pbs.log());
    assert_eq!(table(&pbs).len(), VARIANTS.len());
}

#[test]
fn what_is_cut_off_goes_on_and_what_is_done_does_not_run_again() {
    let hangs = "trap 'exit 75' USR1; sleep 60 & wait";
    for (ends, more, codes) in
        [(hangs, ",GRACE=8", [75, 0]), ("sleep 60", ",GRACE=0", [75, 0]), ("kill -9 $$", "", [9, 0])]
    {
        let pbs = site(&format!("if [ $GPUGRAPH_RESTARTS$device$method = 0cpuwyllie ]; then {ends}; fi"));
        let first = pbs.qsub(&["-l", "walltime=00:00:16", "-v", &variables(more), "pbs/listrank.pbs"]);
        let mut found = vec![pbs.start(&first, &["n1"; 8]).end()];
        let mut next = pbs.next().unwrap_or_else(|| panic!("goes on: {}", pbs.log()));
        // It is given what the first was, and nothing of the variant.
        assert!(!["RANKS", "THREADS", "SET"].iter().any(|name| next.variables.contains_key(*name)));
        assert_eq!((next.variables["LENGTH"].as_str(), next.options["-N"].as_str()), ("20000", "listrank"));
        // The rest has time, however busy the machine is.
        next.resources.insert("walltime".into(), "00:02:00".into());
        found.extend(pbs.run(next, &["n1"; 8]));
        let log = pbs.log();
        assert!(found == codes, "{found:?}: {log}");
        assert_eq!(log.matches(": done already").count(), 1, "{log}");
        assert!(log.contains("serial: done already") && log.contains("all ranks are the same"), "{log}");
        assert_eq!(log.matches(" elements in ").count(), 1, "one list: {log}");
        assert_eq!(table(&pbs).len(), VARIANTS.len());
    }
}

#[test]
fn a_deleted_experiment_stays_so() {
    let pbs = site("if [ $device$method = cpuwyllie ]; then : >began; sleep 60; fi");
    let job = pbs.qsub(&["-v", &variables(""), "pbs/listrank.pbs"]);
    let running = pbs.start(&job, &["n1"; 8]);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !pbs.place.path("began").exists() {
        assert!(std::time::Instant::now() < end, "not begun in 60 s: {}", pbs.log());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(running.delete(), 75, "{}", pbs.log());
    assert!(pbs.next().is_none() && pbs.log().contains("not submitted again"), "{}", pbs.log());
}

#[test]
fn a_variant_that_fails_or_finds_other_ranks_is_told() {
    for (ends, code, told) in
        [("exit 7", 7, "failed: exit 7"), ("set -- \"$@\" --set listrank.order=from-head", 8, "other ranks than")]
    {
        let pbs = site(&format!("if [ $device$method = gpuauto ]; then {ends}; fi"));
        let job = pbs.qsub(&["-v", &variables(""), "pbs/listrank.pbs"]);
        assert_eq!(pbs.run(job, &["n1"; 8]), [code], "{}", pbs.log());
        assert!(pbs.log().contains(told), "{}", pbs.log());
        assert_eq!(table(&pbs).len(), VARIANTS.len());
    }
}

#[test]
fn what_there_is_not_is_left_out() {
    let pbs = Pbs::new();
    // A machine of the tests may have a GPU, and may have ranks.
    pbs.command(
        "alone",
        &format!(
            "if [ \"$1\" = devices ]; then echo '{{ \"gpus\": [], \"built_in\": false }}'; else exec {} \"$@\"; fi",
            env!("CARGO_BIN_EXE_gpugraph")
        ),
    );
    for (script, told) in [("pbs/listrank.pbs", "this gpugraph has no MPI"), ("asks.pbs", "one rank was granted")] {
        let text = fs::read_to_string(pbs.place.path("pbs/listrank.pbs")).expect("the script");
        pbs.place.write("asks.pbs", text.replace("mpiprocs=8", "mpiprocs=1"));
        let job = pbs.qsub(&["-v", "GPUGRAPH=./alone,LENGTH=1000,KIND=random,GPUGRAPH_JOB_LOG=all.log", script]);
        let slots = if script == "asks.pbs" { 1 } else { 8 };
        assert_eq!(pbs.run(job, &["n1"; 8][..slots]), [0], "{}", pbs.log());
        let text = fs::read_to_string(pbs.place.path("gpugraph.work/listrank-random-1000/times.txt")).expect("a table");
        assert_eq!((text.matches(told).count(), text.matches("no GPU on ").count()), (2, 2), "{text}");
    }
}
