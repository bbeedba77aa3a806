//! Graphs that stay in memory, of jobs that keep none: edges wait in that of a GPU to be sorted, as many as fit, and rows are counted
//! where they were sorted, if all fit, else from the host's memory. What does not fit goes to files. It is all the same to the answer.

use crate::support::gpu::{Columns, Gpu};
use crate::support::{Dice, Ran, answer, complete, number, oracle, random_edges, resumed, triangles};
use serde_json::Value;

const GPU: &str = "run.device=gpu";
const PER_VERTEX: &str = "[triangle]\nper_vertex = true\n[limits]\nthreads = 3\n";

/// What a run said of its memory: whether all rows stayed, and how many lines of edges there was room for, and how many were expected.
fn stayed(ran: &Ran) -> (bool, u64, u64) {
    let line = ran.err.lines().find(|line| line.contains("room for edges on the GPU")).expect("debug lines");
    let number = |name: &str| {
        let rest = line.split_once(name).unwrap_or_else(|| panic!("no {name} in {line}")).1;
        rest.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    };
    (ran.err.contains("rows on the GPU") && ran.err.contains("stays=true"), number("lines="), number("expected="))
}

/// Whether rows stayed in the host's memory.
fn held(ran: &Ran) -> bool {
    ran.err.lines().any(|line| line.contains("rows in memory") && line.contains("held=true"))
}

/// Bytes of blocks that went to files.
fn written(report: &Value) -> u64 {
    let sort = report["stages"].as_array().and_then(|stages| stages.iter().find(|stage| stage["name"] == "sort"));
    number(sort.expect("a stage"), "written")
}

/// A job from its start, with its log, in `memory` of the GPU.
#[track_caller]
fn run(gpu: &Gpu, memory: &str, more: &[&str]) -> (Ran, Value, Columns) {
    gpu.forget();
    let memory = format!("limits.gpu_memory={memory}");
    let set = [&[GPU, &memory], more].concat();
    let ran = gpu.run(&[("GPUGRAPH_LOG", "debug")], &set).expect(0);
    let report = gpu.place.read_report();
    assert_eq!(report["device"], "gpu");
    (ran, report, gpu.columns())
}

/// Blocks of the graph in files while counting goes on, or left behind.
fn blocks(gpu: &Gpu) -> usize {
    let files = std::fs::read_dir(gpu.place.workdir().join("graph")).into_iter().flatten().flatten();
    files.filter(|file| file.file_name().to_string_lossy().ends_with(".block")).count()
}

/// Below 2 MiB, where arenas are not cut to what drivers give memory in, some edges of graphs as small as these fit.
#[test]
fn gpu_rows_stay_where_there_is_room_and_the_answer_is_the_same() {
    let Some(mut gpu) = Gpu::new() else { return };
    let mut dice = Dice(11);
    // By whether rows stayed, and whether none, some or all edges did.
    let mut found = [[0; 3]; 2];
    for (seed, (vertices, edges)) in
        [(300, 20_000), (10_000, 20_000), (200, 40_000), (1000, 30_000)].into_iter().enumerate()
    {
        gpu.seed = seed as u64;
        let edges = random_edges(vertices + dice.below(vertices / 10), edges, dice.roll());
        gpu.job(&edges, PER_VERTEX);
        let mut known = gpu.fresh(&["run.device=cpu"]);
        known["graph"]["kept"].take();
        let columns = gpu.columns();
        assert_eq!(triangles(&known), oracle(vertices as usize * 11 / 10, &edges).0);
        let small = (1100..=2000).step_by(100).map(|kib| (format!("{kib}KiB"), "job.keep=false"));
        let large = [("4MiB", "job.keep=true"), ("64MiB", "job.keep=false")];
        let all = small.chain(large.map(|(memory, keep)| (memory.to_owned(), keep)));
        for (memory, keep) in all {
            let (ran, mut report, here) = run(&gpu, &memory, &[keep]);
            report["graph"]["kept"].take();
            assert_eq!(answer(&report), answer(&known), "with {memory}, seed {seed}");
            assert!(here == columns, "results per vertex with {memory}, seed {seed}");
            let (rows, lines, expected) = stayed(&ran);
            found[usize::from(rows)][usize::from(lines > 0) + usize::from(lines == expected)] += 1;
            // Degrees and counts at vertices are in files at any rate.
            let stored = written(&report) > 4 * number(&report, "graph.edges");
            assert_eq!(held(&ran), !rows && keep == "job.keep=false", "with {memory}, seed {seed}: {}", ran.err);
            assert_eq!(stored, keep == "job.keep=true", "with {memory}, seed {seed}");
        }
    }
    println!("none, some and all edges on the GPU, without rows and with them: {found:?}");
    assert!(found.as_flattened().iter().all(|&times| times > 0), "{found:?}");
}

/// An edge that is repeated fills its bin with more lines than were expected of it, on the shelf and beyond.
#[test]
fn gpu_repeats_overflow_and_are_dropped() {
    let Some(gpu) = Gpu::new() else { return };
    let mut edges = complete(60);
    edges.extend((0..150_000).map(|i| [58, 59 - 59 * (i % 2)]));
    gpu.job(&edges, PER_VERTEX);
    for memory in ["6MiB", "10MiB", "64MiB"] {
        let (_, report, _) = run(&gpu, memory, &[]);
        assert_eq!(triangles(&report), 60 * 59 * 58 / 6, "with {memory}");
        assert_eq!(number(&report, "graph.edges"), 60 * 59 / 2);
    }
}

