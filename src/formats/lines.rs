//! Parses lines with one edge each, for text, Matrix Market and DIMACS files.
//!
//! Eight digits are converted to a number by three multiplications of a 64-bit word, so a line costs about two words
//! and one mispredicted branch at its end. Everything else (comments, weights, carriage returns, errors) is off the
//! fast path.

use std::borrow::Cow;
use std::ops::Range;

use crate::formats::Visitor;
use crate::formats::scan::sink::{Fault, Sink, Stop};
use crate::formats::text::{Counts, TableGrammar, attributes};
use crate::formats::weights::push;

/// Maximum length in bytes of a line with an edge; a file with a longer one is not in the named format.
pub(crate) const LONGEST: usize = 1 << 20;

/// Whether a weight follows the two ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Never,
    Optional,
    Required,
}

/// The grammar of the lines in a file's body.
#[derive(Debug, Clone)]
pub(crate) struct Grammar {
    /// The letter at the start of every edge (`a` in DIMACS files).
    pub tag: Option<u8>,
    /// First bytes of lines to skip; `/` must occur twice.
    pub comments: &'static [u8],
    /// Whether `,` and `;` are separators, too.
    pub commas: bool,
    /// Whether two consecutive tabs mean an empty column.
    pub single_tabs: bool,
    /// The smallest id, which is handed over as 0.
    pub base: u64,
    /// The largest id in the file's numbering.
    pub largest: u64,
    pub weight: Weight,
    /// Whether attributes, as NetworkX writes them, may take the place of the weight.
    pub attributes: bool,
    /// How lines with quotes are parsed, if the first line has none.
    pub quoted: Option<TableGrammar>,
    /// The counts in the first line, if that may contain counts rather than an edge.
    pub counts: Option<Counts>,
    /// The expected line, for messages.
    pub expected: String,
    /// The remedy for a wrong line.
    pub remedy: fn(&[u8]) -> Cow<'static, str>,
}

/// Parses whole lines; the last one may lack its newline.
pub(crate) fn parse<V: Visitor>(data: &[u8], grammar: &Grammar, sink: &mut Sink<'_, V>) -> Result<(), Stop> {
    // Lines whose weights are skipped have their own code, so that they are parsed as fast as lines without weights.
    if sink.reading().is_wanted() && grammar.weight != Weight::Never {
        parse_as::<true, V>(data, grammar, sink)
    } else {
        parse_as::<false, V>(data, grammar, sink)
    }
}

/// Parses lines, with their weights if `WEIGHTED`.
fn parse_as<const WEIGHTED: bool, V: Visitor>(
    data: &[u8],
    grammar: &Grammar,
    sink: &mut Sink<'_, V>,
) -> Result<(), Stop> {
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
            // The line is indented, blank, a comment, or wrong.
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
            Some(b'\n') if grammar.weight != Weight::Required => end + 1,
            _ => match rest::<WEIGHTED>(data, end, grammar, &mut weight) {
                Some(next) => next,
                None => {
                    at = quoted(data, line, grammar, sink)?;
                    continue;
                }
            },
        };
        if WEIGHTED {
            push(data, line, (u - grammar.base, v - grammar.base), weight, sink)?;
        } else {
            sink.push(u - grammar.base, v - grammar.base)?;
        }
    }
    Ok(())
}

/// Parses a line with quotes by the table parser, or skips a comment that only that parser knows. Returns the start of
/// the next line.
#[cold]
fn quoted<V: Visitor>(data: &[u8], line: usize, grammar: &Grammar, sink: &mut Sink<'_, V>) -> Result<usize, Stop> {
    if let Some(next) = grammar.quoted.as_ref().and_then(|table| table.semicolon_comment(data, line)) {
        return Ok(next);
    }
    let has_quotes = || data[line..next_line(data, line)].contains(&b'"');
    let edge = grammar.quoted.as_ref().filter(|_| has_quotes()).and_then(|table| table.edge_at(data, line));
    let Some(edge) = edge else { return Err(wrong(data, line, grammar)) };
    if sink.reading().is_wanted() {
        push(data, line, (edge.u, edge.v), edge.weight, sink)?;
    } else {
        sink.push(edge.u, edge.v)?;
    }
    Ok(edge.next)
}

