//! Charts for the report: the levels of one search, and the speed of all searches.

use super::consistency;
use super::results::{LevelFigures, SearchDetails, SearchOutput, SourceDetails};
use crate::chart::{Axis, Bars, Figure, Line, Marks, Spread, Style, Unit};

/// Maximum number of levels in the bar chart of the seconds per level.
const BARS: usize = 40;

/// Returns charts of the levels of the search with the median duration, and of the speeds of all searches. `name`
/// returns the name of a source.
pub fn of_levels<S, D: SourceDetails>(
    output: &SearchOutput<S>,
    details: &SearchDetails<D>,
    name: impl Fn(&S) -> String,
) -> Vec<Figure> {
    let Ok(mut sources) = consistency::sources(output, details) else { return Vec::new() };
    sources.sort_by(|(_, a), (_, b)| a.speed().seconds.total_cmp(&b.speed().seconds));
    let median = sources.get(sources.len().saturating_sub(1) / 2).filter(|(_, of)| !of.levels().is_empty());
    let mut figures = median.map_or_else(Vec::new, |(source, of)| levels(&name(source), &of.levels(), sources.len()));
    figures.extend(speed(details));
    figures
}

/// Returns a chart of the speeds of all searches, or `None` if there is only one search.
pub fn speed<D: SourceDetails>(details: &SearchDetails<D>) -> Option<Figure> {
    let teps: Vec<f64> = details.sources.iter().map(|source| source.speed().teps).collect();
    let several = teps.len() > 1;
    let spread = Spread::of("searches", teps).filter(|_| several)?;
    let caption = "Traversed edges a second: smallest, quartiles, median and largest.";
    let axes = [Axis::linear("traversed edges a second", Unit::Teps), Axis::linear("searches", Unit::Text)];
    Some(Figure::new("Speed over all sources", caption, axes, Marks::Boxes(vec![spread])))
}

/// Returns a bar chart of durations in seconds, with one bar for each of `names`. Each bar is divided into the series
/// `parts`. `of` is the label of the axis with the names.
pub fn seconds_by_name(
    title: &str,
    caption: &str,
    of: &str,
    names: Vec<String>,
    parts: Vec<(String, Vec<f64>)>,
) -> Figure {
    let axes = [Axis::linear("time", Unit::Seconds), Axis::linear(of, Unit::Text)];
    Figure::new(title, caption, axes, Marks::Bars(Bars { names, parts }))
}

/// Returns two charts of the levels of one search: a chart of counts (frontier, edges checked, ...) per level, and a
/// chart of seconds per level. `name` is the name of the source, and `sources` is the number of searches. If levels
/// differ in direction (top-down or bottom-up), the charts show each direction separately.
fn levels(name: &str, levels: &[LevelFigures], sources: usize) -> Vec<Figure> {
    let which = if sources > 1 { format!(" It is the search of median time of {sources}.") } else { String::new() };
    let mut directions: Vec<&str> = levels.iter().map(|level| level.direction).collect();
    directions.sort_unstable();
    directions.dedup();
    // A line has a gap at each level of another direction.
    let line = |shown: String, of: Option<&str>, number: &dyn Fn(usize) -> Option<u64>| {
        let value = |at: usize| match of.is_none_or(|of| levels[at].direction == of) {
            true => number(at).map_or(f64::NAN, |number| number as f64),
            false => f64::NAN,
        };
        Line::new(&shown, Style::Line, (0..levels.len()).map(|at| (at as f64, value(at))).collect())
    };
    let mut lines = Vec::new();
    for (key, _) in levels.first().into_iter().flat_map(|level| &level.counts) {
        let number = |at: usize| levels[at].counts.iter().find(|(other, _)| other == key).map(|(_, number)| *number);
        match directions.as_slice() {
            several @ [_, _, ..] => {
                lines.extend(several.iter().map(|of| line(format!("{key}, {of}"), Some(of), &number)));
            }
            _ => lines.push(line((*key).to_owned(), None, &number)),
        }
    }
    lines.push(line("frontier".to_owned(), None, &|at| Some(levels[at].frontier)));
    let part = |direction: &&str| {
        let shown = if direction.is_empty() { "time" } else { direction };
        let seconds = |of: &LevelFigures| if of.direction == *direction { of.seconds } else { f64::NAN };
        (shown.to_owned(), levels.iter().take(BARS).map(seconds).collect())
    };
    let names = (0..levels.len().min(BARS)).map(|at| format!("level {at}")).collect();
    let first = if levels.len() > BARS { format!(" The first {BARS} of {}.", levels.len()) } else { String::new() };
    let (title, caption) = (format!("Levels of source {name}"), format!("What each level had, by logarithm.{which}"));
    let axes = [Axis::linear("level", Unit::Count), Axis::log("number", Unit::Count)];
    let counts = Figure::new(title, caption, axes, Marks::Lines(lines));
    let (title, caption) =
        (format!("Time of levels of source {name}"), format!("Seconds of each level.{first}{which}"));
    vec![counts, seconds_by_name(&title, &caption, "level", names, directions.iter().map(part).collect())]
}

#[cfg(test)]
mod tests {
    use super::super::results::Speed;
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    struct Details(f64, Vec<(u64, u64, String)>);

    impl SourceDetails for Details {
        fn speed(&self) -> Speed {
            Speed { seconds: self.0, teps: 10.0 / self.0 }
        }

        fn levels(&self) -> Vec<LevelFigures> {
            let level = |(frontier, checked, way): &(u64, u64, String)| LevelFigures {
                frontier: *frontier,
                counts: vec![("edges checked", *checked)],
                seconds: 0.5,
                direction: if way == "down" { "top-down" } else { "bottom-up" },
            };
            self.1.iter().map(level).collect()
        }
    }

    #[test]
    fn levels_are_shown_by_direction_and_of_the_median_search() {
        let steps = vec![(1, 4, "down".into()), (4, 9, "up".into())];
        let sources = vec![Details(3.0, vec![]), Details(2.0, steps), Details(1.0, vec![])];
        let details = SearchDetails { sources, harmonic_mean_teps: 0.0, graph500: None, energy: None };
        let output = SearchOutput { sources: vec![7, 5, 9], validated: true };
        let figures = of_levels(&output, &details, |id: &u64| id.to_string());
        let titles: Vec<_> = figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["Levels of source 5", "Time of levels of source 5", "Speed over all sources"]);
        let csv = figures[0].table().csv();
        assert_eq!(csv, "level,\"edges checked, bottom-up\",\"edges checked, top-down\",frontier\n0,,4,1\n1,9,,4\n");
        assert_eq!(figures[1].table().csv(), "level,bottom-up (s),top-down (s)\nlevel 0,,0.5\nlevel 1,0.5,\n");
    }
}
