//! Core numbers on a GPU: the same layers as on a processor, also of a trial that another device began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

const CPU: &str = "run.device=cpu";
const GPU: &[&str] = &["run.device=gpu", "limits.gpu_memory=64MiB"];

/// Rows of 1 to 40 entries, a dense part of two hundred layers, rows of more than 1,024 entries, which join others of their layer, and a path
/// of 550 layers.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(4_000, 30_000, 7);
    edges.extend(random_edges(300, 16_000, 8).into_iter().map(|edge| edge.map(|v| 10_000 + v)));
    edges.extend((0..4).flat_map(|hub| (0..1_500).map(move |v| [11_000 + hub, (v * (hub + 3) * 7) % 4_000])));
    edges.extend((0..1_500).map(|leaf| [12_000, 20_000 + leaf]));
    edges.extend((60_000..61_100).map(|v| [v, v + 1]));
    edges
}

#[test]
fn gpu_layers_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    for input in ["", "directed = true\n"] {
        let path = gpu.place.u32("edges.u32", &edges());
        gpu.place.job(&format!("path = '{}'\n{input}", path.display()), "[cores]\n");
        gpu.fresh(&[CPU]);
        let found = || ["core", "layer"].map(|name| gpu.found("cores", name));
        let of_processor = found();
        gpu.forget();
        gpu.run(&[], GPU).expect(0);
        assert_eq!(gpu.place.read_report()["device"], "gpu");
        assert_eq!(found(), of_processor, "{input}");
        if !input.is_empty() {
            continue;
        }
        let on_cpu: &[&str] = &[CPU, "run.trials=1"];
        for (first, second) in [(on_cpu, GPU), (GPU, on_cpu)] {
            gpu.forget();
            gpu.run(&[("GPUGRAPH_FAILPOINTS", "cores.unit=2:stop")], first).expect(75);
            gpu.run(&[], second).expect(0);
            assert_eq!(found(), of_processor, "{first:?}, then {second:?}");
        }
    }
}

#[test]
fn gpu_without_room_for_all_rows_is_refused_or_left_to_the_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let path = gpu.place.u32("edges.u32", &random_edges(20_000, 400_000, 7));
    gpu.place.job(&format!("path = '{}'\n", path.display()), "[cores]\n");
    let little = "limits.gpu_memory=2MiB";
    let refused = gpu.run(&[], &["run.device=gpu", little]).expect(7);
    assert!(refused.err.contains("gpu_memory") && refused.err.contains("cores"), "{}", refused.err);
    gpu.run(&[], &["run.device=auto", little]).expect(0);
    assert_eq!(gpu.place.read_report()["results"]["cores"]["layers"].as_u64().map(|layers| layers > 1), Some(true));
}
