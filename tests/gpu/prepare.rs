//! Preparation on a GPU gives what it gives on a processor, byte for byte: whole jobs on the stand-in for CUDA.

#![allow(unsafe_code)] // launches

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, Place, cuda_on_cpu, random_edges};
use crate::workspace::workspace;
use gpugraph::internals::formats::EdgeGenerator;
use gpugraph::internals::generate::Generator;
use gpugraph::internals::gpu::Grid;
use gpugraph::internals::prepare::gpu::{INGEST, SORT};
use serde_json::Value;

/// An order of threads that is not the natural one.
const SEED: [(&str, &str); 1] = [("CUDA_ON_CPU_SEED", "3")];

/// Runs a job with its workdir at `name`; its log.
#[track_caller]
fn run(
    place: &Place,
    cuda: &Path,
    name: &str,
    input: &Path,
    device: &str,
    limits: &str,
    env: &[(&str, &str)],
) -> String {
    start(place, name, input, device, limits);
    run_job(place, cuda, name, env)
}

#[track_caller]
fn run_job(place: &Place, cuda: &Path, name: &str, env: &[(&str, &str)]) -> String {
    let output = place.command_on(cuda, &["run", "job.toml"]).envs(env.iter().copied()).output().expect("run gpugraph");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {log}");
    log
}

fn start(place: &Place, name: &str, input: &Path, device: &str, limits: &str) {
    job(place, name, &format!("path = '{}'", input.display()), device, limits);
}

/// Nothing is counted: the graph is what is kept.
fn job(place: &Place, name: &str, input: &str, device: &str, limits: &str) {
    let job = format!("[job]\nworkdir = '{name}'\nkeep = true\n[input]\n{input}\n[run]\ndevice = '{device}'\n");
    place.write("job.toml", format!("{job}[limits]\nthreads = 3\n{limits}\n"));
}

/// Names and contents of the files of a prepared graph.
pub fn files(place: &Place, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, base: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, base, found);
            } else {
                found.insert(path.strip_prefix(base).expect("inside").to_owned(), fs::read(&path).expect("a file"));
            }
        }
    }
    let mut found = BTreeMap::new();
    let folder = place.path(name).join("graph");
    walk(&folder, &folder, &mut found);
    assert!(found.len() >= 2, "{:?}", found.keys());
    found
}

/// What the manifest says was found.
fn facts(place: &Place, name: &str) -> Value {
    let manifest: Value =
        serde_json::from_slice(&fs::read(place.path(name).join("manifest.json")).expect("a manifest")).expect("JSON");
    let mut stages = manifest["manifest"]["stages"].clone();
    for stage in stages.as_object_mut().expect("stages").values_mut() {
        stage.as_object_mut().expect("a stage").retain(|key, _| key != "figures");
    }
    stages
}

#[track_caller]
fn same(place: &Place, a: &str, b: &str) {
    let (left, right) = (files(place, a), files(place, b));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (name, bytes) in &left {
        assert!(*bytes == right[name], "{b}: {} is not as on a processor", name.display());
    }
    assert_eq!(facts(place, a), facts(place, b));
}

/// All stages ran on the GPU.
#[track_caller]
fn nothing_left(log: &str) {
    assert!(!log.contains("on the CPU"), "{log}");
}

#[test]
fn random_multigraphs_in_any_memory_and_order() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    for (seed, vertices, edges) in [(1, 3000, 60_000), (2, 200, 30_000), (3, 70_000, 50_000)] {
        let mut edges = random_edges(vertices, edges, seed);
        edges.extend((0..500).map(|i| [i % 7, i % 7]));
        let input = place.u32("edges.u32", &edges);
        let (on_cpu, on_gpu) = (format!("cpu{seed}"), format!("gpu{seed}"));
        run(&place, &cuda, &on_cpu, &input, "cpu", "", &[]);
        for (i, memory) in ["4MiB", "16MiB", "200MiB"].into_iter().enumerate() {
            let name = format!("{on_gpu}-{memory}");
            let order = (seed * 10 + i as u64).to_string();
            let log = run(
                &place,
                &cuda,
                &name,
                &input,
                "gpu",
                &format!("gpu_memory = '{memory}'"),
                &[("CUDA_ON_CPU_SEED", &order)],
            );
            nothing_left(&log);
            same(&place, &on_cpu, &name);
        }
    }
}

