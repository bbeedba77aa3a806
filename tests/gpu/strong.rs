//! Strongly connected components on a GPU: the same as on a processor, also of a trial that another device began.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::gpu::Gpu;
use crate::support::random_edges;

const TABLE: &str = "[components]\nstrong = true\n";

fn job(gpu: &Gpu, edges: &[[u64; 2]]) {
    let path = gpu.place.u32("edges.u32", edges);
    gpu.place.job(&format!("path = '{}'\ndirected = true\n", path.display()), TABLE);
}

/// Edges between a hub and each of `count` vertices that follow it, in both directions.
fn star(hub: u64, count: u64) -> impl Iterator<Item = [u64; 2]> {
    (1..=count).flat_map(move |leaf| [[hub, hub + leaf], [hub + leaf, hub]])
}

fn path(vertices: std::ops::Range<u64>) -> impl Iterator<Item = [u64; 2]> {
    vertices.map(|v| [v, v + 1])
}

/// A component that is found by pulling; stars whose hub it leads to by the last leaf, in a row of 5,000 and one of 100 entries; a sparse part with
/// trees; a path with edges back in places; a cycle longer than the steps of a launch; cycles of three; and a chain of pairs, which takes some rounds.
fn edges() -> Vec<[u64; 2]> {
    let mut edges = random_edges(6_000, 60_000, 7);
    edges.extend(star(0, 6_000));
    for (sink, hub, leaves) in [(90_000, 10_000, 5_000), (90_001, 16_000, 100)] {
        edges.extend(star(hub, leaves));
        // All leaves have the same degree, so the last one comes last in the rows of the hub.
        edges.extend((1..leaves).map(|leaf| [hub + leaf, sink]).chain([[0, hub + leaves]]));
    }
    edges.extend(random_edges(3_000, 3_300, 8).into_iter().map(|edge| edge.map(|v| 20_000 + v)));
    edges.extend(path(30_000..30_600));
    edges.extend((30_000..30_600).step_by(100).map(|v| [v + 60, v]));
    edges.extend(path(40_000..41_300).chain([[41_300, 40_000]]));
    edges.extend((50_000..53_000).map(|v| [v, if v % 3 == 2 { v - 2 } else { v + 1 }]));
    edges.extend((30_000..30_300).map(|i| 2 * i).flat_map(|v| [[v, v + 1], [v + 1, v], [v + 1, v + 2]]));
    edges
}

/// Stops the job on the GPU after `phases` phases, and finishes it on processors, with the same column as before. Processors alone take fewer phases,
/// because a depth-first search soon replaces them in small graphs.
#[track_caller]
fn processors_go_on_after(gpu: &Gpu, phases: u32) {
    let column = || fs::read(gpu.place.workdir().join("out/components/component.npy")).expect("a column");
    let known = column();
    gpu.forget();
    let stop = format!("components.unit={phases}:stop");
    gpu.run(&[("GPUGRAPH_FAILPOINTS", &stop)], &["run.device=gpu", "limits.gpu_memory=64MiB"]).expect(75);
    gpu.run(&[], &["run.device=cpu"]).expect(0);
    assert!(column() == known, "after {phases} phases");
}

#[test]
fn gpu_strong_components_are_those_of_a_processor() {
    let Some(gpu) = Gpu::new() else { return };
    job(&gpu, &edges());
    gpu.does_as_a_processor("components", &["component"], Some("components.unit=1:stop"));
    for phase in [2, 3, 5] {
        processors_go_on_after(&gpu, phase);
        let said = gpu.with(&[], &["verify", "job.toml"]).expect(0).out;
        assert!(said.contains("which have the same vertices"), "{said}");
    }
    let found = gpu.place.read_report()["results"]["components"]["largest"].clone();
    assert_eq!(found.as_array().expect("sizes")[..3], [6_001, 5_001, 1_301], "{found}");
}

