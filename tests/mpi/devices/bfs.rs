//! Breadth-first search by ranks with a GPU each, which search together where they reach each other.

use std::fs;

use super::gpu;
use crate::support::mpi::mpirun;
use crate::support::{Place, Ran, cuda_on_cpu, number, random_edges};
use crate::{DEATH, KEEP, Ranks, files, one_mpi, same_files};

/// Every shape of graph, in every way in which several GPUs do something together (tests/ranks/gpus.rs).
#[test]
fn gpus_search_graphs_of_all_shapes_together() {
    let (Some(built), Some(cuda)) = (one_mpi(), cuda_on_cpu()) else { return };
    let place = Place::new();
    for (ranks, seed) in [(2, "0"), (3, "29")] {
        let mut command = mpirun(&place, built, ranks, 300, &built.ranks, &["gpus"]);
        command.env("LD_LIBRARY_PATH", &cuda).env("XDG_CACHE_HOME", place.path("cache"));
        command.envs([("CUDA_ON_CPU_IPC", "1"), ("CUDA_ON_CPU_DEVICES", "3"), ("CUDA_ON_CPU_SEED", seed)]);
        let ran = Ran::command(&mut command).expect(0);
        assert_eq!(ran.out.lines().filter(|line| line.starts_with("passed ")).count(), ranks, "{}", ran.err);
    }
}

#[test]
fn ranks_with_gpus_search_together_or_leave_it_to_one() {
    let (Some(mut job), Some(cuda)) = (Ranks::new(), cuda_on_cpu()) else { return };
    let edges = random_edges(3000, 20_000, 3);
    job.place.u32("edges.u32", &edges);
    let sources: Vec<u64> = edges[..4].iter().map(|&[u, _]| u).collect();
    let table = |more: &str| {
        format!("{KEEP}[bfs]\nsources = {sources:?}\nwrite = true\n{more}[limits]\nthreads = 1\ngpu_memory = '16MiB'\n")
    };
    for (input, switch) in [("", ""), ("directed = true\n", "alpha = 1000000\nbeta = 1\n")] {
        job.place.job(&format!("path = 'edges.u32'\n{input}"), &table(switch));
        job.alike();
        job.forget();
        job.report(0, &["--set", "run.device=cpu"]);
        let known = files(&job.place.workdir(), &["out/bfs"]);
        assert!(known.len() >= 2);
        // Ranks that share a GPU or do not reach each other's leave it to one.
        for (ranks, ipc, gpus, together) in [(2, 1, 2, true), (3, 1, 2, false), (2, 0, 2, false)] {
            let line = format!("{} CUDA_ON_CPU_IPC={ipc} CUDA_ON_CPU_DEVICES={gpus}", gpu(&job, &cuda));
            job.on = (0..ranks).map(|rank| (rank, line.clone())).collect();
            job.forget();
            let ran = job.run(ranks, &["--set", "run.device=gpu"]);
            let what = format!("{ranks} ranks, {gpus} GPUs: {}", ran.err);
            assert_eq!(ran.code, 0, "{what}");
            assert_eq!(!ran.err.contains("the GPU of rank 0 searches alone"), together, "{what}");
            let report = job.place.read_report();
            assert_eq!((&report["device"], number(&report, "ranks")), (&"gpu".into(), ranks as u64), "{what}");
            same_files(&what, &files(&job.place.workdir(), &["out/bfs"]), &known);
        }
    }
}

/// Rows that have no room on a GPU are spread over those of two ranks, and read over the bus by that of one.
#[test]
fn rows_that_fit_gpus_together_are_spread_over_them() {
    let (Some(mut job), Some(cuda)) = (Ranks::new(), cuda_on_cpu()) else { return };
    let edges = random_edges(6000, 200_000, 5);
    job.place.u32("edges.u32", &edges);
    let sources: Vec<u64> = edges[..3].iter().map(|&[u, _]| u).collect();
    let table =
        format!("{KEEP}[bfs]\nsources = {sources:?}\nwrite = true\n[limits]\nthreads = 1\ngpu_memory = '2MiB'\n");
    for input in ["", "directed = true\n"] {
        job.place.job(&format!("path = 'edges.u32'\n{input}"), &table);
        job.alike();
        job.forget();
        job.report(0, &["--set", "run.device=cpu"]);
        let known = files(&job.place.workdir(), &["out/bfs"]);
        let line = format!("{} CUDA_ON_CPU_IPC=1 CUDA_ON_CPU_DEVICES=2", gpu(&job, &cuda));
        job.on = (0..2).map(|rank| (rank, line.clone())).collect();
        job.forget();
        let ran = job.run(2, &["--set", "run.device=gpu"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("rows are spread over 2 GPUs"), "{}", ran.err);
        same_files(input, &files(&job.place.workdir(), &["out/bfs"]), &known);
    }
}

/// A rank that dies while others search, or fails on its GPU, ends the job, which goes on where it was.
#[test]
fn a_rank_that_dies_while_gpus_search_loses_one_search() {
    let (Some(mut job), Some(cuda)) = (Ranks::new(), cuda_on_cpu()) else { return };
    job.place.u32("edges.u32", &random_edges(1000, 9000, 5));
    let table = format!("{KEEP}[bfs]\nroots = 6\nwrite = true\n[limits]\nthreads = 1\ngpu_memory = '16MiB'\n");
    job.place.job("path = 'edges.u32'", &table);
    job.report(0, &["--set", "run.device=cpu"]);
    let known = files(&job.place.workdir(), &["out/bfs"]);
    let line = format!("{} CUDA_ON_CPU_IPC=1 CUDA_ON_CPU_DEVICES=2", gpu(&job, &cuda));
    for (rank, rule) in [(1, "bfs.ranks=4:kill"), (0, "bfs.ranks=2:kill"), (1, "bfs.ranks=3:stop")] {
        job.forget();
        job.limit = DEATH;
        job.on = (0..2).map(|rank| (rank, line.clone())).collect();
        job.on[rank].1 += &format!(" GPUGRAPH_FAILPOINTS='{rule}'");
        let ran = job.run(2, &["--quiet", "--set", "run.device=gpu"]);
        assert_ne!(ran.code, 0, "{rule}");
        job.alike();
        job.on = (0..2).map(|rank| (rank, line.clone())).collect();
        let hits = job.place.path("hits");
        job.hits = Some(hits.clone());
        job.report(2, &["--set", "run.device=gpu"]);
        job.hits = None;
        let counted = fs::read_to_string(&hits).unwrap_or_default();
        assert!(counted.lines().any(|line| line.starts_with("bfs.ranks")), "{rule}: {counted}");
        same_files(rule, &files(&job.place.workdir(), &["out/bfs"]), &known);
    }
}
