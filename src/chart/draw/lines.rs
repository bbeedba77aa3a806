//! Draws values over a horizontal axis of numbers: lines, areas, dots and limits.

use super::super::axis::AxisLayout;
use super::super::{Figure, Line, Scale, Style};
use super::{Plot, dot, horizontal, n, series, vertical};
use maud::{Markup, html};
use std::fmt::Write;

/// Maximum number of points of a line up to which each point is drawn as a dot, too.
const DOTS: usize = 60;

/// Draws lines. Returns the marks as SVG, and the height of the picture.
pub(super) fn draw(figure: &Figure, lines: &[Line]) -> (Markup, f64) {
    let plot = Plot::new(78.0, 220.0);
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = AxisLayout::new(&figure.x, points().map(|&(x, _)| x), plot.width);
    let y = AxisLayout::new(&figure.y, points().map(|&(_, y)| y), plot.height);
    let place = |&(at, value): &(f64, f64)| Some((plot.left + x.place(at)?, plot.bottom() - y.place(value)?));
    let drawn = html! {
        (vertical(&plot, &figure.y, &y))
        (horizontal(&plot, &figure.x, &x))
        @for (at, line) in lines.iter().enumerate() {
            g class=(series(at)) {
                @match line.style {
                    Style::Limit => {
                        @if let Some(&(_, limit)) = line.points.last() {
                            @let height = y.place(limit).map_or(plot.top, |place| plot.bottom() - place);
                            path class="limit" d=(format!("M{} {}H{}", n(plot.left), n(height), n(plot.left + plot.width))) {
                                title { (line.name) ": " (figure.y.unit.show(limit)) }
                            }
                        }
                    }
                    Style::Area => {
                        @let (area, edge) = areas(line, &figure.x.scale, &plot, &place);
                        path class="area" d=(area) {}
                        path class="line" d=(edge) {}
                    }
                    Style::Line | Style::Dots => {
                        @let path = path(line.points.iter().map(place));
                        // A single point is not a line.
                        @if line.style == Style::Line && path.contains('L') { path class="line" d=(path) {} }
                        @if line.style == Style::Dots || line.points.len() <= DOTS {
                            @for point in &line.points {
                                @if let Some((left, top)) = place(point) {
                                    // Lines differ by their dashes, and dots by their shapes.
                                    @let shape = if line.style == Style::Dots { at } else { 0 };
                                    @let name = html! { title { (figure.x.unit.show(point.0)) ": " (figure.y.unit.show(point.1)) " (" (line.name) ")" } };
                                    (dot(shape, (left, top), name))
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    (drawn, plot.picture())
}

/// Returns the SVG path through points. A point without a position interrupts the path.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let (mut path, mut step) = (String::new(), 'M');
    for point in points {
        step = match point {
            Some((x, y)) => {
                let _ = write!(path, "{step}{} {}", n(x), n(y));
                'L'
            }
            None => 'M',
        };
    }
    path
}

/// Returns the SVG path of the area below a step line, and the path of the area's upper edge.
fn areas(
    line: &Line,
    scale: &Scale,
    plot: &Plot,
    place: &impl Fn(&(f64, f64)) -> Option<(f64, f64)>,
) -> (String, String) {
    let (mut area, mut edge) = (String::new(), String::new());
    // The next value begins at the end of the previous one, or at the start of its part of the scale.
    let mut before = f64::NEG_INFINITY;
    for &(to, value) in &line.points {
        let first = match scale {
            Scale::Parts(parts) => parts.iter().rev().map(|&(from, _)| from).find(|&from| from <= to).unwrap_or(0.0),
            Scale::Linear | Scale::Log | Scale::LogFromZero => 0.0,
        };
        let (from, joins) = (before.max(first), before >= first);
        before = to;
        let (Some((left, top)), Some((right, _))) = (place(&(from, value)), place(&(to, value))) else { continue };
        let _ = write!(area, "M{} {}V{}H{}V{}Z", n(left), n(plot.bottom()), n(top), n(right), n(plot.bottom()));
        match joins && !edge.is_empty() {
            true => drop(write!(edge, "V{}H{}", n(top), n(right))),
            false => drop(write!(edge, "M{} {}H{}", n(left), n(top), n(right))),
        }
    }
    (area, edge)
}
