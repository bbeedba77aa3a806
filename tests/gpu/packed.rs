//! Searches by jobs whose rows are packed in host memory, because whole rows find no room.

use crate::support::gpu::Gpu;
use crate::support::{Ran, number, random_edges, resumed};
use serde_json::Value;

const GPU: &str = "run.device=gpu";

/// A job of searches on these edges, and of nothing else.
fn job(gpu: &Gpu, edges: &[[u64; 2]]) {
    let path = gpu.place.u32("edges.u32", edges);
    let input = format!("[input]\npath = '{}'\n", path.display());
    let tables = "[job]\nworkdir = 'work'\n[bfs]\nroots = 5\nwrite = true\n[limits]\nthreads = 3\n";
    gpu.place.write("job.toml", input + tables);
}

/// As if whole rows did not fit, whenever a job asks, and more.
fn no_room(more: &str) -> String {
    let asked = (1..200).map(|time| format!("rows.unpacked={time}:enospc"));
    asked.chain((!more.is_empty()).then(|| more.to_owned())).collect::<Vec<_>>().join(";")
}

/// The searches in a report: what they found, without how.
fn found(gpu: &Gpu) -> Value {
    let mut report = gpu.place.read_report();
    let mut bfs = report["results"]["bfs"].take();
    assert_eq!(bfs["validated"], true);
    let sources = bfs["sources"].as_array_mut().expect("sources");
    for source in sources {
        ["seconds", "teps", "levels"].into_iter().for_each(|how| source[how] = Value::Null);
    }
    bfs["sources"].take()
}

/// All columns, by path.
fn columns(gpu: &Gpu) -> Vec<(String, Vec<u8>)> {
    let out = gpu.place.workdir().join("out/bfs");
    let sources = std::fs::read_dir(out).expect("columns").map(|source| source.expect("a folder").path());
    let files = sources.flat_map(|source| std::fs::read_dir(source).expect("files")).map(|file| {
        let path = file.expect("a file").path();
        (path.display().to_string(), std::fs::read(path).expect("read"))
    });
    let mut all: Vec<_> = files.collect();
    all.sort();
    all
}

fn is_packed(ran: &Ran) -> bool {
    ran.err.contains("rows are packed in memory")
}

fn blocks(gpu: &Gpu) -> usize {
    let files = std::fs::read_dir(gpu.place.workdir().join("graph")).into_iter().flatten().flatten();
    files.filter(|file| file.file_name().to_string_lossy().ends_with(".block")).count()
}

#[test]
fn gpu_searches_on_packed_rows_find_the_same_and_nothing_is_stored() {
    let Some(gpu) = Gpu::new() else { return };
    for (seed, vertices, edges) in [(7, 2000, 30_000), (1, 900, 30_000), (2, 20_000, 15_000), (3, 40, 2000), (4, 3, 1)]
    {
        job(&gpu, &random_edges(vertices, edges, seed));
        gpu.fresh(&["run.device=cpu"]);
        let known = (found(&gpu), columns(&gpu));
        gpu.forget();
        let log = ("GPUGRAPH_LOG", "info");
        let ran = gpu.run(&[log, ("GPUGRAPH_FAILPOINTS", &no_room(""))], &[GPU]).expect(0);
        assert!(is_packed(&ran), "{}", ran.err);
        assert_eq!(blocks(&gpu), 0);
        assert!((found(&gpu), columns(&gpu)) == known, "seed {seed}");
        gpu.with(&[], &["verify", "job.toml"]).expect(0);
        // Where they take more than was expected, they are stored after all.
        gpu.forget();
        let ran = gpu.run(&[log, ("GPUGRAPH_FAILPOINTS", &no_room("packed.rows=1:enospc"))], &[GPU]).expect(0);
        assert!(!is_packed(&ran) && ran.err.contains("so they are stored"), "{}", ran.err);
        assert!((found(&gpu), columns(&gpu)) == known, "seed {seed}");
    }
}

