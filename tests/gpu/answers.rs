//! Triangles counted on a GPU (the machine's, or the stand-in for one), against closed forms, sets of neighbours and the processor.

use crate::support::gpu::Gpu;
use crate::support::{Dice, answer, complete, files, number, oracle, product, random_edges, triangles};
use serde_json::Value;

const PER_VERTEX: &str = "[triangle]\nper_vertex = true\n";
const PER_EDGE: &str = "[triangle]\nper_edge = true\n";
const LINKS: &str = "[triangle]\nclustering = 'directed'\n";

fn table(per_vertex: bool) -> &'static str {
    if per_vertex { PER_VERTEX } else { "" }
}

const CPU: &str = "run.device=cpu";
const GPU: &str = "run.device=gpu";

/// The smallest limit of GPU memory, in whole MiB, by what a refusal of one that is too small names.
#[track_caller]
fn smallest(gpu: &Gpu, more: &str) -> String {
    let (ran, ..) = gpu.count(&[], &[GPU, "limits.gpu_memory=1MiB"], more);
    if ran.code == 0 {
        return "1MiB".into();
    }
    let ran = ran.expect(7);
    let error = ran.error();
    let named = error.split_once("limits.gpu_memory = 1 MiB").and_then(|(_, rest)| rest.split_once("at least "));
    let (_, named) = named.unwrap_or_else(|| panic!("no limit in {error}"));
    named.split(" is needed").next().expect("a limit").to_owned()
}

/// What a GPU with `memory`, and with the least that does, counts: it must be what the processor does. With `parts`, it counts per edge, then
/// links, then per vertex, of which the report is.
#[track_caller]
fn same_as_cpu(gpu: &Gpu, edges: &[[u64; 2]], parts: bool, memory: &[&str]) -> Value {
    for more in [PER_EDGE, LINKS].into_iter().filter(|_| parts) {
        table_same_as_cpu(gpu, edges, more, memory);
    }
    table_same_as_cpu(gpu, edges, table(parts), memory)
}

#[track_caller]
fn table_same_as_cpu(gpu: &Gpu, edges: &[[u64; 2]], more: &str, memory: &[&str]) -> Value {
    gpu.job(edges, &format!("[job]\nworkdir = 'work'\nkeep = true\n{more}"));
    let cpu = gpu.fresh(&[CPU]);
    assert_eq!(cpu["device"], "cpu");
    let columns = gpu.columns();
    let smallest = smallest(gpu, more);
    for memory in memory.iter().chain([&smallest.as_str()]) {
        let (ran, report, found) = gpu.count(&[], &[GPU, &format!("limits.gpu_memory={memory}")], more);
        ran.expect(0);
        assert_eq!(report["device"], "gpu");
        assert_eq!(answer(&report)[0], answer(&cpu)[0], "with {memory}");
        assert!(found == columns, "{more} with {memory}");
    }
    cpu
}

#[test]
fn gpu_closed_forms() {
    let Some(gpu) = Gpu::new() else { return };
    let count = |edges: &[[u64; 2]]| {
        gpu.job(edges, PER_VERTEX);
        let report = gpu.fresh(&[GPU]);
        let corners: u64 = gpu.place.npy::<u64>("triangles").into_iter().sum();
        assert_eq!(corners, 3 * triangles(&report));
        triangles(&report)
    };
    for n in [2u64, 3, 31, 120] {
        assert_eq!(count(&complete(n)), n * (n - 1) * n.saturating_sub(2) / 6, "complete graph of {n}");
    }
    let wheel: Vec<_> = (1..=999).flat_map(|v| [[0, v], [v, v % 999 + 1]]).collect();
    assert_eq!(count(&wheel), 999);
    let part = |v: u64| u64::from(v >= 20) + u64::from(v >= 50);
    let tripartite: Vec<_> = complete(100).into_iter().filter(|&[u, v]| part(u) != part(v)).collect();
    assert_eq!(count(&tripartite), 20 * 30 * 50);
    let cube: Vec<_> = (0..1024u64).flat_map(|v| (0..10).map(move |bit| [v, v ^ (1 << bit)])).collect();
    assert_eq!(count(&cube), 0);
    // K_12 ⊗ A has 6 · t(K_12) · t(A).
    let a: Vec<_> = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 2], [4, 5]].into();
    assert_eq!(count(&product(&complete(12), &a, 6)), 6 * 220 * 2);
}

