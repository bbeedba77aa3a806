//! A handful of the same on every MPI that is installed, and from one to another.

use crate::support::mpi::{Kind, built};
use crate::support::{answer, random_edges, triangles};
use crate::{CORNERS, DEATH, KEEP, Ranks, ended, files, same_files};

#[test]
fn every_mpi_leaves_the_same_and_goes_on_where_another_stopped() {
    let jobs: Vec<_> = built().into_iter().map(Ranks::of).collect();
    let Some(first) = jobs.first() else { return };
    let edges = random_edges(900, 30_000, 5);
    let all = ["graph", "out"];
    let input = format!("path = '{}'", first.place.u32("edges.u32", &edges).display());
    let workdir = first.place.workdir();
    let more = format!("[job]\nworkdir = '{}'\nkeep = true\n{CORNERS}[limits]\nthreads = 2\n", workdir.display());
    jobs.iter().for_each(|job| job.place.job(&input, &more));
    first.report(0, &[]);
    let known = first.place.read_report();
    let stored = files(&workdir, &all);
    for job in jobs.iter().filter(|job| job.built.kind != Kind::OpenMpi) {
        first.forget();
        let ran = job.run(3, &["--quiet"]);
        assert_eq!(ran.code, 0, "{:?}: {}", job.built.kind, ran.err);
        assert_eq!(answer(&first.place.read_report()), answer(&known), "{:?}", job.built.kind);
        same_files("another MPI", &files(&workdir, &all), &stored);
    }
    first.forget();
    let mut stopped = Ranks::of(first.built);
    stopped.place.job(&input, &more);
    stopped.failing(0, "unit.done=4:stop");
    ended(&stopped.run(3, &["--quiet"]), 75, &["rank 0: ", "SIGTERM"]);
    let last = &jobs[jobs.len() - 1];
    let ran = last.run(2, &["--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(answer(&first.place.read_report()), answer(&known));
    same_files("by turns", &files(&workdir, &all), &stored);
}

/// The leader numbers strings for all, and is killed while it does.
#[test]
fn strings_are_ids_on_every_mpi() {
    let edges = random_edges(900, 30_000, 5);
    let line = |[u, v]: &[u64; 2]| format!("\"user, {u}\",\"user, {v}\"\n");
    let text: String = edges.iter().map(line).collect();
    let tables = "[bfs]\nsources = ['user, 7', 'user, 800']\nwrite = true\n[dfs]\nsource = 'user, 7'\n";
    let more = format!("{KEEP}{CORNERS}{tables}[limits]\nthreads = 2\n[run]\ndevice = 'cpu'\n");
    for built in built() {
        let mut job = Ranks::of(built);
        job.place.write("edges.csv", &text);
        job.place.job("path = 'edges.csv'\nids = 'string'", &more);
        let alone = job.report(0, &[]);
        let all = ["graph", "out"];
        let stored = files(&job.place.workdir(), &all);
        assert!(stored.contains_key("out/ids.txt") && stored.contains_key("graph/names"), "{:?}", stored.keys());
        for ranks in [2, 3] {
            job.forget();
            let report = job.report(ranks, &[]);
            let what = format!("{ranks} ranks of {:?}", built.kind);
            assert_eq!(report["results"]["bfs"]["sources"][1]["source"], "user, 800", "{what}");
            assert_eq!(triangles(&report), triangles(&alone), "{what}");
            same_files(&what, &files(&job.place.workdir(), &all), &stored);
        }
        job.forget();
        job.failing(0, "names.write=1:kill");
        let ran = job.run(2, &["--quiet"]);
        assert!([9, 137].contains(&ran.code), "{:?}: {} {}", built.kind, ran.code, ran.err);
        job.alike();
        job.report(2, &[]);
        same_files("resumed", &files(&job.place.workdir(), &all), &stored);
        job.place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

#[test]
fn on_every_mpi_a_death_ends_all() {
    for built in built().into_iter().filter(|built| built.kind != Kind::OpenMpi) {
        let mut job = Ranks::of(built);
        job.place
            .job("kronecker = { scale = 14, edge_factor = 8, seed = 1 }", &format!("{KEEP}[limits]\nthreads = 2\n"));
        let known = answer(&job.report(0, &[]));
        job.forget();
        job.failing(2, "store.write=2:kill");
        let ran = job.run(3, &["--quiet"]);
        assert!([9, 137].contains(&ran.code), "{:?}: {} in {DEATH} s: {}", built.kind, ran.code, ran.err);
        job.alike();
        assert_eq!(answer(&job.report(2, &[])), known, "{:?}", built.kind);
    }
}
