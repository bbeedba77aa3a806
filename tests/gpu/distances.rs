//! Distances on a GPU: the same sums as on a processor, also of a trial that another device began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

/// Rows of 1 to 40 entries, a row that a block takes, hubs, a part of its own, and a path.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(4_000, 20_000, 7);
    edges.extend((0..4).flat_map(|hub| (0..1_300).map(move |v| [5_000 + hub, (v * (hub + 3) * 7) % 4_000])));
    edges.extend((0..5_000).map(|leaf| [6_000, 10_000 + leaf]));
    edges.extend([[6_000, 1], [2, 6_000], [3, 30_000]]);
    edges.extend((30_000..30_300).map(|v| [v, v + 1]));
    edges.extend(random_edges(60, 200, 8).into_iter().map(|edge| edge.map(|v| 40_000 + v)));
    edges
}

const COLUMNS: &[&str] = &["sources", "total", "farthest"];

#[test]
fn gpu_sums_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    // Two passes and a part of a third, and sources of which some have no edge, are hubs, or reach others of the list.
    let named = "sources = [5001, 3, 6000, 1, 30000, 17, 10000, 40001, 40002, 30299]";
    for (input, keys) in [("", "roots = 150"), ("directed = true\n", named), ("directed = true\n", "roots = 70")] {
        let path = gpu.place.u32("edges.u32", &edges());
        gpu.place.job(&format!("path = '{}'\n{input}", path.display()), &format!("[distances]\n{keys}\n"));
        gpu.does_as_a_processor("distances", COLUMNS, keys.starts_with("roots").then_some("distances.unit=1:stop"));
    }
}

#[test]
fn gpu_words_of_sixty_four_sources_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    for input in ["kronecker = { scale = 11, edge_factor = 8, seed = 3 }\n", "grid = { rows = 3, columns = 200 }\n"] {
        gpu.place.job(input, "[distances]\nroots = 64\n");
        gpu.does_as_a_processor("distances", COLUMNS, None);
    }
}

#[test]
fn gpu_without_room_for_all_rows_is_refused_or_left_to_the_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let found = gpu.needs_room_for_all_rows("distances", "roots = 2\n", "");
    assert_eq!(found["sources"].as_array().map(Vec::len), Some(2));
}
