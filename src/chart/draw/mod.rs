//! Draws charts as SVG within HTML, with a title, a description, a legend and a table of the same numbers. The page's
//! style sets the colours.

mod heat;
mod lines;
mod rows;

use super::axis::AxisLayout;
use super::{Axis, Figure, Marks, Style, Table, Unit};
use crate::quote::{clip_to, printable_lines};
use maud::{Markup, PreEscaped, html};

/// The style sheet of pictures: named colours for light and dark mode, and the styles of marks.
pub const STYLE: &str = include_str!("picture.css");
/// Width of every picture, in coordinate units.
const WIDTH: f64 = 760.0;
/// Width of the margin to the right of a plot, in coordinate units.
const RIGHT: f64 = 20.0;
/// Maximum number of characters of a name or a sentence in a chart.
pub(super) const WORDS: usize = 300;

/// The rectangle of a picture in which marks are drawn.
#[derive(Debug, Clone, Copy)]
struct Plot {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Plot {
    fn new(left: f64, height: f64) -> Plot {
        Plot { left, top: 12.0, width: WIDTH - left - RIGHT, height }
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Returns the height of the whole picture, including the horizontal axis.
    fn picture(&self) -> f64 {
        self.bottom() + 46.0
    }
}

/// Formats a coordinate for SVG, with at most one decimal.
fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns the label of an axis, with the unit of its ticks unless the unit has no name.
fn label(axis: &Axis, unit: &str) -> String {
    if unit.is_empty() { axis.label.clone() } else { format!("{} ({unit})", axis.label) }
}

/// Draws the horizontal axis, vertical grid lines at its ticks, and the gaps between the parts of its scale.
fn horizontal(plot: &Plot, axis: &Axis, laid: &AxisLayout) -> Markup {
    let (top, bottom) = (n(plot.top), n(plot.bottom()));
    html! {
        g class="axis" aria-hidden="true" {
            @for (place, text) in &laid.ticks {
                line class="grid" x1=(n(plot.left + place)) x2=(n(plot.left + place)) y1=(top) y2=(bottom) {}
                text x=(n(plot.left + place)) y=(n(plot.bottom() + 17.0)) text-anchor="middle" { (text) }
            }
            line x1=(n(plot.left)) x2=(n(plot.left + plot.width)) y1=(bottom) y2=(bottom) {}
            text class="label" x=(n(plot.left + plot.width / 2.0)) y=(n(plot.bottom() + 37.0)) text-anchor="middle" {
                (label(axis, &laid.unit))
            }
        }
        @for &(place, width, of) in &laid.gaps {
            rect class="gap" x=(n(plot.left + place)) y=(top) width=(n(width)) height=(n(plot.height)) {
                title { "not at work for " (axis.unit.show(of)) }
            }
        }
    }
}

/// Draws the vertical axis, and horizontal grid lines at its ticks.
fn vertical(plot: &Plot, axis: &Axis, laid: &AxisLayout) -> Markup {
    let middle = plot.top + plot.height / 2.0;
    html! {
        g class="axis" aria-hidden="true" {
            @for (place, text) in &laid.ticks {
                @let y = plot.bottom() - place;
                line class="grid" x1=(n(plot.left)) x2=(n(plot.left + plot.width)) y1=(n(y)) y2=(n(y)) {}
                text x=(n(plot.left - 8.0)) y=(n(y + 4.0)) text-anchor="end" { (text) }
            }
            text class="label" text-anchor="middle" transform=(format!("translate(16 {}) rotate(-90)", n(middle))) {
                (label(axis, &laid.unit))
            }
        }
    }
}

/// Number of colours that the style sheet defines for the series of a chart.
const COLOURS: usize = 12;

/// Returns the CSS class that selects the colour of the series with index `at`.
fn series(at: usize) -> String {
    format!("s{}", at % COLOURS)
}

/// Width and height, in coordinate units, of the mark of a series in the legend.
const KEY: [f64; 2] = [22.0, 10.0];

/// Draws the mark of a series in the legend with the same dashes or shape as in the picture, so that colour is not the
/// only difference.
fn key(at: usize, style: Option<Style>) -> Markup {
    let [width, height] = KEY;
    let across = format!("M0 {}H{}", n(height / 2.0), n(width));
    html! {
        g class=(series(at)) {
            @match style {
                Some(Style::Line) => path class="line" d=(across) {},
                Some(Style::Limit) => path class="limit" d=(across) {},
                Some(Style::Dots) => (dot(at, (width / 2.0, height / 2.0), html! {})),
                Some(Style::Area) | None => rect class="bar" width=(n(width - 6.0)) height=(n(height)) rx="2" {},
            }
        }
    }
}

/// Draws a dot at (`x`, `y`) with one of four shapes: `at` modulo 4. `title` is shown when the reader points at it.
fn dot(at: usize, (x, y): (f64, f64), title: Markup) -> Markup {
    let corners: &[(f64, f64)] = match at % 4 {
        0 => return html! { circle class="dot" cx=(n(x)) cy=(n(y)) r="3" { (title) } },
        1 => &[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)],
        2 => &[(0.0, -4.0), (4.0, 3.0), (-4.0, 3.0)],
        _ => &[(0.0, -4.5), (4.5, 0.0), (0.0, 4.5), (-4.5, 0.0)],
    };
    let points: Vec<String> = corners.iter().map(|(right, down)| format!("{} {}", n(x + right), n(y + down))).collect();
    html! { path class="dot" d=(format!("M{}Z", points.join("L"))) { (title) } }
}

fn legend(names: &[(&str, Option<Style>)]) -> Markup {
    let [width, height] = KEY;
    html! {
        @if !names.is_empty() {
            ul class="legend" {
                @for (at, (name, style)) in names.iter().enumerate() {
                    li { svg class="key" viewBox=(format!("0 0 {} {}", n(width), n(height))) aria-hidden="true" { (key(at, *style)) } (name) }
                }
            }
        }
    }
}

/// Draws the marks of a chart. Returns the marks as SVG, and the height of the picture.
fn draw(figure: &Figure) -> (Markup, f64) {
    match &figure.marks {
        Marks::Lines(lines) => lines::draw(figure, lines),
        Marks::Bars(bars) => rows::bars(figure, bars),
        Marks::Heat(heat) => heat::draw(figure, heat),
        Marks::Spans(spans) => rows::spans(figure, spans),
        Marks::Boxes(boxes) => rows::boxes(figure, boxes),
    }
}

/// Returns the names of a chart's series for its legend, with the styles of lines. A single series has no legend.
fn legend_of(figure: &Figure) -> Vec<(&str, Option<Style>)> {
    let names: Vec<_> = match &figure.marks {
        Marks::Lines(lines) => lines.iter().map(|line| (line.name.as_str(), Some(line.style))).collect(),
        Marks::Bars(bars) => bars.parts.iter().map(|(name, _)| (name.as_str(), None)).collect(),
        Marks::Heat(_) | Marks::Spans(_) | Marks::Boxes(_) => Vec::new(),
    };
    if names.len() > 1 { names } else { Vec::new() }
}

/// Returns a chart as HTML, for a page that includes [`STYLE`]. The ids in the picture begin with `id`, which must be
/// unique on the page. `numbers` is the table below the picture; if it is `None`, the table contains the numbers of
/// the picture.
pub fn figure(figure: &Figure, id: &str, numbers: Option<&Table>) -> Markup {
    let figure = &figure.clipped(WORDS);
    let (marks, height) = draw(figure);
    html! {
        figure id=(id) {
            figcaption { h3 { (figure.title) } p { (figure.caption) } }
            (legend(&legend_of(figure)))
            div class="scroll" tabindex="0" role="group" aria-label=(format!("Picture: {}", figure.title)) {
                svg viewBox=(format!("0 0 {} {}", n(WIDTH), n(height))) role="img" aria-labelledby=(format!("{id}-title")) aria-describedby=(format!("{id}-desc")) {
                    title id=(format!("{id}-title")) { (figure.title) }
                    desc id=(format!("{id}-desc")) { (figure.caption) " A table below shows the numbers." }
                    (marks)
                }
            }
            (self::numbers(&figure.title, numbers.unwrap_or(&figure.table())))
        }
    }
}

/// Returns a chart as the text of a standalone SVG file, with its title and its legend. The viewer's preference
/// decides whether it is light or dark.
pub fn file(figure: &Figure) -> String {
    let figure = &figure.clipped(WORDS);
    let ((marks, height), names) = (draw(figure), legend_of(figure));
    let top = if names.is_empty() { 40.0 } else { 62.0 };
    // Names are spaced by their approximate width.
    let places = names.iter().scan(16.0, |left, (name, _)| {
        *left += 52.0 + 7.2 * name.chars().count() as f64;
        Some(*left)
    });
    let places = [16.0].into_iter().chain(places);
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {} {}", n(WIDTH), n(top + height))) role="img" aria-label=(figure.title) {
            title { (figure.title) }
            desc { (figure.caption) }
            style { (PreEscaped(STYLE)) }
            rect class="ground" width=(n(WIDTH)) height=(n(top + height)) {}
            text x="16" y="26" font-weight="600" { (figure.title) }
            @for (at, ((name, style), left)) in names.iter().zip(places).enumerate() {
                g transform=(format!("translate({} 40)", n(left))) { (key(at, *style)) }
                text x=(n(left + KEY[0] + 6.0)) y="50" { (name) }
            }
            g transform=(format!("translate(0 {})", n(top))) { (marks) }
        }
    };
    printable_lines(&svg.into_string()) + "\n"
}

