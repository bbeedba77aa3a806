//! `gpugraph graphalytics`: results by hand, of vertices without edges too; references that must pass or fail; bad inputs;
//! and the graphs that LDBC Graphalytics and libgrape-lite publish.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, Ran, reference_graphs};

const VERTICES: &str = "30\n10\n40\n20\n";
const EDGES: &str = "10 20 0.5\n20 30 0.25\n10 30 1.0\n";

/// The properties of a graph `g` whose searches begin at `source`.
fn properties(directed: bool, source: u64, iterations: u32) -> String {
    let mut text = String::new();
    for (key, value) in [
        ("vertex-file", "g.v".to_owned()),
        ("edge-file", "g.e".to_owned()),
        ("directed", directed.to_string()),
        ("edge-properties.names", "weight".to_owned()),
        ("edge-properties.types", "real".to_owned()),
        ("algorithms", "bfs, cdlp, lcc, pr, sssp, wcc".to_owned()),
        ("bfs.source-vertex", source.to_string()),
        ("cdlp.max-iterations", iterations.to_string()),
        ("pr.damping-factor", "0.85".to_owned()),
        ("pr.num-iterations", iterations.to_string()),
        ("sssp.weight-property", "weight".to_owned()),
        ("sssp.source-vertex", source.to_string()),
    ] {
        writeln!(text, "graph.g.{key} = {value}").expect("text");
    }
    text
}

fn write(place: &Place, [vertices, edges]: [&str; 2], properties: &str) {
    for (name, text) in [("g.v", vertices), ("g.e", edges), ("g.properties", properties)] {
        place.write(name, text);
    }
}

fn graphalytics(place: &Place, more: &[&str]) -> Ran {
    let args = ["graphalytics", "g.properties", "--set", "run.device=cpu", "--quiet", "--fresh"];
    place.gpugraph(&[&args, more].concat())
}

/// Whether each algorithm was validated, in the order of the report.
fn validated(place: &Place, more: &[&str], code: i32) -> Vec<String> {
    let ran = graphalytics(place, &[&["--json"], more].concat()).expect(code);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let one = |of: &Value| format!("{} {}", of["algorithm"], of["validated"]).replace('"', "");
    report["algorithms"].as_array().expect("a list").iter().map(one).collect()
}

#[test]
fn results_of_a_small_graph_are_those_by_hand() {
    let place = Place::new();
    write(&place, [VERTICES, EDGES], &properties(true, 10, 1));
    let algorithms = ["--output", "out"];
    let ran = graphalytics(&place, &algorithms).expect(0);
    assert!(ran.out.starts_with("g: directed, vertices 4, edges 3\n"), "{}", ran.out);
    assert_eq!(ran.out.matches("no reference").count(), 6, "{}", ran.out);
    let out = |name: &str| fs::read_to_string(place.path("out").join(format!("g-{name}"))).expect("results");
    assert_eq!(out("BFS"), "30 1\n10 0\n40 9223372036854775807\n20 1\n");
    assert_eq!(out("SSSP"), "30 0.75\n10 0.0\n40 infinity\n20 0.5\n");
    assert_eq!(out("WCC"), "30 10\n10 10\n40 40\n20 10\n");
    assert_eq!(out("CDLP"), "30 10\n10 20\n40 40\n20 10\n");
    // One edge of two between each pair of neighbours.
    assert_eq!(out("LCC"), "30 0.5\n10 0.5\n40 0.0\n20 0.5\n");
    // Vertices 30 and 40 spread their ranks: each vertex gets (0.15 + 0.85 / 2) / 4, and what its in-edges bring.
    let known = [("30", 0.4625), ("10", 0.14375), ("40", 0.14375), ("20", 0.25)];
    for (line, (id, rank)) in out("PR").lines().zip(known) {
        let (found, value) = line.split_once(' ').expect("an id and a rank");
        assert_eq!(found, id);
        assert!((value.parse::<f64>().expect("a number") - rank).abs() < 1e-12, "{line}");
    }
    // The written results are valid references.
    for name in ["BFS", "CDLP", "LCC", "PR", "SSSP", "WCC"] {
        fs::copy(place.path("out").join(format!("g-{name}")), place.path(format!("g-{name}"))).expect("a copy");
    }
    assert!(validated(&place, &algorithms, 0).iter().all(|of| of.ends_with(" yes")));
    place.write("g.properties", properties(false, 10, 1));
    fs::remove_file(place.path("g-LCC")).expect("removed");
    graphalytics(&place, &["--algorithms", "lcc,bfs", "--output", "out"]).expect(0);
    assert_eq!(out("LCC"), "30 1.0\n10 1.0\n40 0.0\n20 1.0\n");
    let verified = place.gpugraph(&["verify", "gpugraph.work/g"]).expect(0).out;
    assert!(!verified.contains("not checked"), "{verified}");
}

