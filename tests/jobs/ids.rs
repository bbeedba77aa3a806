//! Which vertices an input has, how they are numbered, and what the report says of them.

use crate::support::{Number, Place, npy, number, random_edges};
use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::results::Output;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Columns of vertices, those of which a value is an id, and their missing values.
const TABLES: &str = "[triangle]\nper_vertex = true\n[bfs]\nsources = [SOURCES]\nwrite = true\n[traverse]\nsources = [SOURCES]\nwrite = true\n\
                      [dfs]\nsource = SOURCE\narticulation = true\n[sssp]\nsources = [SOURCES]\ntarget = TARGET\nwrite = true\n";

/// The tables with the vertices that the file calls 3, 7 and 5, in a numbering from `first`.
fn tables(first: u64) -> String {
    let [three, seven, five] = [3, 7, 5].map(|node| node - 1 + first);
    let tables = TABLES.replace("[SOURCES]", &format!("[{three}, {seven}]"));
    tables.replace("SOURCE", &three.to_string()).replace("TARGET", &five.to_string())
}

fn write_job(place: &Place, input: &str, tables: &str) {
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\n{input}\n[run]\ndevice = 'cpu'\n{tables}"));
}

/// Edges between nodes 1 to 30, of which 7, 29 and 30 have none, with weights.
fn nodes() -> Vec<([u64; 2], u64)> {
    let some = random_edges(28, 60, 5).into_iter().map(|edge| edge.map(|id| id + 1));
    let some: BTreeSet<[u64; 2]> =
        some.filter(|[u, v]| u < v && ![*u, *v].contains(&7)).chain([[3, 4], [4, 5]]).collect();
    some.into_iter().zip([4, 1, 9, 2, 6].into_iter().cycle()).collect()
}

/// The same edges in the formats that count from 1.
fn files(place: &Place) -> [String; 3] {
    let (n, edges) = (30, nodes());
    let lines: String = edges.iter().map(|([u, v], weight)| format!("{v} {u} {weight}\n")).collect();
    place.write(
        "g.mtx",
        format!("%%MatrixMarket matrix coordinate integer symmetric\n{n} {n} {}\n{lines}", edges.len()),
    );
    let arcs: String =
        edges.iter().map(|([u, v], weight)| format!("a {u} {v} {weight}\na {v} {u} {weight}\n")).collect();
    place.write("g.gr", format!("p sp {n} {}\n{arcs}", 2 * edges.len()));
    let mut lists = vec![String::new(); n];
    for ([u, v], weight) in &edges {
        lists[*u as usize - 1] += &format!("{v} {weight} ");
        lists[*v as usize - 1] += &format!("{u} {weight} ");
    }
    place.write("g.graph", format!("{n} {} 001\n{}\n", edges.len(), lists.join("\n")));
    ["g.mtx", "g.gr", "g.graph"].map(String::from)
}

/// A column as the numbers that it has, whatever their type.
fn numbers(path: &Path) -> Vec<f64> {
    fn of<T: Number>(path: &Path, wide: impl Fn(T) -> f64) -> Vec<f64> {
        npy::<T>(path).into_iter().map(wide).collect()
    }
    let bytes = fs::read(path).expect("a column");
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    match ["<u4", "<u8", "<i4", "<i8", "<f8"].into_iter().find(|descr| header.contains(descr)) {
        Some("<u4") => of::<u32>(path, f64::from),
        Some("<u8") => of::<u64>(path, |value| if value == u64::MAX { f64::INFINITY } else { value as f64 }),
        Some("<i4") => of::<i32>(path, f64::from),
        Some("<i8") => of::<i64>(path, |value| value as f64),
        _ => of::<f64>(path, |value| value),
    }
}

/// All columns of the job, by their names.
fn columns(place: &Place) -> BTreeMap<String, Vec<f64>> {
    let files = crate::support::files(&place.workdir().join("out"), &[""]);
    let path = |name: &String| place.workdir().join("out").join(name);
    files.into_keys().map(|name| (name.clone(), numbers(&path(&name)))).collect()
}

