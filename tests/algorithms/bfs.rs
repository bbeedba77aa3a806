//! Jobs that search breadth-first: the roots that they draw, the block of Graph500, and searches that are broken off.

use std::collections::BTreeSet;

use gpugraph::internals::job::state::manifest::Manifest;
use serde_json::Value;

use crate::oracle::Graph;
use crate::support::{Place, number};
use crate::{job, outputs, report, run};

fn graph() -> Graph {
    Graph::new(2000, 9000, 1 << 40)
}

/// The sources of a report without what depends on how they were searched from.
fn searched(report: &Value) -> Vec<Value> {
    let mut sources = report["results"]["bfs"]["sources"].as_array().expect("sources").clone();
    for source in &mut sources {
        let fields = source.as_object_mut().expect("fields");
        ["seconds", "teps", "levels"].into_iter().for_each(|field| drop(fields.remove(field)));
    }
    sources
}

#[test]
fn roots_are_vertices_with_edges_each_once_and_follow_from_the_seed() {
    // Each search is made durable, so there are few vertices.
    let (place, graph) = (Place::new(), Graph::new(200, 400, 1 << 40));
    let roots = |table: &str| -> Vec<u64> {
        job(&place, &graph, &format!("[job]\nworkdir = 'work'\nkeep = true\n[bfs]\n{table}"));
        let report = report(&place, &[]);
        searched(&report).iter().map(|source| number(source, "source")).collect()
    };
    let first = roots("roots = 64");
    let connected: BTreeSet<u64> = graph.edges.iter().filter(|[u, v]| u != v).flatten().copied().collect();
    assert!(first.iter().all(|root| connected.contains(root)));
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 64);
    assert_eq!(roots("roots = 64\nvalidate = false"), first);
    assert_ne!(roots("roots = 64\nseed = 2"), first);
    let all: BTreeSet<u64> = roots("roots = 60000").into_iter().collect();
    assert_eq!(all, connected);
}

#[test]
fn fewer_roots_than_are_asked_for_are_told() {
    let place = Place::new();
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'edges.el'\n[bfs]\nroots = 3\n");
    for (edges, said) in [
        ("5 5\n4 4\n", "[bfs] searches from no root: no vertex has an edge that is not a loop"),
        ("5 7\n4 4\n", "[bfs] searches from 2 roots, not 3: no more vertices have an edge"),
    ] {
        let _ = std::fs::remove_dir_all(place.workdir());
        place.write("edges.el", edges);
        let ran = run(&place, "", &[]).expect(0);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn the_block_of_graph500_is_printed_and_says_what_the_report_says() {
    let place = Place::new();
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\nkronecker = { scale = 10, edge_factor = 8 }\n[bfs]\n");
    assert_eq!(run(&place, "", &["run.trials=2"]).expect(0).out.lines().count(), 1, "nobody asked for the block");
    place.write("job.toml", std::fs::read_to_string(place.path("job.toml")).expect("text") + "graph500 = true\n");
    let ran = run(&place, "", &["run.trials=2"]).expect(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("bfs 64 sources  vertices 1024"), "{}", lines[0]);
    assert_eq!(
        lines[1..4],
        [
            "SCALE:                          10",
            "edgefactor:                     8",
            "NBFS:                           64",
        ]
    );
    assert_eq!(lines.len(), 1 + 34, "{}", ran.out);
    let report = place.read_report();
    let found = &report["results"]["bfs"];
    assert_eq!(found["graph500"]["NBFS"], 64);
    let mean = found["harmonic_mean_teps"].as_f64().expect("a number");
    let of_block = found["graph500"]["bfs harmonic_mean_TEPS"].as_f64().expect("a number");
    assert!((mean / of_block - 1.0).abs() < 1e-9, "{mean} {of_block}");
    let sources = found["sources"].as_array().expect("sources");
    let per_edge: f64 = sources
        .iter()
        .map(|source| source["seconds"].as_f64().expect("seconds") / source["edges"].as_f64().expect("edges"))
        .sum();
    assert!((mean * per_edge / sources.len() as f64 - 1.0).abs() < 1e-9);
    for source in sources {
        let frontiers = source["levels"].as_array().expect("levels").iter().map(|level| number(level, "frontier"));
        assert_eq!(frontiers.sum::<u64>(), number(source, "reached"));
    }
    // Told once more, it is the same; sources that are named are no benchmark.
    let again = run(&place, "", &["run.trials=2"]).expect(0).out;
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), lines[1..]);
    let named = run(&place, "", &["bfs.sources=[5]"]).expect(2);
    assert!(named.err.contains("bfs.graph500") && named.err.contains("name roots"), "{}", named.err);
    let named = run(&place, "", &["bfs.sources=[5]", "bfs.graph500=false"]).expect(0);
    assert_eq!(named.out.lines().count(), 1, "{}", named.out);
}