/// Memory may run out while the lower half is packed: blocks that are packed by then, and those that are not, are stored.
#[test]
fn gpu_rows_that_find_no_room_when_some_are_packed_are_stored() {
    let Some(gpu) = Gpu::new() else { return };
    job(&gpu, &random_edges(9000, 40_000, 7));
    gpu.fresh(&["run.device=cpu"]);
    let known = (found(&gpu), columns(&gpu));
    for block in ["1", "2", "4"] {
        gpu.forget();
        let rule = no_room(&format!("packed.lower={block}:enospc"));
        let ran = gpu.run(&[("GPUGRAPH_LOG", "info"), ("GPUGRAPH_FAILPOINTS", &rule)], &[GPU]).expect(0);
        assert!(!is_packed(&ran) && ran.err.contains("so they are stored"), "block {block}: {}", ran.err);
        assert!((found(&gpu), columns(&gpu)) == known, "block {block}");
    }
}

/// A limit that the plan of a packed job names is enough, before ingest and after it, but for what a driver takes more in one process than in
/// another. The driver of an H100 that four processes shared took up to 10 MiB more, so only the stand-in is asked.
#[test]
fn gpu_a_packed_job_runs_within_the_limit_that_its_plan_names() {
    let Some(gpu) = Gpu::stand_in() else { return };
    let rule = no_room("");
    let env = [("GPUGRAPH_LOG", "info"), ("GPUGRAPH_FAILPOINTS", rule.as_str())];
    let planned = |limit: &str| {
        let limit = format!("limits.host_memory={limit}");
        let ran = gpu.with(&env[1..], &["plan", "job.toml", "--json", "--set", GPU, "--set", &limit]).expect(0);
        let plan: Value = serde_json::from_str(&ran.out).expect("JSON");
        (number(&plan, "host_memory_needed") + (3 << 20)).to_string()
    };
    for (seed, vertices, edges) in [(7, 9000, 60_000), (3, 20_000, 25_000)] {
        job(&gpu, &random_edges(vertices, edges, seed));
        gpu.forget();
        let bound = planned("1GiB");
        let ran = gpu.run(&env, &[GPU, &format!("limits.host_memory={bound}")]).expect(0);
        assert!(is_packed(&ran) || blocks(&gpu) > 0 || ran.err.contains("stored"), "{}", ran.err);
        gpu.forget();
        let stop = no_room("partition.begin=1:enospc");
        gpu.run(&[("GPUGRAPH_FAILPOINTS", &stop)], &[GPU]).expect(6);
        let exact = planned("1GiB");
        gpu.run(&env, &[GPU, &format!("limits.host_memory={exact}")]).expect(0);
    }
}

/// What was found before a kill is not searched for again, on either device; rows are packed anew, or stored.
#[test]
fn gpu_a_killed_job_packs_anew_and_goes_on() {
    let Some(gpu) = Gpu::new() else { return };
    job(&gpu, &random_edges(2000, 30_000, 7));
    gpu.fresh(&["run.device=cpu"]);
    let known = (found(&gpu), columns(&gpu));
    for (second, packs) in [(GPU, true), (GPU, false), ("run.device=cpu", true)] {
        gpu.forget();
        gpu.run(&[("GPUGRAPH_FAILPOINTS", &no_room("bfs.source=3:kill"))], &[GPU]).expect(137);
        let log = ("GPUGRAPH_LOG", "info");
        let rule = no_room("");
        let env = [log, ("GPUGRAPH_FAILPOINTS", if packs { &rule } else { "" })];
        let ran = gpu.run(&env, &[second]).expect(0);
        assert_eq!(is_packed(&ran), packs && second == GPU, "{}", ran.err);
        assert!((found(&gpu), columns(&gpu)) == known, "on {second}");
        assert!(!resumed(&gpu.place.read_report()).contains(&"sort"));
    }
}
