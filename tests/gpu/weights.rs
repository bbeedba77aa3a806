//! Edges with weights prepared on a GPU give what they give on a processor, byte for byte: rows, weights, and both of the upper half.
//! `tests/algorithms` holds those of a processor against a map.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::prepare::files;
use crate::support::{self, Dice, Place, Ran, cuda_on_cpu, random_edges};

/// Text of edges, each with a weight of its own.
fn text(edges: &[[u64; 2]], weight: impl Fn(usize) -> String) -> String {
    edges.iter().enumerate().map(|(i, [u, v])| format!("{u} {v} {}\n", weight(i))).collect()
}

/// A weight below `most`, by a number.
fn below(most: u64) -> impl Fn(usize) -> String {
    move |i| Dice(i as u64).below(most).to_string()
}

/// Prepares a graph in the workdir `name`, with both halves.
fn run(place: &Place, cuda: &Path, name: &str, input: &str, device: &str, limits: &str, env: &[(&str, &str)]) -> Ran {
    let both = "[sums]\nupper = true\nweights = 'file'\n";
    let direction = if input.contains("directed = true") { "direction = true\n" } else { "" };
    let job = format!("[job]\nworkdir = '{name}'\nkeep = true\n[run]\ndevice = '{device}'\n{input}\n");
    place.write("job.toml", format!("{job}[limits]\nthreads = 3\n{limits}\n{both}{direction}"));
    Ran::command(place.command_on(cuda, &["run", "job.toml"]).envs(env.iter().copied()))
}

fn stored(place: &Place, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let found = files(place, name);
    let of_weights = |half: &str| found.contains_key(Path::new(&format!("{half}.000000.weights")));
    assert!(of_weights("lower") && of_weights("upper"), "{:?}", found.keys());
    found
}

/// Prepares the edges on a processor and on GPUs of these limits; all must be the same.
#[track_caller]
fn compare(text: &str, input: &str, limits: &[&str]) {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let path = place.write("edges.wel", text);
    let input = format!("[input]\npath = '{}'\n{input}", path.display());
    run(&place, &cuda, "cpu", &input, "cpu", "", &[]).expect(0);
    let known = stored(&place, "cpu");
    for (i, limits) in limits.iter().enumerate() {
        let (name, seed) = (format!("gpu{i}"), (3 + i).to_string());
        let log = run(&place, &cuda, &name, &input, "gpu", limits, &[("CUDA_ON_CPU_SEED", &seed)]).expect(0).err;
        assert!(!log.contains("on the CPU"), "{log}");
        let found = stored(&place, &name);
        assert!(found.keys().eq(known.keys()));
        found.iter().for_each(|(path, bytes)| assert!(*bytes == known[path], "{limits}: {}", path.display()));
    }
}

#[test]
fn random_multigraphs_in_any_memory() {
    let limits = ["gpu_memory = '4MiB'", "gpu_memory = '200MiB'"];
    for (seed, vertices, edges) in [(1, 3000, 60_000), (2, 200, 30_000)] {
        let mut edges = random_edges(vertices, edges, seed);
        edges.extend((0..500).map(|i| [i % 7, i % 7]));
        for direction in ["weights = 'u32'", "weights = 'u32'\ndirected = true"] {
            compare(&text(&edges, below(1 << 32)), direction, &limits);
        }
    }
    let decimals = |i: usize| format!("{:e}", Dice(i as u64).below(1 << 40) as f32 * 1e-9);
    compare(&text(&random_edges(70_000, 50_000, 3), decimals), "weights = 'f32'", &limits);
    let lengths = |i: usize| format!("{:?}", Dice(i as u64).below(1 << 52) as f64 * 1e-9);
    compare(&text(&random_edges(3000, 60_000, 3), lengths), "weights = 'f64'", &limits);
    for edges in [vec![[0, 1]], vec![[3, 3], [9, 9], [3, 9], [9, 3]]] {
        compare(&text(&edges, below(9)), "weights = 'u32'", &limits[..1]);
    }
}

/// A clique has rows of every length up to 900, which repeats make longer, and few weights are as likely as many; the ring behind it makes its ids large.
#[test]
fn rows_of_every_length() {
    let mut edges: Vec<[u64; 2]> = support::complete(900);
    edges.extend((0..30_000).map(|i| [899, i % 899]));
    edges.extend((0..20_000u64).map(|i| [900 + i, 900 + (i + 1) % 20_000]));
    compare(&text(&edges, below(1 << 32)), "weights = 'u32'", &["gpu_memory = '64MiB'"]);
    compare(&text(&edges, below(2)), "weights = 'u32'", &["gpu_memory = '24MiB'"]);
}

/// Rows that a block marks in more than one window of ids, as the stand-in has them: those of vertices behind 9,000 of larger degree.
#[test]
fn long_rows_far_from_their_ids() {
    let vertices = 9000;
    let mut edges: Vec<[u64; 2]> =
        (0..vertices / 2).flat_map(|v| std::iter::repeat_n([2 * v, 2 * v + 1], 640)).collect();
    for last in 0..4 {
        edges.extend((0..580).map(|i| [vertices + last, (i * 15 + last) % vertices]));
        edges.extend((0..20).map(|i| [(i * 15 + last) % vertices, vertices + last]));
    }
    compare(&text(&edges, below(1000)), "weights = 'u32'", &["gpu_memory = '64MiB'"]);
}

/// Whatever fails on the GPU, the same command goes on, and on a processor as well.
#[test]
fn any_launch_may_fail() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let path = place.write("edges.wel", text(&random_edges(2000, 30_000, 5), below(50)));
    let input = format!("[input]\npath = '{}'\nweights = 'u32'", path.display());
    run(&place, &cuda, "cpu", &input, "cpu", "", &[]).expect(0);
    let known = stored(&place, "cpu");
    for (launch, next) in [(1, "gpu"), (30, "cpu"), (70, "gpu")] {
        let (name, limits) = (format!("lost{launch}"), "gpu_memory = '4MiB'");
        let lost =
            run(&place, &cuda, &name, &input, "gpu", limits, &[("CUDA_ON_CPU_FAIL_LAUNCH", &launch.to_string())]);
        assert_eq!(lost.code, 9, "launch {launch}: {}", lost.err);
        run(&place, &cuda, &name, &input, next, limits, &[]).expect(0);
        assert!(stored(&place, &name) == known, "launch {launch}");
    }
}

#[test]
fn bins_that_spill() {
    let Some(cuda) = cuda_on_cpu() else { return };
    let place = Place::new();
    let path = place.write("edges.wel", text(&random_edges(20_000, 600_000, 14), below(1 << 20)));
    let input = format!("[input]\npath = '{}'\nweights = 'u32'", path.display());
    run(&place, &cuda, "cpu", &input, "cpu", "", &[]).expect(0);
    let known = stored(&place, "cpu");
    for memory in ["24MiB", "1MiB"] {
        let limits = format!("gpu_memory = '{memory}'\nhost_memory = '29MiB'");
        let log = run(&place, &cuda, memory, &input, "gpu", &limits, &[]).expect(0).err;
        assert!(!log.contains("ingest on the CPU"), "{log}");
        assert!(stored(&place, memory) == known, "{memory}");
    }
}