#[test]
fn a_job_that_is_killed_between_searches_loses_one_at_most() {
    let (place, graph) = (Place::new(), graph());
    let table = "[bfs]\nroots = 9\nwrite = true\n";
    job(&place, &graph, table);
    let lived = report(&place, &[]);
    let files = outputs(&place.workdir());
    assert_eq!(files.len(), 2 * 9 + 1);
    for (rule, again) in [("bfs.source=1", 9), ("bfs.source=6", 9), ("bfs.check=1", 0), ("out.rename=8", 9)] {
        std::fs::remove_dir_all(place.workdir()).expect("removed");
        run(&place, &format!("{rule}:kill"), &[]).expect(137);
        let told = place.gpugraph(&["status", "job.toml"]).expect(0).out;
        // Each tree that was checked has a record, too.
        assert!((0..=9).any(|done| told.contains(&format!("units     {done} of 9 of bfs"))), "{rule}: {told}");
        let count = place.path("hits");
        let args = ["run", "job.toml", "--quiet", "--set", "run.device=cpu"];
        let ran = place.command(&args).env("GPUGRAPH_FAILPOINTS_COUNT", &count).output().expect("run");
        assert!(ran.status.success(), "{rule}");
        let hits = std::fs::read_to_string(&count).expect("counts");
        let noted = hits
            .lines()
            .find_map(|line| line.strip_prefix("bfs.source "))
            .map_or(0, |n| n.trim().parse().expect("a number"));
        let before: usize =
            rule.strip_prefix("bfs.source=").map_or(if again == 0 { 9 } else { 3 }, |n| n.parse().expect("a number"));
        assert_eq!(noted, 9 - before, "{rule}: sources that were noted are not searched for new figures");
        let after = place.read_report();
        assert_eq!(searched(&after), searched(&lived), "{rule}");
        assert_eq!(outputs(&place.workdir()), files, "{rule}");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

/// Before rows are made, and before tables that stand above.
/// Columns that a killed run wrote and did not note go with the table that they are of.
#[test]
fn columns_of_a_killed_run_do_not_outlive_its_table() {
    let (place, graph) = (Place::new(), graph());
    for table in ["[triangle]\nper_vertex = true\n", "[bfs]\nroots = 1\nwrite = true\nseed = 3\n", "[triangle]\n"] {
        let _ = std::fs::remove_dir_all(place.workdir());
        job(&place, &graph, table);
        report(&place, &[]);
        let known: Vec<String> = outputs(&place.workdir()).into_keys().collect();
        std::fs::remove_dir_all(place.workdir()).expect("removed");
        job(&place, &graph, "[bfs]\nroots = 9\nwrite = true\n");
        run(&place, "out.rename=6:kill", &[]).expect(137);
        assert!(outputs(&place.workdir()).len() > 3);
        place.write("work/out/mine.csv", "mine");
        job(&place, &graph, table);
        report(&place, &[]);
        std::fs::remove_file(place.path("work/out/mine.csv")).expect("it stays");
        assert_eq!(outputs(&place.workdir()).into_keys().collect::<Vec<_>>(), known, "{table}");
    }
}

#[test]
fn a_source_that_is_not_there_is_refused() {
    let place = Place::new();
    for (graph, absent) in [(graph(), 1), (Graph::new(200, 400, 1), 5000)] {
        for (tables, what) in [
            (format!("[bfs]\nsources = [{absent}]\n"), "source"),
            (format!("[dfs]\nsource = {absent}\n"), "source"),
            (
                format!("[sssp]\nweights = {{ unit = true }}\nsources = [{}]\ntarget = {absent}\n", graph.rows[5]),
                "target",
            ),
        ] {
            job(&place, &graph, &format!("[triangle]\n{tables}"));
            let _ = std::fs::remove_dir_all(place.workdir());
            let ran = run(&place, "", &[]).expect(3);
            let said = [format!("the {what} {absent}"), "ids are those of the input".to_owned()];
            assert!(said.iter().all(|said| ran.err.contains(said)), "{}", ran.err);
            let manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
            let stages: Vec<_> = manifest.stages.keys().collect();
            assert!(manifest.tasks.is_empty() && !stages.is_empty(), "{stages:?}");
            assert!(!manifest.stages.contains_key("partition"), "{stages:?}");
        }
    }
}

/// A wrong parent that is written, and whole by its checksum, is found by who reads the edges again.
#[test]
fn a_tree_that_was_changed_is_noticed_by_verify() {
    let (place, graph) = (Place::new(), Graph::new(300, 1200, 1));
    job(&place, &graph, "[bfs]\nsources = [5]\nwrite = true\n");
    report(&place, &[]);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(said.contains("by the five rules of Graph500"), "{said}");
    let path = place.workdir().join("out/bfs/5/parent.npy");
    let mut bytes = std::fs::read(&path).expect("read");
    let row = (0..graph.rows.len()).rev().find(|row| bytes[128 + 8 * row] != 0xff && *row != 5).expect("a vertex");
    bytes[128 + 8 * row..136 + 8 * row].copy_from_slice(&(row as i64).to_le_bytes());
    std::fs::write(&path, &bytes).expect("written");
    let mut loaded =
        gpugraph::internals::job::state::manifest::Manifest::load(&place.workdir()).expect("read").expect("there");
    let outputs = &mut loaded.tasks.get_mut("bfs").expect("a task").outputs;
    *outputs.get_mut("out/bfs/5/parent.npy").expect("a file") = gpugraph::internals::results::Output::of(&bytes);
    loaded.save(&place.workdir()).expect("written");
    let said = place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(said.out.contains("(rule 2 of Graph500)"), "{}", said.out);
}

/// A path hangs on a graph of many edges: levels of one vertex behind levels of many, and the other way around.
#[test]
fn searches_go_on_through_thousands_of_narrow_levels() {
    let (place, mut graph) = (Place::new(), Graph::new(700, 9000, 1));
    let (first, long) = (10_000, 3000);
    graph.edges.extend((first..first + long).map(|id| [id, id + 1]));
    graph.edges.push([5, first]);
    let depth_of_5 = |report: &Value, source: usize| number(&report["results"]["bfs"]["sources"][source], "depth");
    for threads in [1, 3] {
        job(&place, &graph, &format!("[bfs]\nsources = [5, {}]\nwrite = true\n", first + long));
        let report = report(&place, &[&format!("limits.threads={threads}"), "run.trials=1"]);
        assert_eq!(depth_of_5(&report, 0), long + 1);
        assert!(depth_of_5(&report, 1) > long + 1);
        let levels = report["results"]["bfs"]["sources"][1]["levels"].as_array().expect("levels");
        assert_eq!(levels.len(), 500, "a thousand are told of both");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(said.contains("by the five rules of Graph500"), "{said}");
        std::fs::remove_dir_all(place.workdir()).expect("removed");
    }
}
