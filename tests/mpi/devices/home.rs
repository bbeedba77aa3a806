//! Graphs that ranks keep on their GPUs, where they put edges on each other's shelves.

use std::collections::BTreeMap;
use std::path::Path;

use super::{gpu, job};
use crate::support::{Ran, answer, number, resumed};
use crate::{CORNERS, DEATH, Ranks, files, same_files};

/// Every rank has a GPU that the others reach, and a log; `more` is exported, too.
fn on_gpus(job: &mut Ranks, cuda: &Path, ranks: usize, more: &str) {
    job.alike();
    let line = format!("{} CUDA_ON_CPU_IPC=1 GPUGRAPH_LOG=debug {more}", gpu(job, cuda));
    job.on = (0..ranks).map(|rank| (rank, line.clone())).collect();
}

/// Runs the job in so many KiB of GPU memory for each rank.
fn run(job: &Ranks, ranks: usize, kib: usize, more: &[&str]) -> Ran {
    let memory = format!("limits.gpu_memory={}KiB", ranks * kib);
    job.run(ranks, &[&["--quiet", "--set", "run.device=gpu", "--set", &memory], more].concat())
}

/// How many ranks said a line with all of these words.
fn said(ran: &Ran, words: &[&str]) -> usize {
    ran.err.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// All rows were counted where they were sorted, and no file had any.
#[track_caller]
fn stayed(ran: &Ran, ranks: usize) {
    let counts = [["rows on the GPU", "stays=true"], ["blocks written", "bytes=0"]].map(|words| said(ran, &words));
    assert_eq!(counts, [ranks; 2], "{}", ran.err);
}

/// Lines that found room on all shelves, and those that were expected.
fn room(ran: &Ran) -> (u64, u64) {
    let lines = ran.err.lines().filter_map(|line| line.split_once("room for edges on the GPU lines="));
    lines.fold((0, 0), |(lines, expected), (_, numbers)| {
        let (here, wanted) = numbers.split_once(" expected=").expect("both");
        let number = |text: &str| text.trim().parse::<u64>().expect("a number");
        (lines + number(here), expected + number(wanted))
    })
}

#[test]
fn rows_stay_on_the_gpus_of_ranks_and_leave_the_same() {
    for table in ["", CORNERS] {
        let Some((mut job, cuda, known, stored)) = job(table, 20_000) else { return };
        // Of ranks that share no memory, each other's GPUs are the only way.
        let apart = "GPUGRAPH_SHARED_MEMORY=0";
        let cases =
            [(2, "run.trials=1", ""), (3, "run.trials=2", ""), (1, "run.trials=2", ""), (2, "run.trials=1", apart)];
        for (ranks, set, more) in cases {
            job.forget();
            on_gpus(&mut job, &cuda, ranks, more);
            let ran = run(&job, ranks, 16 << 10, &["--set", set]);
            assert_eq!(ran.code, 0, "{ranks} ranks: {}", ran.err);
            stayed(&ran, ranks);
            let (lines, expected) = room(&ran);
            assert!(lines == expected && expected > 300, "{lines} of {expected}: {}", ran.err);
            let report = job.place.read_report();
            assert_eq!((answer(&report), &report["device"]), (answer(&known), &"gpu".into()), "{ranks} ranks");
            same_files("rows that stayed", &files(&job.place.workdir(), &["graph", "out"]), &stored);
        }
    }
}

/// Some edges stay on GPUs, and no rows; then all edges.
#[test]
fn what_does_not_fit_on_the_gpus_of_ranks_goes_by_the_host() {
    let Some((mut job, cuda, known, stored)) = job(CORNERS, 40_000) else { return };
    let (mut some, mut relayed) = (0, 0);
    let cases = [(2, 1100), (2, 1150), (3, 1100), (2, 1600)].map(|(ranks, kib)| (ranks, kib, "job.keep=false"));
    for (ranks, kib, keep) in cases.into_iter().chain([(3, 1100, "job.keep=true")]) {
        job.forget();
        on_gpus(&mut job, &cuda, ranks, "CUDA_ON_CPU_SEED=4");
        let ran = run(&job, ranks, kib, &["--set", keep]);
        assert_eq!(ran.code, 0, "{ranks} ranks, {kib} KiB: {}", ran.err);
        assert_eq!(said(&ran, &["rows on the GPU", "stays=false"]), ranks, "{}", ran.err);
        let (lines, expected) = room(&ran);
        some += usize::from(0 < lines && lines < expected);
        let mut report = job.place.read_report();
        report["graph"]["kept"] = known["graph"]["kept"].clone();
        assert_eq!(answer(&report), answer(&known), "{ranks} ranks, {kib} KiB");
        // Blocks that take little of the memory lie on the GPUs all the time, else fronts do while they are in hand.
        let together = said(&ran, &["ranks bring batches together"]);
        assert_eq!(together + said(&ran, &["blocks spread over GPUs"]), ranks, "{}", ran.err);
        relayed += together;
        let folders: &[&str] = if keep == "job.keep=false" { &["graph", "out"] } else { &["out"] };
        same_files("by the host", &files(&job.place.workdir(), folders), &stored);
    }
    assert!(some > 0, "all edges were here or there");
    assert!(relayed > 0, "no front was ever brought by ranks together");
}

/// Where the GPUs have no room for rows, ranks keep theirs in memory, and the others read them there.
#[test]
fn rows_in_the_memory_of_ranks_are_read_by_the_others() {
    // Of few edges there is one block, which one rank has and none may cut.
    for (table, edges, most) in [("", 20_000, 3), ("", 3000, 8), (CORNERS, 20_000, 8), (CORNERS, 3000, 3)] {
        let Some((mut job, cuda, known, stored)) = job(table, edges) else { return };
        for (ranks, set) in [(2, "run.trials=1"), (most, "run.trials=2")] {
            job.forget();
            on_gpus(&mut job, &cuda, ranks, "CUDA_ON_CPU_SEED=5 GPUGRAPH_FAILPOINTS='rows.gpu=1:enospc'");
            let ran = run(&job, ranks, 16 << 10, &["--set", set]);
            assert_eq!(ran.code, 0, "{ranks} ranks: {}", ran.err);
            let words: [&[&str]; 4] = [
                &["memory of other ranks", "reads=true"],
                &["rows on the GPU", "stays=false"],
                &["rows in memory", "held=true"],
                &["blocks written", "bytes=0"],
            ];
            assert_eq!(words.map(|words| said(&ran, words)), [ranks; 4], "{}", ran.err);
            assert_eq!(answer(&job.place.read_report()), answer(&known), "{ranks} ranks");
            same_files("rows in memory", &files(&job.place.workdir(), &["graph", "out"]), &stored);
        }
    }
}

/// The leader can't write its journal while ranks wait for each other with a front: all of them end.
#[test]
fn a_journal_that_fails_ends_ranks_that_bring_fronts_together() {
    let Some((mut job, cuda, known, _)) = job("", 40_000) else { return };
    for hit in [1, 2, 4] {
        job.forget();
        on_gpus(&mut job, &cuda, 3, "");
        job.limit = DEATH;
        job.on.push((0, format!("export GPUGRAPH_FAILPOINTS='journal.append={hit}:enospc'")));
        let ran = run(&job, 3, 1100, &["--set", "job.keep=true"]);
        assert_eq!((ran.code, said(&ran, &["ranks bring batches together"])), (6, 3), "hit {hit}: {}", ran.err);
        on_gpus(&mut job, &cuda, 2, "");
        let ran = (0..50).map(|_| run(&job, 2, 1100, &[])).find(|ran| ran.code != 5).expect("ranks that are gone");
        assert_eq!(ran.code, 0, "after hit {hit}: {}", ran.err);
        assert_eq!(answer(&job.place.read_report())["results"], answer(&known)["results"], "after hit {hit}");
    }
}

/// A rank dies, or its GPU, while rows are on the GPUs alone: others make the graph anew, on other devices too, and count what is left.
#[test]
fn what_dies_with_rows_on_its_gpu_is_replaced_by_others() {
    for table in ["", CORNERS] {
        let Some((mut job, cuda, known, stored)) = job(table, 20_000) else { return };
        let killed = (0, "export GPUGRAPH_FAILPOINTS='unit.done=2:kill'", 137);
        let lost = |rank| (rank, "export CUDA_ON_CPU_FAIL_LAUNCH=60", 9);
        let cases = [(2, killed, 3, "gpu"), (3, killed, 2, "cpu"), (2, lost(1), 1, "gpu"), (3, lost(2), 0, "cpu")];
        for (ranks, (rank, how, code), then, device) in cases {
            job.forget();
            on_gpus(&mut job, &cuda, ranks, "");
            job.limit = DEATH;
            job.on.push((rank, how.into()));
            let ran = run(&job, ranks, 16 << 10, &[]);
            assert_eq!(ran.code, code, "{how} on rank {rank}: {}", ran.err);
            assert_eq!(said(&ran, &["rows on the GPU", "stays=true"]), ranks, "{}", ran.err);
            same_files(how, &files(&job.place.workdir(), &["out"]), &BTreeMap::new());
            on_gpus(&mut job, &cuda, then, "");
            let go_on = || match device {
                "gpu" => run(&job, then, 16 << 10, &[]),
                _ => job.run(then, &["--quiet", "--set", "run.device=cpu"]),
            };
            // The launcher may have ended a moment before the last rank.
            let ran = (0..50).map(|_| go_on()).find(|ran| ran.code != 5).expect("ranks that are gone");
            assert_eq!(ran.code, 0, "{then} ranks: {}", ran.err);
            let report = job.place.read_report();
            assert_eq!(answer(&report), answer(&known), "{ranks} ranks, then {then} on {device}");
            // The order of vertices is stored meanwhile, or is not yet.
            let stages = resumed(&report);
            assert!(stages.is_empty() || stages == ["ingest", "relabel"], "{stages:?}");
            assert_eq!(number(&report, "resumes"), 1);
            same_files("after a kill", &files(&job.place.workdir(), &["graph", "out"]), &stored);
        }
    }
}
