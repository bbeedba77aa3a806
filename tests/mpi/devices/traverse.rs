//! Traversal by ranks that have GPUs, and by some that have none beside them.

use std::collections::BTreeMap;
use std::fs;

use super::gpu;
use crate::support::{cuda_on_cpu, number, random_edges};
use crate::{DEATH, KEEP, Ranks, files, same_files};

/// A job, the folder of the stand-in, and the trees that a CPU leaves.
fn job(roots: &str, vertices: u64, edges: usize) -> Option<(Ranks, std::path::PathBuf, BTreeMap<String, Vec<u8>>)> {
    let (job, cuda) = (Ranks::new()?, cuda_on_cpu()?);
    let edges = random_edges(vertices, edges, 3);
    job.place.u32("edges.u32", &edges);
    let table = format!("{KEEP}[traverse]\n{roots}\nwrite = true\n[limits]\nthreads = 1\ngpu_memory = '16MiB'\n");
    job.place.job("path = 'edges.u32'", &table.replace("FIRST", &edges[0][0].to_string()));
    job.report(0, &["--set", "run.device=cpu"]);
    let known = files(&job.place.workdir(), &["out/traverse"]);
    assert!(known.len() >= 2);
    Some((job, cuda, known))
}

#[test]
fn ranks_with_gpus_traverse_together() {
    let Some((mut job, cuda, known)) = job("sources = [FIRST]", 3000, 40_000) else { return };
    let mut sent = BTreeMap::new();
    // GPUs that reach each other, in one piece and in several, or do not; the last rank of three has no GPU, and computes its own vertices all the same.
    for (number_of, (ranks, strategy, owner, ipc, memory)) in [
        (2, "sort-unique", "modulo", 1, "16MiB"),
        (2, "sort-unique", "blocks", 1, "2MiB"),
        (2, "atomic", "modulo", 1, "2MiB"),
        (2, "sort-unique", "modulo", 0, "16MiB"),
        (2, "atomic", "modulo", 0, "2MiB"),
        (3, "sort-unique", "blocks", 1, "16MiB"),
    ]
    .into_iter()
    .enumerate()
    {
        let with_gpu = ranks.min(2);
        let line = format!("{} CUDA_ON_CPU_IPC={ipc} GPUGRAPH_LOG=debug", gpu(&job, &cuda));
        job.on = (0..with_gpu).map(|rank| (rank, format!("{line} CUDA_ON_CPU_SEED={}", number_of % 3))).collect();
        // A table that differs is computed anew; where sources are named, nothing depends on the seed.
        let seed = format!("traverse.seed={}", number_of + 2);
        let sets = [
            format!("traverse.strategy={strategy}"),
            format!("traverse.owner={owner}"),
            format!("limits.gpu_memory={memory}"),
        ];
        let device = if ranks == 3 { "run.device=auto" } else { "run.device=gpu" };
        let ran =
            job.run(ranks, &["--set", device, "--set", &sets[0], "--set", &sets[1], "--set", &sets[2], "--set", &seed]);
        let what = format!("{ranks} ranks, {strategy}, {owner}, {ipc}, {memory}");
        assert_eq!(ran.code, 0, "{what}: {}", ran.err);
        let report = job.place.read_report();
        assert_eq!(report["device"], "gpu", "{what}");
        same_files(&what, &files(&job.place.workdir(), &["out/traverse"]), &known);
        let together = ranks == 2 && ipc == 1;
        assert_eq!(!ran.err.contains("ranks send by way of the host"), together, "{what}: {}", ran.err);
        assert_eq!(ran.err.matches(&format!("pulls={together}")).count(), with_gpu, "{what}: {}", ran.err);
        let source = &report["results"]["traverse"]["sources"][0];
        let times = source["ranks"].as_array().expect("ranks");
        let busy = times.iter().filter(|rank| rank["kernel_seconds"].as_f64() > Some(0.0)).count();
        assert_eq!(busy, with_gpu, "{what}: {source}");
        assert!(times.iter().all(|rank| rank["exchange_seconds"].as_f64() > Some(0.0)), "{what}: {source}");
        if memory == "2MiB" {
            let (_, piece) = ran.err.split_once("piece=").expect("a piece");
            let piece: u64 = piece.split(' ').next().and_then(|piece| piece.parse().ok()).expect("a number");
            let levels = source["levels"].as_array().expect("levels");
            assert!(levels.iter().any(|level| number(level, "expanded") > 2 * piece), "{what}: {piece}, {source}");
        }
        // What is sent depends on pieces, which prune by themselves, and not on the way.
        let told = ["pruned", "sent_bytes", "unpruned_bytes"].map(|key| number(source, key));
        if memory == "16MiB" || strategy == "atomic" {
            assert_eq!(*sent.entry((ranks, strategy)).or_insert(told), told, "{what}");
        }
        assert_eq!(told[0] == 0, strategy == "atomic", "{what}");
    }
    let [pruned, all] = [sent[&(2, "sort-unique")], sent[&(2, "atomic")]];
    assert!(0 < pruned[1] && 2 * pruned[1] < all[1], "{sent:?}");
    assert_eq!((pruned[2], all[1]), (all[2], all[2]), "{sent:?}");
}

/// A rank that dies, or whose GPU fails, while others wait for what it leaves, ends the job, which goes on where it was.
#[test]
fn a_rank_that_dies_while_gpus_traverse_loses_one_search() {
    let Some((mut job, cuda, known)) = job("roots = 4", 500, 4000) else { return };
    let line = format!("{} CUDA_ON_CPU_IPC=1", gpu(&job, &cuda));
    for rule in ["GPUGRAPH_FAILPOINTS=traverse.level=9:kill", "CUDA_ON_CPU_FAIL_LAUNCH=400"] {
        job.forget();
        job.limit = DEATH;
        job.on = (0..2).map(|rank| (rank, line.clone())).collect();
        job.on[1].1 += &format!(" {rule}");
        let ran = job.run(2, &["--quiet", "--set", "run.device=gpu"]);
        assert_ne!(ran.code, 0, "{rule}");
        job.alike();
        job.on = (0..2).map(|rank| (rank, line.clone())).collect();
        let hits = job.place.path("hits");
        job.hits = Some(hits.clone());
        job.report(2, &["--set", "run.device=gpu"]);
        job.hits = None;
        let counted = fs::read_to_string(&hits).unwrap_or_default();
        assert!(counted.lines().any(|line| line.starts_with("traverse.level")), "{rule}: {counted}");
        same_files(rule, &files(&job.place.workdir(), &["out/traverse"]), &known);
    }
}
