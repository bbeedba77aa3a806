//! A rank that dies, panics or fails ends the job on all, within 30 s, and another number of ranks goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gpugraph::internals::job::state::lock::Lock;

use crate::support::processes::signal_all;
use crate::support::{Dice, answer, triangles};
use crate::{CORNERS, DEATH, KEEP, Ranks, ended, error, files, same_files};

const SMALL: &str = "kronecker = { scale = 14, edge_factor = 8, seed = 1 }";

/// Whether a process, by its folder in /proc, runs the binary in this place.
fn is_rank(job: &Ranks) -> impl Fn(&Path) -> bool {
    let here = fs::canonicalize(job.place.path("")).expect("a folder");
    let binary = fs::canonicalize(&job.built.gpugraph).expect("a binary");
    move |process| {
        let of = |what: &str| fs::read_link(process.join(what)).unwrap_or_default();
        // A process that ends has no binary any more while it still holds its locks.
        of("cwd") == here && [binary.as_path(), Path::new("")].contains(&of("exe").as_path())
    }
}

/// The folders of these processes in /proc.
fn processes(job: &Ranks) -> Vec<PathBuf> {
    let (entries, is_rank) = (fs::read_dir("/proc").expect("processes").flatten(), is_rank(job));
    entries.map(|entry| entry.path()).filter(|process| is_rank(process)).collect()
}

/// Whether the ranks have met and the leader has the workdir. Before that mpirun may hang by itself: Open MPI's 4.1 did once where a rank
/// was killed while it made its connection to mpirun.
fn has_begun(job: &Ranks) -> bool {
    Lock::owner(&job.place.workdir()).is_some_and(|owner| is_rank(job)(&Path::new("/proc").join(owner.pid.to_string())))
}

/// No rank is left behind, nor does any come to its end much later.
#[track_caller]
fn nobody_is_left(job: &Ranks) {
    let until = Instant::now() + Duration::from_secs(15);
    while !processes(job).is_empty() {
        assert!(Instant::now() < until, "ranks are left behind: {:?}", processes(job));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn killed_ten_times_at_random_it_has_the_same_answer() {
    const TIMES: u32 = 10;
    let Some(mut job) = Ranks::new() else { return };
    let big = "kronecker = { scale = 17, edge_factor = 16, seed = 1 }";
    job.place.job(big, &format!("{KEEP}[limits]\nthreads = 1\n"));
    let alone = job.report(0, &[]);
    let stored = files(&job.place.workdir(), &["graph"]);
    job.forget();
    let mut dice = Dice(std::process::id().into());
    let seed = dice.0;
    let (mut killed, mut finished) = (0, 0);
    while killed < TIMES {
        let ranks = 2 + dice.below(3) as usize;
        job.limit = 60;
        let started = job.start(ranks, &["--quiet"]);
        let began = Instant::now();
        while !has_begun(&job) && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(dice.below(600)));
        let alive = processes(&job);
        let victim = if alive.is_empty() { None } else { alive.get(dice.below(alive.len() as u64) as usize) };
        if let Some(victim) = victim {
            signal_all(libc::SIGKILL, |process| process == victim && is_rank(&job)(process));
        }
        let died = Instant::now();
        let ran = started.end();
        let took = died.elapsed();
        assert!(took < Duration::from_secs(DEATH.into()), "seed {seed}: {took:?} after a death: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "seed {seed}: {}", ran.err);
        assert!(!ran.err.contains("in use"), "seed {seed}: a dead leader's workdir: {}", ran.err);
        nobody_is_left(&job);
        match ran.code {
            // Done before: from the start again, so that every death is one in the middle.
            0 => {
                finished += 1;
                assert_eq!(answer(&job.place.read_report()), answer(&alone), "seed {seed}");
                job.forget();
            }
            _ => killed += 1,
        }
        assert!(finished < 40, "seed {seed}: the job is too short to be killed");
    }
    job.alike();
    assert_eq!(answer(&job.report(3, &[])), answer(&alone), "seed {seed}");
    same_files("after deaths", &files(&job.place.workdir(), &["graph"]), &stored);
    println!("{killed} times killed, {finished} times done before that");
}

/// At these places rank 2 of 3, who builds blocks, and rank 0, who keeps the books, die or fail.
#[test]
fn one_rank_fails_at_a_place_and_others_go_on() {
    let Some(mut job) = Ranks::new() else { return };
    if job.built.kind != crate::Kind::OpenMpi {
        println!("SKIPPED: exit codes of killed ranks are those of Open MPI");
        return;
    }
    job.place.job(SMALL, &format!("{KEEP}{CORNERS}[limits]\nthreads = 2\n"));
    let alone = job.report(0, &[]);
    let all = ["graph", "out"];
    let stored = files(&job.place.workdir(), &all);
    let resumed_by = [2, 0, 1, 4];
    let cases = [
        (2, "store.write=2:kill", 137, &[][..]),
        (2, "store.write=2:enospc", 6, &["rank 2: ", "out of disk", ".block"]),
        (2, "store.rename=1:panic", 9, &["rank 2: ", "panicked"]),
        (0, "store.create=1:eio", 10, &["rank 0: "]),
        (0, "unit.done=5:kill", 137, &[]),
        (0, "out.rename=1:kill", 137, &[]),
        (0, "out.write=2:eio", 10, &["rank 0: "]),
    ];
    for (i, (rank, rule, code, words)) in cases.into_iter().enumerate() {
        job.forget();
        job.failing(rank, rule);
        let began = Instant::now();
        let ran = job.run(3, &["--quiet"]);
        let what = format!("{rule} on rank {rank}");
        assert_eq!(ran.code, code, "{what} after {:?}: {}", began.elapsed(), ran.err);
        match words {
            [] => {}
            words => {
                let line = error(&ran);
                words.iter().for_each(|word| assert!(line.contains(word), "{what}: {word} is not in {line}"));
            }
        }
        nobody_is_left(&job);
        job.alike();
        let ranks = resumed_by[i % 4];
        let report = job.report(ranks, &[]);
        assert_eq!(answer(&report), answer(&alone), "{what}, then {ranks} ranks");
        same_files(&what, &files(&job.place.workdir(), &all), &stored);
    }
}

/// One rank's spill has too little disk.
#[test]
fn a_spill_that_fails_on_one_rank_ends_all() {
    let Some(mut job) = Ranks::new() else { return };
    job.place.job(
        "kronecker = { scale = 19, edge_factor = 16, seed = 2 }",
        "[limits]\nthreads = 2\nhost_memory = '48MiB'\n",
    );
    job.failing(2, "spill.write=2:enospc");
    ended(&job.run(3, &["--quiet"]), 6, &["rank 2: ", "spill", "out of disk"]);
    job.alike();
    let by_ranks = triangles(&job.report(2, &[]));
    job.forget();
    assert_eq!(triangles(&job.report(0, &["--set", "limits.host_memory=1GiB"])), by_ranks);
}
