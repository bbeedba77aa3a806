//! Parses lines of several columns, with ids in any of them, quotes (RFC 4180) and empty fields.
//!
//! Lists of two columns have a faster parser, `lines`. All lines must have as many columns as the first one, because a
//! missing or surplus column shifts the others, which would produce a different graph.

use std::ops::Range;

use super::fields::Delimiter;
use super::{advice, attributes};
use crate::formats::bytes::tokens::{blanks, excerpt, has_lone_return, lone_return, next_line, number, weight_end};
use crate::formats::{Fault, Sink, Stop};

/// The layout of lines with several columns, whose ids are numbers or strings. Column indices are 0-based.
#[derive(Debug, Clone)]
pub(crate) struct TableGrammar {
    pub(super) delimiter: Delimiter,
    /// The columns of the two ids. In a list of vertices they are the same.
    pub(super) u: usize,
    pub(super) v: usize,
    /// The column of the weight, which must contain numbers.
    pub(super) weight: Option<usize>,
    /// Number of columns in every line.
    pub(super) columns: usize,
}

/// An edge that was parsed from a line.
pub(crate) struct EdgeRow {
    pub u: u64,
    pub v: u64,
    /// Byte range of the weight; empty if the edge has none.
    pub weight: Range<usize>,
    /// Start of the next line.
    pub next: usize,
}

/// Delimiter byte that stands for runs of blanks and tabs.
pub(super) const BLANKS: u8 = 0;

impl TableGrammar {
    /// Parses complete rows, and passes their edges to `sink`. The last row may lack its newline.
    pub(crate) fn parse(&self, data: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
        match self.delimiter {
            Delimiter::Comma => self.lines::<b','>(data, sink),
            Delimiter::Semicolon => self.lines::<b';'>(data, sink),
            Delimiter::Tab => self.lines::<b'\t'>(data, sink),
            Delimiter::Blanks => self.lines::<BLANKS>(data, sink),
        }
    }

    fn lines<const D: u8>(&self, data: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
        let wanted = sink.reading.is_wanted() && self.weight.is_some();
        let mut at = 0;
        while at < data.len() {
            if let Some(EdgeRow { u, v, weight, next }) = self.edge::<D>(data, at) {
                if wanted {
                    sink.push_line(data, at, (u, v), weight)?
                } else {
                    sink.push(u, v)?
                }
                at = next;
            } else {
                let next = skipped_line::<D>(data, at).or_else(|| self.semicolon_comment(data, at));
                at = next.ok_or_else(|| self.wrong(data, at))?;
            }
        }
        Ok(())
    }

    /// Returns the largest id in `window`, a section of the body. Incomplete and malformed lines are skipped.
    pub(crate) fn largest(&self, window: &[u8]) -> u64 {
        window
            .split(|c| *c == b'\n')
            .filter_map(|line| self.edge_at(line, 0))
            .map(|edge| edge.u.max(edge.v))
            .max()
            .unwrap_or(0)
    }

    /// Returns the edge of the line at offset `at`; `None` if the line is not an edge.
    pub(crate) fn edge_at(&self, data: &[u8], at: usize) -> Option<EdgeRow> {
        match self.delimiter {
            Delimiter::Comma => self.edge::<b','>(data, at),
            Delimiter::Semicolon => self.edge::<b';'>(data, at),
            Delimiter::Tab => self.edge::<b'\t'>(data, at),
            Delimiter::Blanks => self.edge::<BLANKS>(data, at),
        }
    }

    #[inline]
    fn edge<const D: u8>(&self, data: &[u8], mut at: usize) -> Option<EdgeRow> {
        let (mut u, mut v, mut column, mut weight) = (0, 0, 0, 0..0);
        if self.u.min(self.v) > 0 && is_comment::<D>(&data[trim::<D>(data, at)..]) {
            return None;
        }
        loop {
            at = trim::<D>(data, at);
            let start = at;
            if column == self.u {
                (u, at) = id(data, at)?;
                if self.v == self.u {
                    v = u;
                }
            } else if column == self.v {
                (v, at) = id(data, at)?;
            } else {
                let attribute;
                (at, attribute) = skip::<D>(data, at, column >= 2)?;
                if self.weight == Some(column) {
                    let is_attributes = data.get(start) == Some(&b'{');
                    if !is_attributes && !is_weight(&data[start..at]) {
                        return None;
                    }
                    weight = if is_attributes { attribute } else { start..at };
                }
            }
            let behind = trim::<D>(data, at);
            column += 1;
            let next = match data.get(behind) {
                Some(b'\n') => behind + 1,
                None => behind,
                Some(b'\r') => match blanks(data, behind) {
                    end if data.get(end) == Some(&b'\n') => end + 1,
                    end if end == data.len() => end,
                    _ => return None,
                },
                Some(c) if D != BLANKS && *c == D => {
                    at = behind + 1;
                    continue;
                }
                Some(_) if D == BLANKS && behind > at => {
                    at = behind;
                    continue;
                }
                Some(_) => return None,
            };
            // Some spreadsheets write a delimiter after the last column.
            let empty = at == start && D != BLANKS;
            return (column == self.columns || (empty && column == self.columns + 1)).then_some(EdgeRow {
                u,
                v,
                weight,
                next,
            });
        }
    }

