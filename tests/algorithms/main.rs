//! Every algorithm of the registry as a job: its answers against an oracle however it is run, and the jobs of several tables.
//!
//! `oracle` knows the answers; a new algorithm is a function there. `sums` is an algorithm of the tests (src/algo/sums).

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod betweenness;
mod bfs;
mod cdlp;
mod comparisons;
mod components;
mod cores;
mod dfs;
mod dijkstra;
mod distances;
mod edges;
mod forged;
mod graphalytics;
mod killed;
mod lists;
mod oracle;
mod pagerank;
mod searches;
mod sorted_rows;
mod sssp;
mod tables;
mod traverse;
mod weights;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use oracle::Graph;
use serde_json::Value;
use support::{Place, Ran, files, number};

/// Both tables, with all that they can write.
const BOTH: &str = "[triangle]\nper_vertex = true\n[sums]\ncolumns = true\n";

/// Writes a job file of exactly these tables on the edges of `graph`, whose workdir is `work`; direction is kept if they ask for it, and
/// edges come with weights if they read these.
fn job(place: &Place, graph: &Graph, tables: &str) {
    let weighted = tables.contains("\"file\"");
    let path = place.path(if weighted { "edges.wel" } else { "edges.u64" });
    let bytes: Vec<u8> = match weighted {
        true => graph.text().into_bytes(),
        false => graph.edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect(),
    };
    if fs::read(&path).ok().as_ref() != Some(&bytes) {
        // A file that is written again is another input until it is read.
        fs::write(&path, bytes).expect("write");
    }
    let workdir = if tables.contains("[job]") { "" } else { "[job]\nworkdir = 'work'\n" };
    let directed = if tables.contains("direction = true") { "directed = true\n" } else { "" };
    place.write("job.toml", format!("{workdir}[input]\npath = '{}'\n{directed}{tables}", path.display()));
}

/// Runs the job on the processor, with failpoints.
fn run(place: &Place, failpoints: &str, set: &[&str]) -> Ran {
    let sets = set.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"].into_iter().chain(sets).collect();
    Ran::command(place.command(&args).env("GPUGRAPH_FAILPOINTS", failpoints))
}

/// Runs the job to its end; the report.
#[track_caller]
fn report(place: &Place, set: &[&str]) -> Value {
    run(place, "", set).expect(0);
    place.read_report()
}

/// The files below `out`, by their paths in there.
fn outputs(workdir: &Path) -> BTreeMap<String, Vec<u8>> {
    files(&workdir.join("out"), &[""])
}

/// Ends a job of the table `[NAME]` in two trials at failpoints, by a stop (75) or a kill (137), and checks that the next run leaves what one
/// does that lives. After a stop `verify` says `saved`.
fn goes_on(place: &Place, name: &str, rules: &[(String, i32)], saved: &str) {
    let result = |mut report: Value| {
        let mut result = report["results"][name].take();
        let fields = result.as_object_mut().expect("a result");
        for field in ["seconds", "trials"] {
            fields.remove(field).expect(field);
        }
        result
    };
    let lived = result(report(place, &["run.trials=2"]));
    let files = outputs(&place.workdir());
    for (rule, code) in rules {
        fs::remove_dir_all(place.workdir()).expect("removed");
        run(place, &format!("{name}.unit={rule}"), &["run.trials=2"]).expect(*code);
        let checkpoint = |trial| place.workdir().join(format!("units/{name}.{trial}.checkpoint")).is_file();
        assert_eq!([0, 1].map(checkpoint).contains(&true), *code == 75, "{rule}");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(*code == 137 || said.contains(saved), "{said}");
        let after = result(report(place, &["run.trials=2"]));
        assert_eq!(outputs(&place.workdir()), files, "{rule}");
        assert_eq!(after, lived, "{rule}");
    }
    fs::remove_dir_all(place.workdir()).expect("removed");
}

/// Runs the table `[NAME]` with `keys` on a graph with direction and without, by some numbers of threads and in the least memory: the result and
/// the files are the same.
fn same_for_any_threads_and_limits(name: &str, keys: &str) {
    let place = Place::new();
    for directed in [false, true] {
        let graph = "kronecker = { scale = 13, edge_factor = 12, seed = 3 }\n";
        let input = format!("[job]\nworkdir = 'work'\n[input]\n{graph}directed = {directed}\n");
        place.write("job.toml", format!("{input}[{name}]\n{keys}"));
        let plan = place.gpugraph(&["plan", "job.toml", "--json", "--set", "run.device=cpu"]).expect(0);
        let plan: Value = serde_json::from_str(&plan.out).expect("JSON");
        let least = format!("limits.host_memory={}", number(&plan, "host_memory_needed").next_multiple_of(1 << 20));
        let mut known = None;
        for set in
            [&["limits.threads=1"][..], &["limits.threads=2"], &["limits.threads=5"], &["limits.threads=2", &least]]
        {
            let _ = fs::remove_dir_all(place.workdir());
            let mut result = report(&place, set)["results"][name].clone();
            ["seconds", "trials"].iter().for_each(|field| drop(result[field].take()));
            let files = outputs(&place.workdir());
            assert_eq!(known.get_or_insert_with(|| (result.clone(), files.clone())), &(result, files), "{set:?}");
        }
    }
}

/// Keys of the table `[NAME]` that are `wrong`, and a source that the graph does not have, are refused.
fn wrong_keys_are_refused(name: &str, wrong: &[&str]) {
    let (place, graph) = (Place::new(), Graph::new(30, 40, 1));
    for wrong in wrong {
        job(&place, &graph, &format!("[{name}]\n{wrong}\n"));
        let ran = place.run(&[]).expect(2);
        assert!(ran.err.contains(&format!("{name}.")), "{}", ran.err);
    }
    job(&place, &graph, &format!("[{name}]\nsources = [12345678]\n"));
    assert!(place.run(&[]).expect(3).err.contains("the source 12345678"));
}