/// Strings are numbered before a GPU sees edges: files and results are those of the processor.
#[test]
fn gpu_ids_that_are_strings() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(2000, 30_000, 17);
    gpu.place.write("edges.csv", edges.iter().map(|[u, v]| format!("user {u},user {v}\n")).collect::<String>());
    let tables = "[bfs]\nsources = ['user 7', 'user 1999']\nwrite = true\n";
    let more = format!("[job]\nworkdir = 'work'\nkeep = true\n{PER_VERTEX}{tables}");
    gpu.place.job("path = 'edges.csv'\nids = 'string'", &more);
    let [on_cpu, on_gpu] = [CPU, GPU].map(|device| {
        let report = gpu.fresh(&[device, "limits.gpu_memory=64MiB"]);
        (triangles(&report), files(&gpu.place.workdir(), &["graph", "out"]))
    });
    assert_eq!(on_gpu.0, oracle(2000, &edges).0);
    assert_eq!(on_gpu.1.keys().collect::<Vec<_>>(), on_cpu.1.keys().collect::<Vec<_>>());
    assert!(on_gpu.1.contains_key("out/ids.txt"));
    let other: Vec<_> =
        on_gpu.1.iter().filter(|(name, bytes)| on_cpu.1[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "{other:?}");
    gpu.with(&[], &["verify", "job.toml"]).expect(0);
}

#[test]
fn gpu_graphs_with_next_to_nothing() {
    let Some(gpu) = Gpu::new() else { return };
    // The last one: vertex 0 comes first in the order and so has an empty row, but heads in the rows of all others.
    let star_and_edge = [[0, 1], [0, 2], [0, 3], [0, 4], [2, 3]];
    let cases: [&[[u64; 2]]; 5] =
        [&[], &[[3, 3], [0, 0], [3, 3]], &[[5, 2]], &[[5, 2], [2, 5], [5, 5]], &star_and_edge];
    for (edges, known) in cases.into_iter().zip([0, 0, 0, 0, 1]) {
        for per_vertex in [false, true] {
            assert_eq!(triangles(&same_as_cpu(&gpu, edges, per_vertex, &["64MiB"])), known, "{edges:?}");
        }
    }
}

#[test]
fn gpu_random_graphs_in_any_order_of_work() {
    let Some(mut gpu) = Gpu::new() else { return };
    let mut dice = Dice(3);
    for seed in 0..8 {
        gpu.seed = seed;
        let (vertices, edges) = (1 + dice.below(600), dice.below(9000) as usize);
        let edges = random_edges(vertices, edges, dice.roll());
        let report = same_as_cpu(&gpu, &edges, true, &[]);
        let (known, mut corners) = oracle(vertices as usize, &edges);
        assert_eq!(triangles(&report), known, "{vertices} vertices, seed {seed}");
        corners.truncate(number(&report, "graph.vertices") as usize);
        assert_eq!(gpu.place.npy::<u64>("triangles"), corners);
    }
}

/// Eight blocks or so, which small arenas hold a few at a time, one at a time, or only in parts.
#[test]
fn gpu_every_arena_gives_the_same_counts() {
    let Some(mut gpu) = Gpu::new() else { return };
    let memory: [&[&str]; 2] = [&["2500KiB", "4MiB", "64MiB"], &[]];
    for (memory, (vertices, edges, per_vertex)) in
        memory.into_iter().zip([(2500, 280_000, true), (7000, 1_050_000, false)])
    {
        gpu.seed += 1;
        let mut dice = Dice(gpu.seed);
        let edges: Vec<_> = (0..edges).map(|_| [dice.below(vertices), dice.below(vertices)]).collect();
        let report = same_as_cpu(&gpu, &edges, per_vertex, memory);
        assert!(number(&report, "graph.blocks") >= 8, "{report:#}");
    }
}

