//! Preparation on a GPU gives what it gives on a processor, byte for byte: whole jobs on the stand-in for CUDA.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Place, cuda_on_cpu, random_edges};

/// Runs a job with its workdir at `name`; its log.
#[track_caller]
fn run(place: &Place, cuda: &Path, name: &str, input: &Path, device: &str, limits: &str, env: &[(&str, &str)]) -> String {
    start(place, name, input, device, limits);
    let output = place.command_on(cuda, &["run", "job.toml"]).envs(env.iter().copied()).output().expect("run gpugraph");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {log}");
    log
}

fn start(place: &Place, name: &str, input: &Path, device: &str, limits: &str) {
    let job = format!("[job]\nworkdir = '{name}'\n[run]\ndevice = '{device}'\n[limits]\nthreads = 3\n{limits}\n");
    let format = if input.extension().is_some_and(|e| e == "u32" || e == "u64") { "" } else { "format = 'text'" };
    place.job(&format!("path = '{}'\n{format}", input.display()), &job);
}

/// Names and contents of the files of a prepared graph.
fn files(place: &Place, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
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
    assert!(found.len() >= 3, "{:?}", found.keys());
    found
}

/// What the manifest says was found.
fn facts(place: &Place, name: &str) -> Value {
    let manifest: Value =
        serde_json::from_slice(&fs::read(place.path(name).join("manifest.json")).expect("a manifest")).expect("JSON");
    let mut stages = manifest["stages"].clone();
    for stage in stages.as_object_mut().expect("stages").values_mut() {
        stage.as_object_mut().expect("a stage").retain(|key, _| !["figures", "seconds"].contains(&key.as_str()));
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
    assert!(!log.contains("on the processor"), "{log}");
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
            let log = run(&place, &cuda, &name, &input, "gpu", &format!("gpu_memory = '{memory}'"), &[("CUDA_ON_CPU_SEED", &order)]);
            nothing_left(&log);
            same(&place, &on_cpu, &name);
        }
    }
}
