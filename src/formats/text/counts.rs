//! Recognises a first line that has the counts of vertices and edges, `n m` or `n n m`, rather than an edge.

use super::fields::Field;
use super::window::{Next, Window};
use crate::formats::lines;
use crate::formats::scan::sink::Fault;

/// A first line that has counts if `edges` edges follow.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Number of the line, from 1.
    pub line: u64,
    /// The number of edges in it.
    pub edges: u64,
    /// The line as messages show it.
    pub shown: String,
}

pub(super) const REMEDY: &str =
    "skip it with [input] skip_lines = 1 (convert --skip-lines 1), or say skip_lines = 0 if it is an edge";

impl Counts {
    /// Returns the text after "found" in a message about the line.
    pub fn found(&self) -> String {
        format!("{}, which is the number of lines that follow", self.shown)
    }

    /// The text after "expected".
    pub const EXPECTED: &str = "an edge";

    /// The remedy.
    pub const REMEDY: &str = REMEDY;
}

/// Checks whether the first line, of these fields, has counts: returns a fault if it has, and the counts to be compared at the end of the
/// file if that lies beyond `window`.
///
/// If all lines are in the window, their ids must fit `n` vertices numbered from 0 or 1, or there must be `n` different ones: `1 2` above
/// the other two edges of a triangle is an edge. In longer files the number of lines decides alone.
pub(super) fn check(
    fields: &[Field<'_>],
    at: usize,
    behind: usize,
    window: &Window<'_>,
) -> Result<Option<Counts>, Fault> {
    let ids: Option<Vec<u64>> = fields.iter().map(Field::id).collect();
    let (vertices, edges) = match ids.as_deref() {
        Some(&[n, m]) => (n, m),
        Some(&[rows, columns, m]) if rows == columns => (rows, m),
        _ => return Ok(None),
    };
    let line = 1 + lines::newlines(&window.bytes[..at]);
    let counts = Counts { line, edges, shown: lines::excerpt(window.bytes, at) };
    if !window.whole {
        return Ok(Some(counts).filter(|counts| counts.edges > 0));
    }
    let mut next = behind;
    let mut following = 0;
    while let Next::Line { end, .. } = window.next(next) {
        following += 1;
        next = end;
    }
    if following != edges || edges == 0 || !fit(vertices, behind, window) {
        return Ok(None);
    }
    Err(Fault::new(at, Counts::EXPECTED, counts.found(), Counts::REMEDY))
}

/// Returns true if the ids of the lines from `at` on are those of `vertices` vertices.
fn fit(vertices: u64, mut at: usize, window: &Window<'_>) -> bool {
    let mut ids = Vec::new();
    while let Next::Line { start, end } = window.next(at) {
        let line = &window.bytes[start..end];
        let numbers = line.split(|c| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        ids.extend(numbers.take(2).map(|digits| lines::number(digits, 0).map_or(u64::MAX, |(id, _)| id)));
        at = end;
    }
    ids.sort_unstable();
    ids.dedup();
    let (least, most) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
    most < vertices || (most == vertices && least > 0) || ids.len() as u64 == vertices
}
