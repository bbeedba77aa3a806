//! Wrong values that a forger makes whole by their checksums: `verify` finds one in any column, at any kind of vertex, and in any figure.

use std::collections::BTreeSet;
use std::fs;

use gpugraph::job::state::manifest::Manifest;
use gpugraph::results::Output;
use serde_json::{Value, json};

use crate::support::Place;
use crate::{outputs, report};

/// Edges with vertices of every kind: 0 is a source, 1 to 4 and the last are reached, 6 and 7 are not, 5 has loops alone, and nothing names 8.
/// One edge is there twice.
const EDGES: [[u64; 2]; 10] = [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [3, 4], [0, 9], [6, 7], [5, 5], [9, 3]];
/// Rows of a column of these: all but that of 8 where ids are sparse.
const ROWS: u64 = 10;

/// Every table that writes columns, from a source that has edges.
fn tables(source: u64, directed: bool) -> String {
    let of_tree = if directed { "components = 'strong'" } else { "articulation = true" };
    format!(
        "[triangle]\nper_vertex = true\n[bfs]\nsources = [{source}]\nwrite = true\n[traverse]\nsources = [{source}]\nwrite = true\n\
         [dfs]\nsource = {source}\n{of_tree}\n[sssp]\nsources = [{source}]\nwrite = true\nweights = {{ uniform = [1, 9], seed = 2 }}\n"
    )
}