#[test]
fn references_that_differ_fail() {
    let place = Place::new();
    write(&place, [VERTICES, EDGES], &properties(false, 10, 1));
    let check = |name: &str, reference: &str, code: i32, said: &str| {
        place.write(&format!("g-{name}"), reference);
        let ran = graphalytics(&place, &["--algorithms", &name.to_lowercase()]).expect(code);
        assert!(ran.out.contains(said), "{name} {reference}: {}", ran.out);
        assert_eq!(code == 8, ran.err.contains(&format!("{} of g: not the reference", name.to_lowercase())));
        fs::remove_file(place.path(format!("g-{name}"))).expect("removed");
    };
    check("BFS", "10 0\n20 1\n30 1\n40 9223372036854775807\n", 0, " yes");
    check("BFS", "10 0\n20 2\n30 1\n40 9223372036854775807\n", 8, "vertex 20: expected 2, found 1");
    check("BFS", "10 0\n20 1\n30 1\n", 8, "vertex 40 is not in the reference");
    check("BFS", "10 0\n20 1\n20 1\n30 1\n40 9223372036854775807\n", 8, "vertex 20 is in the reference twice");
    check(
        "BFS",
        "10 0\n20 1\n30 1\n40 9223372036854775807\n50 1\n",
        8,
        "vertex 50 of the reference is not in the graph",
    );
    check("SSSP", "10 0\n20 0.5\n30 0.75001\n40 Infinity\n", 0, " yes");
    check("SSSP", "10 0\n20 0.5\n30 0.751\n40 Infinity\n", 8, "vertex 30: expected 0.751, found 0.75");
    check("SSSP", "10 0\n20 0.5\n30 Infinity\n40 7.0\n", 8, "vertex 40: expected 7.0, found infinity");
    check("LCC", "10 1\n20 1\n30 1\n40 0\n", 0, " yes");
    check("LCC", "10 1\n20 1\n30 1\n40 1e-9\n", 8, "vertex 40: expected 1e-9, found 0.0");
    // Labels of components need not be the same, only the components.
    check("WCC", "10 7\n20 7\n30 7\n40 0\n", 0, " yes");
    check("WCC", "10 7\n20 8\n30 7\n40 0\n", 8, "vertex 20: expected 8, where its component 10 has 7");
    check("WCC", "10 7\n20 7\n30 7\n40 7\n", 8, "label 7 of the reference covers several components");
    place.write("g-BFS", "10 0\n20 one\n");
    let ran = graphalytics(&place, &["--algorithms", "bfs"]).expect(3);
    assert!(ran.error().contains("g-BFS:2: expected the id of a vertex and its value, found 20 one"), "{}", ran.err);
}