/// The columns that a job with the file's own ids must write, made of those of one whose ids count from 0.
fn shifted(columns: &BTreeMap<String, Vec<f64>>) -> BTreeMap<String, Vec<f64>> {
    let shift = |(name, values): (&String, &Vec<f64>)| {
        let parts: Vec<String> =
            name.split('/').map(|part| part.parse::<u64>().map_or(part.into(), |id| (id + 1).to_string())).collect();
        let is_id = name.ends_with("parent.npy");
        let missing = match name.rsplit('/').next() {
            Some("distance.npy") => f64::INFINITY,
            Some("triangles.npy" | "degree.npy" | "clustering.npy") => 0.0,
            _ => -1.0,
        };
        let value = |&value: &f64| if is_id && value >= 0.0 { value + 1.0 } else { value };
        (parts.join("/"), [missing].into_iter().chain(values.iter().map(value)).collect())
    };
    columns.iter().map(shift).collect()
}

#[test]
fn first_id_1_keeps_the_ids_of_files_that_count_from_1() {
    let place = Place::new();
    let mut all = Vec::new();
    for file in files(&place) {
        let input = |first: u64| format!("path = '{file}'\nfirst_id = {first}");
        // Not set, ids count from 0.
        write_job(&place, &format!("path = '{file}'"), &tables(0));
        let ran = place.run(&["--quiet"]).expect(0);
        assert!(ran.out.contains("ids count from 0") && ran.out.contains("path 2 to 4: length"), "{}", ran.out);
        let (zero, report) = (columns(&place), place.read_report());
        assert_eq!((&report["input"]["first_id"], number(&report, "graph.largest_id")), (&Value::from(0), 29));
        assert_eq!(place.gpugraph(&["verify", "job.toml"]).expect(0).code, 0);
        assert!(zero.values().all(|column| column.len() == 30) && zero.len() == 21, "{:?}", zero.keys());

        // On the same workdir all columns come in the other numbering, and none of the first stays.
        write_job(&place, &input(1), &tables(1));
        let ran = place.run(&["--quiet"]).expect(0);
        assert!(ran.out.contains("ids count from 1") && ran.out.contains("path 3 to 5: length"), "{}", ran.out);
        let report = place.read_report();
        assert_eq!((&report["input"]["first_id"], number(&report, "graph.largest_id")), (&Value::from(1), 30));
        let path = &report["results"]["sssp"]["sources"][0]["path"];
        assert_eq!((&path["vertices"][0], number(path, "target")), (&Value::from(3), 5), "{path}");
        assert_eq!(columns(&place), shifted(&zero), "{file}");
        place.gpugraph(&["verify", "job.toml"]).expect(0);

        // Text has a line for each node, by the file's number.
        place.run(&["--quiet", "--set", "output.format='csv'"]).expect(0);
        let one = shifted(&zero);
        for (name, lines) in crate::support::files(&place.workdir().join("out"), &[""]) {
            let (text, column) = (String::from_utf8(lines).expect("text"), &one[&name.replace(".csv", ".npy")]);
            let row = |line: &str| {
                line.split_once(',').and_then(|(id, value)| Some((id.parse::<usize>().ok()?, value.to_owned())))
            };
            let rows: Vec<_> = text.lines().skip(1).map(|line| row(line).expect("two fields")).collect();
            assert_eq!(rows.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (1..=30).collect::<Vec<_>>(), "{name}");
            let is_same = |(id, value): &(usize, String)| {
                value
                    .parse::<f64>()
                    .is_ok_and(|value| value == column[*id] || value > 1e19 && column[*id].is_infinite())
            };
            assert!(rows.iter().all(is_same), "{name}: {text}");
        }
        place.gpugraph(&["verify", "job.toml"]).expect(0);
        fs::remove_dir_all(place.workdir()).expect("removed");
        all.push(zero);
    }
    assert!(all.windows(2).all(|two| two[0] == two[1]), "the same graph in three formats");
}