/// Prepares `input` on a processor and on GPUs of these limits; all must be the same.
#[track_caller]
fn compare(input: &Path, place: &Place, limits: &[&str]) {
    let Some(cuda) = cuda_on_cpu() else { return };
    run(place, &cuda, "cpu", input, "cpu", "", &[]);
    for (i, limits) in limits.iter().enumerate() {
        let (name, seed) = (format!("gpu{i}"), (7 + i).to_string());
        let log = run(place, &cuda, &name, input, "gpu", limits, &[("CUDA_ON_CPU_SEED", &seed)]);
        nothing_left(&log);
        same(place, "cpu", &name);
    }
}

#[test]
fn rows_of_every_length() {
    let place = Place::new();
    // A clique has rows of every length up to 2600; the ring behind it makes its ids large, repeats make rows longer.
    let mut edges: Vec<[u64; 2]> = support::complete(2600);
    edges.extend((0..30_000).map(|i| [2599, i % 2599]));
    edges.extend((0..40_000u64).map(|i| [2600 + i, 2600 + (i + 1) % 40_000]));
    compare(&place.u32("edges.u32", &edges), &place, &["gpu_memory = '64MiB'"]);
}

#[test]
fn long_rows_far_from_their_ids() {
    let place = Place::new();
    // Vertices of degree 620, and behind them some with 600 neighbours anywhere among these, some of them listed twice:
    // on the stand-in, that is more than a block sorts in shared memory, and more ids than a window has.
    let vertices = 9000;
    let mut edges: Vec<[u64; 2]> =
        (1..=310).flat_map(|i| (0..vertices).map(move |v| [v, (v + i) % vertices])).collect();
    for last in 0..30 {
        edges.extend((0..580).map(|i| [vertices + last, (i * 15 + last) % vertices]));
        edges.extend((0..20).map(|i| [(i * 15 + last) % vertices, vertices + last]));
    }
    compare(&place.u32("edges.u32", &edges), &place, &["gpu_memory = '64MiB'"]);
}

#[test]
fn sparse_and_wide_ids() {
    let place = Place::new();
    let wide = |id: u64| id * 0x1_0000_0001 + 5;
    let edges: Vec<_> = random_edges(2000, 30_000, 11).into_iter().map(|edge| edge.map(wide)).collect();
    compare(&place.u64("edges.u64", &edges), &place, &["gpu_memory = '8MiB'"]);
    let place = Place::new();
    let edges = random_edges(2000, 30_000, 12);
    compare(&place.u64("edges.u64", &edges), &place, &["gpu_memory = '8MiB'"]);
}

#[test]
fn text_and_packed_text() {
    let place = Place::new();
    let edges = random_edges(5000, 40_000, 13);
    let text: String = edges.iter().map(|[u, v]| format!("{u} {v}\n")).collect();
    compare(&place.write("edges.txt", &text), &place, &["gpu_memory = '8MiB'"]);
}

/// In the smallest memory a batch is a part of what a thread takes from the generator at once.
#[test]
fn a_kronecker_graph_whose_edges_the_gpu_makes() {
    let Some(cuda) = cuda_on_cpu() else { return };
    for (scale, factor) in [(1, 5), (9, 100), (14, 5)] {
        let place = Place::new();
        let input = format!("kronecker = {{ scale = {scale}, edge_factor = {factor}, seed = 3 }}");
        job(&place, "cpu", &input, "cpu", "");
        run_job(&place, &cuda, "cpu", &[]);
        for memory in ["1MiB", "8MiB"] {
            job(&place, memory, &input, "gpu", &format!("gpu_memory = '{memory}'"));
            let log = run_job(&place, &cuda, memory, &SEED);
            assert!(!log.contains("ingest on the CPU") && !log.contains("partition on the CPU"), "{log}");
            same(&place, "cpu", memory);
        }
    }
}