#[test]
fn gpu_strong_components_in_any_order_of_work() {
    let Some(mut gpu) = Gpu::new() else { return };
    for seed in 0..6 {
        gpu.seed = seed;
        job(&gpu, &random_edges(400, 300 + 100 * seed as usize, 40 + seed));
        gpu.does_as_a_processor("components", &["component"], None);
    }
}

#[test]
fn gpu_strong_components_of_next_to_nothing() {
    let Some(gpu) = Gpu::new() else { return };
    let cases: [&[[u64; 2]]; 5] =
        [&[], &[[3, 3], [0, 0]], &[[5, 2]], &[[5, 2], [2, 5], [5, 5]], &[[0, 1], [1, 2], [2, 0]]];
    for edges in cases {
        job(&gpu, edges);
        gpu.does_as_a_processor("components", &["component"], None);
    }
}

/// Of edges without direction, they are the weakly connected components.
#[test]
fn gpu_strong_components_without_direction() {
    let Some(gpu) = Gpu::new() else { return };
    gpu.job(&random_edges(2_000, 1_500, 9), TABLE);
    gpu.does_as_a_processor("components", &["component"], None);
}

#[test]
fn gpu_without_room_for_all_rows_is_refused_or_left_to_the_processor() {
    let Some(gpu) = Gpu::new() else { return };
    let found = gpu.needs_room_for_all_rows("components", "strong = true\n", "directed = true\n");
    assert!(found["strong"] == true, "{found}");
}

/// A phase of thousands of steps is stopped near its begin. It has changed nothing, so a processor does it again.
#[test]
fn a_signal_while_a_gpu_finds_strong_components_stops_it_in_time() {
    let Some(gpu) = Gpu::stand_in() else { return };
    let cycle: Vec<[u64; 2]> = path(0..200_000).chain([[200_000, 0], [50_000, 300_000], [300_000, 300_001]]).collect();
    job(&gpu, &cycle);
    let mut job = gpu.start(&["run.device=gpu", "limits.gpu_memory=64MiB"]);
    assert!(job.until("components begins"));
    let asked = Instant::now();
    job.signal(15);
    let ran = job.end();
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}: {}", asked.elapsed(), ran.err);
    ran.expect(75);
    gpu.run(&[], &["run.device=cpu"]).expect(0);
    assert_eq!(gpu.place.read_report()["results"]["components"]["components"], 100_002);
    gpu.with(&[], &["verify", "job.toml"]).expect(0);
}

/// A GPU gives up a cycle that would take a step for each of its vertices. The trial is also resumed after that.
#[test]
fn processors_take_long_paths_over_from_a_gpu() {
    let Some(gpu) = Gpu::new() else { return };
    let cycle = path(0..6_000).chain([[6_000, 0], [3_000, 10_000], [10_000, 10_001]]);
    job(&gpu, &cycle.chain(star(20_000, 50)).collect::<Vec<_>>());
    gpu.does_as_a_processor("components", &["component"], Some("components.unit=1:stop"));
    processors_go_on_after(&gpu, 2);
    let ran =
        gpu.with(&[("GPUGRAPH_LOG", "debug")], &["run", "job.toml", "--fresh", "--set", "run.device=gpu"]).expect(0);
    assert_eq!(ran.err.matches("CPUs go on").count(), 1, "{}", ran.err);
    let found = gpu.place.read_report()["results"]["components"]["largest"].clone();
    assert_eq!(found.as_array().expect("sizes")[..2], [6_001, 51], "{found}");
}

/// One component in which the frontier is a single vertex with many edges: all sources lead to it, and it leads to all sinks by way of another.
#[test]
fn gpu_strong_components_where_a_single_vertex_has_many_edges() {
    let Some(gpu) = Gpu::new() else { return };
    let (count, first, second) = (17_000, 40_000, 40_001);
    let edges: Vec<[u64; 2]> =
        (0..count).flat_map(|v| [[v, first], [second, 20_000 + v], [20_000 + v, v]]).chain([[first, second]]).collect();
    job(&gpu, &edges);
    gpu.does_as_a_processor("components", &["component"], None);
    assert_eq!(gpu.place.read_report()["results"]["components"]["largest"][0], 2 * count + 2);
}