#[test]
fn a_kept_graph_is_read_in_either_numbering_and_drawn_weights_stay() {
    let place = Place::new();
    let [file, ..] = files(&place);
    let with_drawn = |first: u64| tables(first).replace("[sssp]", "[sssp]\nweights = { uniform = [1, 100], seed = 3 }");
    write_job(&place, &format!("path = '{file}'"), &with_drawn(0));
    place.run(&["--quiet"]).expect(0);
    let expected = shifted(&columns(&place));
    place.write("keep.toml", format!("[job]\nworkdir = 'kept'\n[input]\npath = '{file}'\n"));
    place.gpugraph(&["run", "keep.toml", "--quiet"]).expect(0);
    write_job(&place, "prepared = 'kept'\nfirst_id = 1", &with_drawn(1));
    place.run(&["--quiet", "--fresh"]).expect(0);
    assert_eq!(columns(&place), expected);
    // A figure or a value in the row that is of no node is noticed.
    forge(&place, "triangle", "out/degree.npy", |column| column[0] = 1);
    let said = place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(said.out.contains("row 0"), "{}", said.out);
}

#[test]
fn first_id_1_is_refused_where_ids_are_kept_as_they_are() {
    let place = Place::new();
    place.write("edges.txt", "1 2\n2 3\n");
    place.write("keep.toml", "[job]\nworkdir = 'kept'\n[input]\npath = 'edges.txt'\n");
    place.gpugraph(&["run", "keep.toml", "--quiet"]).expect(0);
    for input in ["path = 'edges.txt'", "kronecker = { scale = 4 }", "prepared = 'kept'"] {
        for (first, code) in [("1", 2), ("2", 2), ("0", 0)] {
            write_job(&place, &format!("{input}\nfirst_id = {first}"), "[triangle]\n");
            let ran = place.run(&["--quiet", "--fresh"]).expect(code);
            assert!(code == 0 || ran.err.contains("first_id"), "{}", ran.err);
        }
        let ran = place.run(&["--quiet"]).expect(0);
        assert!(!ran.out.contains("ids count"), "{}", ran.out);
    }
    write_job(&place, "list = { length = 10 }\nfirst_id = 0", "[listrank]\n");
    place.run(&[]).expect(2);
}

#[test]
fn a_source_that_no_edge_names_is_refused_unless_the_input_declares_it() {
    let place = Place::new();
    // 3 has no edge, 8 has a loop alone.
    let edges = [[0, 5], [5, 9], [9, 0], [8, 8]];
    place.u32("edges.u32", &edges);
    place.write("edges.txt", edges.map(|[u, v]| format!("{u} {v}\n")).concat());
    let entries = edges.map(|[u, v]| format!("{} {}\n", u + 1, v + 1)).concat();
    place.write("edges.mtx", format!("%%MatrixMarket matrix coordinate pattern general\n11 11 4\n{entries}"));
    let named = |id: u64| {
        [
            (format!("[bfs]\nsources = [0, {id}]\n"), format!("the source {id}")),
            (format!("[traverse]\nsources = [{id}]\n"), format!("the source {id}")),
            (format!("[dfs]\nsource = {id}\n"), format!("the source {id}")),
            (
                format!("[sssp]\nweights = {{ unit = true }}\nsources = [0]\ntarget = {id}\n"),
                format!("the target {id}"),
            ),
            (format!("[betweenness]\nsources = [{id}]\n"), format!("the source {id}")),
            (format!("[distances]\nsources = [{id}]\n"), format!("the source {id}")),
            (format!("[pagerank]\npersonalised = [{id}]\n"), format!("the personalised vertex {id}")),
        ]
    };
    let keep = |file: &str| {
        place.write("keep.toml", format!("[job]\nworkdir = 'kept'\n[input]\npath = '{file}'\n"));
        place.gpugraph(&["run", "keep.toml", "--quiet", "--fresh"]).expect(0);
    };
    let run = |input: &str, id: u64, code: i32| {
        for (table, said) in named(id) {
            write_job(&place, input, &table);
            let ran = place.run(&["--quiet", "--fresh"]).expect(code);
            assert!(code == 0 || ran.error().contains(&said), "{}", ran.err);
        }
    };
    for file in ["edges.u32", "edges.txt"] {
        run(&format!("path = '{file}'"), 3, 3);
        run(&format!("path = '{file}'"), 8, 0);
        run(&format!("path = '{file}'"), 10, 3);
    }
    run("path = 'edges.mtx'", 3, 0);
    run("path = 'edges.mtx'", 10, 0);
    run("path = 'edges.mtx'", 11, 3);
    keep("edges.mtx");
    run("prepared = 'kept'", 3, 0);
    // The same answers as on the file itself, which is read again for them. If it is gone or another, they are not known.
    keep("edges.txt");
    run("prepared = 'kept'", 3, 3);
    run("prepared = 'kept'", 8, 0);
    run("prepared = 'kept'", 10, 3);
    // The plan has the memory that reading takes.
    write_job(&place, "prepared = 'kept'", "[limits]\nthreads = 4\n[bfs]\nsources = [8]\n");
    let plan: Value =
        serde_json::from_str(&place.gpugraph(&["plan", "job.toml", "--json"]).expect(0).out).expect("a plan");
    let limit = format!("limits.host_memory={}", number(&plan, "host_memory_needed"));
    let report = place.report(&["--quiet", "--fresh", "--set", &limit]);
    assert!(report["stages"].as_array().expect("stages").iter().any(|stage| stage["name"] == "ingest"), "{report}");
    let text = fs::read(place.path("edges.txt")).expect("the edges");
    let others = String::from_utf8_lossy(&text).replace("8 8", "3 3");
    for changed in [Some(others.as_str()), Some("0 1\n"), None] {
        match changed {
            Some(changed) => drop(place.write("edges.txt", changed)),
            None => fs::remove_file(place.path("edges.txt")).expect("removed"),
        }
        write_job(&place, "prepared = 'kept'", "[bfs]\nsources = [0, 8]\n");
        let ran = place.run(&["--quiet", "--fresh"]).expect(3);
        assert!(ran.error().contains("the source 8, whose only edge may be a self-loop"), "{}", ran.err);
    }
    run("prepared = 'kept'", 5, 0);
    place.write("edges.txt", text);
    // Without loops the file is not read a second time to know.
    place.u32("edges.u32", &edges[..3]);
    write_job(&place, "path = 'edges.u32'", "[bfs]\nsources = [3]\n");
    let ran = place.run(&["--fresh"]).expect(3);
    assert!(ran.error().contains("which no edge has"), "{}", ran.err);
}