#[test]
fn gpu_trials_of_a_graph_that_stays_agree_and_nothing_is_stored() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(900, 30_000, 5);
    gpu.job(&edges, "[limits]\nthreads = 2\n");
    let (ran, report, _) = run(&gpu, "64MiB", &["run.trials=3"]);
    assert!(stayed(&ran).0, "{}", ran.err);
    assert_eq!(triangles(&report), oracle(900, &edges).0);
    assert_eq!(report["results"]["triangle"]["trials"].as_array().map(Vec::len), Some(3));
    assert_eq!(written(&report), 0);
    // It is done, and says so without the graph, wherever it is asked: no GPU is opened for it.
    let none = [("CUDA_VISIBLE_DEVICES", "")];
    let again = gpu.run(&none, &[GPU, "run.trials=3", "limits.gpu_memory=64MiB"]).expect(0);
    assert!(again.err.is_empty() || again.err.contains("done already"), "{}", again.err);
    let again = gpu.place.read_report();
    assert_eq!((answer(&again), &again["device"]), (answer(&report), &report["device"]));
    // What is to be counted needs one.
    gpu.run(&none, &[GPU, "run.trials=4", "limits.gpu_memory=64MiB"]).expect(2);
}

/// Who keeps a graph has it in files.
#[test]
fn gpu_a_graph_that_is_kept_is_stored() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(700, 20_000, 6);
    gpu.job(&edges, "[job]\nworkdir = 'work'\nkeep = true\n[limits]\nthreads = 2\n");
    let (ran, report, _) = run(&gpu, "64MiB", &[]);
    let (rows, lines, expected) = stayed(&ran);
    assert!(!rows && lines == expected, "edges stay all the same: {}", ran.err);
    assert_eq!(blocks(&gpu) as u64, number(&report, "graph.blocks"));
    gpu.run(&[], &["run.device=cpu"]).expect(0);
    gpu.with(&[], &["verify", "job.toml"]).expect(0);
}

/// What was counted before a kill is not counted again; the graph is made anew, on either device, and stored this time: a job that was
/// killed once may be again.
#[test]
fn gpu_a_killed_job_prepares_anew_and_goes_on() {
    let Some(gpu) = Gpu::new() else { return };
    let edges = random_edges(900, 60_000, 9);
    gpu.job(&edges, "[limits]\nthreads = 2\n");
    let (ran, whole, _) = run(&gpu, "64MiB", &[]);
    assert!(stayed(&ran).0 && number(&whole, "results.triangle.units") >= 3, "{whole:#}");
    for (second, memory) in [("run.device=cpu", "64MiB"), (GPU, "64MiB"), (GPU, "2MiB")] {
        gpu.forget();
        let memory = format!("limits.gpu_memory={memory}");
        let set = [GPU, &memory];
        gpu.run(&[("GPUGRAPH_FAILPOINTS", "unit.done=2:kill")], &set).expect(137);
        assert_eq!(blocks(&gpu), 0);
        let hits = gpu.place.path("hits");
        let log = [("GPUGRAPH_FAILPOINTS_COUNT", hits.to_str().expect("text")), ("GPUGRAPH_LOG", "debug")];
        let ran = gpu.run(&log, &[second, &memory]).expect(0);
        assert!(!ran.err.contains("stays=true") && !held(&ran), "{}", ran.err);
        let report = gpu.place.read_report();
        assert_eq!(answer(&report), answer(&whole), "on {second}");
        // The order of vertices is stored meanwhile, or is not yet.
        let stages = resumed(&report);
        assert!(stages.is_empty() || stages == ["ingest", "relabel"], "on {second}: {stages:?}");
    }
}

/// Algorithms that need all rows run within the GPU memory that a plan names, where a vertex has two rows.
#[test]
fn gpu_memory_that_a_plan_names_is_enough_for_directed_rows() {
    let Some(gpu) = Gpu::new() else { return };
    let pairs: Vec<[u64; 2]> = (0..50_000).map(|v| [2 * v, 2 * v + 1]).collect();
    let path = gpu.place.u32("edges.u32", &pairs);
    for table in ["[cores]", "[betweenness]\nroots = 1", "[distances]\nroots = 1", "[components]\nstrong = true"] {
        gpu.place.job(&format!("path = '{}'\ndirected = true\n", path.display()), table);
        gpu.forget();
        gpu.run(&[("GPUGRAPH_FAILPOINTS", "partition.begin=1:stop")], &["run.device=gpu"]).expect(75);
        let refused = gpu.run(&[], &["run.device=gpu", "limits.gpu_memory=1MiB"]).expect(7).err;
        let needed = refused.split_once("at least ").and_then(|(_, rest)| rest.split_whitespace().next());
        let needed = needed.unwrap_or_else(|| panic!("no limit in {refused}"));
        gpu.run(&[], &["run.device=gpu", &format!("limits.gpu_memory={needed}")]).expect(0);
        assert_eq!(gpu.place.read_report()["device"], "gpu", "{table}");
    }
}
