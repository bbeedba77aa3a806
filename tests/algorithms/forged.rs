//! Wrong values under right checksums: `verify` finds one in any column, at any kind of vertex, and in any figure.

use std::fs;
use std::path::{Path, PathBuf};

use gpugraph::internals::algo::Verdict;
use gpugraph::internals::job::results::TaskResults;
use gpugraph::internals::job::state::manifest::Manifest;
use gpugraph::internals::job::status::JobPlace;
use gpugraph::internals::job::verify;
use gpugraph::internals::results::Output;
use serde_json::{Value, json};

use crate::support::Place;
use crate::{outputs, report};

/// Edges with vertices of every kind: 0 is a source, 1 to 4 and the last are reached, 6 and 7 are not, 5 has loops alone, and nothing names 8.
/// One edge is there twice. With direction they have a cycle.
const EDGES: [[u64; 2]; 10] = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [3, 4], [0, 9], [6, 7], [5, 5], [9, 3]];
/// The same, but for an edge the other way around: with direction they have no cycle but the loop.
const ACYCLIC: [[u64; 2]; 10] = [[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [3, 4], [0, 9], [6, 7], [5, 5], [9, 3]];

/// The factor of ids that are sparse.
const SPARSE: u64 = 0x3_0000_0001;

/// Every table that writes columns, from a source that has edges.
fn tables(source: u64, directed: bool) -> Vec<String> {
    let of_tree = if directed { "components = 'strong'" } else { "articulation = true" };
    let sources = format!("sources = [{source}]");
    vec![
        if directed { "[triangle]\nclustering = 'directed'\n" } else { "[triangle]\nper_vertex = true\n" }.into(),
        format!("[bfs]\n{sources}\nwrite = true\n"),
        format!("[traverse]\n{sources}\nwrite = true\n"),
        format!("[dfs]\nsource = {source}\n{of_tree}\n"),
        format!("[components]\nstrong = {directed}\n"),
        "[cdlp]\niterations = 3\n".into(),
        "[cores]\n".into(),
        format!("[betweenness]\n{sources}\n"),
        format!("[distances]\n{sources}\n"),
        "[pagerank]\niterations = 9\n".into(),
        format!("[sssp]\n{sources}\nwrite = true\nweights = {{ uniform = [1, 9], seed = 2 }}\n"),
    ]
}

/// Writes the job of `tables` on an input file and runs it.
#[track_caller]
fn run(place: &Place, path: &Path, input: &str, tables: &str) {
    place
        .write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n{input}\n{tables}", path.display()));
    report(place, &[]);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// Writes edges in a format that counts from 1, whose header declares 12 vertices: the last two have no edge.
fn declared(place: &Place, edges: &[[u64; 2]]) -> PathBuf {
    let lines: String = edges.iter().map(|[u, v]| format!("{} {}\n", u + 1, v + 1)).collect();
    let head = format!("%%MatrixMarket matrix coordinate pattern general\n12 12 {}\n", edges.len());
    place.write("edges.mtx", head + &lines)
}

/// Replaces a file of results, and its checksum in every task that has it.
pub fn put(place: &Place, name: &str, bytes: &[u8]) {
    fs::write(place.workdir().join(name), bytes).expect("written");
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    for task in manifest.tasks.values_mut().filter(|task| task.outputs.contains_key(name)) {
        task.outputs.insert(name.into(), Output::of(bytes));
    }
    manifest.save(&place.workdir()).expect("written");
}

/// Checks the job as `gpugraph verify` does, but in this process, because starting one for each of thousands of values takes longer than all checks.
/// Fails unless some check found what only a wrong result can be.
#[track_caller]
fn is_noticed(place: &Place, what: &str) {
    let mut verdict = Verdict::new(|_| Ok(()));
    let job = JobPlace::of(&place.path("job.toml"), &[]).expect("a job");
    verify::verify(&JobPlace { workdir: place.workdir(), ..job }, &mut verdict).expect("checks");
    let checks: Vec<String> = verdict.checks.iter().map(ToString::to_string).collect();
    assert_eq!(verdict.result().err().map(|e| e.exit_code()), Some(8), "{what}: {checks:?}");
}

/// Returns the bytes of a value of an array.
fn width(bytes: &[u8]) -> usize {
    if String::from_utf8_lossy(&bytes[..128]).contains("4'") { 4 } else { 8 }
}

/// Returns the number of rows of a column.
fn rows(name: &str, bytes: &[u8]) -> usize {
    match name.ends_with(".csv") {
        true => bytes.split(|&byte| byte == b'\n').count() - 2,
        false => (bytes.len() - 128) / width(bytes),
    }
}

/// Returns the column with another number in a row: one more, or 1.5 more if it is a decimal.
fn forged(name: &str, bytes: &[u8], row: usize) -> Vec<u8> {
    if name.ends_with(".csv") {
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = &mut lines[row + 1];
        let (id, value) = line.split_once(',').expect("a comma");
        let other = match (value.parse::<i64>(), value.parse::<u64>()) {
            (Ok(value), _) => (value + 1).to_string(),
            (_, Ok(value)) => value.wrapping_add(1).to_string(),
            _ => "0.375".into(),
        };
        *line = format!("{id},{other}");
        return (lines.join("\n") + "\n").into_bytes();
    }
    let width = width(bytes);
    let is_decimal = String::from_utf8_lossy(&bytes[..128]).contains("<f");
    let mut bytes = bytes.to_vec();
    let value = &mut bytes[128 + width * row..][..width];
    match (is_decimal, width) {
        (true, 4) => {
            let number = f32::from_le_bytes(value.try_into().expect("4 bytes")) + 1.5;
            value.copy_from_slice(&(if number.is_finite() { number } else { 1.5 }).to_le_bytes());
        }
        (true, _) => {
            let number = f64::from_le_bytes(value.try_into().expect("8 bytes")) + 1.5;
            value.copy_from_slice(&number.to_le_bytes());
        }
        _ => {
            let carry = value.iter().position(|&byte| byte != u8::MAX).unwrap_or(width - 1);
            value[..=carry].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        }
    }
    bytes
}

/// Runs a job of each table alone, because `verify` checks all tables of a job, and forges all its values. `edges` writes the input.
#[track_caller]
fn every_value_of(edges: &dyn Fn(&Place) -> PathBuf, input: &str, tables: &[String], output: &str) {
    for table in tables {
        let place = Place::new();
        run(&place, &edges(&place), input, &format!("{table}{output}"));
        every_value(&place);
    }
}

/// Forges every row of every file below `out`, one at a time. Columns that are new are forged as well, as the job left them.
#[track_caller]
fn every_value(place: &Place) {
    let files = outputs(&place.workdir());
    assert!(!files.is_empty());
    for (file, before) in files {
        let name = format!("out/{file}");
        for row in 0..rows(&name, &before) {
            put(place, &name, &forged(&name, &before, row));
            is_noticed(place, &format!("{name} row {row}"));
        }
        put(place, &name, &before);
    }
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn one_wrong_value_of_any_column_is_found_at_any_vertex() {
    // The second source has loops alone: nothing of the others is reached.
    for source in [0, 5] {
        every_value_of(&|place| place.u64("edges.u64", &EDGES), "", &tables(source, false), "");
    }
}

/// Links of a graph without direction.
#[test]
fn one_wrong_value_of_links_is_found() {
    every_value_of(&|place| place.u64("edges.u64", &EDGES), "", &["[triangle]\nclustering = 'directed'\n".into()], "");
}

const SUPPORTS: &str = "[triangle]\nper_edge = true\n";

/// The files of edges, whose rows are of no vertex, also from blocks.
#[test]
fn one_wrong_value_of_an_edge_is_found() {
    for (factor, input, output) in [
        (1, "", ""),
        (SPARSE, "", ""),
        (1, "directed = true", "[output]\nformat = 'csv'\n"),
        (SPARSE, "", "[output]\nformat = 'csv'\n"),
    ] {
        let edges = |place: &Place| place.u64("edges.u64", &EDGES.map(|edge| edge.map(|id| id * factor)));
        every_value_of(&edges, input, &[SUPPORTS.into()], output);
    }
}

#[test]
fn one_wrong_byte_of_a_table_is_found() {
    for table in tables(0, false).into_iter().chain([SUPPORTS.into()]) {
        let place = Place::new();
        let path = place.u64("edges.u64", &EDGES);
        run(&place, &path, "", &(table + "[output]\nformat = 'parquet'\n"));
        for (file, before) in outputs(&place.workdir()) {
            let name = format!("out/{file}");
            for at in (0..before.len()).step_by(11) {
                let mut bytes = before.clone();
                bytes[at] ^= 1;
                put(&place, &name, &bytes);
                is_noticed(&place, &format!("{name} byte {at}"));
            }
            put(&place, &name, &before);
        }
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
}

/// Rows of vertices that are declared and have no edge, and a row before the first vertex.
#[test]
fn one_wrong_value_is_found_where_ids_count_from_1() {
    every_value_of(&|place| declared(place, &EDGES), "first_id = 1", &tables(1, false), "");
    let csv = "[output]\nformat = 'csv'\n";
    every_value_of(&|place| declared(place, &ACYCLIC), "directed = true", &tables(0, true), csv);
    // Both have rows of all that is declared.
    for (edges, input, tables, count) in [
        (&EDGES, "first_id = 1", tables(1, false).concat(), 13),
        (&ACYCLIC, "directed = true", tables(0, true).concat() + csv, 12),
    ] {
        let place = Place::new();
        run(&place, &declared(&place, edges), input, &tables);
        assert!(outputs(&place.workdir()).iter().all(|(name, bytes)| rows(name, bytes) == count));
        assert_eq!(place.workdir().join("out/dfs/topological.csv").is_file(), tables.contains("csv"));
    }
}

#[test]
fn one_wrong_value_of_a_cycle_or_of_sparse_ids_is_found() {
    let sparse = |place: &Place| place.u64("edges.u64", &EDGES.map(|edge| edge.map(|id| id * SPARSE)));
    every_value_of(&sparse, "", &tables(0, false), "");
    every_value_of(&|place| place.u64("edges.u64", &EDGES), "directed = true", &tables(0, true), "");
    // The cycle of a vertex that has loops alone is its loop.
    for (source, length) in [(0, 3), (5, 1)] {
        let place = Place::new();
        let path = place.u64("edges.u64", &EDGES);
        run(&place, &path, "directed = true", &format!("[dfs]\nsource = {source}\ncomponents = 'strong'\n"));
        assert_eq!(rows("cycle.npy", &outputs(&place.workdir())["dfs/cycle.npy"]), length);
        every_value(&place);
    }
}

/// Results of a graph that another job kept are checked by its blocks.
#[test]
fn one_wrong_value_is_found_by_the_blocks_of_a_kept_graph() {
    for (factor, directed) in [(1, false), (1, true), (SPARSE, false)] {
        let place = Place::new();
        let path = place.u64("edges.u64", &EDGES.map(|edge| edge.map(|id| id * factor)));
        let input = format!("[input]\npath = '{}'\ndirected = {directed}\n", path.display());
        place.write("job.toml", format!("[job]\nworkdir = 'kept'\nkeep = true\n{input}"));
        place.gpugraph(&["run", "job.toml", "--quiet"]).expect(0);
        for table in tables(0, directed) {
            let kept = place.path("kept");
            place.write(
                "job.toml",
                format!("[job]\nworkdir = 'work'\n[input]\nprepared = '{}'\n{table}", kept.display()),
            );
            report(&place, &[]);
            every_value(&place);
            fs::remove_dir_all(place.workdir()).expect("removed");
        }
    }
}

/// Distances that are decimals, by weights of the input.
#[test]
fn one_wrong_distance_of_decimals_is_found() {
    let place = Place::new();
    let lines = EDGES.iter().enumerate().map(|(i, [u, v])| format!("{u} {v} {i}.5\n"));
    let path = place.write("edges.wel", lines.collect::<String>());
    run(&place, &path, "", "[sssp]\nsources = [0]\nwrite = true\n");
    every_value(&place);
}

/// Ids of text, and ranks of a list.
#[test]
fn texts_and_lists_are_compared_as_well() {
    let place = Place::new();
    let path = place.u64("edges.u64", &EDGES);
    run(&place, &path, "", &(tables(0, false).concat() + "[output]\nformat = 'csv'\n"));
    for (file, before) in outputs(&place.workdir()) {
        let name = format!("out/{file}");
        let text = String::from_utf8(before.clone()).expect("text");
        for other in [text.replacen("id,", "ids,", 1), text.replacen("\n8,", "\n18,", 1), text.clone() + "10,0\n"] {
            put(&place, &name, other.as_bytes());
            is_noticed(&place, &name);
        }
        put(&place, &name, &before);
    }
    let place = Place::new();
    let path = place.write("list.txt", "5\n1\n2\n3\n4\n-1\n");
    let input = format!("[input]\npath = '{}'\nformat = 'list'\n", path.display());
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n{input}[listrank]\n"));
    report(&place, &[]);
    every_value(&place);
}

/// Every number that the manifest has of a result is checked, also where the report has the same wrong number.
#[test]
fn one_wrong_figure_of_any_result_is_found() {
    // Work that was done and time that it took follow from nothing else.
    let unknown =
        ["probes", "relaxations", "edges_checked", "seconds", "teps", "phases", "pairs", "clustering", "distances"];
    for directed in [false, true] {
        one_wrong_figure(directed, &unknown);
    }
}

#[track_caller]
fn one_wrong_figure(directed: bool, unknown: &[&str]) {
    let place = Place::new();
    let path = place.u64("edges.u64", &EDGES);
    run(&place, &path, &format!("directed = {directed}"), &tables(0, directed).concat());
    let manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    for (name, record) in &manifest.tasks {
        let found = record.found.clone().expect("found");
        for pointer in numbers(&found, String::new()) {
            if unknown.iter().any(|key| pointer.split('/').any(|part| part == *key)) {
                continue;
            }
            let mut other = manifest.clone();
            let field =
                other.tasks.get_mut(name).and_then(|task| task.found.as_mut()).and_then(|of| of.pointer_mut(&pointer));
            let field = field.expect("a number");
            *field = field
                .as_u64()
                .map_or_else(|| json!(field.as_f64().expect("a number") + 0.25), |number| json!(number + 1));
            let mut text = place.read_report();
            text["results"] = serde_json::to_value(TaskResults::of(&other, 1, &[])).expect("results");
            save_report(&place, &mut other, &text);
            is_noticed(&place, &format!("{name} {pointer}"));
        }
    }
    // So is one of the report alone.
    let mut same = manifest.clone();
    let mut text: Value = place.read_report();
    text["graph"]["vertices"] = json!(11);
    save_report(&place, &mut same, &text);
    place.gpugraph(&["verify", "job.toml"]).expect(8);
}

/// Returns the JSON pointers of all numbers in a value.
fn numbers(value: &Value, place: String) -> Vec<String> {
    match value {
        Value::Number(_) => vec![place],
        Value::Object(fields) => fields.iter().flat_map(|(key, of)| numbers(of, format!("{place}/{key}"))).collect(),
        Value::Array(all) => all.iter().enumerate().flat_map(|(at, of)| numbers(of, format!("{place}/{at}"))).collect(),
        _ => Vec::new(),
    }
}

fn save_report(place: &Place, manifest: &mut Manifest, report: &Value) {
    let text = serde_json::to_vec_pretty(report).expect("written");
    fs::write(place.workdir().join("report.json"), &text).expect("written");
    manifest.outputs.insert("report.json".into(), Output::of(&text));
    manifest.save(&place.workdir()).expect("written");
}

/// Tables that were taken out of the job, and graphs that were kept since, change nothing of what results are checked by.
#[test]
fn results_stay_right_when_tables_come_and_go() {
    let text = |weight: &dyn Fn(usize) -> String| {
        EDGES.iter().enumerate().map(|(i, [u, v])| format!("{u} {v} {}\n", weight(i))).collect::<String>()
    };
    let tables =
        ["[sssp]\nsources = [0]\nwrite = true\n[triangle]\nper_vertex = true\n", "[triangle]\nper_vertex = true\n"];
    for (weights, directed) in [("whole", false), ("whole", true), ("decimal", false), ("decimal", true)] {
        let place = Place::new();
        let path =
            place.write("edges.wel", text(&|i| if weights == "whole" { i.to_string() } else { format!("{i}.5") }));
        let input = format!("[input]\npath = '{}'\ndirected = {directed}\n", path.display());
        let jobs = [(false, 0), (true, 1), (true, 1), (true, 0), (true, 1), (false, 1)];
        for (keep, tables) in jobs.map(|(keep, table)| (keep, tables[table])) {
            place.write("job.toml", format!("[job]\nworkdir = 'work'\nkeep = {keep}\n{input}{tables}"));
            report(&place, &[]);
            let ran = place.gpugraph(&["verify", "job.toml"]);
            assert_eq!(ran.code, 0, "{weights} directed {directed}, keep {keep}: {}", ran.out);
        }
        // A graph that keeps direction, and is read by another job without it.
        place.write("job.toml", format!("[job]\nworkdir = 'kept'\nkeep = true\n{input}{}", tables[0]));
        place.gpugraph(&["run", "job.toml", "--quiet"]).expect(0);
        place.write("job.toml", format!("[job]\nworkdir = 'other'\n[input]\nprepared = 'kept'\n{}", tables[1]));
        place.gpugraph(&["run", "job.toml", "--quiet"]).expect(0);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    // Sparse ids of loops alone: there is no vertex to search from, and no column.
    let place = Place::new();
    let path = place.u64("edges.u64", &[[5_000_000_000; 2]]);
    run(&place, &path, "", "[bfs]\nroots = 2\nwrite = true\n");
}
