//! The sections about the result files, the input, the graph and the results.

use super::page::PageSection;
use super::value::{cell, fields, label, number, properties, unit};
use super::workdir_contents::{Unfinished, WorkdirContents, results};
use crate::algo::{self, about_column};
use crate::chart::Unit;
use crate::chart::{Axis, Bars, Cell, Figure, Line, Marks, Style, Table, TableColumn};
use crate::results::about::ColumnShape;
use crate::results::edges as edge_files;
use serde_json::Value;

/// Maximum number of table rows for an array in a result. Further elements of the array are not shown.
const MOST: usize = 64;
/// Names of fields that say what a row of a table is about. A field with such a name becomes the first column.
const NAMES: [&str; 5] = ["source", "name", "kind", "step", "from"];
/// Maximum number of columns of a table for an array in a result.
const COLUMNS: usize = 16;
/// Maximum number of trials that are drawn as bars.
const BARS: usize = 20;

/// Returns the section about the result files: for each file its data type, number of rows, meaning of the values,
/// and the line of Python code that loads it.
pub(super) fn files(seen: &WorkdirContents) -> PageSection {
    let mut section = PageSection::new("files", "Result files");
    let row = |file: &String| {
        let path = seen.workdir.join(file);
        let shape = ColumnShape::of(&path);
        let about = about_column(&path);
        // Result files with a row per edge have no id column.
        let is_of_vertices = about.is_none_or(|about| about.name != edge_files::TABLE);
        let load = match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") if !is_of_vertices => format!("pd.read_parquet(\"{}\")", path.display()),
            Some("csv") if !is_of_vertices => format!("pd.read_csv(\"{}\")", path.display()),
            Some("parquet") => format!("pd.read_parquet(\"{}\").set_index(\"id\")", path.display()),
            Some("csv") => format!("pd.read_csv(\"{}\", index_col=\"id\")", path.display()),
            Some("txt") => format!("open(\"{}\").read().split(\"\\n\")[:-1]", path.display()),
            _ => format!("np.load(\"{}\", mmap_mode=\"r\")", path.display()),
        };
        let kind = shape.as_ref().map_or(Cell::from("missing"), |shape| Cell::Text(shape.kind.clone()));
        let rows = shape.and_then(|shape| shape.rows).map_or(Cell::Nothing, Cell::from);
        let [holds, missing] =
            about.map_or([Cell::Nothing, Cell::Nothing], |about| [about.holds, about.missing].map(Cell::from));
        (file.clone(), vec![kind, rows, holds, missing, Cell::Text(load)])
    };
    if seen.files.is_empty() {
        return section;
    }
    let more = seen.files.len().saturating_sub(MOST);
    section.text.push(
        "Row i is the vertex with id i, or, if there is out/ids.npy or out/ids.txt, the one whose id is in its row i."
            .into(),
    );
    if more > 0 {
        section.text.push(format!("{more} more files are in {}.", seen.workdir.join("out").display()));
    }
    let columns = [TableColumn::text("type"), TableColumn::new("rows", Unit::Count)];
    let columns = columns.into_iter().chain(["holds", "missing value", "in Python"].map(TableColumn::text));
    let table = Table::of_names("file", columns, seen.files.iter().take(MOST).map(row));
    section.tables.push(("Files under out/, with import numpy as np, pandas as pd".into(), table));
    section
}