/// Writes the job of `tables` on `edges` and runs it.
fn run(place: &Place, edges: &[[u64; 2]], input: &str, tables: &str) {
    let path = place.u64("edges.u64", edges);
    place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\npath = '{}'\n{input}\n{tables}", path.display()));
    report(place, &[]);
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

/// Replaces a file of results by one that is whole by its checksum, in every task that has it.
fn put(place: &Place, name: &str, bytes: &[u8]) {
    fs::write(place.workdir().join(name), bytes).expect("written");
    let mut manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    for task in manifest.tasks.values_mut().filter(|task| task.outputs.contains_key(name)) {
        task.outputs.insert(name.into(), Output::of(bytes));
    }
    manifest.save(&place.workdir()).expect("written");
}

/// The column with another number in a row: one more, or 1.5 more of decimals.
fn forged(name: &str, bytes: &[u8], row: u64) -> Vec<u8> {
    if name.ends_with(".csv") {
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = &mut lines[row as usize + 1];
        let (id, value) = line.split_once(',').expect("a comma");
        let other = value.parse::<i64>().map_or_else(
            |_| value.parse::<u64>().map_or_else(|_| "0.375".into(), |value| value.wrapping_add(1).to_string()),
            |value| (value + 1).to_string(),
        );
        *line = format!("{id},{other}");
        return (lines.join("\n") + "\n").into_bytes();
    }
    let mut bytes = bytes.to_vec();
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    let width = if header.contains("4'") { 4 } else { 8 };
    let value = &mut bytes[128 + width * row as usize..][..width];
    match (header.contains("<f"), width) {
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

/// Forges every file below `out` in every row; files are as the job left them, so a new column is forged as well.
fn every_value(place: &Place, rows: u64) {
    let files = outputs(&place.workdir());
    assert!(!files.is_empty());
    for (file, before) in files {
        let name = format!("out/{file}");
        for row in 0..rows {
            put(place, &name, &forged(&name, &before, row));
            let ran = place.gpugraph(&["verify", "job.toml"]);
            assert_eq!(ran.code, 8, "{name} row {row}: {}{}", ran.out, ran.err);
        }
        put(place, &name, &before);
    }
    place.gpugraph(&["verify", "job.toml"]).expect(0);
}

#[test]
fn one_wrong_value_of_any_column_is_found_at_any_vertex() {
    let wide: Vec<[u64; 2]> = EDGES.iter().map(|edge| edge.map(|id| (id + 1) << 50)).collect();
    let ids: BTreeSet<u64> = wide.iter().flatten().copied().collect();
    let place = Place::new();
    run(&place, &EDGES, "", &tables(0, false));
    every_value(&place, ROWS);
    for (edges, input, tables, rows) in [
        (&EDGES[..], "directed = true", tables(0, true) + "[output]\nformat = 'csv'\n", ROWS),
        (&wide, "", tables(1 << 50, false), ids.len() as u64),
        // A source that has loops alone: nothing of the others is reached.
        (&EDGES[..], "", tables(5, false), ROWS),
    ] {
        let place = Place::new();
        run(&place, edges, input, &tables);
        every_value(&place, rows);
    }
}

/// Ids of text, and ranks of a list.
#[test]
fn texts_and_lists_are_compared_as_well() {
    let place = Place::new();
    run(&place, &EDGES, "", &(tables(0, false) + "[output]\nformat = 'csv'\n"));
    for (file, before) in outputs(&place.workdir()) {
        let name = format!("out/{file}");
        let text = String::from_utf8(before.clone()).expect("text");
        for other in [text.replacen("id,", "ids,", 1), text.replacen("\n8,", "\n18,", 1), text.clone() + "10,0\n"] {
            put(&place, &name, other.as_bytes());
            place.gpugraph(&["verify", "job.toml"]).expect(8);
        }
        put(&place, &name, &before);
    }
    let place = Place::new();
    place.write("list.txt", "5\n1\n2\n3\n4\n-1\n");
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\npath = 'list.txt'\nformat = 'list'\n[listrank]\n");
    report(&place, &[]);
    every_value(&place, 5);
}

/// Every number that the manifest has of a result: with one more, and the report as it was, it is found.
#[test]
fn one_wrong_figure_of_any_result_is_found() {
    // Work that was done and time that it took follow from nothing else.
    let unknown = ["probes", "relaxations", "edges_checked", "seconds", "teps", "phases", "pairs", "clustering", "distances"];
    let place = Place::new();
    run(&place, &EDGES, "", &tables(0, false));
    let manifest = Manifest::load(&place.workdir()).expect("read").expect("there");
    for (name, record) in &manifest.tasks {
        let found = record.found.clone().expect("found");
        for pointer in numbers(&found, String::new()) {
            if unknown.iter().any(|key| pointer.split('/').any(|part| part == *key)) {
                continue;
            }
            let mut other = manifest.clone();
            let field = other.tasks.get_mut(name).and_then(|task| task.found.as_mut()).and_then(|of| of.pointer_mut(&pointer));
            let field = field.expect("a number");
            *field = field.as_u64().map_or_else(|| json!(field.as_f64().expect("a number") + 0.25), |number| json!(number + 1));
            tell(&place, &mut other, name, &pointer);
            let ran = place.gpugraph(&["verify", "job.toml"]);
            assert_eq!(ran.code, 8, "{name} {pointer}: {}", ran.out);
        }
    }
    // So is one of the report alone.
    let mut same = manifest.clone();
    let mut text: Value = place.read_report();
    text["graph"]["vertices"] = json!(11);
    save_report(&place, &mut same, &text);
    place.gpugraph(&["verify", "job.toml"]).expect(8);
}

/// The places of all numbers in a value.
fn numbers(value: &Value, place: String) -> Vec<String> {
    match value {
        Value::Number(_) => vec![place],
        Value::Object(fields) => fields.iter().flat_map(|(key, of)| numbers(of, format!("{place}/{key}"))).collect(),
        Value::Array(all) => all.iter().enumerate().flat_map(|(at, of)| numbers(of, format!("{place}/{at}"))).collect(),
        _ => Vec::new(),
    }
}

/// Saves a manifest whose figure at `pointer` was changed, and a report that tells the same.
fn tell(place: &Place, manifest: &mut Manifest, task: &str, pointer: &str) {
    let mut text = place.read_report();
    let field = manifest.tasks[task].found.as_ref().and_then(|found| found.pointer(pointer)).cloned();
    if let (Some(there), Some(field)) = (text["results"][task].pointer_mut(pointer), field) {
        *there = field;
    }
    save_report(place, manifest, &text);
}

fn save_report(place: &Place, manifest: &mut Manifest, report: &Value) {
    let text = serde_json::to_vec_pretty(report).expect("written");
    fs::write(place.workdir().join("report.json"), &text).expect("written");
    manifest.outputs.insert("report.json".into(), Output::of(&text));
    manifest.save(&place.workdir()).expect("written");
}

/// What is checked follows from the manifest: tables that were taken out, and graphs that were kept since, change nothing of it.
#[test]
fn results_stay_right_when_tables_come_and_go() {
    let text = |weight: &dyn Fn(usize) -> String| {
        EDGES.iter().enumerate().map(|(i, [u, v])| format!("{u} {v} {}\n", weight(i))).collect::<String>()
    };
    let tables = ["[sssp]\nsources = [0]\nwrite = true\n[triangle]\nper_vertex = true\n", "[triangle]\nper_vertex = true\n"];
    for (weights, directed) in [("whole", false), ("whole", true), ("decimal", false), ("decimal", true)] {
        let place = Place::new();
        let path = place.write("edges.wel", text(&|i| if weights == "whole" { i.to_string() } else { format!("{i}.5") }));
        let input = format!("[input]\npath = '{}'\ndirected = {directed}\n", path.display());
        for (keep, tables) in [(false, tables[0]), (true, tables[1]), (true, tables[1]), (false, tables[1])] {
            place.write("job.toml", format!("[job]\nworkdir = 'work'\nkeep = {keep}\n{input}{tables}"));
            report(&place, &[]);
            let ran = place.gpugraph(&["verify", "job.toml"]);
            assert_eq!(ran.code, 0, "{weights} directed {directed}, keep {keep}: {}", ran.out);
        }
        // A graph that keeps direction, and is read by another job without it.
        place.write("job.toml", format!("[job]\nworkdir = 'kept'\nkeep = true\n{input}{}", tables[0]));
        place.gpugraph(&["run", "job.toml", "--quiet"]).expect(0);
        place.write("job.toml", format!("[job]\nworkdir = 'work'\n[input]\nprepared = 'kept'\n{}", tables[1]));
        report(&place, &[]);
        place.gpugraph(&["verify", "job.toml"]).expect(0);
    }
    // Sparse ids of loops alone: there is no vertex to search from, and no column.
    let place = Place::new();
    run(&place, &[[5_000_000_000; 2]], "", "[bfs]\nroots = 2\nwrite = true\n");
}
