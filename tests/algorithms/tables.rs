//! Jobs of several tables: what is done stays done, what is asked for is computed, and no task is taken for another.

use std::fs;
use std::time::SystemTime;

use serde_json::Value;

use crate::oracle::Graph;
use crate::support::{Place, number, resumed, triangles};
use crate::{BOTH, job, outputs, report, run};

const PREPARING: [&str; 4] = ["ingest", "relabel", "partition", "sort"];
const KEEP: &str = "[job]\nworkdir = 'work'\nkeep = true\n";

fn graph() -> Graph {
    Graph::new(300, 4000, 1)
}

fn json(place: &Place, args: &[&str]) -> Value {
    serde_json::from_str(&place.gpugraph(args).expect(0).out).expect("JSON")
}

fn modified(place: &Place, name: &str) -> SystemTime {
    fs::metadata(place.workdir().join(name)).and_then(|meta| meta.modified()).expect("a file")
}

/// Names of the stages that a plan has still to do.
fn to_do(place: &Place) -> Vec<String> {
    let plan = json(place, &["plan", "job.toml", "--json", "--set", "run.device=cpu"]);
    let stages = plan["stages"].as_array().expect("stages").iter().filter(|stage| stage["done"] == false);
    stages.map(|stage| stage["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_job_without_triangles_is_done_when_it_is_done_and_can_be_verified() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, "[sums]\ncolumns = true\n");
    let first = report(&place, &[]);
    let written = modified(&place, "report.json");
    let again = run(&place, "", &[]).expect(0);
    assert_eq!(modified(&place, "report.json"), written, "{}", again.err);
    assert!(again.out.starts_with(&format!("sums {}", first["results"]["sums"]["total"])), "{}", again.out);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(said.contains("by the edges of the input, too") && said.contains("ok      out/mean_f32.npy"), "{said}");
    // Results that are wrong and whole.
    let manifest = place.workdir().join("manifest.json");
    let mut loaded =
        gpugraph::internals::job::state::manifest::Manifest::load(&place.workdir()).expect("read").expect("there");
    loaded.tasks.get_mut("sums").expect("a task").found = Some(serde_json::json!({ "total": 1 }));
    loaded.save(&place.workdir()).expect("written");
    assert!(manifest.is_file());
    place.gpugraph(&["verify", "job.toml"]).expect(8);
}

#[test]
fn a_table_that_is_added_runs_alone_and_one_that_is_changed_too() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, &format!("{KEEP}[triangle]\nper_vertex = true\n"));
    let first = report(&place, &[]);
    let corners = modified(&place, "out/triangles.npy");
    job(&place, &graph, &format!("{KEEP}{BOTH}"));
    assert_eq!(to_do(&place), ["sums"]);
    let second = report(&place, &[]);
    assert_eq!(resumed(&second), [&PREPARING[..], &["triangle"]].concat());
    assert_eq!(second["results"]["triangle"], first["results"]["triangle"]);
    job(&place, &graph, &format!("{KEEP}{BOTH}sources = [5]\n"));
    assert_eq!(to_do(&place), ["sums"]);
    let third = report(&place, &[]);
    assert_eq!(resumed(&third), [&PREPARING[..], &["triangle"]].concat());
    assert!(place.workdir().join("out/sums/5/next.npy").is_file());
    assert_eq!(modified(&place, "out/triangles.npy"), corners, "another task's results were written again");
    // Without its source the folder goes, and nothing of the other task.
    job(&place, &graph, &format!("{KEEP}{BOTH}"));
    report(&place, &[]);
    assert!(!place.workdir().join("out/sums").exists());
    assert_eq!(modified(&place, "out/triangles.npy"), corners);
    assert_eq!(to_do(&place), Vec::<String>::new());
}