/// Returns the section about the input and the graph.
pub(super) fn graph(seen: &WorkdirContents) -> PageSection {
    let mut section = PageSection::new("graph", "Input and graph");
    let (input, graph) = (&seen.report["input"], &seen.report["graph"]);
    let facts = [
        ("path", &input["path"], Unit::Text),
        ("bytes", &input["bytes"], Unit::Bytes),
        ("checksum", &input["checksum"], Unit::Text),
        ("elements", &input["elements"], Unit::Count),
        ("edges in the input", &input["edges"], Unit::Count),
        ("loops among them, dropped", &input["self_loops"], Unit::Count),
        ("repeats among them, dropped", &input["duplicates"], Unit::Count),
        ("vertices", &graph["vertices"], Unit::Count),
        ("vertices with an edge", &graph["with_edges"], Unit::Count),
        ("isolated vertices", &graph["isolated"], Unit::Count),
        ("largest id", &graph["largest_id"], Unit::Text),
        ("ids count from", &input["first_id"], Unit::Text),
        ("edges of the graph", &graph["edges"], Unit::Count),
        ("largest degree", &graph["max_degree"], Unit::Count),
        ("blocks", &graph["blocks"], Unit::Count),
        ("ids", &graph["ids"], Unit::Text),
    ];
    let known = facts.into_iter().filter(|(_, value, _)| !value.is_null());
    let rows: Vec<_> = known.map(|(name, value, unit)| (name.to_owned(), words(value, unit))).collect();
    section.facts = (!rows.is_empty()).then(|| properties(rows));
    let bins = graph["degrees"].as_array().into_iter().flatten();
    let mut bins: Vec<_> =
        bins.filter_map(|bin| Some((number(&bin["from"])?, number(&bin["to"])?, number(&bin["vertices"])?))).collect();
    if !bins.is_empty() {
        let isolated = number(&graph["isolated"]).filter(|&isolated| isolated > 0.0);
        bins.splice(0..0, isolated.map(|isolated| (0.0, 0.0, isolated)));
        let caption = "Vertices by their degree in the input, where repeats of an edge count and loops do not; both axes by logarithm. From 8 on, \
                       dots stand for several degrees. Isolated vertices have degree 0.";
        section.figures.push(Figure::distribution("Degrees", caption, "vertices", "degree", &bins));
    }
    section.figures.extend(edges(input, graph));
    section
}

/// Returns a chart of the numbers of input edges that were kept and dropped.
fn edges(input: &Value, graph: &Value) -> Option<Figure> {
    let edges =
        [("edges of the graph", &graph["edges"]), ("repeats", &input["duplicates"]), ("loops", &input["self_loops"])];
    let parts: Option<Vec<_>> =
        edges.map(|(name, edges)| Some((name.to_owned(), vec![number(edges)?]))).into_iter().collect();
    let caption = "The graph has each edge once; repeats of an edge and loops are dropped.";
    let axes = [Axis::linear("edges", Unit::Count), Axis::linear("input", Unit::Text)];
    let bars = Bars { names: vec!["all edges".into()], parts: parts? };
    Some(Figure::new("Edges of the input", caption, axes, Marks::Bars(bars)))
}

/// Returns `value` as a table cell that includes its unit, for a table whose rows have different units.
fn words(value: &Value, unit: Unit) -> Cell {
    match (unit, cell(value)) {
        (Unit::Text, text) | (Unit::Count, text @ Cell::Whole(_)) => text,
        (unit, cell) => Cell::Text(cell.show(unit)),
    }
}

/// Returns a section for each result and for each incomplete task.
pub(super) fn sections(seen: &WorkdirContents) -> Vec<PageSection> {
    let done = results(&seen.report).into_iter().take(MOST).enumerate();
    let done = done.map(|(at, (name, result))| of_result(at, name, result));
    let unfinished = |(at, task): (usize, &Unfinished)| PageSection {
        figures: task.figures.iter().filter(|figure| !figure.is_empty()).cloned().collect(),
        ..PageSection::new(&format!("unfinished-{at}"), &format!("{} as far as it came", task.name))
    };
    done.chain(seen.unfinished.iter().enumerate().map(unfinished)).collect()
}

