//! Core numbers on a GPU: the same layers as on a processor, also of a trial that another device began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

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
        let stop = input.is_empty().then_some("cores.unit=2:stop");
        gpu.does_as_a_processor("cores", &["core", "layer"], stop);
    }
}

#[test]
fn gpu_without_room_for_all_rows_is_refused_or_left_to_the_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let found = gpu.needs_room_for_all_rows("cores", "", "");
    assert!(found["layers"].as_u64().is_some_and(|layers| layers > 1), "{found}");
}
