//! Pictures of numbers: what a figure shows, the table of the same numbers, and the figure as SVG.
//!
//! Whoever has numbers to show describes them as a [`Figure`]; how it is drawn, and its table, follow from that. No picture is without its
//! numbers, as its table is made from the same marks.

mod axis;
pub mod draw;
pub mod table;
pub mod unit;

pub use table::{Cell, Column, Table};
pub use unit::Unit;

use crate::quote::clip_to;
use serde::Serialize;

/// A picture and the numbers in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its title, which says what is shown.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; of a heat map, the quantity that is shown by colour.
    pub y: Axis,
    /// The marks.
    pub marks: Marks,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// How values become places.
    pub scale: Scale,
}

/// How values become places on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// In proportion, from 0 on.
    Linear,
    /// By logarithm. What is not above 0 is left out.
    Log,
    /// By logarithm, with a place for 0 before all others.
    LogFromZero,
    /// In proportion within these parts, of which each begins after the one before ends; what is between them is drawn narrow.
    Parts(Vec<(f64, f64)>),
}

/// The marks of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Values by a number.
    Lines(Vec<Line>),
    /// Values by name, one bar for each name; those of several lines are put end to end.
    Bars(Bars),
    /// A quantity by two numbers.
    Heat(Heat),
    /// Times at which something was at work, by name.
    Spans(Vec<SpanMark>),
    /// How values are spread, by name.
    Boxes(Vec<Spread>),
}

/// A line of values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// From point to point, with a dot at each where there are few.
    Line,
    /// A filled area below steps: a point is the end of the time that its value is of.
    Area,
    /// Dots alone.
    Dots,
    /// A dashed line at the value of its points, which are a limit.
    Limit,
}

/// Bars.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bars {
    /// The names, from the top down.
    pub names: Vec<String>,
    /// The parts of all bars, from the left: each with its name and a value for each of `names`.
    pub parts: Vec<(String, Vec<f64>)>,
}

/// A heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heat {
    /// The thing that a row stands for.
    pub row: String,
    /// The thing that a column stands for.
    pub column: String,
    /// Names of rows and columns.
    pub names: Vec<String>,
    /// Values by row and column; `None` where there can be none.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// A time at which something was at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanMark {
    /// Name of what was at work.
    pub name: String,
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// True if it came to its end.
    pub done: bool,
    /// More of it in words.
    pub note: String,
}

/// How values are spread: the smallest, the first quartile, the median, the third quartile and the largest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Name of what they are of.
    pub name: String,
    /// The five numbers.
    pub numbers: [f64; 5],
}

impl Axis {
    /// Makes an axis of values in proportion.
    pub fn linear(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Linear }
    }

    /// Makes an axis by logarithm.
    pub fn log(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Log }
    }
}

impl Line {
    /// Makes a line.
    pub fn new(name: &str, style: Style, points: Vec<(f64, f64)>) -> Line {
        Line { name: name.to_owned(), style, points }
    }
}

impl Spread {
    /// Returns how values are spread; `None` without values.
    pub fn of(name: &str, mut values: Vec<f64>) -> Option<Spread> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Spread { name: name.to_owned(), numbers: [0.0, 0.25, 0.5, 0.75, 1.0].map(at) })
    }
}

impl Figure {
    /// Makes a picture of how many things have a number: of `bins` in ascending order, each with its smallest and largest number and how many
    /// things it has, and of all from each bin on. Both axes are by logarithm, with a place for the number 0 if there is a bin of it.
    pub fn distribution(title: &str, caption: &str, things: &str, number: &str, bins: &[(f64, f64, f64)]) -> Figure {
        let mut left: f64 = bins.iter().map(|(_, _, count)| count).sum();
        let mut from_here = Vec::new();
        for &(from, _, count) in bins {
            from_here.push((from, left));
            left -= count;
        }
        let within = bins.iter().map(|&(from, _, count)| (from, count)).collect();
        let lines = vec![
            Line::new(&format!("{things} from here on"), Style::Line, from_here),
            Line::new(&format!("{things} from here to the next dot"), Style::Dots, within),
        ];
        Figure {
            title: title.to_owned(),
            caption: caption.to_owned(),
            x: Axis {
                scale: if bins.first().is_some_and(|bin| bin.0 == 0.0) { Scale::LogFromZero } else { Scale::Log },
                ..Axis::log(number, Unit::Count)
            },
            y: Axis::log(things, Unit::Count),
            marks: Marks::Lines(lines),
        }
    }

