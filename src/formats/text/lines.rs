//! Parses lines with one edge each, for text, Matrix Market and DIMACS files.
//!
//! Eight digits at a time are converted to a number with three multiplications of a 64-bit word. So a line costs about
//! two such conversions and one mispredicted branch at its end. Everything else (comments, weights, carriage returns,
//! errors) is off the fast path.

use std::borrow::Cow;
use std::ops::Range;

use super::{TableGrammar, attributes};
use crate::formats::bytes::tokens::{
    blanks, excerpt, has_lone_return, is_blank_or_end, lone_return, next_line, number, weight_end,
};
use crate::formats::{Fault, Sink, Stop};

/// Maximum length in bytes of a line with an edge; a file with a longer line is not in this format.
pub(crate) const LONGEST: usize = 1 << 20;

/// Whether a weight follows the two ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightRule {
    Never,
    Optional,
    Required,
}

/// The grammar of the lines in a file's body.
#[derive(Debug, Clone)]
pub(crate) struct Grammar {
    /// The letter at the start of every edge (`a` in DIMACS files).
    pub tag: Option<u8>,
    /// First bytes of comment lines, which are skipped. A `/` begins a comment only if it occurs twice.
    pub comments: &'static [u8],
    /// Whether `,` and `;` are separators, too.
    pub commas: bool,
    /// Whether two consecutive tabs enclose an empty column.
    pub single_tabs: bool,
    /// Smallest id that the file may contain (0 or 1). It becomes 0 in the graph.
    pub base: u64,
    /// Largest id that the file may contain.
    pub largest: u64,
    pub weight: WeightRule,
    /// Whether attributes in NetworkX's notation may replace the weight.
    pub attributes: bool,
    /// How lines with quotes are parsed, if the first line has none; `None` if they are rejected.
    pub quoted: Option<TableGrammar>,
    /// Description of a correct line, for messages.
    pub expected: String,
    /// Function that returns the suggested fix for a malformed line.
    pub remedy: fn(&[u8]) -> Cow<'static, str>,
}

/// Parses complete lines of text, and passes their edges to `sink`. The last line may lack its newline.
pub(crate) fn parse(data: &[u8], grammar: &Grammar, sink: &mut Sink<'_>) -> Result<(), Stop> {
    // Lines whose weights are skipped are compiled separately, so that they are parsed as fast as lines without
    // weights.
    if sink.reading.is_wanted() && grammar.weight != WeightRule::Never {
        parse_as::<true>(data, grammar, sink)
    } else {
        parse_as::<false>(data, grammar, sink)
    }
}

/// Parses complete lines of text, and their weights if `WEIGHTED` is true.
fn parse_as<const WEIGHTED: bool>(data: &[u8], grammar: &Grammar, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let span = grammar.largest.saturating_sub(grammar.base);
    let mut at = 0;
    while at < data.len() {
        let line = at;
        if let Some(tag) = grammar.tag {
            match after_tag(data, at, tag, grammar) {
                Some(Ok(edge)) => at = edge,
                Some(Err(next)) => {
                    at = next;
                    continue;
                }
                None => return Err(wrong(data, line, grammar)),
            }
        }
        let Some((u, end)) = number(data, at) else {
            // The line is indented, blank, a comment, or malformed.
            let first = blanks(data, at);
            if first > at && data.get(first).is_some_and(u8::is_ascii_digit) {
                if grammar.single_tabs && data[at..first].contains(&b'\t') {
                    return Err(wrong(data, line, grammar));
                }
                at = first;
                continue;
            }
            match data.get(first) {
                None => return Ok(()),
                Some(b'\n') if grammar.tag.is_none() => {
                    at = first + 1;
                    continue;
                }
                Some(_)
                    if grammar.tag.is_none() && is_comment(data, first, grammar) && !has_lone_return(data, first) =>
                {
                    at = next_line(data, first);
                    continue;
                }
                Some(_) => {
                    at = quoted(data, line, grammar, sink)?;
                    continue;
                }
            }
        };
        let Some((v, end)) = gap(data, end, grammar).and_then(|second| number(data, second)) else {
            at = quoted(data, line, grammar, sink)?;
            continue;
        };
        if u.wrapping_sub(grammar.base) > span || v.wrapping_sub(grammar.base) > span {
            return Err(wrong(data, line, grammar));
        }
        let mut weight = 0..0;
        at = match data.get(end) {
            Some(b'\n') if grammar.weight != WeightRule::Required => end + 1,
            _ => match rest::<WEIGHTED>(data, end, grammar, &mut weight) {
                Some(next) => next,
                None => {
                    at = quoted(data, line, grammar, sink)?;
                    continue;
                }
            },
        };
        if WEIGHTED {
            sink.push_line(data, line, (u - grammar.base, v - grammar.base), weight)?;
        } else {
            sink.push(u - grammar.base, v - grammar.base)?;
        }
    }
    Ok(())
}

