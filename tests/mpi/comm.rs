//! Ranks, on each MPI that is installed: every operation against plain computation (tests/ranks), and every way in which
//! a rank can end. Without MPI these tests skip themselves.

use crate::support::mpi::{Built, Kind, built, mpirun};
use crate::support::{Place, Ran, Started, environment_of, without_mpi};
use std::process::Command;

/// Runs a case of tests/ranks. It hangs if it takes this many seconds, which is more than a job may outlive a rank.
fn run(built: &Built, ranks: usize, case: &str, limit: u32) -> Ran {
    let place = Place::new();
    Ran::command(&mut mpirun(&place, built, ranks, limit, &built.ranks, &[case]))
}

/// The same where segments of shared memory have at most so many bytes.
fn run_within(bytes: u64, built: &Built, ranks: usize, case: &str, limit: u32) -> Ran {
    let place = Place::new();
    let mut command = mpirun(&place, built, ranks, limit, &built.ranks, &[case]);
    Ran::command(command.env("GPUGRAPH_SHARED_MEMORY", bytes.to_string()))
}

/// Each rank came to its end.
#[track_caller]
fn passed(built: &Built, ranks: usize, case: &str) -> Ran {
    all_passed(built, ranks, case, run(built, ranks, case, 300))
}

#[track_caller]
fn passed_within(bytes: u64, built: &Built, ranks: usize, case: &str) -> Ran {
    all_passed(built, ranks, case, run_within(bytes, built, ranks, case, 300))
}

#[track_caller]
fn all_passed(built: &Built, ranks: usize, case: &str, ran: Ran) -> Ran {
    let ran = ran.expect(0);
    let mut lines: Vec<_> = ran.out.lines().filter(|line| line.starts_with("passed ")).collect();
    lines.sort();
    let mut expected: Vec<_> = (0..ranks).map(|rank| format!("passed {rank}")).collect();
    expected.sort();
    assert_eq!(lines, expected, "{:?} {ranks} {case}: {}", built.kind, ran.err);
    ran
}

/// The lines of error that a job ended with.
fn errors(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|line| line.starts_with("error: ")).collect()
}

/// Ranks 0, 1 and 2, of which something happens to the last: the job ends with this code and this one line.
#[track_caller]
fn ends(built: &Built, case: &str, code: i32, line: &str) -> Ran {
    let ran = run(built, 3, case, 30);
    let errors = errors(&ran);
    assert_eq!(ran.code, code, "{:?} {case}: {}", built.kind, ran.err);
    assert_eq!(errors.len(), 1, "{:?} {case}: {}", built.kind, ran.err);
    assert!(errors[0].starts_with(line), "{:?} {case}: {}", built.kind, ran.err);
    assert!(!ran.out.contains("passed"), "{case}: {}", ran.out);
    assert!(!ran.err.contains("stack backtrace"), "{}", ran.err);
    ran
}

#[test]
fn operations_give_what_plain_computation_gives() {
    for built in built() {
        // Each round of many ranks on two cores takes its time, and the second MPI changes nothing about their number.
        let ranks = [1, 2, 3].into_iter().chain((built.kind == Kind::OpenMpi).then_some(6));
        ranks.for_each(|ranks| drop(passed(built, ranks, "operations")));
        // Through MPI alone, and with segments for short pieces only.
        passed_within(0, built, 3, "operations");
        passed_within(40_000, built, 2, "operations");
        passed(built, 2, "open-twice");
    }
}

#[test]
fn long_arrays_go_through_shared_memory_where_there_is_room() {
    for built in built() {
        let shared = |ran: Ran| ran.out.lines().filter(|&line| line == "shared true").count();
        assert_eq!(shared(passed(built, 3, "large")), 3, "{:?}", built.kind);
        // As in containers with little of it.
        assert_eq!(shared(passed_within(1 << 20, built, 2, "large")), 0, "{:?}", built.kind);
    }
}

#[test]
fn exchanges_bring_every_message_once() {
    for built in built() {
        for ranks in [1, 2, 3] {
            passed(built, ranks, "exchange");
        }
        if built.kind == Kind::OpenMpi {
            passed(built, 6, "exchange");
        }
        passed_within(0, built, 3, "exchange");
        // The longest shape goes through MPI, between others that do not.
        passed_within(1 << 20, built, 2, "exchange");
    }
}

