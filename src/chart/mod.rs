//! Pictures of numbers: what a figure shows, the table of the same numbers, and the figure as SVG.
//!
//! Code that has numbers to show describes them as a [`Figure`]. The drawing and the table follow from that. The table
//! is made from the same marks, so no picture is without its numbers.

mod axis;
pub mod draw;
pub mod table;
pub mod unit;

pub use table::{Cell, Table, TableColumn};
pub use unit::Unit;

use crate::quote::clip_to;
use serde::Serialize;

/// A picture and the numbers in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The title, which says what is shown.
    pub title: String,
    /// How to read the picture, in a sentence or two.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; in a heat map, the quantity that is shown as colour.
    pub y: Axis,
    /// The marks.
    pub marks: Marks,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// The unit of the values.
    pub unit: Unit,
    /// How values are mapped to positions.
    pub scale: Scale,
}

/// How values are mapped to positions on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Linear, from 0 on.
    Linear,
    /// Logarithmic. Values that are not above 0 are left out.
    Log,
    /// Logarithmic, with a position for 0 before all other values.
    LogFromZero,
    /// Linear within these parts, which are in ascending order and do not overlap; the gaps between them are drawn
    /// narrow.
    Parts(Vec<(f64, f64)>),
}

/// The marks of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Values by a number.
    Lines(Vec<Line>),
    /// Values by name, with one bar per name; the parts of a bar are stacked end to end.
    Bars(Bars),
    /// A quantity by row and column.
    Heat(Heat),
    /// Times at which something was at work, by name.
    Spans(Vec<SpanMark>),
    /// Box plots of the distribution of values, by name.
    Boxes(Vec<Spread>),
}

/// A line of values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The name of the line.
    pub name: String,
    /// How the line is drawn.
    pub style: Style,
    /// The points of the line.
    pub points: Vec<(f64, f64)>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// From point to point, with a dot at each point if there are few.
    Line,
    /// A filled area below steps: a point is the end of the period to which its value belongs.
    Area,
    /// Only dots.
    Dots,
    /// A dashed line at the value of its points, which are a limit.
    Limit,
}

/// A bar chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bars {
    /// The names, from top to bottom.
    pub names: Vec<String>,
    /// The parts of all bars, from left to right: each with its name and a value for each of `names`.
    pub parts: Vec<(String, Vec<f64>)>,
}

/// A heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heat {
    /// What a row stands for.
    pub row: String,
    /// What a column stands for.
    pub column: String,
    /// Names of rows and columns.
    pub names: Vec<String>,
    /// Values by row and column; `None` if there can be no value.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// A period during which something was at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanMark {
    /// Name of what was at work.
    pub name: String,
    /// Start of the period.
    pub from: f64,
    /// End of the period.
    pub to: f64,
    /// Whether the work was completed.
    pub done: bool,
    /// A remark for the reader.
    pub note: String,
}

/// The distribution of values: minimum, first quartile, median, third quartile and maximum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Name of the thing whose values these are.
    pub name: String,
    /// The five numbers.
    pub numbers: [f64; 5],
}

impl Axis {
    /// Returns a linear axis.
    pub fn linear(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Linear }
    }

    /// Returns a logarithmic axis.
    pub fn log(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Log }
    }
}

impl Line {
    /// Returns a line.
    pub fn new(name: &str, style: Style, points: Vec<(f64, f64)>) -> Line {
        Line { name: name.to_owned(), style, points }
    }
}

impl Spread {
    /// Returns the distribution of `values`, ignoring those that are not finite; `None` if no value is left.
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
    /// Returns a figure with this horizontal and this vertical axis.
    pub fn new(title: impl Into<String>, caption: impl Into<String>, [x, y]: [Axis; 2], marks: Marks) -> Figure {
        Figure { title: title.into(), caption: caption.into(), x, y, marks }
    }

    /// Returns a picture of a distribution: how many things are in each of `bins`, and how many are in that bin or a
    /// later one. A bin has its smallest and largest number and a count of things; bins are in ascending order. Both
    /// axes are logarithmic. If there is a bin for 0, the horizontal axis has a position for 0.
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
        let has_zero = bins.first().is_some_and(|bin| bin.0 == 0.0);
        let scale = if has_zero { Scale::LogFromZero } else { Scale::Log };
        let x = Axis { scale, ..Axis::log(number, Unit::Count) };
        Figure::new(title, caption, [x, Axis::log(things, Unit::Count)], Marks::Lines(lines))
    }

    /// Returns the figure with all texts clipped to `characters`, because names may come from somebody else.
    fn clipped(&self, characters: usize) -> Figure {
        let clip = |text: &String| clip_to(text, characters);
        let axis = |axis: &Axis| Axis { label: clip(&axis.label), ..axis.clone() };
        let marks = match &self.marks {
            Marks::Lines(lines) => Marks::Lines(
                lines.iter().map(|line| Line::new(&clip(&line.name), line.style, line.points.clone())).collect(),
            ),
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
        Figure::new(clip(&self.title), clip(&self.caption), [axis(&self.x), axis(&self.y)], marks)
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

    /// Returns the numbers of the picture as a table.
    pub fn table(&self) -> Table {
        let (x, y) = (&self.x, &self.y);
        match &self.marks {
            Marks::Lines(lines) => table::of_lines(lines, x, y),
            Marks::Bars(Bars { names, parts }) => {
                let row = |(at, name): (usize, &String)| {
                    (name.clone(), parts.iter().map(|(_, values)| values.get(at).copied().into()).collect())
                };
                let columns = parts.iter().map(|(name, _)| TableColumn::new(name, x.unit));
                Table::of_names(&y.label, columns, names.iter().enumerate().map(row))
            }
            Marks::Heat(heat) => {
                let row = |(name, cells): (&String, &Vec<Option<f64>>)| {
                    (name.clone(), cells.iter().map(|&cell| cell.into()).collect())
                };
                let columns = heat.names.iter().map(|name| TableColumn::new(name, y.unit));
                let rows = heat.names.iter().zip(&heat.cells).map(row);
                Table::of_names(&format!("{} \\ {}", heat.row, heat.column), columns, rows)
            }
            Marks::Spans(spans) => {
                let row = |span: &SpanMark| {
                    let [from, to, took] = [span.from, span.to, span.to - span.from].map(Cell::Number);
                    (span.name.clone(), vec![from, to, took, Cell::Text(span.note.clone())])
                };
                let columns = ["from", "to", "took"].map(|name| TableColumn::new(name, x.unit));
                Table::of_names(&y.label, columns.into_iter().chain([TableColumn::text("how")]), spans.iter().map(row))
            }
            Marks::Boxes(boxes) => {
                let columns = ["smallest", "first quartile", "median", "third quartile", "largest"];
                let row = |spread: &Spread| (spread.name.clone(), spread.numbers.map(Cell::Number).to_vec());
                Table::of_names(&y.label, columns.map(|name| TableColumn::new(name, x.unit)), boxes.iter().map(row))
            }
        }
    }
}