/// Parses a line with quotes with the table parser, or skips a comment that only that parser recognises. Returns the
/// start of the next line.
#[cold]
fn quoted(data: &[u8], line: usize, grammar: &Grammar, sink: &mut Sink<'_>) -> Result<usize, Stop> {
    if let Some(next) = grammar.quoted.as_ref().and_then(|table| table.semicolon_comment(data, line)) {
        return Ok(next);
    }
    let has_quotes = || data[line..next_line(data, line)].contains(&b'"');
    let edge = grammar.quoted.as_ref().filter(|_| has_quotes()).and_then(|table| table.edge_at(data, line));
    let Some(edge) = edge else { return Err(wrong(data, line, grammar)) };
    if sink.reading.is_wanted() {
        sink.push_line(data, line, (edge.u, edge.v), edge.weight)?;
    } else {
        sink.push(edge.u, edge.v)?;
    }
    Ok(edge.next)
}

/// Returns `Ok` with the offset of the first id, after the tag, if the line at `at` is an edge. Returns `Err` with the
/// start of the next line if it is a comment or blank, and `None` otherwise.
#[inline]
fn after_tag(data: &[u8], at: usize, tag: u8, grammar: &Grammar) -> Option<Result<usize, usize>> {
    if data[at] == tag && data.get(at + 1) == Some(&b' ') && data.get(at + 2).is_some_and(u8::is_ascii_digit) {
        return Some(Ok(at + 2));
    }
    let first = blanks(data, at);
    match data.get(first) {
        None => Some(Err(first)),
        Some(b'\n') => Some(Err(first + 1)),
        Some(c) if grammar.comments.contains(c) && is_blank_or_end(data, first + 1) => {
            Some(Err(next_line(data, first)))
        }
        Some(c) if *c == tag => {
            let id = blanks(data, first + 1);
            (id > first + 1).then_some(Ok(id))
        }
        Some(_) => None,
    }
}

/// Returns the start of the next column; `None` if there is no separator or the field is empty (`1,,2`).
#[inline(always)]
fn gap(data: &[u8], at: usize, grammar: &Grammar) -> Option<usize> {
    match data.get(at)? {
        b' ' | b'\t' if data.get(at + 1).is_some_and(u8::is_ascii_digit) => Some(at + 1),
        b',' | b';' if grammar.commas && data.get(at + 1).is_some_and(u8::is_ascii_digit) => Some(at + 1),
        _ => wide_gap(data, at, grammar),
    }
}

fn wide_gap(data: &[u8], at: usize, grammar: &Grammar) -> Option<usize> {
    let mut next = blanks(data, at);
    if grammar.commas && matches!(data.get(next), Some(b',' | b';')) {
        next = blanks(data, next + 1);
    }
    let tabs = if grammar.single_tabs { data[at..next].iter().filter(|c| **c == b'\t').count() } else { 0 };
    (next > at && tabs < 2).then_some(next)
}

fn is_comment(data: &[u8], first: usize, grammar: &Grammar) -> bool {
    let c = data[first];
    grammar.comments.contains(&c) && (c != b'/' || data.get(first + 1) == Some(&c))
}

/// Checks the text after the second id. Returns the start of the next line, or `None` if the line is malformed. If
/// `WEIGHTED` is true and the line has a weight, sets `place` to the byte range of the weight.
fn rest<const WEIGHTED: bool>(data: &[u8], at: usize, grammar: &Grammar, place: &mut Range<usize>) -> Option<usize> {
    let line_end = |at: usize| match data.get(at) {
        None => Some(at),
        Some(b'\n') => Some(at + 1),
        Some(_) => None,
    };
    if let Some(next) = line_end(blanks(data, at)) {
        return (grammar.weight != WeightRule::Required).then_some(next);
    }
    let weight = gap(data, at, grammar)?;
    if let (Some(next), true) = (line_end(weight), grammar.weight != WeightRule::Required) {
        return Some(next); // a comma after the last column, as some spreadsheets write
    }
    if grammar.weight == WeightRule::Never {
        return None;
    }
    let end = match data.get(weight) {
        Some(b'{') if grammar.attributes => {
            let (end, attribute) = attributes::read(data, weight)?;
            if WEIGHTED {
                *place = attribute;
            }
            end
        }
        _ => {
            let end = weight_end(data, weight)?;
            if WEIGHTED {
                *place = weight..end;
            }
            end
        }
    };
    line_end(blanks(data, end))
}

#[cold]
fn wrong(data: &[u8], line: usize, grammar: &Grammar) -> Stop {
    if has_lone_return(data, line) {
        return lone_return(data, line).into();
    }
    Fault::new(line, grammar.expected.clone(), excerpt(data, line), (grammar.remedy)(&data[line..])).into()
}