/// A graph without edges has an empty histogram of degrees, as a graph with edges has one with bins.
#[test]
fn the_report_has_degrees_also_without_edges() {
    let place = Place::new();
    for (text, bins) in [("", 0), ("3 3\n", 0), ("3 3\n0 1\n", 1)] {
        place.write("edges.txt", text);
        write_job(&place, "path = 'edges.txt'", "[components]\n");
        let report = place.report(&["--quiet", "--fresh"]);
        assert_eq!(report["graph"]["degrees"].as_array().map(Vec::len), Some(bins), "{text:?}: {}", report["graph"]);
    }
}

#[test]
fn the_refusal_of_a_source_says_how_ids_are_numbered() {
    let place = Place::new();
    place.write("roads.gr", "p sp 4 2\na 1 4 7\na 4 1 7\n");
    for (first, bad, said) in [(0, 4, ["0 to 3", "node 4 of the file is 3"]), (1, 0, ["1 to 4", "as in the file"])] {
        write_job(&place, &format!("path = 'roads.gr'\nfirst_id = {first}"), &format!("[sssp]\nsources = [{bad}]\n"));
        let ran = place.run(&["--quiet"]).expect(3);
        assert!(said.iter().all(|said| ran.error().contains(said)), "{}", ran.err);
    }
}

