//! Traversal by ranks that have GPUs, and by some that have none beside them.

use super::gpu;
use crate::support::{cuda_on_cpu, number, random_edges};
use crate::{KEEP, Ranks, files, same_files};

#[test]
fn ranks_with_gpus_traverse_together() {
    let (Some(mut job), Some(cuda)) = (Ranks::new(), cuda_on_cpu()) else { return };
    let edges = random_edges(3000, 20_000, 3);
    job.place.u32("edges.u32", &edges);
    let table = format!(
        "{KEEP}[traverse]\nsources = [{}]\nwrite = true\n[limits]\nthreads = 1\ngpu_memory = '16MiB'\n",
        edges[0][0]
    );
    job.place.job("path = 'edges.u32'", &table);
    job.report(0, &["--set", "run.device=cpu"]);
    let known = files(&job.place.workdir(), &["out/traverse"]);
    assert_eq!(known.len(), 2);
    let mut sent = [0; 2];
    // The last rank of three has no GPU, and computes its own vertices all the same.
    for (number_of, (ranks, strategy, owner)) in
        [(2, "sort-unique", "modulo"), (2, "atomic", "modulo"), (3, "sort-unique", "blocks")].into_iter().enumerate()
    {
        let with_gpu = ranks.min(2);
        job.on = (0..with_gpu).map(|rank| (rank, gpu(&job, &cuda))).collect();
        // A table that differs is computed anew; where sources are named, nothing depends on the seed.
        let seed = format!("traverse.seed={}", number_of + 2);
        let sets = [format!("traverse.strategy={strategy}"), format!("traverse.owner={owner}")];
        let device = if ranks == 3 { "run.device=auto" } else { "run.device=gpu" };
        let report = job.report(ranks, &["--set", device, "--set", &sets[0], "--set", &sets[1], "--set", &seed]);
        let what = format!("{ranks} ranks, {strategy}, {owner}");
        assert_eq!(report["device"], "gpu", "{what}");
        same_files(&what, &files(&job.place.workdir(), &["out/traverse"]), &known);
        let source = &report["results"]["traverse"]["sources"][0];
        let times = source["ranks"].as_array().expect("ranks");
        let busy = times.iter().filter(|rank| rank["kernel_seconds"].as_f64() > Some(0.0)).count();
        assert_eq!(busy, with_gpu, "{what}: {source}");
        if ranks == 2 {
            sent[number_of] = number(source, "sent_bytes");
        }
    }
    assert!(0 < sent[0] && 2 * sent[0] < sent[1], "{sent:?}");
}
