//! Label propagation on a GPU: the same labels as on a processor, with rows that stay and rows that stream, also of a trial that another device
//! began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

const CPU: &str = "run.device=cpu";
const GPU: &str = "run.device=gpu";
const LITTLE: [&str; 2] = [GPU, "limits.gpu_memory=1MiB"];
const MUCH: [&str; 2] = [GPU, "limits.gpu_memory=64MiB"];

/// Vertices with 1 to 40, about 100, 900 and 3,000 neighbours. After one iteration, all 3,000 neighbours of vertex 50,000 have different labels.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(6_000, 120_000, 7);
    edges.extend(random_edges(300, 16_000, 8).into_iter().map(|edge| edge.map(|v| 10_000 + v)));
    edges.extend((0..5).flat_map(|hub| (0..900).map(move |v| [11_000 + hub, (v * (hub + 3) * 7) % 6_000])));
    edges.extend((0..3_000).flat_map(|v| [[20_000 + v, v], [50_000, 20_000 + v]]));
    edges.extend((60_000..60_200).map(|v| [v, v + 1]));
    edges
}

#[test]
fn gpu_labels_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    for (input, iterations) in [("", 2), ("", 5), ("directed = true\n", 3)] {
        let path = gpu.place.u32("edges.u32", &edges());
        let input = format!("path = '{}'\n{input}", path.display());
        gpu.place.job(&input, &format!("[cdlp]\niterations = {iterations}\n"));
        gpu.fresh(&[CPU]);
        let of_processor = gpu.found("cdlp", "label");
        for (memory, stay) in [(LITTLE, false), (MUCH, true)] {
            gpu.forget();
            let ran = gpu.run(&[("GPUGRAPH_LOG", "debug")], &memory).expect(0);
            assert!(ran.err.contains(&format!("rows on the GPU stay={stay}")), "{}", ran.err);
            assert_eq!(gpu.place.read_report()["device"], "gpu");
            assert_eq!(gpu.found("cdlp", "label"), of_processor, "{input}{iterations} {memory:?}");
        }
        if iterations < 5 {
            continue;
        }
        for (first, second) in [(&[CPU, "run.trials=1"], &MUCH), (&LITTLE, &[CPU, "run.trials=1"])] {
            gpu.forget();
            gpu.run(&[("GPUGRAPH_FAILPOINTS", "cdlp.unit=3:stop")], first).expect(75);
            gpu.run(&[], second).expect(0);
            assert_eq!(gpu.found("cdlp", "label"), of_processor, "{input}{first:?}, then {second:?}");
        }
    }
}
