//! Draws heat maps, which show a quantity by row and column as the strength of a colour.

use super::super::{Figure, Heat};
use super::n;
use maud::{Markup, html};

/// Left edge of the square that contains the cells of a heat map, in coordinate units. `TOP` is its upper edge, and
/// `SIDE` its side length.
const LEFT: f64 = 150.0;
const TOP: f64 = 12.0;
const SIDE: f64 = 400.0;
/// Number of steps of the colour scale that is drawn next to a heat map.
const STEPS: usize = 20;
/// Maximum number of row names or column names that are written next to a heat map.
const NAMES: usize = 10;

/// Draws a heat map. Returns the marks as SVG, and the height of the picture.
pub(super) fn draw(figure: &Figure, heat: &Heat) -> (Markup, f64) {
    let most = heat.cells.iter().flatten().flatten().copied().filter(|cell| cell.is_finite()).fold(0.0, f64::max);
    let size = SIDE / heat.cells.len().max(1) as f64;
    // Times differ by orders of magnitude, so their square roots are used to make small ones visible, too.
    let strength = |value: f64| if most > 0.0 { 0.06 + 0.94 * (value / most).clamp(0.0, 1.0).sqrt() } else { 0.06 };
    let opacity = |share: f64| format!("{share:.2}");
    let every = heat.names.len().div_ceil(NAMES).max(1);
    let drawn = html! {
        @for (row, cells) in heat.cells.iter().enumerate() {
            @for (column, cell) in cells.iter().enumerate() {
                @if let Some(value) = cell.filter(|value| value.is_finite()) {
                    rect class="cell" x=(n(LEFT + size * column as f64)) y=(n(TOP + size * row as f64)) width=(n(size)) height=(n(size))
                        fill-opacity=(opacity(strength(value))) {
                        title { (heat.row) " " (heat.names[row]) ", " (heat.column) " " (heat.names[column]) ": " (figure.y.unit.show(value)) }
                    }
                }
            }
        }
        g class="axis" aria-hidden="true" {
            @for (at, name) in heat.names.iter().enumerate().step_by(every) {
                @let middle = size * (at as f64 + 0.5);
                text x=(n(LEFT - 8.0)) y=(n(TOP + middle + 4.0)) text-anchor="end" { (name) }
                text x=(n(LEFT + middle)) y=(n(TOP + SIDE + 17.0)) text-anchor="middle" { (name) }
            }
            text class="label" x=(n(LEFT + SIDE / 2.0)) y=(n(TOP + SIDE + 37.0)) text-anchor="middle" { (heat.column) }
            text class="label" text-anchor="middle" transform=(format!("translate(16 {}) rotate(-90)", n(TOP + SIDE / 2.0))) { (heat.row) }
            @for step in 0..STEPS {
                @let share = step as f64 / (STEPS - 1) as f64;
                rect class="scale" x=(n(LEFT + SIDE + 40.0)) y=(n(TOP + 24.0 + 8.0 * (STEPS - 1 - step) as f64)) width="18" height="8"
                    fill-opacity=(opacity(strength(share * most))) {}
            }
            text class="label" x=(n(LEFT + SIDE + 40.0)) y=(n(TOP + 12.0)) { (figure.y.label) }
            text x=(n(LEFT + SIDE + 66.0)) y=(n(TOP + 34.0)) { (figure.y.unit.show(most)) }
            text x=(n(LEFT + SIDE + 66.0)) y=(n(TOP + 24.0 + 8.0 * STEPS as f64)) { (figure.y.unit.show(0.0)) }
        }
    };
    (drawn, TOP + SIDE + 46.0)
}