    /// Recognises comments that begin with `;` in a file whose delimiter is also `;`. Returns the start of the next
    /// line if the line at `line` is such a comment, otherwise `None`. Such a comment contains words, and no number in
    /// an id column. A row whose first column is empty is not a comment.
    #[cold]
    pub(crate) fn semicolon_comment(&self, data: &[u8], line: usize) -> Option<usize> {
        let next = next_line(data, line);
        let text = &data[blanks(data, line)..next];
        let is_number = |column: usize| {
            let field = text.split(|c| *c == b';').nth(column).unwrap_or_default();
            field.iter().find(|c| !matches!(c, b' ' | b'\t' | b'"')).is_some_and(u8::is_ascii_digit)
        };
        let words = text.iter().any(|c| c.is_ascii_alphabetic() || !c.is_ascii());
        let is_remark = self.delimiter == Delimiter::Semicolon && text.first() == Some(&b';') && words;
        (is_remark && ![self.u, self.v].into_iter().any(is_number) && !has_lone_return(data, line)).then_some(next)
    }

    #[cold]
    fn wrong(&self, data: &[u8], line: usize) -> Stop {
        if has_lone_return(data, line) {
            return lone_return(data, line).into();
        }
        let mut expected =
            format!("{} columns, of which {} and {} are whole numbers", self.columns, self.u + 1, self.v + 1);
        if self.u == self.v {
            expected = advice::VERTEX.into();
        }
        if let Some(weight) = self.weight {
            expected.push_str(&format!(" and {} is a number", weight + 1));
        }
        let remedy = advice::of_row(&data[line..], self.delimiter, [self.u, self.v]);
        Fault::new(line, expected, excerpt(data, line), remedy).into()
    }
}

/// Returns the start of the next line if the line at offset `at` is blank or a comment.
#[cold]
fn skipped_line<const D: u8>(data: &[u8], at: usize) -> Option<usize> {
    let first = blanks(data, at);
    match &data[first..] {
        [] => Some(first),
        [b'\n', ..] => Some(first + 1),
        _ if has_lone_return(data, first) => None,
        line if is_comment::<D>(line) => Some(next_line(data, first)),
        _ => None,
    }
}

/// Returns true for a line that begins like a comment.
fn is_comment<const D: u8>(line: &[u8]) -> bool {
    match line {
        [b'#' | b'%', ..] | [b'/', b'/', ..] => true,
        [b';', ..] => D != b';',
        _ => false,
    }
}

/// Skips blanks, and tabs unless they are the delimiter. Returns the offset after them.
#[inline(always)]
pub(super) fn trim<const D: u8>(data: &[u8], mut at: usize) -> usize {
    while matches!(data.get(at), Some(b' ')) || (D != b'\t' && matches!(data.get(at), Some(b'\t'))) {
        at += 1;
    }
    at
}

/// Returns the id at offset `at`, with or without quotes, and the offset after it.
#[inline(always)]
fn id(data: &[u8], at: usize) -> Option<(u64, usize)> {
    if data.get(at) != Some(&b'"') {
        return number(data, at);
    }
    let (id, end) = number(data, trim::<BLANKS>(data, at + 1))?;
    let end = trim::<BLANKS>(data, end);
    (data.get(end) == Some(&b'"')).then_some((id, end + 1))
}

/// Returns the offset after the field at offset `at`. If the field is a dictionary of attributes, also returns the byte
/// range of its weight. Returns `None` if quotes are not closed on the line.
#[inline(always)]
fn skip<const D: u8>(data: &[u8], mut at: usize, braces: bool) -> Option<(usize, Range<usize>)> {
    match data.get(at) {
        Some(b'"') => return quoted(data, at).map(|end| (end, 0..0)),
        Some(b'{') if braces => return attributes::read(data, at),
        _ => {}
    }
    while let Some(&c) = data.get(at) {
        if c == b'"' {
            return None; // the end of quotes that begin within a field is ambiguous
        }
        if c == b'\n' || c == b'\r' || (D != BLANKS && c == D) || (D == BLANKS && matches!(c, b' ' | b'\t')) {
            break;
        }
        at += 1;
    }
    Some((at, 0..0))
}

/// Returns the offset after the quoted text that begins at offset `at`. A doubled quote stands for one quote within the
/// text.
fn quoted(data: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match data.get(at)? {
            b'"' if data.get(at + 1) == Some(&b'"') => at += 2,
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            _ => at += 1,
        }
    }
}

/// Returns true if a field is a number, with or without quotes.
pub(super) fn is_weight(field: &[u8]) -> bool {
    let field = field.trim_ascii_end();
    let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field).trim_ascii();
    weight_end(field, 0) == Some(field.len())
}
