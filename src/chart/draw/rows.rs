//! Draws charts with a row for each name: bar charts, periods of work, and box plots.

use super::super::axis::AxisLayout;
use super::super::{Bars, Figure, SpanMark, Spread};
use super::{Plot, horizontal, n, series};
use maud::{Markup, html};

/// Height of a row of a chart, in coordinate units.
const ROW: f64 = 26.0;
/// Height of the marks in a row, in coordinate units.
const MARK: f64 = 16.0;
/// Width reserved for names to the left of a plot, in coordinate units.
const NAMES: f64 = 150.0;
/// Maximum number of characters of a name next to a plot; the table below contains the whole name.
const NAME: usize = 20;

fn plot(rows: usize) -> Plot {
    Plot::new(NAMES, ROW * rows.max(1) as f64)
}

fn clipped(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Writes the names of the rows on the left of a plot, each name with its note.
fn names<'a>(plot: &Plot, names: impl Iterator<Item = (&'a str, String)>) -> Markup {
    let middle = |at: usize| plot.top + ROW * (at as f64 + 0.5) + 4.0;
    html! {
        @for (at, (name, note)) in names.enumerate() {
            text class="name" x=(n(plot.left - 8.0)) y=(n(middle(at))) text-anchor="end" {
                (clipped(name)) @if !note.is_empty() { tspan class="muted" { " " (note) } }
            }
        }
    }
}

/// Draws a mark in row `at` from position `from` to position `to`, at least `least` wide. `title` is shown when the
/// reader points at the mark.
fn mark(plot: &Plot, at: usize, class: &str, (from, to): (f64, f64), least: f64, title: &Markup) -> Markup {
    let top = plot.top + ROW * at as f64 + (ROW - MARK) / 2.0;
    let rounding = class.starts_with("span").then_some("2");
    html! {
        rect class=(class) x=(n(plot.left + from)) y=(n(top)) width=(n((to - from).max(least))) height=(n(MARK)) rx=[rounding] {
            title { (title) }
        }
    }
}

/// Draws a bar chart. Returns the marks as SVG, and the height of the picture.
pub(super) fn bars(figure: &Figure, bars: &Bars) -> (Markup, f64) {
    let plot = plot(bars.names.len());
    let value =
        |part: usize, at: usize| bars.parts[part].1.get(at).copied().filter(|value| *value > 0.0).unwrap_or(0.0);
    let total = |at: usize| (0..bars.parts.len()).map(|part| value(part, at)).sum::<f64>();
    // Reserves space for the value after the longest bar.
    let x = AxisLayout::new(&figure.x, (0..bars.names.len()).map(total), plot.width - 70.0);
    let place = |value: f64| x.place(value).unwrap_or(0.0);
    let drawn = html! {
        (horizontal(&plot, &figure.x, &x))
        (names(&plot, bars.names.iter().map(|name| (name.as_str(), String::new()))))
        @for (at, name) in bars.names.iter().enumerate() {
            @for part in (0..bars.parts.len()).filter(|&part| value(part, at) > 0.0) {
                @let before = (0..part).map(|part| value(part, at)).sum::<f64>();
                @let ends = (place(before), place(before + value(part, at)));
                @let title = html! { (name) ", " (bars.parts[part].0) ": " (figure.x.unit.show(value(part, at))) };
                g class=(series(part)) { (mark(&plot, at, "bar", ends, 1.0, &title)) }
            }
            @let middle = plot.top + ROW * (at as f64 + 0.5) + 4.0;
            text class="value" x=(n(plot.left + place(total(at)) + 6.0)) y=(n(middle)) { (figure.x.unit.show(total(at))) }
        }
    };
    (drawn, plot.picture())
}

/// Draws periods of work, with one row per name. Returns the marks as SVG, and the height of the picture.
pub(super) fn spans(figure: &Figure, spans: &[SpanMark]) -> (Markup, f64) {
    let mut rows: Vec<(&str, f64)> = Vec::new();
    for span in spans {
        match rows.iter_mut().find(|(name, _)| *name == span.name) {
            Some((_, sum)) => *sum += span.to - span.from,
            None => rows.push((&span.name, span.to - span.from)),
        }
    }
    let plot = plot(rows.len());
    let x = AxisLayout::new(&figure.x, spans.iter().map(|span| span.to), plot.width);
    let drawn = html! {
        (horizontal(&plot, &figure.x, &x))
        (names(&plot, rows.iter().map(|&(name, sum)| (name, figure.x.unit.show(sum)))))
        @for span in spans {
            @let at = rows.iter().position(|(name, _)| *name == span.name).unwrap_or(0);
            @let ends = (x.place(span.from).unwrap_or(0.0), x.place(span.to).unwrap_or(0.0));
            @let title = html! { (span.name) ": " (figure.x.unit.show(span.to - span.from)) ", " (span.note) };
            g class=(series(at)) { (mark(&plot, at, if span.done { "span" } else { "span broken" }, ends, 1.5, &title)) }
        }
    };
    (drawn, plot.picture())
}

/// Draws box plots. Returns the marks as SVG, and the height of the picture.
pub(super) fn boxes(figure: &Figure, boxes: &[Spread]) -> (Markup, f64) {
    let plot = plot(boxes.len());
    let x = AxisLayout::new(&figure.x, boxes.iter().flat_map(|spread| spread.numbers), plot.width);
    let drawn = html! {
        (horizontal(&plot, &figure.x, &x))
        (names(&plot, boxes.iter().map(|spread| (spread.name.as_str(), String::new()))))
        @for (at, spread) in boxes.iter().enumerate() {
            @let top = plot.top + ROW * at as f64 + (ROW - MARK) / 2.0;
            @let [least, first, median, third, most] = spread.numbers.map(|value| x.place(value).unwrap_or(0.0));
            @let title = html! { (spread.name) ": median " (figure.x.unit.show(spread.numbers[2])) };
            g class=(series(0)) {
                path class="line" d=(format!("M{} {}H{}", n(plot.left + least), n(top + MARK / 2.0), n(plot.left + most))) {}
                (mark(&plot, at, "box", (first, third), 1.5, &title))
                path class="median" d=(format!("M{} {}V{}", n(plot.left + median), n(top), n(top + MARK))) {}
                @for end in [least, most] {
                    path class="line" d=(format!("M{} {}V{}", n(plot.left + end), n(top + 3.0), n(top + MARK - 3.0))) {}
                }
            }
        }
    };
    (drawn, plot.picture())
}
