//! Detects a first line that contains counts, such as `n m`, `n n m`, `n m k` or `rows columns entries`, rather than
//! an edge.
//!
//! The declared number of edges may be the number of lines. It may also be twice that number, if it counts both
//! directions of each edge, or half of it, if each edge has one line per direction.

use super::fields::LineField;
use super::window::{NextLine, TextWindow};
use crate::formats::Fault;
use crate::formats::bytes::tokens::{excerpt, newlines, number};

/// A first line that may contain counts. It does if the number of lines that follow matches one of its numbers.
#[derive(Debug, Clone)]
pub(crate) struct CountsLine {
    /// 1-based number of the line.
    pub line: u64,
    /// The possible meanings of the numbers in the line.
    sizes: Vec<DeclaredSizes>,
    /// The line as messages show it.
    shown: String,
}

/// One possible meaning of the numbers in a line of counts.
#[derive(Debug, Clone, Copy)]
struct DeclaredSizes {
    /// Number of vertices at which edges may start, and number of vertices at which edges may end.
    ends: [u64; 2],
    edges: u64,
    /// Whether the line has a common form, `n m` or `n n m`.
    common: bool,
}

/// The ratio of the number of edges that a file declares to its number of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ratio {
    Same,
    Twice,
    Half,
}

impl Ratio {
    fn of(edges: u64, lines: u64) -> Option<Ratio> {
        match edges {
            0 => None,
            _ if edges == lines => Some(Ratio::Same),
            _ if Some(edges) == lines.checked_mul(2) => Some(Ratio::Twice),
            _ if edges.checked_mul(2) == Some(lines) => Some(Ratio::Half),
            _ => None,
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Ratio::Same => "the number",
            Ratio::Twice => "twice the number",
            Ratio::Half => "half the number",
        }
    }
}

impl CountsLine {
    /// Returns the text after "found" in a message, if the counts of this line match a file with `following` more
    /// lines; `None` if they do not match.
    pub fn found(&self, following: u64) -> Option<String> {
        self.sizes.iter().find_map(|sizes| {
            let ratio = Ratio::of(sizes.edges, following)?;
            let [from, to] = sizes.ends.map(u128::from);
            // This many vertices can't have more than `from * to` edges. A first line that is an edge often fails this
            // test, because sorted lists begin with the smallest ids.
            let possible = u128::from(sizes.edges) <= from * to;
            (possible || (sizes.common && ratio == Ratio::Same)).then(|| self.message(ratio))
        })
    }

    fn message(&self, ratio: Ratio) -> String {
        format!("{}, which has {} of lines that follow", self.shown, ratio.shown())
    }

    /// The text that follows "expected" in the error message.
    pub const EXPECTED: &str = "an edge";

    /// Suggested fix for the error message.
    pub const REMEDY: &str =
        "skip it with [input] skip_lines = 1 (convert --skip-lines 1), or say skip_lines = 0 if it is an edge";
}

impl DeclaredSizes {
    /// Returns the possible meanings of a line of counts with these numbers.
    fn of(numbers: &[u64]) -> Vec<DeclaredSizes> {
        let sizes = |ends, edges, common| DeclaredSizes { ends, edges, common };
        match *numbers {
            [n, m] => vec![sizes([n, n], m, true)],
            [rows, columns, entries] => {
                vec![sizes([rows, columns], entries, rows == columns), sizes([rows, rows], columns, false)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if the ids in `edges` match the declared number of vertices `n`, so that the first line contains
    /// counts rather than an edge.
    ///
    /// The ids match if the largest is `n - 1`, or `n` if ids are 1-based, or if there are exactly `n` distinct ids.
    /// If the line has a common form, it is enough that all ids are below `n`. For example, the line `1 2` above the
    /// other two edges of a triangle is an edge.
    ///
    /// If the declared number of edges is not the number of lines, the evidence must be stronger: either the first
    /// line, read as an edge, would leave a gap in the range of ids, or the lines must be symmetric.
    fn fit(&self, ratio: Ratio, edges: &[[u64; 2]]) -> bool {
        let [from, to] = self.ends;
        let mut ids = edges.as_flattened().to_vec();
        ids.sort_unstable();
        ids.dedup();
        let (least, most) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
        if from != to {
            let all = |base: u64| {
                let most = |end: usize| edges.iter().map(|edge| edge[end]).max();
                least >= base && [0, 1].map(most) == [from, to].map(|n| n.checked_sub(1).map(|n| n + base))
            };
            return ratio == Ratio::Same && (all(0) || all(1));
        }
        let exact = most.checked_add(1) == Some(from) || (most == from && least > 0) || ids.len() as u64 == from;
        match ratio {
            Ratio::Same if self.common => exact || most < from,
            Ratio::Same => exact,
            Ratio::Twice => exact && self.edges > from.saturating_add(1),
            Ratio::Half => exact && is_symmetric(edges),
        }
    }
}

/// Returns true if every edge is listed in both directions.
fn is_symmetric(edges: &[[u64; 2]]) -> bool {
    let (mut forth, mut back) = (edges.to_vec(), edges.iter().map(|[u, v]| [*v, *u]).collect::<Vec<_>>());
    forth.sort_unstable();
    back.sort_unstable();
    forth == back
}

/// Checks whether the first line, whose fields are `fields`, contains counts. Returns a parse error if it does. If the
/// file is longer than `window`, returns the counts to check at the end of the file; for such files only the number of
/// lines is compared.
pub(super) fn check(
    fields: &[LineField<'_>],
    at: usize,
    behind: usize,
    window: &TextWindow<'_>,
) -> Result<Option<CountsLine>, Fault> {
    let ids: Option<Vec<u64>> = fields.iter().map(LineField::id).collect();
    let sizes = DeclaredSizes::of(&ids.unwrap_or_default());
    let line = 1 + newlines(&window.bytes[..at]);
    let counts = CountsLine { line, sizes, shown: excerpt(window.bytes, at) };
    if !window.whole {
        return Ok(Some(counts).filter(|counts| !counts.sizes.is_empty()));
    }
    let mut following = 0;
    let mut next = behind;
    while let NextLine::Line { end, .. } = window.next(next) {
        following += 1;
        next = end;
    }
    let ratios = counts.sizes.iter().filter_map(|sizes| Some((sizes, Ratio::of(sizes.edges, following)?)));
    let mut ratios = ratios.peekable();
    if ratios.peek().is_none() {
        return Ok(None);
    }
    let edges = edges(behind, window);
    if edges.len() as u64 != following {
        return Ok(None); // A malformed line is the mistake to report.
    }
    match ratios.find(|(sizes, ratio)| sizes.fit(*ratio, &edges)) {
        Some((_, ratio)) => Err(Fault::new(at, CountsLine::EXPECTED, counts.message(ratio), CountsLine::REMEDY)),
        None => Ok(None),
    }
}

/// Returns the first two numbers of each line, starting at offset `at`.
fn edges(mut at: usize, window: &TextWindow<'_>) -> Vec<[u64; 2]> {
    let mut edges = Vec::new();
    while let NextLine::Line { start, end } = window.next(at) {
        let line = &window.bytes[start..end];
        let numbers = line.split(|c| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let mut numbers = numbers.map(|digits| number(digits, 0).map_or(u64::MAX, |(id, _)| id));
        edges.extend(numbers.next().zip(numbers.next()).map(|(u, v)| [u, v]));
        at = end;
    }
    edges
}