/// Returns the offset after the tag of an edge. If the line is a comment or blank, returns the start of the next line
/// as `Err`.
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

/// Parses the number at `at`. Returns it and the offset after it; `None` if there is no digit or the number is 2^64 or
/// more.
#[inline(always)]
pub(crate) fn number(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let Some(word) = data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) else {
        return more_digits(data, at, at, 0);
    };
    let digits = word ^ 0x3030_3030_3030_3030;
    // Bit 7 of a byte is set if the byte is above 9. Carries only reach bytes after the first such byte.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    match count {
        0 => None,
        8 => more_digits(data, at, at + 8, eight_digits(digits)),
        // The shift moves leading zeros in at the low end, where the first digits are.
        _ => Some((eight_digits(digits << (64 - 8 * count)), at + count)),
    }
}

/// Converts eight digits, one per byte, with the first digit in the lowest byte.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 * 65536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

#[inline]
fn more_digits(data: &[u8], start: usize, mut at: usize, mut value: u64) -> Option<(u64, usize)> {
    while let Some(digit) = data.get(at).map(|c| c.wrapping_sub(b'0')).filter(|d| *d <= 9) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
    (at > start).then_some((value, at))
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

/// Checks what follows the second id. Returns the start of the next line, or `None` if the line is wrong. If
/// `WEIGHTED`, sets `place` to the range of the weight, if there is one.
fn rest<const WEIGHTED: bool>(data: &[u8], at: usize, grammar: &Grammar, place: &mut Range<usize>) -> Option<usize> {
    let line_end = |at: usize| match data.get(at) {
        None => Some(at),
        Some(b'\n') => Some(at + 1),
        Some(_) => None,
    };
    if let Some(next) = line_end(blanks(data, at)) {
        return (grammar.weight != Weight::Required).then_some(next);
    }
    let weight = gap(data, at, grammar)?;
    if let (Some(next), true) = (line_end(weight), grammar.weight != Weight::Required) {
        return Some(next); // a comma after the last column, as some spreadsheets write
    }
    if grammar.weight == Weight::Never {
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

/// Returns the end of the number at `at` (integer, decimal, with an exponent, `nan` or `inf`); `None` if there is no
/// number.
pub(crate) fn weight_end(data: &[u8], at: usize) -> Option<usize> {
    let length = data[at..].iter().position(|c| matches!(c, b' ' | b'\t' | b'\r' | b'\n' | b',' | b';'));
    let token = &data[at..length.map_or(data.len(), |n| at + n)];
    let body = token.strip_prefix(b"-").unwrap_or(token);
    let (mut digits, mut points) = (0, 0);
    let plain = body.iter().all(|c| match c {
        b'0'..=b'9' => {
            digits += 1;
            true
        }
        b'.' => {
            points += 1;
            true
        }
        _ => false,
    });
    if plain && digits > 0 && points < 2 {
        return Some(at + token.len());
    }
    let text = std::str::from_utf8(token).ok()?;
    text.parse::<f64>().ok()?;
    Some(at + token.len())
}

/// Returns the offset of the first byte from `at` on that is not a blank, a tab, or a carriage return at the end of a
/// line.
#[inline]
pub(crate) fn blanks(data: &[u8], mut at: usize) -> usize {
    loop {
        match data.get(at) {
            Some(b' ' | b'\t') => {}
            Some(b'\r') if ends_line(data, at) => {}
            _ => return at,
        }
        at += 1;
    }
}

/// Returns true if the carriage return at `at` belongs to the end of a line. A lone carriage return is not a blank: old
/// Macs ended lines with it, so `1 2<CR>3 4` is not one edge.
fn ends_line(data: &[u8], at: usize) -> bool {
    matches!(data.get(at + 1), None | Some(b'\n' | b'\r'))
}

/// Returns true if the line at `line` has a lone carriage return, which could hide edges in a comment.
pub(crate) fn has_lone_return(data: &[u8], line: usize) -> bool {
    let end = next_line(data, line);
    (line..end).any(|at| data[at] == b'\r' && !ends_line(data, at))
}

/// Returns the fault of a line with a lone carriage return.
pub(crate) fn lone_return(data: &[u8], line: usize) -> Fault {
    let remedy = "write line feeds: tr '\\r' '\\n' < IN > OUT";
    let found = format!("a carriage return inside {}", excerpt(data, line));
    Fault::new(line, "lines that end with a line feed", found, remedy)
}

fn is_blank_or_end(data: &[u8], at: usize) -> bool {
    matches!(data.get(at), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// Returns the start of the line after the one that contains `at`, or the end of `data`.
pub(crate) fn next_line(data: &[u8], at: usize) -> usize {
    data[at..].iter().position(|c| *c == b'\n').map_or(data.len(), |n| at + n + 1)
}

/// Counts the newlines in `data`.
pub(crate) fn newlines(data: &[u8]) -> u64 {
    // The runs are short so that the compiler counts in bytes and rarely widens.
    data.chunks(192).map(|run| u64::from(run.iter().map(|c| u8::from(*c == b'\n')).sum::<u8>())).sum()
}

/// Returns the line at `line` as messages show it.
pub(crate) fn excerpt(data: &[u8], line: usize) -> String {
    const SHOWN: usize = 60;
    let window = &data[line..data.len().min(line + SHOWN + 1)];
    let end = window.iter().position(|c| *c == b'\n').unwrap_or(window.len());
    let text = window[..end].strip_suffix(b"\r").unwrap_or(&window[..end]);
    if text.is_empty() {
        return if line == data.len() { "the end of the file".into() } else { "an empty line".into() };
    }
    let dots = if text.len() > SHOWN { "..." } else { "" };
    format!("\"{}{dots}\"", text[..text.len().min(SHOWN)].escape_ascii())
}

#[cold]
fn wrong(data: &[u8], line: usize, grammar: &Grammar) -> Stop {
    if has_lone_return(data, line) {
        return lone_return(data, line).into();
    }
    Fault::new(line, grammar.expected.clone(), excerpt(data, line), (grammar.remedy)(&data[line..])).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        for text in ["0", "7", "12", "1234567", "12345678", "123456789", "4294967295", "18446744073709551615", "007"] {
            for tail in ["", "\n", " 1", "/", ":", "\u{80}", ",,,,,,,,,,"] {
                let data = format!("x{text}{tail}");
                assert_eq!(number(data.as_bytes(), 1), Some((text.parse().unwrap(), 1 + text.len())), "{data:?}");
            }
        }
        for text in ["", "-1", "x", " 1", "18446744073709551616", "99999999999999999999999"] {
            assert_eq!(number(text.as_bytes(), 0), None, "{text:?}");
            assert_eq!(number(format!("{text}        ").as_bytes(), 0), None, "{text:?}");
        }
    }

    #[test]
    fn weights() {
        for good in ["1", "-1", "1.5", ".5", "5.", "+3", "1e5", "-2.5E-3", "nan", "inf", "NaN"] {
            assert_eq!(weight_end(format!("{good} ").as_bytes(), 0), Some(good.len()), "{good}");
        }
        for bad in ["", ".", "-", "pi", "1.2.3", "1x", "0x10", "\u{e9}"] {
            assert_eq!(weight_end(bad.as_bytes(), 0), None, "{bad}");
        }
    }

    #[test]
    fn newlines_are_counted() {
        let data: Vec<u8> = (0..10_000u32).map(|i| if i % 7 == 0 { b'\n' } else { b'1' }).collect();
        assert_eq!(newlines(&data), data.iter().filter(|c| **c == b'\n').count() as u64);
        assert_eq!(newlines(&[b'\n'; 1000]), 1000);
    }
}
