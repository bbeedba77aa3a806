//! Ranks with GPUs: the stand-in for CUDA under several of them.

mod bfs;
mod components;
mod home;
mod traverse;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::{answer, cuda_on_cpu, oracle, random_edges, triangles};
use crate::{CORNERS, DEATH, KEEP, Ranks, ended, files, same_files};

/// A job, the folder of the stand-in, the processor's answer, and the files that it leaves.
type OnGpu = (Ranks, PathBuf, serde_json::Value, BTreeMap<String, Vec<u8>>);

fn job(tables: &str, edges: usize) -> Option<OnGpu> {
    let (job, cuda) = (Ranks::new()?, cuda_on_cpu()?);
    let edges = random_edges(600, edges, 3);
    job.place.u32("edges.u32", &edges);
    job.place.job("path = 'edges.u32'", &format!("{tables}[limits]\nthreads = 2\ngpu_memory = '64MiB'\n"));
    let report = job.report(0, &["--set", "run.device=cpu"]);
    assert_eq!(triangles(&report), oracle(600, &edges).0);
    let stored = files(&job.place.workdir(), &["graph", "out"]);
    job.forget();
    Some((job, cuda, report, stored))
}

/// The lines of the shell by which a rank has a GPU.
fn gpu(job: &Ranks, cuda: &std::path::Path) -> String {
    format!("export LD_LIBRARY_PATH={} XDG_CACHE_HOME={}", cuda.display(), job.place.path("cache").display())
}

#[test]
fn ranks_that_share_a_gpu_leave_the_same() {
    // From the host, then from each other's GPUs. Ranks divide counts of edges by groups of blocks.
    for (table, ranks, ipc) in [(CORNERS, 3, 0), (CORNERS, 2, 1), ("[triangle]\nper_edge = true\n", 3, 1)] {
        let Some((mut job, cuda, known, stored)) = job(&format!("{KEEP}{table}"), 20_000) else { return };
        job.on = (0..ranks).map(|rank| (rank, format!("{} CUDA_ON_CPU_IPC={ipc}", gpu(&job, &cuda)))).collect();
        let ran = job.run(ranks, &["--quiet", "--set", "run.device=gpu"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let said = ran.err.lines().filter(|line| line.contains("share a GPU")).count();
        assert_eq!(said, 1, "said once: {}", ran.err);
        let report = job.place.read_report();
        assert_eq!((answer(&report), &report["device"]), (answer(&known), &"gpu".into()), "{ranks} ranks");
        same_files("a GPU", &files(&job.place.workdir(), &["graph", "out"]), &stored);
        // One GPU for several ranks, where that is not wanted.
        ended(
            &job.run(2, &["--quiet", "--fresh", "--set", "run.device=gpu", "--set", "run.gpu_sharing=refuse"]),
            2,
            &["2 ranks on ", "1 GPU", "gpu_sharing"],
        );
    }
}

#[test]
fn a_rank_sees_the_gpu_whose_turn_it_is_alone() {
    let Some((mut job, cuda, known, stored)) = job(KEEP, 20_000) else { return };
    let line = format!("{} CUDA_ON_CPU_IPC=1 CUDA_ON_CPU_DEVICES=3 GPUGRAPH_LOG=debug", gpu(&job, &cuda));
    for (ranks, visible, turns) in [(2, "0,2", [1, 1]), (3, "0,1", [2, 1])] {
        job.forget();
        job.on = (0..ranks).map(|rank| (rank, format!("{line} CUDA_VISIBLE_DEVICES={visible}"))).collect();
        let ran = job.run(ranks, &["--quiet", "--set", "run.device=gpu"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let said = |what: &str| ran.err.lines().filter(|line| line.contains(what)).count();
        let alone = [0, 1].map(|gpu| said(&format!("the GPU is ready gpu={gpu} alone=true")));
        assert_eq!((alone, said("share a GPU")), (turns, usize::from(ranks > 2)), "{}", ran.err);
        let report = job.place.read_report();
        assert_eq!(report["host"]["gpus"].as_array().map(Vec::len), Some(2), "{report}");
        assert_eq!(answer(&report), answer(&known));
        same_files("a GPU each", &files(&job.place.workdir(), &["graph", "out"]), &stored);
    }
}

#[test]
fn ranks_without_a_gpu_beside_one_that_has_it() {
    let Some((mut job, cuda, known, stored)) = job(KEEP, 20_000) else { return };
    for (with, ranks) in [(1, 3), (0, 2)] {
        job.forget();
        job.on = vec![(with, gpu(&job, &cuda))];
        let ran = job.run(ranks, &["--quiet", "--set", "run.device=auto"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let said = ran.err.lines().filter(|line| line.contains("computing on the CPU")).count();
        assert_eq!(said, 1, "said once: {}", ran.err);
        assert_eq!(answer(&job.place.read_report()), answer(&known));
        same_files("one GPU", &files(&job.place.workdir(), &["graph", "out"]), &stored);
        // Not with less than was asked for.
        let ran = job.run(ranks, &["--quiet", "--fresh", "--set", "run.device=gpu"]);
        assert!([2, 9].contains(&ran.code) && crate::error(&ran).contains("GPU"), "{}: {}", ran.code, ran.err);
    }
}

#[test]
fn a_gpu_lost_on_one_rank_ends_the_job_which_goes_on_elsewhere() {
    let Some((mut job, cuda, known, stored)) = job(KEEP, 20_000) else { return };
    for launch in ["3", "40"] {
        job.forget();
        job.limit = DEATH;
        job.on = (0..2).map(|rank| (rank, gpu(&job, &cuda))).collect();
        job.on[1].1 += &format!("; export CUDA_ON_CPU_FAIL_LAUNCH={launch}");
        let ran = job.run(2, &["--quiet", "--set", "run.device=gpu"]);
        ended(&ran, 9, &["rank 1: ", "CUDA_ERROR_"]);
        job.alike();
        let report = job.report(3, &["--set", "run.device=cpu"]);
        assert_eq!(answer(&report), answer(&known));
        same_files("after a lost GPU", &files(&job.place.workdir(), &["graph", "out"]), &stored);
    }
}