/// Few entries in many rows: an id is large for the number of edges, and is still the row of its column.
#[test]
fn columns_have_a_row_for_every_vertex_that_the_input_declares() {
    let place = Place::new();
    place.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n5000 5000 1\n3000 2\n");
    for format in ["npy", "parquet", "csv"] {
        write_job(
            &place,
            "path = 'g.mtx'",
            &format!("[output]\nformat = '{format}'\n[bfs]\nsources = [1, 4999]\nwrite = true\n"),
        );
        let report = place.report(&["--quiet", "--fresh"]);
        let graph = &report["graph"];
        assert_eq!(
            ["vertices", "isolated", "with_edges", "largest_id"].map(|key| number(graph, key)),
            [5000, 4998, 2, 4999]
        );
        assert_eq!(graph["ids"], "input");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    let column = |source: u64| {
        let text = fs::read_to_string(place.workdir().join(format!("out/bfs/{source}/parent.csv"))).expect("read");
        let line = |line: &str| {
            line.split_once(',').map(|(id, parent)| (id.parse().expect("an id"), parent.parse().expect("a parent")))
        };
        text.lines().skip(1).map(|text| line(text).expect("two fields")).collect::<Vec<(i64, i64)>>()
    };
    let row = |id: i64, reached: &[(i64, i64)]| {
        (id, reached.iter().find(|(of, _)| *of == id).map_or(-1, |(_, parent)| *parent))
    };
    assert_eq!(column(1), (0..5000).map(|id| row(id, &[(1, 1), (2999, 1)])).collect::<Vec<_>>());
    assert_eq!(column(4999), (0..5000).map(|id| row(id, &[(4999, 4999)])).collect::<Vec<_>>());
}

#[test]
fn vertices_with_an_edge_are_told_apart_from_the_range_of_ids() {
    let place = Place::new();
    place.u32("edges.u32", &[[3, 90_000], [90_000, 7], [500_000, 500_000]]);
    write_job(&place, "path = 'edges.u32'", "[triangle]\n");
    let ran = place.run(&["--quiet"]).expect(0);
    assert!(ran.out.contains("vertices 500001 (3 with an edge, largest id 500000)"), "{}", ran.out);
    // Sparse ids: vertices are those that occur, and nothing is said of a list that was not written.
    place.u64("edges.u64", &[[3, 1 << 40], [5, 5]]);
    write_job(&place, "path = 'edges.u64'", "[triangle]\n");
    let ran = place.run(&["--quiet", "--fresh"]).expect(0);
    assert!(ran.out.contains("vertices 3 (2 with an edge, largest id 1099511627776)"), "{}", ran.out);
    assert!(!ran.out.contains("ids.npy"), "{}", ran.out);
    let ran = place.run(&["--quiet", "--set", "triangle.per_vertex=true"]).expect(0);
    assert!(ran.out.contains("in the order of out/ids.npy"), "{}", ran.out);
    place.u32("edges.u32", &[]);
    write_job(&place, "path = 'edges.u32'", "[triangle]\nper_vertex = true\n");
    let ran = place.run(&["--quiet", "--fresh"]).expect(0);
    assert!(ran.out.contains("vertices 0 (0 with an edge)"), "{}", ran.out);
    assert_eq!(place.read_report()["results"]["triangle"]["average_clustering"], 0.0);
}

/// Changes a column of u32 or of any other type at its bytes, and the manifest as if the job had written that.
fn forge(place: &Place, task: &str, name: &str, change: impl Fn(&mut [u8])) {
    let path = place.workdir().join(name);
    let mut bytes = fs::read(&path).expect("a column");
    change(&mut bytes[128..]);
    fs::write(&path, &bytes).expect("written");
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    let outputs = &mut manifest.tasks.get_mut(task).expect("a task").outputs;
    *outputs.get_mut(name).expect("a file") = Output::of(&bytes);
    manifest.save(&place.workdir()).expect("written");
}

/// Zachary's club, by NetworkX 3: `average_clustering`, and the mean over nodes of degree 2 and more.
#[test]
fn degrees_and_average_clustering_are_those_of_networkx() {
    let place = Place::new();
    // A pendant edge for each kind: repeats and loops are no part of a degree.
    let club = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/karate.txt");
    let text = fs::read_to_string(club).expect("the club");
    place.write("club.txt", format!("{text}1 0\n2 2\n40 40\n"));
    write_job(&place, "path = 'club.txt'", "[triangle]\nper_vertex = true\n");
    let report = place.report(&["--quiet"]);
    let average = |key: &str| report["results"]["triangle"][key].as_f64().expect("a number");
    assert!((average("average_clustering") - 0.570_638_478_207_682_3).abs() < 1e-12);
    assert!((average("average_clustering_degree_2") - 0.587_930_553_304_884_8).abs() < 1e-12);
    let mut degrees = [0; 41];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        line.split_whitespace().for_each(|id| degrees[id.parse::<usize>().expect("an id")] += 1);
    }
    assert_eq!(place.npy::<u32>("degree"), degrees);
    place.gpugraph(&["verify", "job.toml"]).expect(0);

    // One more at one vertex and one less at another: only a recount knows.
    forge(&place, "triangle", "out/degree.npy", |bytes| bytes.swap(4, 8));
    forge(&place, "triangle", "out/clustering.npy", |bytes| (0..8).for_each(|byte| bytes.swap(8 + byte, 16 + byte)));
    place.gpugraph(&["verify", "job.toml"]).expect(8);
    place.run(&["--quiet", "--fresh"]).expect(0);
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    manifest.tasks.get_mut("triangle").expect("a task").how["average_clustering"] = Value::from(0.5);
    manifest.save(&place.workdir()).expect("written");
    let said = place.gpugraph(&["verify", "job.toml"]).expect(8);
    assert!(said.out.contains("average clustering"), "{}", said.out);
}