/// Returns a table as HTML, in a collapsed section.
pub fn numbers(caption: &str, table: &Table) -> Markup {
    let (rows, caption) = (table.rows.len(), &clip_to(caption, WORDS));
    let scrolled = html! {
        div class="scroll" tabindex="0" role="group" aria-label=(format!("Numbers: {caption}")) { (table.html(caption)) }
    };
    html! {
        details { summary { (format!("Numbers: {caption} ({rows} {})", if rows == 1 { "row" } else { "rows" })) } (scrolled) }
    }
}

/// Returns a table of two columns as an HTML list of names and values.
pub fn facts(table: &Table) -> Markup {
    let unit = table.columns.get(1).map_or(Unit::Text, |column| column.unit);
    html! {
        dl class="facts" {
            @for row in &table.rows { @if let [name, cell, ..] = row.as_slice() { dt { (name.show(Unit::Text)) } dd { (cell.show(unit)) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    fn figure(marks: Marks) -> Figure {
        Figure {
            title: "<script>\"&' of a title".into(),
            caption: "A caption.".into(),
            x: Axis::linear("x", Unit::Count),
            y: Axis::linear("y", Unit::Seconds),
            marks,
        }
    }

    /// Counts how often `text` occurs in the picture of a chart with these marks, without its table.
    fn count(marks: Marks, text: &str) -> usize {
        let html = draw::figure(&figure(marks), "f", None).into_string();
        assert!(!html.contains("<script") && !html.contains("NaN") && !html.contains("inf"), "{html}");
        let picture =
            html.split("role=\"img\"").nth(1).and_then(|rest| rest.split("</svg>").next()).expect("a picture");
        picture.matches(text).count()
    }

    #[test]
    fn every_mark_is_drawn() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)];
        let line = |style| Marks::Lines(vec![Line::new("a", style, points.clone())]);
        assert_eq!(count(line(Style::Line), "<circle"), 2);
        assert_eq!(count(line(Style::Dots), "<circle"), 2);
        assert_eq!(count(line(Style::Area), "class=\"area"), 1);
        assert_eq!(count(line(Style::Limit), "class=\"limit"), 1);
        let broken = [1.0, 2.0, f64::NAN, 3.0, 4.0].into_iter().enumerate().map(|(at, y)| (at as f64, y)).collect();
        let html =
            draw::figure(&figure(Marks::Lines(vec![Line::new("a", Style::Line, broken)])), "f", None).into_string();
        let path = html.split("class=\"line\" d=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a line");
        assert_eq!(path.matches(['M', 'L']).collect::<String>(), "MLML", "{path}");
        let names: Vec<String> = vec!["p".into(), "q".into()];
        let bars =
            Bars { names: names.clone(), parts: vec![("a".into(), vec![1.0, 0.0]), ("b".into(), vec![2.0, 3.0])] };
        assert_eq!(count(Marks::Bars(bars), "<rect class=\"bar"), 3);
        let cells = vec![vec![Some(0.0), None], vec![Some(2.0), Some(1.0)]];
        let heat = Heat { row: "front".into(), column: "partner".into(), names, cells };
        assert_eq!(count(Marks::Heat(heat), "<rect class=\"cell"), 3);
        let span = |from, to, done| SpanMark { name: "sort".into(), from, to, done, note: "run 1".into() };
        assert_eq!(count(Marks::Spans(vec![span(0.0, 1.0, true), span(2.0, 2.0, false)]), "<rect class=\"span"), 2);
        let spread = Spread::of("<b>", vec![3.0, 1.0, 2.0]).expect("values");
        assert_eq!(spread.numbers, [1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(count(Marks::Boxes(vec![spread]), "<rect class=\"box"), 1);
        assert_eq!(Spread::of("none", vec![f64::NAN]), None);
    }

    #[test]
    fn a_figure_has_the_table_of_its_numbers() {
        let html = draw::figure(&figure(Marks::Lines(vec![Line::new("a", Style::Line, vec![(1.0, 0.25)])])), "f", None);
        let html = html.into_string();
        assert!(html.contains("aria-labelledby=\"f-title\"") && html.contains("<td class=\"number\">250 ms"), "{html}");
        let many = (0..50).map(|x| (f64::from(x), 1.0)).collect();
        let html =
            draw::figure(&figure(Marks::Lines(vec![Line::new("a", Style::Line, many)])), "f", None).into_string();
        assert!(html.contains("<details><summary>Numbers") && html.contains("(50 rows)"), "{html}");
    }

    /// Returns the relative luminance of a colour, as WCAG 2.1 defines it.
    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String = digits.chars().flat_map(|digit| [digit; 2]).collect();
        let hex = if digits.len() == 3 { wide.as_str() } else { digits };
        let part = |at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("a colour")) / 255.0;
        let linear = |part: f64| if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
    }

    #[test]
    fn marks_and_text_have_enough_contrast_in_both_schemes() {
        for scheme in draw::STYLE.split(":root{").skip(1) {
            let colours = scheme.split('}').next().expect("colours");
            let colours = colours.split(';').filter_map(|one| one.trim().strip_prefix("--")?.split_once(':'));
            let colours: std::collections::BTreeMap<&str, &str> = colours.collect();
            let ground = luminance(colours["card"]);
            let contrast = |name: &str| {
                let (a, b) = (luminance(colours[name]), ground);
                (a.max(b) + 0.05) / (a.min(b) + 0.05)
            };
            let series: Vec<String> = (0..draw::COLOURS).map(|at| format!("s{at}")).collect();
            for (name, least) in
                series.iter().map(|name| (name.as_str(), 3.0)).chain([("heat", 3.0), ("ink", 4.5), ("muted", 4.5)])
            {
                assert!(contrast(name) >= least, "{name}: {} in {colours:?}", contrast(name));
            }
        }
        assert_eq!(draw::STYLE.matches(":root{").count(), 2);
    }
}