#[test]
fn gpu_trials_agree() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(400, 12_000, 8);
    for per_vertex in [false, true] {
        gpu.job(&edges, table(per_vertex));
        let report = gpu.fresh(&[GPU, "run.trials=3", "limits.gpu_memory=2MiB"]);
        assert_eq!(report["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(3));
        assert_eq!(triangles(&report), oracle(400, &edges).0);
    }
}

/// Repeats count towards the degrees that vertices are ordered by, so they put a vertex where a test wants it.
fn repeated(edge: [u64; 2], times: usize) -> impl Iterator<Item = [u64; 2]> {
    std::iter::repeat_n(edge, times)
}

/// Rows too long for a hash table, whose heads are too many for one task.
#[test]
fn gpu_hubs_with_long_rows_and_many_heads() {
    let Some(gpu) = Gpu::new() else { return };
    // Both of b are neighbours of each other, of 600 of larger degree, a, and of 4500 of smaller degree, c. Each c has
    // three of a. What raises the degrees of a are edges to 600 others, many times.
    let (a, pages, mut dice) = (600, 4500, Dice(1));
    let b = [2 * a, 2 * a + 1];
    let mut edges: Vec<[u64; 2]> = (0..a).flat_map(|v| repeated([v, a + v], 5300)).collect();
    edges.push(b);
    edges.extend((0..a).flat_map(|v| b.map(|b| [b, v])));
    for c in (0..pages).map(|c| 2 * a + 2 + c) {
        let first = dice.below(a);
        edges.extend([[b[0], c], [b[1], c], [c, first], [c, (first + 1) % a], [c, (first + 77) % a]]);
    }
    assert_eq!(triangles(&same_as_cpu(&gpu, &edges, true, &["3MiB", "256MiB"])), 6 * pages + a + pages);
}

/// Ids from 2^18 on have no bits of their own in the bitmap of a row: a filter lets some pass, which are looked up.
#[test]
fn gpu_rows_with_ids_beyond_the_bitmap() {
    let Some(gpu) = Gpu::new() else { return };
    const EXACT: u64 = 1 << 18;
    const FILTER: u64 = 1 << 14;
    const DEGREE: usize = 80;
    // All vertices have the same degree, repeats included, so they are ordered by their ids: twelve of a from 2^18 on, two
    // of b that share bits of the filter with some of a, 66 of c. Pairs that only repeat fill what is between.
    let near = (0..6).map(|i| EXACT + 2000 + 7 * i);
    let a: Vec<u64> = near.chain((0..6).map(|i| EXACT + FILTER + 1000 + 13 * i)).collect();
    let b = [EXACT + FILTER + 2007, EXACT + FILTER + 2014];
    let c: Vec<u64> = (0..66).map(|i| EXACT + FILTER + 2100 + i).collect();
    let last = EXACT + FILTER + 2200;
    let mut edges: Vec<[u64; 2]> = b.into_iter().flat_map(|b| c.iter().map(move |&c| [b, c])).collect();
    edges.extend(b.into_iter().flat_map(|b| a.iter().step_by(2).map(move |&a| [b, a])));
    let mut dice = Dice(2);
    edges.extend(c.iter().flat_map(|&c| a.iter().map(move |&a| [a, c])).filter(|_| dice.below(3) > 0));
    let (known, _) = oracle(last as usize, &edges);
    let mut degrees = vec![0; last as usize];
    edges.iter().flatten().for_each(|&v| degrees[v as usize] += 1);
    // Every vertex gets what it lacks from a partner of its own, far behind, or from the next one that is free.
    let used: Vec<u64> = (0..last).filter(|&v| degrees[v as usize] > 0).collect();
    let free: Vec<u64> = (0..last).filter(|&v| degrees[v as usize] == 0).collect();
    assert!(used.iter().all(|&v| degrees[v as usize] <= DEGREE));
    edges.extend(used.iter().zip(last..).flat_map(|(&v, other)| repeated([v, other], DEGREE - degrees[v as usize])));
    edges.extend(free.chunks_exact(2).flat_map(|pair| repeated([pair[0], pair[1]], DEGREE)));
    assert!(known > 200, "{known}");
    assert_eq!(triangles(&same_as_cpu(&gpu, &edges, true, &["128MiB"])), known);
}

/// What the report says of the GPU, and that the limit was kept.
#[test]
fn gpu_the_report_tells_device_and_memory() {
    let Some(gpu) = Gpu::stand_in() else { return };
    gpu.job(&random_edges(2000, 40_000, 4), "");
    for (memory, bytes) in [("3MiB", 3 << 20), ("100MiB", 100 << 20)] {
        let report = gpu.fresh(&[GPU, &format!("limits.gpu_memory={memory}")]);
        assert_eq!(report["host"]["gpus"][0], "CUDA on a CPU (stand-in)");
        assert_eq!(number(&report, "limits.gpu_memory"), bytes);
        let peak = number(&report, "limits.gpu_memory_peak");
        assert!(peak > 0 && peak <= bytes, "{peak} of {bytes}");
        assert!(!report["limits"]["gpu_memory_beside"].is_null(), "what the driver takes is told apart");
        assert!(number(&report, "limits.host_memory_peak") <= number(&report, "limits.host_memory"));
    }
    // Unless said, half of what is free where that leaves less than 1 GiB.
    let report = gpu.fresh(&[GPU]);
    let (limit, peak) = (number(&report, "limits.gpu_memory"), number(&report, "limits.gpu_memory_peak"));
    assert!((500 << 20..=512 << 20).contains(&limit) && peak <= limit, "{limit}, {peak}");
    let report = gpu.fresh(&[CPU]);
    assert_eq!([number(&report, "limits.gpu_memory"), number(&report, "limits.gpu_memory_peak")], [0, 0]);
}
