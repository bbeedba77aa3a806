//! Betweenness on a GPU: the same scores as on a processor, also of a trial that another device began.

use crate::support::gpu::Gpu;
use crate::support::random_edges;

const CPU: &str = "run.device=cpu";
const GPU: &[&str] = &["run.device=gpu", "limits.gpu_memory=64MiB"];

/// Short rows, also of so many vertices that a warp of the stand-in takes 32 at a time, hubs with rows of several pieces, of which two are long, and a path. The shorter of the long rows has few of all entries, so a search
/// pushes along it.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(4_000, 60_000, 7);
    edges.extend((0..4_110).map(|leaf| [70_000, 80_000 + leaf]).chain([[70_000, 1]]));
    edges.extend((0..4).flat_map(|hub| (0..1_300).map(move |v| [5_000 + hub, (v * (hub + 3) * 7) % 4_000])));
    edges.extend((0..18_000).map(|leaf| [6_000, 10_000 + leaf]));
    edges.extend([[6_000, 1], [2, 6_000], [3, 30_000]]);
    edges.extend((30_000..30_060).map(|v| [v, v + 1]));
    edges
}

/// Layers of 6 vertices, each with edges to about 4 vertices of the next layer. The number of shortest paths grows fourfold with each layer, and the
/// vertices of a layer have different ones.
fn layers(count: u64) -> Vec<[u64; 2]> {
    let pairs = |layer: u64| (0..36).map(move |pair| (layer, pair / 6, pair % 6));
    let has_edge = |&(layer, a, b): &(u64, u64, u64)| (layer * layer + 3 * a + 5 * b + a * b * layer) % 7 >= 2;
    (0..count).flat_map(pairs).filter(has_edge).map(|(layer, a, b)| [6 * layer + a, 6 * layer + 6 + b]).collect()
}

/// Edges from vertices of the last layer to 5,000 vertices, and from these to one vertex, whose row is long.
fn fan(layers: u64) -> impl Iterator<Item = [u64; 2]> {
    let last = 6 * layers;
    (0..5_000).flat_map(move |v| [[last + v % 6, 10_000 + v], [last + v * v % 5, 10_000 + v], [10_000 + v, 20_000]])
}

#[test]
fn gpu_scores_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    for (input, keys) in
        [("", "roots = 3"), ("directed = true\n", "sources = [5001, 3, 6000, 70000, 1, 30000, 17, 10000]")]
    {
        let path = gpu.place.u32("edges.u32", &edges());
        gpu.place.job(&format!("path = '{}'\n{input}", path.display()), &format!("[betweenness]\n{keys}\n"));
        gpu.does_as_a_processor("betweenness", &["centrality"], Some("betweenness.unit=1:stop"));
    }
}

/// Beyond 2^53 counts are rounded, so their order matters. Beyond 2^1000 a processor counts.
#[test]
fn gpu_counts_beyond_whole_numbers_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    // A search of four sources finds the counts of the four before in GPU memory.
    gpu.place.job("grid = { rows = 20, columns = 80 }\n", "[betweenness]\nroots = 8\nseed = 2\n");
    gpu.fresh(&[CPU]);
    let of_processor = gpu.found("betweenness", "centrality");
    gpu.forget();
    gpu.run(&[], GPU).expect(0);
    assert_eq!(gpu.found("betweenness", "centrality"), of_processor);
    for (count, is_directed, says) in [(60, false, false), (60, true, false), (520, false, true)] {
        let edges: Vec<[u64; 2]> = layers(count).into_iter().chain(fan(count)).collect();
        let path = gpu.place.u32("edges.u32", &edges);
        gpu.place.job(
            &format!("path = '{}'\ndirected = {is_directed}\n", path.display()),
            &format!("[betweenness]\nsources = [{}, 0, 7]\n", 6 * count),
        );
        gpu.fresh(&[CPU]);
        let of_processor = gpu.found("betweenness", "centrality");
        gpu.forget();
        let ran = gpu.run(&[], GPU).expect(0);
        assert_eq!(ran.err.contains("counts of shortest paths exceed"), says, "{}", ran.err);
        assert_eq!(gpu.found("betweenness", "centrality"), of_processor, "{count}");
    }
}

#[test]
fn gpu_without_room_for_all_rows_is_refused_or_left_to_the_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let found = gpu.needs_room_for_all_rows("betweenness", "roots = 2\n", "");
    assert_eq!(found["sources"].as_array().map(Vec::len), Some(2));
}