/// Sums of f32 that overflow leave vertices unreached. Edges are those between vertices that are reached, as often as the input has them.
#[test]
fn edges_of_paths_that_overflow_are_those_of_what_was_reached() {
    let place = Place::new();
    let arcs = [
        (0, 1, "3e38"),
        (1, 0, "3e38"),
        (1, 2, "3e38"),
        (2, 1, "3e38"),
        (2, 3, "1.0"),
        (0, 4, "1.0"),
        (4, 0, "2.0"),
        (4, 4, "1.0"),
    ];
    let lines: String = arcs.iter().map(|(u, v, weight)| format!("{u} {v} {weight}\n")).collect();
    place.write("g.wel", &lines);
    let edges = |report: &Value| {
        let source = |of: &Value| (number(of, "reached"), number(of, "edges"));
        report["results"]["sssp"]["sources"].as_array().expect("sources").iter().map(source).collect::<Vec<_>>()
    };
    // From 0: 0, 1 and 4. From 3: 2, 3 and 1. From 4 as from 0.
    let expected = [(3, 4), (3, 3), (3, 4)];
    for set in ["limits.threads=1", "limits.threads=3"] {
        write_job(&place, "path = 'g.wel'\nweights = 'f32'", "[sssp]\nsources = [0, 3, 4]\nwrite = true\n");
        assert_eq!(edges(&place.report(&["--quiet", "--fresh", "--set", set])), expected);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    let found = manifest.tasks.get_mut("sssp").and_then(|task| task.found.as_mut()).expect("a result");
    found["sources"][0]["edges"] = Value::from(5);
    manifest.save(&place.workdir()).expect("written");
    place.gpugraph(&["verify", "job.toml"]).expect(8);
    // A kept graph has no repeats: where each edge is there once the number is the same.
    place.write(
        "g.wel",
        arcs.iter().filter(|(u, v, _)| u < v).map(|(u, v, weight)| format!("{u} {v} {weight}\n")).collect::<String>(),
    );
    place.write("keep.toml", "[job]\nworkdir = 'kept'\nkeep = true\n[input]\npath = 'g.wel'\nweights = 'f32'\n");
    place.gpugraph(&["run", "keep.toml", "--quiet"]).expect(0);
    write_job(&place, "prepared = 'kept'", "[sssp]\nsources = [0, 3, 4]\nwrite = true\n");
    assert_eq!(edges(&place.report(&["--quiet", "--fresh"])), [(3, 2), (3, 2), (3, 2)]);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// The counts of each search add up to the vertices that it reached.
#[test]
fn a_source_without_edges_is_counted_where_it_is() {
    let place = Place::new();
    place.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 2\n1 2\n2 3\n");
    for sources in ["[4]", "[4, 0]", "[0, 4]"] {
        let searches = ["bfs", "traverse", "sssp"].map(|name| format!("[{name}]\nsources = {sources}\n")).concat();
        let searches = searches + "weights = { unit = true }\n";
        write_job(&place, "path = 'g.mtx'", &searches);
        let report = place.report(&["--quiet", "--fresh"]);
        let sums = |name: &str, list: &str, of: &str| {
            for source in report["results"][name]["sources"].as_array().expect("sources") {
                let reached = if source["source"] == 4 { 1 } else { 3 };
                assert_eq!(number(source, "reached"), reached, "{source}");
                let all = source[list].as_array().map(|all| all.iter().map(|at| number(at, of)).sum::<u64>());
                // Only the first source has a distribution of distances.
                assert_eq!(all.unwrap_or(reached), reached, "{name} from {sources}: {source}");
            }
        };
        sums("bfs", "levels", "frontier");
        sums("traverse", "levels", "frontier");
        sums("sssp", "distances", "vertices");
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}