#[test]
fn rounds_bring_every_word_and_the_numbers_of_every_rank() {
    for built in built() {
        // With more ranks than cores, each round takes its time.
        for ranks in [1, 2, 3] {
            passed(built, ranks, "rounds");
        }
        passed_within(0, built, 2, "rounds");
        passed_within(0, built, 3, "rounds");
        // The longest links go by messages.
        passed_within(1 << 18, built, 2, "rounds");
    }
}

#[test]
fn rounds_take_as_much_memory_as_a_plan_says() {
    let shared = |ran: Ran| ran.out.lines().filter(|&line| line == "shared true").count();
    for built in built() {
        assert_eq!(shared(passed(built, 2, "rounds-memory")), 8, "{:?}", built.kind);
        assert_eq!(shared(passed(built, 3, "rounds-memory")), 12, "{:?}", built.kind);
        assert_eq!(shared(passed_within(0, built, 3, "rounds-memory")), 0, "{:?}", built.kind);
    }
}

#[test]
fn ranks_know_their_place() {
    for built in built() {
        for ranks in [1, 3] {
            let ran = passed(built, ranks, "place");
            for rank in 0..ranks {
                let placed = format!("placed [{rank}, {ranks}, {rank}, {ranks}, 1]");
                assert!(ran.out.lines().any(|line| line == placed), "{placed}: {}", ran.out);
            }
        }
        // Started by no launcher.
        let ran = Ran::command(Command::new(&built.ranks).arg("place")).expect(0);
        assert_eq!(ran.out, "placed [0, 1, 0, 1, 1]\npassed 0\n");
        let ran = Ran::command(Command::new(&built.ranks).arg("operations")).expect(0);
        assert_eq!(ran.out, "passed 0\n");
    }
}

#[test]
fn an_error_on_one_rank_ends_all_with_its_exit_code() {
    for built in built() {
        ends(built, "error", 9, "error: rank 2: the GPU of this rank is gone; finished work is kept");
        ends(built, "failing-take", 6, "error: rank 2: spill: out of disk: no bin has room");
        ends(built, "failing-take-in-round", 6, "error: rank 2: spill: out of disk: no bin has room");
        ends(built, "other-words-in-round", 10, "error: rank 2: ");
        ends(built, "failing-work", 4, "error: rank 2: block: corrupt: a checksum");
        // What ranks have alike the leader says; what only one has, that one says in the end.
        ends(built, "alike", 2, "error: rank 0: unknown key");
        ends(built, "one-usage", 2, "error: rank 2: only here");
    }
}

#[test]
fn a_panic_on_one_rank_ends_all_with_9() {
    for built in built() {
        ends(built, "panic", 9, "error: rank 2: panicked at tests/ranks/rank.rs:");
        ends(built, "panic-on-a-thread", 9, "error: rank 2: panicked at tests/ranks/rank.rs:");
        ends(built, "panic-in-work", 9, "error: rank 2: panicked at tests/ranks/exchange.rs:");
        let ran = run(built, 3, "panic", 30);
        assert!(ran.err.contains(": as ordered in two lines; "), "in one line: {}", ran.err);
        // A process alone ends as any program that panics, in one line too.
        let ran = Ran::command(Command::new(&built.ranks).arg("panic"));
        assert_eq!((ran.code, ran.err.lines().count()), (101, 1), "{}", ran.err);
    }
}

#[test]
fn a_killed_rank_ends_all() {
    for built in built() {
        let shared = ["killed", "killed-in-exchange", "killed-in-round"].map(|case| (case, u64::MAX));
        for (case, bytes) in shared.into_iter().chain([("killed-in-round", 0)]) {
            let ran = run_within(bytes, built, 3, case, 30);
            // 137 from Open MPI, 9 from MPICH: it is their launcher that noticed.
            assert!([137, 9].contains(&ran.code), "{:?} {case}: {}: {}", built.kind, ran.code, ran.err);
            assert!(!ran.out.contains("passed"), "{case}: {}", ran.out);
        }
    }
}

