//! Traversal on a GPU: the trees that `[bfs]` leaves on a CPU, by each strategy, in pieces of any length and in any order of threads.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::support::gpu::Gpu;
use crate::support::{Dice, number, random_edges};

/// The columns of an algorithm, by source and name.
fn columns(gpu: &Gpu, algorithm: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(gpu.place.workdir().join("out").join(algorithm)).into_iter().flatten().flatten() {
        for name in ["parent", "level"] {
            let bytes = fs::read(folder.path().join(format!("{name}.npy"))).expect("a column");
            found.insert(format!("{}/{name}", folder.file_name().display()), bytes);
        }
    }
    found
}

/// Runs a traversal on the GPU of a job whose searches a CPU made. Returns the first source of the report.
#[track_caller]
fn same_as_cpu(gpu: &Gpu, set: &[&str]) -> Value {
    // A table that differs is computed anew; where sources are named, nothing depends on the seed.
    static RUNS: AtomicU64 = AtomicU64::new(2);
    let seed = format!("traverse.seed={}", RUNS.fetch_add(1, Ordering::Relaxed));
    let set: Vec<&str> = ["run.device=gpu", &seed].into_iter().chain(set.iter().copied()).collect();
    gpu.run(&[], &set).expect(0);
    let report = gpu.place.read_report();
    assert_eq!(report["device"], "gpu", "{set:?}");
    let (found, known) = (columns(gpu, "traverse"), columns(gpu, "bfs"));
    assert!(found == known && !known.is_empty(), "{set:?}: other trees");
    report["results"]["traverse"]["sources"][0].clone()
}

#[track_caller]
fn job(gpu: &Gpu, edges: &[[u64; 2]], directed: bool, sources: &[u64]) {
    let path = gpu.place.u32("edges.u32", edges);
    let tables = format!("sources = {sources:?}\nwrite = true\n");
    gpu.place.write(
        "job.toml",
        format!("[job]\nworkdir = 'work'\nkeep = true\n[input]\npath = '{}'\ndirected = {directed}\n[bfs]\n{tables}[traverse]\n{tables}", path.display()),
    );
    gpu.fresh(&["run.device=cpu"]);
    assert!(columns(gpu, "bfs") == columns(gpu, "traverse"));
}

#[test]
fn random_graphs_in_any_order_of_work() {
    let Some(mut gpu) = Gpu::new() else { return };
    let mut dice = Dice(5);
    for seed in 0..6 {
        gpu.seed = seed;
        let (vertices, edges) = (2 + dice.below(900), 1 + dice.below(9000) as usize);
        let edges = random_edges(vertices, edges, dice.roll());
        let source = edges.iter().find(|[u, v]| u != v).map_or(0, |edge| edge[0]);
        job(
            &gpu,
            &edges,
            seed % 2 == 1,
            &[source, edges[0][1]]
                .iter()
                .copied()
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>(),
        );
        for strategy in ["sort-unique", "atomic"] {
            same_as_cpu(&gpu, &[&format!("traverse.strategy={strategy}"), "traverse.owner=blocks"]);
        }
    }
}

/// Levels of several pieces where memory is short, and of one where it is not: several tiles, all digits of keys.
#[test]
fn pieces_of_any_length() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(70_000, 150_000, 9);
    job(&gpu, &edges, false, &[edges[0][0]]);
    for memory in ["4MiB", "64MiB"] {
        let memory = format!("limits.gpu_memory={memory}");
        let source = same_as_cpu(&gpu, &["traverse.strategy=sort-unique", &memory]);
        assert!(number(&source, "pruned") > 0 && number(&source, "expanded") > 250_000, "{source}");
        assert!(source["ranks"][0]["kernel_seconds"].as_f64() > Some(0.0), "{source}");
        let source = same_as_cpu(&gpu, &["traverse.strategy=atomic", &memory]);
        assert_eq!(number(&source, "pruned"), 0);
    }
    // Less is refused by name, and left to the CPU where that is allowed.
    gpu.run(&[], &["run.device=gpu", "limits.gpu_memory=1MiB", "traverse.seed=1000"]).expect(7);
    let ran = gpu.run(&[], &["run.device=auto", "limits.gpu_memory=1MiB", "traverse.seed=1000"]).expect(0);
    assert!(ran.err.contains("computing on the CPU"), "{}", ran.err);
}

#[test]
fn shapes() {
    let Some(gpu) = Gpu::new() else { return };
    let path: Vec<[u64; 2]> = (0..60).map(|v| [v, v + 1]).collect();
    let star: Vec<[u64; 2]> = (1..5000).map(|v| [0, v]).collect();
    for (edges, sources) in [(vec![[5, 2]], vec![5, 2]), (path, vec![0, 30]), (star, vec![0, 7])] {
        job(&gpu, &edges, false, &sources);
        for strategy in ["sort-unique", "atomic", "auto"] {
            same_as_cpu(&gpu, &[&format!("traverse.strategy={strategy}")]);
        }
    }
}

#[test]
fn any_launch_may_fail() {
    let Some(gpu) = Gpu::stand_in() else { return };
    let edges = random_edges(300, 2000, 13);
    job(&gpu, &edges, false, &[edges[0][0]]);
    for launch in ["2", "9", "20"] {
        let ran = gpu.run(&[("CUDA_ON_CPU_FAIL_LAUNCH", launch)], &["run.device=gpu", "traverse.seed=1000"]);
        assert_eq!(ran.code, 9, "{launch}: {}", ran.err);
    }
    same_as_cpu(&gpu, &[]);
}
