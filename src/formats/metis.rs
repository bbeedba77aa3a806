//! Reads METIS graph files (the METIS manual, 4.1): a header `VERTICES EDGES [FMT [NCON]]`, then for every vertex one
//! line with the 1-based ids of its neighbours. `%` starts a comment line. The digits of FMT state whether the file has
//! vertex sizes, vertex weights (NCON of them) and edge weights. Vertex sizes and weights must be numbers, and are
//! ignored.
//!
//! Such a file lists each undirected edge twice, once in the line of either end. The visitor gets the edge twice, each
//! time with the weight from that line. If the weights differ, the smaller one counts, as for repeated edges. An edge
//! that is listed at only one end is rejected (see `mirror`). Files that list each edge once, such as the files of the
//! GAP Benchmark Suite, are also accepted unless direction is kept: the lists must have EDGES or 2 EDGES ids. GAP also
//! writes FMT 100 for graphs without vertex sizes. An empty vertex line reveals such a file, because every vertex would
//! have a size. In a compressed file, only the first MiB is searched for an empty line.

use std::io::BufRead;

use crate::formats::bytes::tokens::{
    blanks, excerpt, has_lone_return, lone_return, newlines, next_line, number, weight_end,
};
use crate::formats::text::decimal_commas;
use crate::formats::weights::{Mistake, Weight};
use crate::formats::{BodyLayout, Directions, Fault, Head, Sink, Stop};

const REMEDY: &str = "correct the line or the header, or name the format that the file is in";

/// The layout of the lines of a METIS file.
#[derive(Debug, Clone)]
pub(crate) struct MetisGrammar {
    pub vertices: u64,
    /// Number of values before the neighbours in a line: the size and the weights of the vertex.
    leading: u64,
    /// Whether a weight follows each neighbour.
    weighted: bool,
}

/// The parser's position in the adjacency lists, carried from one call of [`MetisGrammar::parse`] to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursor {
    /// Number of vertices whose lines have been parsed completely.
    pub vertex: u64,
    /// Number of values of the current line that have been parsed.
    column: u64,
    /// The last neighbour that was parsed. The next weight is that of the edge to this neighbour.
    neighbour: u64,
    in_line: bool,
    in_comment: bool,
}

impl Cursor {
    /// Returns the parser's position at the start of the line of `vertex`.
    pub fn at(vertex: u64) -> Cursor {
        Cursor { vertex, ..Cursor::default() }
    }
}

/// Parses the header, which begins at offset `start` of `prefix`, the first bytes of the file.
pub(crate) fn head(prefix: &[u8], start: usize) -> Result<Head, Fault> {
    let mut at = start;
    while prefix.get(at) == Some(&b'%') {
        at = next_line(prefix, at);
    }
    let body = next_line(prefix, at);
    let line = String::from_utf8_lossy(&prefix[at..body.min(at + 256)]).into_owned();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let bad = || {
        let expected = "a header \"VERTICES EDGES [FMT [NCON]]\" with FMT of up to three digits 0 or 1";
        Fault::new(at, expected, excerpt(prefix, at), REMEDY)
    };
    let count = |index: usize| words.get(index).and_then(|w| w.parse::<u64>().ok());
    let (Some(vertices), Some(edges), true) = (count(0), count(1), words.len() <= 4) else { return Err(bad()) };
    let format = words.get(2).copied().unwrap_or("0");
    if format.len() > 3 || !format.bytes().all(|c| matches!(c, b'0' | b'1')) {
        return Err(bad());
    }
    let flags = format!("{format:0>3}");
    let [sizes, weights, weighted] = [0, 1, 2].map(|n| flags.as_bytes()[n] == b'1');
    let constraints = match (words.get(3).map(|_| count(3)), weights) {
        (Some(None), _) => return Err(bad()),
        (Some(Some(n)), true) => n,
        (None, true) => 1,
        (_, false) => 0,
    };
    let sizes = sizes && !(flags == "100" && empty_vertex_line(&prefix[body..]));
    let leading = u64::from(sizes).checked_add(constraints).ok_or_else(bad)?;
    let head = Head::of(BodyLayout::Metis(MetisGrammar { vertices, leading, weighted }), body);
    let directions = Directions::BothOrHalf;
    Ok(Head { vertices: Some(vertices), entries: Some(edges), weighted, directions, ..head })
}

/// Returns true if `body` has an empty line before its last line.
fn empty_vertex_line(body: &[u8]) -> bool {
    let mut at = 0;
    while at < body.len() {
        if matches!(body.get(blanks(body, at)), Some(b'\n')) {
            return true;
        }
        at = next_line(body, at);
    }
    false
}

/// Returns the 1-based line number of `vertex` in the file that `from` reads from its start.
///
/// # Errors
/// The errors of `from`.
pub(crate) fn line_of(vertex: u64, from: &mut impl BufRead) -> std::io::Result<u64> {
    // The header is the first line that is not a comment.
    let (mut line, mut left) = (0, vertex + 2);
    while let Some(first) = from.fill_buf()?.first() {
        line += 1;
        left -= u64::from(*first != b'%');
        if left == 0 {
            break;
        }
        from.skip_until(b'\n')?;
    }
    Ok(line)
}