fn of_result(at: usize, name: &str, result: &Value) -> PageSection {
    let mut section = PageSection::new(&format!("result-{at}"), name);
    let algorithm = algo::find(name);
    section.text = algorithm.map(|algorithm| (algorithm.sentences)(result)).unwrap_or_default();
    section.facts = Some(fields(result));
    section.text.extend(from(result).map(|from| format!("Found {from}; the job that ran last has no table [{name}].")));
    let mut drawn = algorithm.map(|algorithm| (algorithm.figures)(result)).unwrap_or_default();
    drawn.retain(|figure| !figure.is_empty());
    // A field that is drawn as a chart gets no table of its own, because the chart has a table.
    let is_drawn = |key: &str| {
        let begin = key.trim_end_matches('s');
        drawn.iter().any(|figure| figure.title.to_lowercase().starts_with(begin))
    };
    let tables = result.as_object().into_iter().flatten().filter(|(key, _)| *key != "from" && !is_drawn(key));
    for (key, inner) in tables.clone().filter(|(_, value)| value.is_object()) {
        let table = fields(inner);
        // Objects that contain arrays are drawn as charts instead.
        let is_plain = inner.as_object().is_some_and(|inner| inner.values().all(|value| !value.is_array()));
        if is_plain && !table.rows.is_empty() {
            section.tables.push((key.replace('_', " "), table));
        }
    }
    if let Some(trials) = result["trials"].as_array().filter(|trials| trials.len() > 1) {
        section.figures.push(of_trials(name, trials));
    }
    // Arrays of objects become tables, whatever they contain.
    for (key, list) in tables {
        let list: Vec<&Value> = list.as_array().into_iter().flatten().filter(|one| one.is_object()).collect();
        if let Some(table) = of_list(&list) {
            let cut = list.len() > MOST;
            let which =
                if cut { format!(" (the first {MOST} of {}; report.json has all)", list.len()) } else { String::new() };
            section.tables.push((format!("{}{which}", key.replace('_', " ")), table));
        }
    }
    section.figures.extend(drawn);
    section
}

/// Returns a text that names the job that computed a result, and the time; `None` if it is the job that ran last.
pub(super) fn from(result: &Value) -> Option<String> {
    let [job, time] = ["job", "time"].map(|key| result["from"][key].as_str());
    Some(format!("by {} at {}", job?, time?))
}

/// Returns a chart of the time of each trial: bars, or dots if there are more than [`BARS`] trials.
fn of_trials(name: &str, trials: &[Value]) -> Figure {
    let seconds = || trials.iter().enumerate().filter_map(|(at, seconds)| Some((at + 1, number(seconds)?)));
    let (time, trial) = (Axis::linear("time", Unit::Seconds), |unit| Axis::linear("trial", unit));
    let (axes, marks) = match trials.len() > BARS {
        true => {
            let points = seconds().map(|(trial, seconds)| (trial as f64, seconds)).collect();
            ([trial(Unit::Count), time], Marks::Lines(vec![Line::new("time", Style::Dots, points)]))
        }
        false => {
            let (names, values) = seconds().map(|(trial, seconds)| (format!("trial {trial}"), seconds)).unzip();
            ([time, trial(Unit::Text)], Marks::Bars(Bars { names, parts: vec![("time".to_owned(), values)] }))
        }
    };
    let caption = "Time of the algorithm alone in each trial; preparation is left out.";
    Figure::new(format!("Trials of {name}"), caption, axes, marks)
}

/// Returns a table with a row for each object of an array. Fields that are arrays or objects are omitted.
fn of_list(list: &[&Value]) -> Option<Table> {
    let first = list.first()?.as_object()?;
    let plain = |value: &&Value| !value.is_array() && !value.is_object();
    let mut keys: Vec<&String> =
        first.iter().filter(|(_, value)| plain(value)).map(|(key, _)| key).take(COLUMNS).collect();
    // The column that identifies the subject of a row comes first.
    keys.sort_by_key(|key| !NAMES.contains(&key.as_str()));
    // Ids are not quantities, so the first column is shown as text.
    let column =
        |(at, key): (usize, &&String)| TableColumn::new(&label(key), if at == 0 { Unit::Text } else { unit(key) });
    let row = |one: &&Value| {
        let cells = keys.iter().enumerate().map(|(at, key)| match (at, cell(&one[key.as_str()])) {
            (0, Cell::Whole(id)) => Cell::Text(id),
            (_, cell) => cell,
        });
        cells.collect()
    };
    let columns = keys.iter().enumerate().map(column).collect();
    (!keys.is_empty()).then(|| Table { columns, rows: list.iter().take(MOST).map(row).collect() })
}