#[test]
fn a_stopped_job_ends_when_the_leader_has_saved() {
    for built in built() {
        let ran = ends(built, "stopped", 75, "error: rank 0: stopped by SIGUSR1");
        assert!(ran.err.contains("saved\n"), "{}", ran.err);
        ends(built, "stopped-alone", 75, "error: rank 2: stopped by SIGUSR1");
        // SIGUSR1 and SIGTERM to mpirun.
        for (case, signal, says) in
            [("wait-for-signal", 10, 0), ("wait-for-signal", 15, 0), ("waiting-in-round", 10, 2)]
        {
            let mut command = Command::new("sh");
            let place = Place::new();
            let inner = mpirun(&place, built, 3, 60, &built.ranks, &[case]);
            // Its lines come on stdout, which is watched here.
            // Without `timeout -k 5 60`, which would die of SIGUSR1 alone.
            command.args(["-c", "exec \"$@\" 1>&2", "sh"]).args(inner.get_args().skip(3));
            environment_of(&inner, &mut command);
            let mut started = Started::new(&mut command);
            for _ in 0..3 {
                assert!(started.until("waiting "), "they did not start");
            }
            started.signal(signal);
            let ran = started.end();
            let expected = if signal == 10 { "SIGUSR1" } else { "SIGTERM" };
            assert!(
                ran.err.contains(&format!("error: rank {says}: stopped by {expected}")),
                "{:?} {case}: {}",
                built.kind,
                ran.err
            );
            // Open MPI's mpirun, itself told to end, ends with 1.
            let code = if built.kind == Kind::OpenMpi && signal == 15 { 1 } else { 75 };
            assert_eq!(ran.code, code, "{:?} {case} {expected}: {}", built.kind, ran.err);
        }
    }
}

/// MPI waits for ever for a rank that never starts it.
#[test]
fn ranks_that_never_meet_give_up() {
    for built in built() {
        // MPICH's mpirun does not always exit with the code of the rank that ended the job.
        let script = "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; [ $rank = 0 ] || exec sleep 60; \"$0\" place; echo $? >\"$1\"; exit 9";
        let (program, place) = (built.ranks.to_str().expect("text"), Place::new());
        let code = place.path("code");
        let arguments = ["-c", script, program, code.to_str().expect("text")];
        let mut command = mpirun(&place, built, 2, 30, std::path::Path::new("sh"), &arguments);
        let ran = Ran::command(command.env("GPUGRAPH_MPI_START", "3"));
        assert!(ran.code != 0, "{:?}: {}", built.kind, ran.err);
        assert_eq!(std::fs::read_to_string(code).expect("a code"), "9\n", "{:?}: {}", built.kind, ran.err);
        assert_eq!(errors(&ran).len(), 1, "{}", ran.err);
        assert!(errors(&ran)[0].starts_with("error: MPI did not start in 3 s: "), "{}", ran.err);
        assert!(ran.err.contains("warning: MPI has not started for 1 s: "), "{}", ran.err);
    }
}

/// Processes that can't find each other would all write to one workdir.
#[test]
fn several_processes_that_are_no_ranks_are_refused() {
    let (built, place) = (built(), Place::new());
    let plain = without_mpi();
    for built in &built {
        if let Some(plain) = &plain {
            let ran = Ran::command(&mut mpirun(&place, built, 3, 30, plain, &["run", "no.toml"]));
            assert_eq!(ran.code, 2, "{}", ran.err);
            let errors = errors(&ran);
            assert_eq!(errors.len(), 1, "{}", ran.err);
            assert!(
                errors[0].starts_with("error: started as 3 ranks, but this gpugraph was built for one"),
                "{}",
                ran.err
            );
            // One process needs no MPI, and a job file that is not there is what is wrong.
            let ran = Ran::command(&mut mpirun(&place, built, 1, 30, plain, &["run", "no.toml"]));
            assert!(ran.code == 2 && ran.err.contains("no.toml"), "{}", ran.err);
        }
        let ran = Ran::command(&mut mpirun(&place, built, 3, 30, &built.gpugraph, &["run", "no.toml"]));
        assert_eq!((ran.code, errors(&ran).len()), (2, 1), "{}", ran.err);
        assert!(errors(&ran)[0].starts_with("error: rank 0: no.toml"), "{}", ran.err);
    }
    let other = |kind: Kind| built.iter().find(|built| built.kind != kind);
    for one in &built {
        let Some(other) = other(one.kind) else { continue };
        let ran = Ran::command(&mut mpirun(&place, one, 2, 60, &other.gpugraph, &["run", "no.toml"]));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert_eq!(errors(&ran).len(), 1, "{}", ran.err);
        assert!(errors(&ran)[0].contains("started as 2 ranks, but MPI finds 1"), "{}", ran.err);
    }
}