#[test]
fn a_table_that_is_added_prepares_again_only_if_nothing_was_kept() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, "[triangle]\n");
    let first = report(&place, &[]);
    job(&place, &graph, "[triangle]\n[sums]\n");
    let second = report(&place, &[]);
    assert_eq!(resumed(&second), ["triangle"]);
    assert_eq!(second["results"]["triangle"], first["results"]["triangle"]);
    // A table that is taken out leaves its results, which the report marks with the job that found them.
    job(&place, &graph, "[sums]\n");
    let third = report(&place, &[]);
    assert_eq!(resumed(&third).len(), 5, "{third:#}");
    assert!(third["results"]["triangle"]["from"]["job"].is_string(), "{third:#}");
    assert_eq!(number(&third, "results.triangle.triangles"), triangles(&first));
    assert!(third["results"]["sums"].get("from").is_none(), "{third:#}");
    let status = json(&place, &["status", "work", "--json"]);
    assert_eq!(number(&status, "results.triangle.triangles"), triangles(&first));
    let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
    assert!(said.contains("recount") && said.contains("sums"), "{said}");
}

#[test]
fn sparse_ids_stay_while_any_task_has_results_by_them() {
    let (place, graph) = (Place::new(), Graph::new(300, 4000, 1 << 40));
    job(&place, &graph, BOTH);
    report(&place, &[]);
    let before = outputs(&place.workdir());
    job(&place, &graph, "[triangle]\nper_vertex = true\n[sums]\n");
    report(&place, &[]);
    let left = outputs(&place.workdir());
    assert_eq!(left.keys().collect::<Vec<_>>(), ["clustering.npy", "degree.npy", "ids.npy", "triangles.npy"]);
    assert!(left.iter().all(|(name, bytes)| before[name] == *bytes));
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn another_format_writes_all_columns_again_and_leaves_none_of_the_other() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, BOTH);
    let first = report(&place, &["run.trials=2"]);
    let second = report(&place, &["run.trials=2", "output.format=csv"]);
    let names: Vec<String> = outputs(&place.workdir()).into_keys().collect();
    assert!(names.len() == 9 && names.iter().all(|name| name.ends_with(".csv")), "{names:?}");
    // The first trials of both are those of the first run.
    for task in ["triangle", "sums"] {
        let trials = |report: &Value| report["results"][task]["trials"].clone();
        assert_eq!(trials(&first)[0], trials(&second)[0], "{task}");
        assert_eq!(trials(&second).as_array().map(Vec::len), Some(2));
    }
    let rows = fs::read_to_string(place.workdir().join("out/degree_i32.csv")).expect("read");
    assert_eq!(rows.lines().count(), 1 + graph.rows.len());
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn a_job_without_a_table_prepares_and_keeps() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, "");
    let ran = run(&place, "", &[]).expect(0);
    assert!(ran.out.starts_with("prepared  vertices"), "{}", ran.out);
    let report = place.read_report();
    assert_eq!((&report["graph"]["kept"], &report["results"]), (&Value::Bool(true), &serde_json::json!({})));
    place.write("other.toml", format!("[input]\nprepared = 'work'\n{BOTH}"));
    place.gpugraph(&["run", "other.toml", "--quiet", "--set", "run.device=cpu"]).expect(0);
    assert_eq!(to_do(&place), Vec::<String>::new());
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    place.gpugraph(&["verify", "other.toml"]).expect(0);
}

