//! Pictures of what results of many algorithms have: steps and phases of searches, and how fast they were.

use crate::chart::{Axis, Bars, Figure, Line, Marks, Spread, Style, Unit};
use serde_json::Value;

/// Most steps that are drawn with a bar each.
const BARS: usize = 40;

/// Returns pictures of what of these a result has: `sources` with `levels`, `distances` and `phases`.
pub fn of_result(result: &Value) -> Vec<Figure> {
    let sources = result["sources"].as_array().map_or(&[][..], Vec::as_slice);
    let mut figures = Vec::new();
    if let Some(source) = median(sources).filter(|source| source["levels"].is_array()) {
        figures.extend(levels(source, sources.len()));
    }
    let spread = Spread::of("searches", numbers(sources, "teps"));
    if let Some(spread) = spread.filter(|_| sources.len() > 1) {
        figures.push(Figure {
            title: "Speed over all sources".into(),
            caption: "Traversed edges a second: smallest, quartiles, median and largest.".into(),
            x: Axis::linear("traversed edges a second", Unit::Teps),
            y: Axis::linear("searches", Unit::Text),
            marks: Marks::Boxes(vec![spread]),
        });
    }
    figures.extend(phases(sources));
    figures.extend(sources.first().and_then(distances));
    figures
}

fn numbers(list: &[Value], key: &str) -> Vec<f64> {
    list.iter().filter_map(|one| one[key].as_f64()).collect()
}

fn by_name(title: &str, caption: &str, of: &str, names: Vec<String>, parts: Vec<(String, Vec<f64>)>) -> Figure {
    Figure {
        title: title.into(),
        caption: caption.into(),
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear(of, Unit::Text),
        marks: Marks::Bars(Bars { names, parts }),
    }
}

/// Returns the source whose search took the median time.
fn median(sources: &[Value]) -> Option<&Value> {
    let mut all: Vec<&Value> = sources.iter().filter(|source| source["seconds"].is_number()).collect();
    all.sort_by(|a, b| a["seconds"].as_f64().unwrap_or(0.0).total_cmp(&b["seconds"].as_f64().unwrap_or(0.0)));
    all.get(all.len().saturating_sub(1) / 2).copied()
}

/// Returns pictures of the levels of one of so many sources: numbers of things, and the time of each level. Where levels say their direction, a
/// direction has a line of its own.
fn levels(source: &Value, sources: usize) -> Vec<Figure> {
    let levels = source["levels"].as_array().map_or(&[][..], Vec::as_slice);
    let named = source["source"].as_u64().map_or(String::new(), |id| format!(" of source {id}"));
    let which = if sources > 1 { format!(" It is the search of median time of {sources}.") } else { String::new() };
    let direction = |level: &Value| level["direction"].as_str().unwrap_or_default().to_owned();
    let mut directions: Vec<String> = levels.iter().map(direction).collect();
    directions.sort();
    directions.dedup();
    // The line of a direction is broken off where levels have another.
    let line = |name: String, key: &str, of: Option<&String>| {
        let value = |level: &Value| level[key].as_f64().filter(|_| of.is_none_or(|of| direction(level) == *of));
        let points = levels.iter().enumerate().map(|(at, level)| (at as f64, value(level).unwrap_or(f64::NAN)));
        Line::new(&name, Style::Line, points.collect())
    };
    let mut lines = Vec::new();
    let keys = levels.first().and_then(Value::as_object).into_iter().flatten().filter(|(_, value)| value.is_u64());
    for key in keys.map(|(key, _)| key.as_str()).filter(|key| !key.contains("bytes")) {
        let name = key.replace('_', " ");
        match directions.as_slice() {
            several @ [_, _, ..] if key != "frontier" => {
                lines.extend(several.iter().map(|of| line(format!("{name}, {of}"), key, Some(of))));
            }
            _ => lines.push(line(name, key, None)),
        }
    }
    let parts = |key: &str| -> Vec<(String, Vec<f64>)> {
        let of = |level: &Value, of: &String| {
            if direction(level) == *of { level[key].as_f64().unwrap_or(0.0) } else { f64::NAN }
        };
        let part = |name: &String| {
            let shown = if name.is_empty() { "time".to_owned() } else { name.clone() };
            (shown, levels.iter().take(BARS).map(|level| of(level, name)).collect())
        };
        directions.iter().map(part).collect()
    };
    let mut figures = vec![Figure {
        title: format!("Levels{named}"),
        caption: format!("What each level had, by logarithm.{which}"),
        x: Axis::linear("level", Unit::Count),
        y: Axis::log("number", Unit::Count),
        marks: Marks::Lines(lines),
    }];
    if levels.iter().any(|level| level["seconds"].is_number()) {
        let names = (0..levels.len().min(BARS)).map(|at| format!("level {at}")).collect();
        let first = if levels.len() > BARS { format!(" The first {BARS} of {}.", levels.len()) } else { String::new() };
        let caption = format!("Seconds of each level.{first}{which}");
        figures.push(by_name(&format!("Time of levels{named}"), &caption, "level", names, parts("seconds")));
    }
    figures
}