#[test]
fn a_gpu_makes_the_edges_that_a_processor_makes() {
    let Some(mut gpu) = workspace("prepare::a_gpu_makes_the_edges_that_a_processor_makes", &SEED) else { return };
    let kernel = gpu.kernel(&INGEST, "make_edges").expect("a kernel");
    let edges = gpu.arena.take::<u32>(6000).expect("room");
    for scale in 1..=32 {
        let graph = Generator::kronecker(scale, 16.0, 5 + u64::from(scale)).expect("a graph");
        let parameters = graph.on_gpu().expect("parameters");
        for first in [0, graph.edges() / 3] {
            let count = (graph.edges() - first).min(3000) as usize;
            let grid = Grid { blocks: 3, threads: 256, shared: 0 };
            let arguments = (parameters, first, count as u32, edges.address());
            // SAFETY: as the kernel declares them.
            unsafe { gpu.queue.launch(&kernel, grid, arguments) }.expect("a launch");
            let (mut there, mut here) = (vec![[0; 2]; count], vec![[0; 2]; count]);
            gpu.queue.read(edges, there.as_flattened_mut()).expect("a copy");
            graph.fill_narrow(first, &mut here);
            assert!(there == here, "scale {scale} from {first}");
        }
    }
    assert!(Generator::kronecker(33, 1.0, 1).expect("a graph").on_gpu().is_none());
}

#[test]
fn an_input_of_nothing_and_of_loops() {
    for edges in [vec![], vec![[3, 3], [9, 9]], vec![[0, 1]]] {
        let place = Place::new();
        compare(&place.u32("edges.u32", &edges), &place, &["gpu_memory = '8MiB'"]);
    }
}

#[test]
fn bins_that_spill() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let input = place.u32("edges.u32", &random_edges(20_000, 2_500_000, 14));
    let limits = "gpu_memory = '24MiB'\nhost_memory = '29MiB'";
    run(&place, &cuda, "cpu", &input, "cpu", "", &[]);
    // A signal ends it in the middle, as on a processor.
    start(&place, "gpu", &input, "gpu", limits);
    let mut command = place.command_on(&cuda, &["run", "job.toml"]);
    let stopped = command.env("GPUGRAPH_FAILPOINTS", "spill.write=1:stop").output().expect("run gpugraph");
    assert_eq!(stopped.status.code(), Some(75), "{}", String::from_utf8_lossy(&stopped.stderr));
    nothing_left(&run(&place, &cuda, "gpu", &input, "gpu", limits, &[]));
    same(&place, "cpu", "gpu");
    let manifest = fs::read(place.path("gpu/manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let written = &manifest["manifest"]["stages"]["partition"]["figures"]["written"];
    assert!(written.as_u64().is_some_and(|bytes| bytes > 1 << 20), "{written}");
    // In batches so small that the sample of repeats is drawn over there, too, and no bin fits.
    let log = run(&place, &cuda, "small", &input, "gpu", "gpu_memory = '1MiB'", &[]);
    assert!(!log.contains("ingest on the CPU") && !log.contains("partition on the CPU"), "{log}");
    assert!(log.contains("sort on the CPU"), "{log}");
    same(&place, "cpu", "small");
}

#[test]
fn too_little_memory_leaves_it_to_the_processor() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let mut edges = random_edges(3000, 20_000, 15);
    edges.push([900_000, 1]);
    let input = place.u32("edges.u32", &edges);
    run(&place, &cuda, "cpu", &input, "cpu", "", &[]);
    let log = run(&place, &cuda, "gpu", &input, "gpu", "gpu_memory = '2MiB'", &[]);
    assert!(log.contains("ingest on the CPU") && log.contains("partition on the CPU"), "{log}");
    same(&place, "cpu", "gpu");
}

#[test]
fn one_device_goes_on_where_another_was_killed() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let input = place.u32("edges.u32", &random_edges(3000, 60_000, 16));
    run(&place, &cuda, "whole", &input, "cpu", "", &[]);
    for (name, first, second) in [("there", "cpu", "gpu"), ("back", "gpu", "cpu")] {
        start(&place, name, &input, first, "gpu_memory = '8MiB'");
        let mut command = place.command_on(&cuda, &["run", "job.toml"]);
        let killed = command.env("GPUGRAPH_FAILPOINTS", "store.rename=6:kill").output().expect("run gpugraph");
        assert!(!killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
        run(&place, &cuda, name, &input, second, "gpu_memory = '8MiB'", &[]);
        same(&place, "whole", name);
    }
}