#[test]
fn bad_inputs_are_refused_with_their_place() {
    let place = Place::new();
    let good = properties(true, 10, 1);
    let without = |key: &str| good.lines().filter(|line| !line.contains(key)).collect::<Vec<_>>().join("\n");
    let bfs = ["--algorithms", "bfs"];
    let check = |[vertices, edges]: [&str; 2], properties: &str, more: &[&str], code: i32, said: &str| {
        write(&place, [vertices, edges], properties);
        let ran = graphalytics(&place, more).expect(code);
        assert!(ran.error().contains(said), "{}\n{said}", ran.err);
    };
    let graph = [VERTICES, EDGES];
    check(graph, &good.replace("= g.e", "= h.e"), &bfs, 3, "g.properties:2: expected a file that exists (No such file");
    check(
        graph,
        &good.replace("bfs, ", "bfs, bc, "),
        &bfs,
        3,
        "g.properties:6: expected algorithms of bfs, cdlp, lcc, pr, sssp, wcc",
    );
    check(graph, &good.replace("cdlp, ", ""), &["--algorithms", "cdlp"], 3, "expected cdlp, which --algorithms names");
    check(graph, &without("bfs.source"), &bfs, 3, "expected the key graph.g.bfs.source-vertex, found none; add it");
    check(graph, &without("pr.num"), &["--algorithms", "pr"], 3, "the key graph.g.pr.num-iterations");
    check(graph, &without("vertex-file"), &bfs, 3, "expected the key graph.NAME.vertex-file of one graph, found none");
    check(graph, &properties(true, 11, 1), &bfs, 3, "g.properties:7: expected the id of a vertex in");
    check([VERTICES, "10 20\n20 30\n"], &good, &["--algorithms", "sssp"], 3, "g.e:1: expected a column 3");
    check(
        graph,
        &good.replace("sssp.weight-property = weight", "sssp.weight-property = w"),
        &["--algorithms", "sssp"],
        3,
        "expected a property of edges among weight",
    );
    let unlisted = [VERTICES, "# arcs\n10 20 20\n20 25 10\n"];
    check(unlisted, &good, &bfs, 3, "g.e:3: expected ids that ");
    check([VERTICES, "10 20\n20 x\n"], &good, &bfs, 3, "g.e:2: ");
    check(["10\n20\n\nx\n30\n", EDGES], &good, &bfs, 3, "g.v:4: expected the id of a vertex");
    check(["10\n20\n10\n30\n", EDGES], &good, &bfs, 3, "expected each vertex once, found 4 lines with 3 vertices");
    check(graph, &good, &["--algorithms", "bfs", "--set", "output.format=csv"], 2, "results of Graphalytics are text");
}

/// Copies a published graph and the references that it has.
fn published(place: &Place, graph: [&Path; 2], references: &[(&str, &Path)], properties: &str) -> bool {
    let [Ok(vertices), Ok(edges)] = graph.map(fs::read_to_string) else {
        println!("SKIPPED: no {} in the test data", graph[0].display());
        return false;
    };
    write(place, [&vertices, &edges], properties);
    for (name, path) in references {
        fs::copy(path, place.path(format!("g-{name}"))).expect("a reference");
    }
    true
}

#[test]
fn results_are_those_of_published_graphs() {
    let Some(data) = reference_graphs() else { return };
    for name in ["directed", "undirected"] {
        let place = Place::new();
        let path = data.join(format!("graphalytics/example/example-{name}.properties"));
        if !path.is_file() {
            println!("SKIPPED: no {} in the test data", path.display());
            continue;
        }
        let path = path.to_str().expect("text");
        let args = ["graphalytics", path, "--set", "run.device=cpu", "--quiet"];
        let said = place.gpugraph(&args).expect(0).out;
        let yes = said.lines().filter(|line| line.ends_with("  yes")).count();
        // CDLP and PageRank have no reference.
        assert_eq!(yes, 4, "{said}");
    }
    let place = Place::new();
    let p2p = |ending: &str| data.join("libgrape").join(format!("p2p-31{ending}"));
    let paths = ["BFS", "CDLP", "LCC", "PR", "SSSP", "WCC"].map(|name| (name, p2p(&format!("-{name}"))));
    let references = paths.each_ref().map(|(name, path)| (*name, path.as_path()));
    if published(&place, [&p2p(".v"), &p2p(".e")], &references, &properties(false, 6, 10)) {
        let found = validated(&place, &[], 0);
        assert_eq!(found, ["bfs yes", "cdlp yes", "lcc yes", "pr yes", "sssp yes", "wcc yes"]);
    }
}

