//! Charts: their description as a [`Figure`], their drawing as SVG, and tables of the same numbers.
//!
//! Every chart of the program is described as a [`Figure`]. Both the drawing and the table are made from its marks,
//! so no picture is without its numbers.

mod axis;
pub mod draw;
pub mod table;
pub mod unit;

pub use table::{Cell, Table, TableColumn};
pub use unit::Unit;

use crate::quote::clip_to;
use serde::Serialize;

/// A chart: a picture and the numbers in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The title, which says what the chart shows.
    pub title: String,
    /// How to read the picture, in a sentence or two.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. In a heat map it is the quantity that the colour shows.
    pub y: Axis,
    /// The marks, such as lines or bars, that show the numbers.
    pub marks: Marks,
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Name of the quantity along the axis.
    pub label: String,
    /// Unit of the values along the axis.
    pub unit: Unit,
    /// How values are mapped to positions along the axis.
    pub scale: Scale,
}

/// How values are mapped to positions on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Linear scale that begins at 0.
    Linear,
    /// Logarithmic scale. Values that are not above 0 are left out.
    Log,
    /// Logarithmic scale with a position for 0 before all other values.
    LogFromZero,
    /// Linear scale within each of these parts, which are in ascending order and do not overlap. The gaps between the
    /// parts are drawn narrow.
    Parts(Vec<(f64, f64)>),
}

/// The marks of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Lines of values over a horizontal axis of numbers.
    Lines(Vec<Line>),
    /// Bar chart: values by name, with one bar per name; the parts of a bar are stacked end to end.
    Bars(Bars),
    /// Heat map: a quantity by row and column.
    Heat(Heat),
    /// Periods of work, such as stages, in a row for each name.
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
    /// A line from point to point, with a dot at each point if there are few.
    Line,
    /// A filled area below steps. Each point is the end of the period to which its value belongs.
    Area,
    /// Dots without a line.
    Dots,
    /// A dashed horizontal line that shows a limit: the value of the last point.
    Limit,
}

/// A bar chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bars {
    /// Names of the bars, from top to bottom.
    pub names: Vec<String>,
    /// Parts of every bar, from left to right. Each part has its name and a value for each bar.
    pub parts: Vec<(String, Vec<f64>)>,
}

/// A heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heat {
    /// What a row of the heat map stands for.
    pub row: String,
    /// What a column of the heat map stands for.
    pub column: String,
    /// Names of the rows, which are also the names of the columns.
    pub names: Vec<String>,
    /// Values by row and then by column; `None` if there can be no value.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// A period of work, such as a stage of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanMark {
    /// Name of the worker, such as a stage. All periods of one name are in one row.
    pub name: String,
    /// Start of the period, in the base unit of the horizontal axis.
    pub from: f64,
    /// End of the period, in the same unit.
    pub to: f64,
    /// Whether the work was completed.
    pub done: bool,
    /// A remark for the reader of the chart.
    pub note: String,
}

/// The distribution of values: minimum, first quartile, median, third quartile and maximum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Name of the group to which the values belong.
    pub name: String,
    /// Minimum, first quartile, median, third quartile and maximum.
    pub numbers: [f64; 5],
}

impl Axis {
    /// Returns an axis with a linear scale.
    pub fn linear(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Linear }
    }

    /// Returns an axis with a logarithmic scale.
    pub fn log(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, scale: Scale::Log }
    }
}

impl Line {
    /// Returns a line with this name, style and points.
    pub fn new(name: &str, style: Style, points: Vec<(f64, f64)>) -> Line {
        Line { name: name.to_owned(), style, points }
    }
}

impl Spread {
    /// Returns the distribution of the finite numbers among `values`; `None` if there are none.
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
    /// Returns a chart with a horizontal axis `x` and a vertical axis `y`.
    pub fn new(title: impl Into<String>, caption: impl Into<String>, [x, y]: [Axis; 2], marks: Marks) -> Figure {
        Figure { title: title.into(), caption: caption.into(), x, y, marks }
    }

    /// Returns a chart of a distribution: the number of `things` in each of `bins`, and the number in that bin and all
    /// later ones together. A bin consists of its smallest value, its largest value and its number of things. Bins are
    /// in ascending order. Both axes are logarithmic. If there is a bin for 0, the horizontal axis has a position for
    /// 0.
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

    /// Returns a copy of the chart with all texts clipped to `characters` characters, because names may come from
    /// somebody else.
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

    /// Returns true if the chart has nothing to draw.
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
