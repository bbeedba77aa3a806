//! Components by ranks with a GPU each, which join their forests where they reach each other's memory.

use super::gpu;
use crate::support::{cuda_on_cpu, number, random_edges};
use crate::{KEEP, Ranks, files, same_files};

#[test]
fn ranks_with_gpus_join_their_forests_on_the_first_or_by_the_host() {
    let (Some(mut job), Some(cuda)) = (Ranks::new(), cuda_on_cpu()) else { return };
    // A path joins what random edges leave apart, against the order of blocks; some pairs stay apart.
    let mut edges = random_edges(6_000, 4_800, 7);
    edges.extend((6_000..6_600).map(|v| [v, v + 1]));
    edges.extend((0..100).map(|i| [8_000 + 2 * i, 8_001 + 2 * i]));
    job.place.u32("edges.u32", &edges);
    // Rows that stay on the GPUs, and rows that stream; GPUs that reach each other's memory, and others.
    for (input, ways) in
        [("", &[(3, 1, "64MiB"), (2, 1, "1MiB")][..]), ("directed = true\n", &[(2, 1, "64MiB"), (2, 0, "64MiB")])]
    {
        job.place.job(&format!("path = 'edges.u32'\n{input}"), &format!("{KEEP}[components]\n[limits]\nthreads = 2\n"));
        job.alike();
        job.forget();
        let report = job.report(0, &["--set", "run.device=cpu"]);
        assert!(
            number(&report, "results.components.components") > 100 && number(&report, "graph.blocks") >= 3,
            "{report}"
        );
        let known = files(&job.place.workdir(), &["out/components"]);
        assert!(!known.is_empty());
        for &(ranks, ipc, memory) in ways {
            let line = format!("{} CUDA_ON_CPU_IPC={ipc} CUDA_ON_CPU_DEVICES={ranks}", gpu(&job, &cuda));
            job.on = (0..ranks).map(|rank| (rank, line.clone())).collect();
            job.forget();
            let ran = job.run(ranks, &["--set", "run.device=gpu", "--set", &format!("limits.gpu_memory={memory}")]);
            let what = format!("{input}{ranks} ranks, {memory}, {ipc}: {}", ran.err);
            assert_eq!((ran.code, &job.place.read_report()["device"]), (0, &"gpu".into()), "{what}");
            same_files(&what, &files(&job.place.workdir(), &["out/components"]), &known);
        }
    }
}