#[test]
fn a_lost_gpu_keeps_what_is_done() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let input = place.u32("edges.u32", &random_edges(3000, 60_000, 17));
    run(&place, &cuda, "whole", &input, "cpu", "", &[]);
    for launch in [1, 20, 60, 100] {
        let name = format!("lost{launch}");
        start(&place, &name, &input, "gpu", "gpu_memory = '4MiB'");
        let mut command = place.command_on(&cuda, &["run", "job.toml"]);
        let lost = command.env("CUDA_ON_CPU_FAIL_LAUNCH", launch.to_string()).output().expect("run gpugraph");
        assert_eq!(lost.status.code(), Some(9), "{launch}: {}", String::from_utf8_lossy(&lost.stderr));
        run(&place, &cuda, &name, &input, "gpu", "gpu_memory = '4MiB'", &[]);
        same(&place, "whole", &name);
    }
}

/// No test has a graph whose pairs of edges take more than 64 bits to count.
#[test]
fn degrees_are_summed_up() {
    let Some(mut gpu) = workspace("prepare::degrees_are_summed_up", &SEED) else { return };
    let kernel = gpu.kernel(&SORT, "sum_up_degrees").expect("a kernel");
    let mut dice = support::Dice(4);
    let mut degrees: Vec<u32> = (0..9000).map(|i| dice.below(1 << (i % 33)) as u32).collect();
    degrees[4000] = u32::MAX;
    let (span, sums) = (gpu.arena.take::<u32>(9000).expect("room"), gpu.arena.take::<u64>(4).expect("room"));
    gpu.queue.write(&degrees, span).expect("a copy");
    for len in [9000, 33, 1] {
        gpu.queue.fill(sums, 0).expect("zeros");
        let grid = Grid { blocks: 3, threads: 256, shared: 0 };
        // SAFETY: as the kernel declares them.
        unsafe { gpu.queue.launch(&kernel, grid, (span.address(), len as u64, sums.address())) }.expect("a launch");
        let mut found = [0; 4];
        gpu.queue.read(sums, &mut found).expect("a copy");
        let degrees = degrees[..len].iter().map(|&degree| u128::from(degree));
        let pairs: u128 = degrees.clone().map(|degree| degree * degree.saturating_sub(1) / 2).sum();
        assert!(len < 9000 || pairs >> 64 > 0, "enough of them");
        let most = degrees.clone().max().expect("some");
        assert_eq!(found.map(u128::from), [degrees.sum(), most, pairs & u128::from(u64::MAX), pairs >> 64], "{len}");
    }
}

/// No test has the 2^32 ends of edges that it takes to overflow a degree.
#[test]
fn degrees_are_carried() {
    let Some(mut gpu) = workspace("prepare::degrees_are_carried", &SEED) else { return };
    let kernel = gpu.kernel(&INGEST, "carry_degrees").expect("a kernel");
    let mut dice = support::Dice(9);
    let before: Vec<u32> = (0..5000).map(|_| dice.below(30) as u32).collect();
    let most = before.iter().filter(|&&d| d >= 20).count() as u32;
    for room in [most, 100] {
        let degrees = gpu.arena.take::<u32>(5000).expect("room");
        let carried = gpu.arena.take::<u32>(1 + u64::from(room)).expect("room");
        gpu.queue.write(&before, degrees).expect("a copy");
        gpu.queue.fill(carried, 0).expect("zeros");
        let grid = Grid { blocks: 3, threads: 256, shared: 0 };
        let arguments = (degrees.address(), 5000u64, 20u32, carried.address(), room);
        // SAFETY: as the kernel declares them.
        unsafe { gpu.queue.launch(&kernel, grid, arguments) }.expect("a launch");
        let (mut after, mut list) = (vec![0; 5000], vec![0; 1 + room as usize]);
        gpu.queue.read(degrees, &mut after).expect("a copy");
        gpu.queue.read(carried, &mut list).expect("a copy");
        assert_eq!(list[0], most);
        list[1..].iter().for_each(|&id| after[id as usize] += 20);
        assert!(after == before, "what is taken is listed");
    }
}