/// The graphs by which Graphalytics tests its platforms: lists of neighbours, and for shortest paths edges.
#[test]
fn results_are_those_of_the_tests_of_graphalytics() {
    let Some(data) = reference_graphs() else { return };
    for (algorithm, direction) in [
        ("bfs", "dir"),
        ("bfs", "undir"),
        ("lcc", "dir"),
        ("lcc", "undir"),
        ("wcc", "dir"),
        ("wcc", "undir"),
        ("sssp", "dir"),
        ("sssp", "undir"),
    ] {
        let place = Place::new();
        let path = |name: &str| data.join("graphalytics").join(algorithm).join(format!("{direction}-{name}"));
        let [mut vertices, mut edges] = [path("input.v"), path("input.e")];
        if let Ok(lists) = fs::read_to_string(path("input")) {
            let (mut ids, mut pairs) = (BTreeSet::<u64>::new(), BTreeSet::<String>::new());
            for line in lists.lines() {
                let numbers: Vec<u64> = line.split_whitespace().map(|number| number.parse().expect("an id")).collect();
                ids.extend(&numbers);
                pairs.extend(numbers.iter().skip(1).map(|other| format!("{} {other}\n", numbers[0])));
            }
            let ids: String = ids.iter().map(|id| format!("{id}\n")).collect();
            let pairs: String = pairs.into_iter().collect();
            place.write("lists.v", &ids);
            place.write("lists.e", pairs);
            [vertices, edges] = [place.path("lists.v"), place.path("lists.e")];
        }
        let (properties, name) = (properties(direction == "dir", 1, 1), algorithm.to_uppercase());
        let output = path("output");
        if published(&place, [&vertices, &edges], &[(&name, &output)], &properties) {
            assert_eq!(validated(&place, &["--algorithms", algorithm], 0), [format!("{algorithm} yes")], "{direction}");
        }
    }
}

/// A list of vertices in a job file: rows, results and checks of vertices without edges.
#[test]
fn jobs_take_a_list_of_vertices() {
    let place = Place::new();
    let run = |keys: &str, code: i32, more: &[&str]| {
        let text =
            format!("[job]\nworkdir = 'work'\n{keys}\n[components]\n[bfs]\nsources = [40]\nwrite = true\n[pagerank]\n");
        place.write("job.toml", text);
        place.run(&[&["--set", "run.device=cpu", "--quiet"], more].concat()).expect(code)
    };
    write(&place, [VERTICES, EDGES], "");
    for (keep, path) in [("", "g.e"), ("keep = true\n", "g.el")] {
        let _ = fs::remove_dir_all(place.path("work"));
        place.write("g.el", EDGES);
        run(&format!("{keep}[input]\npath = '{path}'\nvertices = 'g.v'\ncolumns = [1, 2]"), 0, &[]);
        let report: Value =
            serde_json::from_slice(&fs::read(place.path("work/report.json")).expect("read")).expect("JSON");
        assert_eq!((report["graph"]["vertices"].as_u64(), report["graph"]["isolated"].as_u64()), (Some(4), Some(1)));
        assert_eq!(
            (report["graph"]["largest_id"].as_u64(), report["graph"]["ids"].as_str()),
            (Some(40), Some("sorted"))
        );
        assert_eq!(place.npy::<i64>("components/component"), [10, 10, 10, 40]);
        assert_eq!(place.npy::<i64>("bfs/40/parent"), [-1, -1, -1, 40]);
        let verified = place.gpugraph(&["verify", "job.toml"]).expect(0).out;
        assert!(!verified.contains("not checked"), "{verified}");
    }
    // The same edges with more vertices are another graph.
    place.write("g.v", format!("{VERTICES}50\n"));
    let keys = "keep = true\n[input]\npath = 'g.el'\nvertices = 'g.v'\ncolumns = [1, 2]";
    run(keys, 5, &[]);
    run(keys, 0, &["--fresh"]);
    assert_eq!(place.npy::<i64>("components/component"), [10, 10, 10, 40, 50]);
    let _ = fs::remove_dir_all(place.path("gpugraph.work"));
    place.write("other.toml", "[job]\nworkdir = 'other'\n[input]\nprepared = 'work'\n[components]\n");
    place.gpugraph(&["run", "other.toml", "--quiet"]).expect(0);
    place.gpugraph(&["verify", "other.toml"]).expect(0);
    place.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 1\n3 2\n");
    let refused = run("[input]\npath = 'g.mtx'\nvertices = 'g.v'", 2, &["--fresh"]);
    assert!(refused.error().contains("a list of vertices (input.vertices) does not apply"), "{}", refused.err);
    let refused = run("[input]\nkronecker = { scale = 4 }\nvertices = 'g.v'", 2, &["--fresh"]);
    assert!(refused.err.contains("is for input.path"), "{}", refused.err);
}