#[test]
fn journals_and_checkpoints_are_those_of_their_task() {
    let (place, graph) = (Place::new(), Graph::new(2000, 32_000, 1));
    // A unit is in the journal at once, and in a checkpoint when the job is stopped.
    for (table, file, failpoint, code) in [
        ("[sums]\n", "units/sums.0", "sums.unit=2:kill", 137),
        ("[sums]\ncolumns = true\n", "units/sums.0.checkpoint", "sums.unit=2:stop", 75),
    ] {
        job(&place, &graph, &format!("[triangle]\n{table}"));
        run(&place, failpoint, &[]).expect(code);
        let status = json(&place, &["status", "job.toml", "--json"]);
        let units = &status["units"];
        assert_eq!((&units["task"], number(units, "done")), (&"sums".into(), 2), "{status:#}");
        assert!(number(units, "total") > 2, "{status:#}");
        let text = place.gpugraph(&["status", "job.toml"]).expect(0).out;
        assert!(text.contains(&format!("sums      2 of {}", units["total"])), "{text}");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(said.contains(&format!("ok      {file}")) && said.contains("2 units, "), "{said}");
        let path = place.workdir().join(file);
        let good = fs::read(&path).expect("units");
        let mut bad = good.clone();
        let middle = good.len() / 2;
        bad[middle] ^= 4;
        fs::write(&path, bad).expect("written");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(4);
        assert!(said.error().contains(file), "{}", said.err);
        fs::write(&path, good).expect("written");
        fs::write(place.workdir().join("units/else.0"), "x").expect("written");
        let said = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(said.contains("skipped units/else.0"), "{said}");
        let last = report(&place, &[]);
        assert!(resumed(&last).contains(&"triangle"), "{last:#}");
    }
}

#[test]
fn a_source_that_is_no_vertex_is_refused_and_so_is_one_that_is_there_twice() {
    let (place, graph) = (Place::new(), Graph::new(300, 4000, 1 << 40));
    for (sources, code, said) in [("[5]", 3, "the source 5"), ("[0, 0]", 2, "0 occurs twice"), ("[-1]", 2, "found -1")]
    {
        job(&place, &graph, &format!("[sums]\ncolumns = true\nsources = {sources}\n"));
        let ran = run(&place, "", &[]).expect(code);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn a_workdir_of_another_version_is_refused_and_fresh_begins_anew() {
    let (place, graph) = (Place::new(), graph());
    job(&place, &graph, "[triangle]\n");
    let first = report(&place, &[]);
    let path = place.workdir().join("manifest.json");
    let text = fs::read_to_string(&path).expect("read");
    let older = text.replacen("\"schema\": 2", "\"schema\": 1", 1);
    let body = &older[..older.rfind("\"checksum\"").expect("a checksum")];
    let sum = xxhash_rust::xxh3::xxh3_64(body.as_bytes());
    fs::write(&path, format!("{body}\"checksum\": \"{sum:016x}\"\n}}\n")).expect("written");
    let ran = run(&place, "", &[]).expect(2);
    assert!(ran.error().contains("--fresh") && ran.error().contains("manifest 1"), "{}", ran.err);
    assert!(place.workdir().join("report.json").is_file(), "nothing is lost");
    place.gpugraph(&["status", "job.toml"]).expect(2);
    place.gpugraph(&["run", "job.toml", "--quiet", "--fresh", "--set", "run.device=cpu"]).expect(0);
    assert_eq!(triangles(&place.read_report()), triangles(&first));
}

/// A symmetric matrix holds one half of its entries: as edges with direction these would be other edges.
#[test]
fn a_symmetric_matrix_is_refused_where_direction_is_kept() {
    let place = Place::new();
    let matrix = |symmetry: &str| format!("%%MatrixMarket matrix coordinate pattern {symmetry}\n3 3 2\n2 1\n3 1\n");
    let table = "[sums]\ndirection = true\ncolumns = true\n";
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = 'a.mtx'\ndirected = true\n{table}"));
    place.write("a.mtx", matrix("symmetric"));
    let refused = run(&place, "", &[]).expect(3);
    assert!(refused.err.contains("a.mtx:1") && refused.err.contains("directed = false"), "{}", refused.err);
    run(&place, "", &["input.directed=false"]).expect(0);
    place.write("a.mtx", matrix("general"));
    std::fs::remove_dir_all(place.workdir()).expect("removed");
    let report = report(&place, &[]);
    // Vertex 0 has two edges that enter it, from a vertex each that one leaves.
    assert_eq!(report["results"]["sums"]["total"], 4);
}