/// Returns the vertices by their distances from a source.
fn distances(source: &Value) -> Option<Figure> {
    let bins = source["distances"].as_array()?.iter();
    let points: Vec<(f64, f64)> =
        bins.filter_map(|bin| Some((bin["to"].as_f64()?, bin["vertices"].as_f64()?))).collect();
    let named = source["source"].as_u64().map_or(String::new(), |id| format!(" from source {id}"));
    Some(Figure {
        title: format!("Distances{named}"),
        caption: "Vertices by their distance: a step has those from the end of the step before up to its own.".into(),
        x: Axis::linear("distance", Unit::Number),
        y: Axis::linear("vertices", Unit::Count),
        marks: Marks::Lines(vec![Line::new("vertices", Style::Area, points)]),
    })
}

/// Returns the time of each kind of phase, over all sources, and its rounds: of shortest paths, those that push take a bucket each.
fn phases(sources: &[Value]) -> Vec<Figure> {
    let mut kinds: Vec<(String, [f64; 2])> = Vec::new();
    for phase in sources.iter().flat_map(|source| source["phases"].as_array().into_iter().flatten()) {
        let (Some(kind), Some(seconds)) = (phase["kind"].as_str(), phase["seconds"].as_f64()) else { continue };
        let rounds = phase["rounds"].as_f64().unwrap_or(0.0);
        match kinds.iter_mut().find(|(name, _)| name == kind) {
            Some((_, sums)) => *sums = [sums[0] + seconds, sums[1] + rounds],
            None => kinds.push((kind.to_owned(), [seconds, rounds])),
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = kinds.iter().map(|(name, _)| name.clone()).collect();
    let of = |at: usize| kinds.iter().map(|(_, sums)| sums[at]).collect::<Vec<f64>>();
    let caption = format!("Seconds of each kind of step, over {} searches.", sources.len());
    let mut figures = vec![by_name("Phases", &caption, "kind", names.clone(), vec![("time".into(), of(0))])];
    if of(1).iter().any(|&rounds| rounds > 0.0) {
        let caption =
            format!("Rounds of each kind of step, over {} searches; one that pushes takes a bucket.", sources.len());
        let rounds = by_name("Rounds", &caption, "kind", names, vec![("rounds".into(), of(1))]);
        figures.push(Figure { x: Axis::linear("rounds", Unit::Count), ..rounds });
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn levels_are_told_by_direction_and_of_the_median_search() {
        let level = |frontier: u64, checked: u64, direction: &str| json!({ "frontier": frontier, "edges_checked": checked, "direction": direction, "seconds": 0.5, "bytes": 7 });
        let source = |id: u64, seconds: f64, levels: Vec<Value>| json!({ "source": id, "seconds": seconds, "teps": 10.0 / seconds, "levels": levels });
        let told = vec![level(1, 4, "top-down"), level(4, 9, "bottom-up")];
        let result = json!({ "sources": [source(7, 3.0, vec![]), source(5, 2.0, told), source(9, 1.0, vec![])] });
        let figures = of_result(&result);
        let titles: Vec<_> = figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["Levels of source 5", "Time of levels of source 5", "Speed over all sources"]);
        let csv = figures[0].table().csv();
        assert_eq!(csv, "level,\"edges checked, bottom-up\",\"edges checked, top-down\",frontier\n0,,4,1\n1,9,,4\n");
        assert_eq!(figures[1].table().csv(), "level,bottom-up (s),top-down (s)\nlevel 0,,0.5\nlevel 1,0.5,\n");
    }

    #[test]
    fn phases_are_summed_over_searches_and_nothing_is_made_of_nothing() {
        let phase = |kind: &str, seconds: f64| json!({ "kind": kind, "rounds": 3, "seconds": seconds });
        let result = json!({ "sources": [{ "phases": [phase("push", 1.0), phase("pull", 2.0)] }, { "phases": [phase("push", 0.5)] }] });
        let figures = of_result(&result);
        assert_eq!(
            figures.iter().map(|figure| figure.table().csv()).collect::<String>(),
            "kind,time (s)\npush,1.5\npull,2\nkind,rounds\npush,6\npull,3\n"
        );
        assert_eq!(of_result(&json!({ "sources": "none", "phases": 7 })), []);
        assert_eq!(of_result(&Value::Null), []);
    }
}