/// Counts the vertex lines that start in `data`, which begins at the start of a line.
pub(crate) fn vertex_lines(data: &[u8]) -> u64 {
    let lines = newlines(data) + u64::from(data.last().is_some_and(|c| *c != b'\n'));
    let after_newline = data.windows(2).filter(|pair| *pair == b"\n%").count() as u64;
    lines - after_newline - u64::from(data.first() == Some(&b'%'))
}

/// Returns the text of a weight in quotes, for error messages.
fn shown(text: &[u8]) -> String {
    format!("\"{}\"", text[..text.len().min(60)].escape_ascii())
}

impl MetisGrammar {
    /// Parses `data`, the next bytes of the file. They may end anywhere except within a number.
    pub fn parse(&self, data: &[u8], cursor: &mut Cursor, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let mut at = 0;
        while at < data.len() {
            if cursor.in_comment || (!cursor.in_line && data[at] == b'%') {
                at = next_line(data, at);
                cursor.in_comment = data[at - 1] != b'\n';
                continue;
            }
            cursor.in_line = true;
            at = blanks(data, at);
            match data.get(at) {
                None => break,
                Some(b'\n') => {
                    self.end_line(cursor).map_err(|found| self.wrong(at, cursor.vertex, found))?;
                    at += 1;
                }
                Some(_) => at = self.number(data, at, cursor, sink)?,
            }
        }
        Ok(())
    }

    /// Checks that the last line of the file is complete, apart from its newline. `at` is the offset for error
    /// messages.
    pub fn finish(&self, cursor: &mut Cursor, at: usize) -> Result<(), Fault> {
        if cursor.in_line {
            self.end_line(cursor).map_err(|found| self.wrong(at, cursor.vertex, found))?;
        }
        Ok(())
    }

    fn end_line(&self, cursor: &mut Cursor) -> Result<(), String> {
        let column = std::mem::take(&mut cursor.column);
        cursor.in_line = false;
        cursor.vertex += 1;
        if cursor.vertex > self.vertices {
            return Ok(()); // empty lines at the end
        }
        if column < self.leading {
            return Err(format!("a line of {column} numbers for vertex {}", cursor.vertex));
        }
        if self.weighted && (column - self.leading) % 2 == 1 {
            return Err(format!("a neighbour without a weight at the end of the line of vertex {}", cursor.vertex));
        }
        Ok(())
    }

    #[inline]
    fn number(&self, data: &[u8], at: usize, cursor: &mut Cursor, sink: &mut Sink<'_>) -> Result<usize, Stop> {
        if cursor.vertex >= self.vertices {
            let found = format!("a line more, {}", excerpt(data, at));
            return Err(Fault::new(at, format!("{} lines, one a vertex", self.vertices), found, REMEDY).into());
        }
        let column = cursor.column;
        cursor.column += 1;
        let is_weight = column < self.leading || (self.weighted && (column - self.leading) % 2 == 1);
        let wanted = self.weighted && sink.reading.is_wanted();
        let end = if is_weight {
            let end = weight_end(data, at);
            if let (Some(end), true) = (end, wanted && column >= self.leading) {
                let weight = Weight::Text(&data[at..end]);
                let refused = |mistake: Mistake| mistake.fault(at, shown(&data[at..end])).into();
                sink.push_weighted::<Stop>(cursor.vertex, cursor.neighbour, weight, refused)?;
            }
            end
        } else {
            match number(data, at) {
                Some((id, end)) if id >= 1 && id <= self.vertices => {
                    sink.list(cursor.vertex, id - 1);
                    if wanted {
                        cursor.neighbour = id - 1;
                    } else {
                        sink.push(cursor.vertex, id - 1)?;
                    }
                    Some(end)
                }
                _ => None,
            }
        };
        match end {
            Some(end) if matches!(data.get(end), None | Some(b' ' | b'\t' | b'\r' | b'\n')) => Ok(end),
            _ => Err(self.wrong_number(data, at, cursor.vertex + 1).into()),
        }
    }

    #[cold]
    fn wrong_number(&self, data: &[u8], at: usize, vertex: u64) -> Fault {
        let line = data[..at].iter().rposition(|c| *c == b'\n').map_or(0, |n| n + 1);
        if has_lone_return(data, line) {
            return Fault { at, ..lone_return(data, line) };
        }
        let fault = self.wrong(at, vertex, excerpt(data, at));
        // The check for decimal commas expects columns separated by blanks, and two ids before the number.
        let number = data[at..].split(|c| c.is_ascii_whitespace()).next().unwrap_or_default();
        match decimal_commas(&[b"0 0 ", number].concat()) {
            Some(remedy) if self.weighted => Fault { remedy: remedy.into(), ..fault },
            _ => fault,
        }
    }

    #[cold]
    fn wrong(&self, at: usize, vertex: u64, found: String) -> Fault {
        let mut expected = format!("neighbours of vertex {vertex} from 1 to {}", self.vertices);
        if self.leading > 0 {
            expected = format!("{} numbers, then {expected}", self.leading);
        }
        if self.weighted {
            expected.push_str(", each with a weight");
        }
        Fault::new(at, expected, found, REMEDY)
    }
}
