//! PageRank on a GPU: the same bytes as on a processor, with rows that stay and rows that stream, also of a trial that another device began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

const CPU: &str = "run.device=cpu";
const GPU: &str = "run.device=gpu";
const LITTLE: [&str; 2] = [GPU, "limits.gpu_memory=2MiB"];
const MUCH: [&str; 2] = [GPU, "limits.gpu_memory=64MiB"];

/// A hub with a long row, random edges, a path and vertices that no edge leaves, if edges have a direction.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(9000, 60_000, 7);
    edges.extend((1..8000).map(|v| [v, 0]));
    edges.extend((9000..9600).map(|v| [v, v + 1]));
    edges.extend((0..300).map(|i| [i, 20_000 + i]));
    edges
}

#[test]
fn gpu_ranks_of_vertices_are_the_same_bytes_as_on_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let one_cpu = [CPU, "run.trials=1"];
    // Devices on which a trial begins and ends.
    for (input, keys, first, second) in [
        ("", "variant = 'graphalytics'\niterations = 7\n", one_cpu, MUCH),
        ("directed = true\n", "variant = 'graphalytics'\niterations = 7\n", MUCH, one_cpu),
        ("directed = true\n", "", LITTLE, MUCH),
        ("", "personalised = [3, 20001, 9001]\ndamping = 0.5\n", one_cpu, LITTLE),
    ] {
        let path = gpu.place.u32("edges.u32", &edges());
        gpu.place.job(&format!("path = '{}'\n{input}", path.display()), &format!("[pagerank]\n{keys}"));
        gpu.fresh(&[CPU]);
        let of_processor = gpu.found("pagerank", "rank");
        for memory in [LITTLE, MUCH] {
            let report = gpu.fresh(&memory);
            assert_eq!(report["device"], "gpu");
            assert_eq!(gpu.found("pagerank", "rank"), of_processor, "{input}{keys}{memory:?}");
        }
        gpu.forget();
        gpu.run(&[("GPUGRAPH_FAILPOINTS", "pagerank.unit=3:stop")], &first).expect(75);
        gpu.run(&[], &second).expect(0);
        assert_eq!(gpu.found("pagerank", "rank"), of_processor, "{input}{keys}{first:?}, then {second:?}");
    }
}
