//! Ranks that do not fit together, and bad input that one of them finds: one line, the right code.

use std::fs;

use crate::support::{Ran, answer, oracle, random_edges, triangles};
use crate::{KEEP, Ranks, ended, signal_launcher};

fn small(job: &Ranks) -> u64 {
    let edges = random_edges(300, 4000, 6);
    job.place.u32("edges.u32", &edges);
    job.place.job("path = 'edges.u32'", "[limits]\nthreads = 2\n");
    oracle(300, &edges).0
}

#[test]
fn ranks_with_another_job_are_named() {
    let Some(mut job) = Ranks::new() else { return };
    let known = small(&job);
    let text = fs::read_to_string(job.place.path("job.toml")).expect("read");
    fs::create_dir(job.place.path("elsewhere")).expect("a folder");
    job.place.write("elsewhere/job.toml", text.replace("[triangle]", "[triangle]\nper_vertex = true"));
    job.on.push((2, "cd elsewhere".into()));
    ended(&job.run(3, &["--quiet"]), 2, &["rank 0: ", "rank 2 on ", "another job"]);
    job.alike();
    // A variable that is not the same everywhere.
    job.place.write("job.toml", text.replace("'work'", "\"$WHERE\""));
    job.on = vec![(0, "export WHERE=a".into()), (1, "export WHERE=b".into()), (2, "export WHERE=a".into())];
    ended(&job.run(3, &["--quiet"]), 2, &["rank 0: ", "rank 1 on ", "another job"]);
    assert!(!job.place.path("a").exists() && !job.place.path("b").exists(), "nothing was begun");
    // --set for one.
    job.place.write("job.toml", text);
    job.on = vec![(1, "set -- \"$@\" --set run.trials=2".into())];
    ended(&job.run(2, &["--quiet"]), 2, &["rank 1 on ", "another job"]);
    job.alike();
    assert_eq!(triangles(&job.report(3, &[])), known);
}

/// The same words, but another folder: paths are relative.
#[test]
fn ranks_that_run_in_other_folders_are_refused() {
    let Some(mut job) = Ranks::new() else { return };
    let known = small(&job);
    fs::create_dir(job.place.path("elsewhere")).expect("a folder");
    for name in ["job.toml", "edges.u32"] {
        fs::copy(job.place.path(name), job.place.path("elsewhere").join(name)).expect("copy");
    }
    job.on.push((1, "cd elsewhere".into()));
    ended(&job.run(3, &["--quiet"]), 2, &["rank 0: ", "rank 1 on "]);
    // With a workdir that is one, the input is another.
    let set = format!("job.workdir={}", job.place.path("one").display());
    ended(&job.run(3, &["--quiet", "--set", &set]), 2, &["rank 1 on "]);
    job.alike();
    assert_eq!(triangles(&job.report(2, &[])), known);
}

#[test]
fn a_fresh_run_that_can_not_start_keeps_what_is_there() {
    let Some(job) = Ranks::new() else { return };
    let known = small(&job);
    assert_eq!(triangles(&job.report(2, &[])), known);
    let set = "limits.host_memory=4MiB";
    ended(&job.run(2, &["--quiet", "--fresh", "--set", set]), 7, &["limits.host_memory = 4 MiB", "at least "]);
    assert_eq!(triangles(&job.place.read_report()), known);
}

#[test]
fn a_rank_without_the_input_says_so() {
    let Some(mut job) = Ranks::new() else { return };
    let known = small(&job);
    let text = fs::read_to_string(job.place.path("job.toml")).expect("read");
    fs::create_dir(job.place.path("elsewhere")).expect("a folder");
    job.place.write("elsewhere/job.toml", text);
    job.on.push((2, "cd elsewhere".into()));
    let set = format!("job.workdir={}", job.place.workdir().display());
    let ran = job.run(3, &["--quiet", "--set", &set]);
    assert!([2, 3].contains(&ran.code), "{}: {}", ran.code, ran.err);
    assert!(crate::error(&ran).contains("rank 2"), "{}", ran.err);
    job.alike();
    assert_eq!(triangles(&job.report(3, &[])), known);
}

/// Ranks change nothing about what is wrong with an input, nor where.
#[test]
fn bad_lines_are_named_as_without_mpi() {
    let Some(job) = Ranks::new() else { return };
    fs::create_dir(job.place.path("parts")).expect("a folder");
    let lines = |bad: Option<usize>| -> String {
        (0..900).map(|i| if Some(i) == bad { "7 x\n".into() } else { format!("{i} {}\n", i + 1) }).collect()
    };
    for name in ["a.txt", "b.txt"] {
        job.place.write(&format!("parts/{name}"), lines(None));
    }
    job.place.write("parts/c.txt", lines(Some(700)));
    // Three shares of 8 MiB chunks: the last part is that of rank 2.
    job.place.job("path = 'parts'", "");
    let alone = job.run(0, &["--quiet", "--fresh"]).expect(3);
    let cause = alone.error().trim_start_matches("error: ").to_owned();
    assert!(cause.contains("c.txt") && cause.contains("701"), "{cause}");
    for ranks in [2, 3] {
        ended(&job.run(ranks, &["--quiet", "--fresh"]), 3, &["rank ", &cause]);
    }
    job.place.write("parts/c.txt", lines(None));
    let known = answer(&job.report(0, &["--fresh"]));
    assert_eq!(answer(&job.report(3, &["--fresh"])), known);
}

#[test]
fn no_input_and_mistakes_of_the_job_are_said_once() {
    let Some(job) = Ranks::new() else { return };
    job.place.job("path = 'nowhere.txt'", "");
    ended(&job.run(3, &["--quiet"]), 3, &["rank 0: ", "nowhere.txt"]);
    job.place.write("job.toml", "[input]\npath = 'a.txt'\nfromat = 'u32'\n[triangle]\n");
    ended(&job.run(3, &["--quiet"]), 2, &["rank 0: "]);
    job.place.job("kronecker = { scale = 12, edge_factor = 4, seed = 1 }", "[limits]\nhost_memory = '1MiB'\n");
    ended(&job.run(3, &["--quiet"]), 7, &["rank 0: ", "too small"]);
}

#[test]
fn a_workdir_in_use_is_refused_by_ranks_and_to_ranks() {
    let Some(job) = Ranks::new() else { return };
    let more = format!("{KEEP}[limits]\nthreads = 1\n");
    job.place.job("kronecker = { scale = 21, edge_factor = 16, seed = 1 }", &more);
    let mut first = job.start(2, &[]);
    assert!(first.until("ingest begins"));
    let alone: Ran = job.run(0, &["--quiet"]).expect(5);
    assert!(alone.error().contains("pid "), "{}", alone.err);
    ended(&job.run(2, &["--quiet"]), 5, &["rank 0: ", "pid "]);
    signal_launcher(&first, libc::SIGUSR1);
    assert_eq!(first.end().code, 75);
}