    /// Returns the figure with no text longer than this, for those whose names are of others' making.
    fn clipped(&self, characters: usize) -> Figure {
        let clip = |text: &String| clip_to(text, characters);
        let axis = |axis: &Axis| Axis { label: clip(&axis.label), ..axis.clone() };
        let marks = match &self.marks {
            Marks::Lines(lines) => {
                Marks::Lines(lines.iter().map(|line| Line { name: clip(&line.name), ..line.clone() }).collect())
            }
            Marks::Bars(Bars { names, parts }) => Marks::Bars(Bars {
                names: names.iter().map(clip).collect(),
                parts: parts.iter().map(|(name, values)| (clip(name), values.clone())).collect(),
            }),
            Marks::Heat(heat) => Marks::Heat(Heat { names: heat.names.iter().map(clip).collect(), ..heat.clone() }),
            Marks::Spans(spans) => {
                let span = |span: &SpanMark| SpanMark { name: clip(&span.name), note: clip(&span.note), ..*span };
                Marks::Spans(spans.iter().map(span).collect())
            }
            Marks::Boxes(boxes) => {
                Marks::Boxes(boxes.iter().map(|one| Spread { name: clip(&one.name), ..one.clone() }).collect())
            }
        };
        let (title, caption) = (clip(&self.title), clip(&self.caption));
        Figure { title, caption, x: axis(&self.x), y: axis(&self.y), marks }
    }

    /// Returns true if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match &self.marks {
            Marks::Lines(lines) => lines.iter().all(|line| line.style == Style::Limit || line.points.is_empty()),
            Marks::Bars(bars) => bars.names.is_empty(),
            Marks::Heat(heat) => heat.cells.iter().flatten().all(Option::is_none),
            Marks::Spans(spans) => spans.is_empty(),
            Marks::Boxes(boxes) => boxes.is_empty(),
        }
    }

    /// Returns the numbers of the picture.
    pub fn table(&self) -> Table {
        let (x, y) = (&self.x, &self.y);
        match &self.marks {
            Marks::Lines(lines) => table::of_lines(lines, x, y),
            Marks::Bars(bars) => {
                let parts = bars.parts.iter().map(|(name, _)| Column::new(name, x.unit));
                let columns = [Column::text(&y.label)].into_iter().chain(parts).collect();
                let row = |(at, name): (usize, &String)| {
                    let values = bars.parts.iter().map(|(_, values)| values.get(at).copied().into());
                    [Cell::Text(name.clone())].into_iter().chain(values).collect()
                };
                Table { columns, rows: bars.names.iter().enumerate().map(row).collect() }
            }
            Marks::Heat(heat) => {
                let corner = format!("{} \\ {}", heat.row, heat.column);
                let names = heat.names.iter().map(|name| Column::new(name, y.unit));
                let columns = [Column::text(&corner)].into_iter().chain(names).collect();
                let row = |(name, cells): (&String, &Vec<Option<f64>>)| {
                    [Cell::Text(name.clone())].into_iter().chain(cells.iter().map(|&cell| cell.into())).collect()
                };
                Table { columns, rows: heat.names.iter().zip(&heat.cells).map(row).collect() }
            }
            Marks::Spans(spans) => {
                let columns = vec![
                    Column::text(&y.label),
                    Column::new("from", x.unit),
                    Column::new("to", x.unit),
                    Column::new("took", x.unit),
                    Column::text("how"),
                ];
                let row = |span: &SpanMark| {
                    let [from, to, took] = [span.from, span.to, span.to - span.from].map(Cell::Number);
                    vec![Cell::Text(span.name.clone()), from, to, took, Cell::Text(span.note.clone())]
                };
                Table { columns, rows: spans.iter().map(row).collect() }
            }
            Marks::Boxes(boxes) => {
                let numbers = ["smallest", "first quartile", "median", "third quartile", "largest"];
                let numbers = numbers.map(|name| Column::new(name, x.unit));
                let columns = [Column::text(&y.label)].into_iter().chain(numbers).collect();
                let row = |spread: &Spread| {
                    [Cell::Text(spread.name.clone())].into_iter().chain(spread.numbers.map(Cell::Number)).collect()
                };
                Table { columns, rows: boxes.iter().map(row).collect() }
            }
        }
    }
}
