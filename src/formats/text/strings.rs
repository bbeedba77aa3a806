//! Parses lines with string ids: one edge per line, in any two columns, with or without quotes (RFC 4180).
//!
//! The end of an id is searched eight bytes at a time. Lines with quotes, blanks around ids, more columns, comments or
//! parse errors are off the fast path.

use std::borrow::Cow;
use std::ops::Range;

use super::fields::{Delimiter, LineField, closing, outside_quotes, split_words};
use super::names::{self, EdgeColumns};
use super::table::{BLANKS, TableGrammar, is_weight, trim};
use super::window::{NextLine, TextWindow};
use super::{attributes, numbered, skip};
use crate::formats::bytes::tokens::{excerpt, has_lone_return, lone_return, next_line};
use crate::formats::names::LONGEST_NAME;
use crate::formats::{BodyLayout, Columns, Fault, Head, Part, Sink, Stop, ending};

const DELIMITER: &str =
    "give the file the ending .csv (commas, semicolons) or .tsv (tabs), or write tabs between the columns";
const QUOTES: &str =
    "quote a column that contains quotes, and double those (RFC 4180), or write tabs between the columns";
const COLUMNS: &str = "correct the line, or say which columns to read: [input] columns, convert --columns";

/// Finds where the edges begin and how their lines are parsed. The text begins at offset `start`.
///
/// # Errors
/// The parse error of the first line that can't be read.
pub(super) fn head(window: &TextWindow<'_>, start: usize, part: &Part) -> Result<Head, Fault> {
    let options = &part.text;
    let skipped = skip(window, start, options.skip_lines.unwrap_or(0))?;
    let default = TableGrammar { delimiter: Delimiter::Blanks, u: 0, v: 1, weight: None, columns: 2 };
    let Some((first, behind)) = window.line_from(skipped)? else {
        return Ok(Head::of(BodyLayout::Strings(default), skipped));
    };
    let line = window.line(first, behind);
    if line.contains(&b'\r') {
        return Err(lone_return(window.bytes, first));
    }
    let delimiter = delimiter_of(line, part).map_err(|found| {
        let expected = "columns that are separated by blanks alone, by commas or by semicolons";
        Fault::new(first, expected, format!("{found} in {}", excerpt(window.bytes, first)), DELIMITER)
    })?;
    let fields = |at: usize, line| {
        let wrong = || Fault::new(at, "quotes that end in their line", excerpt(window.bytes, at), QUOTES);
        split_words(line, delimiter).ok_or_else(wrong)
    };
    let top = fields(first, line)?;
    let names: Vec<String> = top.iter().map(LineField::name).collect();
    let named = names::columns(&names).filter(|_| !top.iter().any(LineField::is_number));
    let heading = match &options.columns {
        Columns::Names(wanted) => Some(names::chosen(wanted, &names).ok_or_else(|| {
            let expected = format!("a header line with the columns {}", wanted.join(" and "));
            let remedy = "name columns of the header line, each once, or give their numbers: [input] columns = [1, 2]";
            Fault::new(first, expected, excerpt(window.bytes, first), remedy)
        })?),
        Columns::Auto if options.skip_lines.is_none() => {
            named.filter(|ends| !occurs_below(window, behind, &top, *ends, delimiter))
        }
        Columns::Auto | Columns::Numbers(_) => None,
    };
    let chosen = if let Columns::Numbers(numbers) = &options.columns { Some(numbered(numbers)) } else { heading };
    if let Some((expected, remedy)) = heading.and_then(|ends| names::open_direction(part, &names, ends)) {
        return Err(Fault::new(first, expected, excerpt(window.bytes, first), remedy));
    }
    // Without a header line, the body begins before the lines that the window skips, because in a tab-separated file
    // `#` may follow an empty id.
    let (body, at) = if heading.is_some() { (behind, behind) } else { (skipped, first) };
    let row = match window.line_from(at)? {
        Some((start, end)) => fields(start, window.line(start, end))?,
        // The file consists only of a header line.
        None => top,
    };
    let number = row.get(2).is_some_and(|field| field.is_number() || field.text.first() == Some(&b'{'));
    let auto = EdgeColumns { u: 0, v: 1, weight: (row.len() == 3 && number).then_some(2) };
    let EdgeColumns { u, v, weight } = chosen.unwrap_or(auto);
    let columns = if heading.is_some() { row.len().max(names.len()) } else { row.len() };
    if let Some(far) = [Some(u), Some(v), weight].into_iter().flatten().find(|&column| column >= columns) {
        let expected = format!("a column {}, as chosen", far + 1);
        return Err(Fault::new(at, expected, format!("{columns} in {}", excerpt(window.bytes, at)), COLUMNS));
    }
    let is_open = named.is_some() && options.skip_lines != Some(0) && !matches!(options.columns, Columns::Names(_));
    let remark =
        is_open.then(|| remark(&excerpt(window.bytes, first), heading.is_some(), options.skip_lines.unwrap_or(0)));
    let table = TableGrammar { delimiter, u, v, weight, columns };
    Ok(Head { weighted: weight.is_some(), remark, ..Head::of(BodyLayout::Strings(table), body) })
}

/// Returns the log message about a first line that could be a header line or an edge. `lines` lines above it are
/// skipped.
fn remark(shown: &str, is_heading: bool, lines: u64) -> String {
    let (read, other, lines) = if is_heading {
        ("skipped as a header line", "an edge", 0)
    } else {
        ("read as an edge", "a header line", lines + 1)
    };
    format!(
        "the first line {shown} is {read}: if it is {other}, say so by [input] skip_lines = {lines} (convert --skip-lines {lines})"
    )
}

/// Returns true if an id of the first line, whose fields are `top`, occurs in another line of the window from offset
/// `at` on. The names in a header line rarely do. A line with the same ids as `top` may repeat the header line, so it
/// does not count.
fn occurs_below(
    window: &TextWindow<'_>,
    mut at: usize,
    top: &[LineField<'_>],
    ends: EdgeColumns,
    delimiter: Delimiter,
) -> bool {
    // The ids are in the columns that the header line names, or, if the line is an edge, in the first two.
    let columns = [0, 1, ends.u, ends.v];
    let top = columns.map(|column| top[column].text);
    while let NextLine::Line { start, end } = window.next(at) {
        let row = split_words(window.line(start, end), delimiter).unwrap_or_default();
        let row = columns.map(|column| row.get(column).map_or(&b""[..], |field| field.text));
        if row != top && row.iter().any(|id| !id.is_empty() && top.contains(id)) {
            return true;
        }
        at = end;
    }
    false
}

/// Returns true for a line without an edge. If tabs separate columns, a tab at the start of a line follows an empty
/// id. So such a line is neither blank nor a comment, even if `#` follows.
fn is_blank_or_comment<const D: u8>(line: &[u8]) -> bool {
    matches!(line.get(trim::<D>(line, 0)), None | Some(b'#' | b'%' | b'\n' | b'\r'))
}

/// Returns the delimiter of the columns. The extension `.csv` or `.tsv` determines it. In other files, a line that can
/// be divided in two ways is rejected, because each way would produce another graph.
fn delimiter_of(line: &[u8], part: &Part) -> Result<Delimiter, &'static str> {
    let is_csv = ending(&part.path).as_deref() == Some("csv");
    let (outside, edge) = outside_quotes(line, if is_csv { b",;\t" } else { b" ,;\t" });
    // NetworkX's attributes after the ids may contain any bytes.
    let edge = &outside[..edge];
    let (comma, semicolon, tab) = (edge.contains(&b','), edge.contains(&b';'), outside.contains(&b'\t'));
    match ending(&part.path).as_deref() {
        Some("tsv") => return Ok(Delimiter::Tab),
        Some("csv") if comma => return Ok(Delimiter::Comma),
        Some("csv") if semicolon => return Ok(Delimiter::Semicolon),
        Some("csv") if !tab => return Ok(Delimiter::Comma),
        _ => {}
    }
    let between = |byte: u8| {
        let words: Vec<&[u8]> = edge.trim_ascii().split(|c| *c == byte).collect();
        // `a ;b` may be two ids with a blank between them; `a, b`, `a,b` and `a , b` can't be.
        let is_apart = |two: &[&[u8]]| !two[0].ends_with(b" ") || two[1].starts_with(b" ");
        words.windows(2).all(is_apart) && words.iter().all(|word| !word.trim_ascii().contains(&b' '))
    };
    match (tab, comma, semicolon) {
        (true, ..) => Ok(Delimiter::Tab),
        (_, false, false) => Ok(Delimiter::Blanks),
        (_, true, true) => Err("commas and semicolons"),
        (_, true, _) if between(b',') => Ok(Delimiter::Comma),
        (_, _, true) if between(b';') => Ok(Delimiter::Semicolon),
        (_, true, _) => Err("commas and blanks"),
        _ => Err("semicolons and blanks"),
    }
}

/// Result of parsing a line with string ids.
enum Found<'d> {
    /// Both ids, the byte range of the weight (empty if there is none), and the start of the next line.
    Edge([Cow<'d, [u8]>; 2], Range<usize>, usize),
    /// A blank line or a comment, with the start of the next line.
    Nothing(usize),
}

/// Parses complete lines with string ids, and passes their edges to `sink`. The last line may lack its newline.
pub(crate) fn parse(data: &[u8], table: &TableGrammar, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match table.delimiter {
        Delimiter::Comma => lines::<b','>(data, table, sink),
        Delimiter::Semicolon => lines::<b';'>(data, table, sink),
        Delimiter::Tab => lines::<b'\t'>(data, table, sink),
        Delimiter::Blanks => lines::<BLANKS>(data, table, sink),
    }
}

fn lines<const D: u8>(data: &[u8], table: &TableGrammar, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let wanted = sink.reading.is_wanted() && table.weight.is_some();
    let plain = (table.u, table.v, table.columns) == (0, 1, 2);
    let mut at = 0;
    while at < data.len() {
        if plain && let Some(([u, v], next)) = pair::<D>(data, at) {
            sink.push_names(&data[u], &data[v])?;
            at = next;
            continue;
        }
        match line::<D>(data, at, table)? {
            Found::Nothing(next) => at = next,
            Found::Edge([u, v], weight, next) => {
                if wanted {
                    sink.weigh_line(data, at, weight)?;
                }
                sink.push_names(&u, &v)?;
                at = next;
            }
        }
    }
    Ok(())
}

/// Parses the line that starts at offset `line`, in any supported form. The fast path handles only lines of two plain
/// ids.
#[inline(never)]
fn line<'d, const D: u8>(data: &'d [u8], line: usize, table: &TableGrammar) -> Result<Found<'d>, Fault> {
    let next = next_line(data, line);
    let text = &data[line..next];
    if has_lone_return(data, line) {
        return Err(lone_return(data, line));
    }
    let length = text.len() - text.iter().rev().take_while(|c| matches!(c, b'\n' | b'\r')).count();
    let text = &data[..line + length];
    if is_blank_or_comment::<D>(&text[line..]) {
        return Ok(Found::Nothing(next));
    }
    let empty = || Cow::Borrowed(&data[..0]);
    let (mut ids, mut weight, mut column) = ([empty(), empty()], 0..0, 0);
    let mut at = trim::<D>(text, line);
    loop {
        let start = at;
        let value = match text.get(at) {
            Some(b'"') => {
                let length = closing(&text[at + 1..]).ok_or_else(|| wrong(data, line, table))?;
                let end = at + 1 + length;
                at = end + 1;
                unquoted(&text[start + 1..end])
            }
            Some(b'{') if column >= 2 => {
                let (end, found) = attributes::read(text, at).ok_or_else(|| wrong(data, line, table))?;
                at = end;
                if table.weight == Some(column) {
                    weight = found;
                }
                Cow::Borrowed(&text[start..start])
            }
            _ => {
                at += text[at..].iter().position(|c| ends::<D>(*c)).unwrap_or(text.len() - at);
                let blanks = text[start..at].iter().rev().take_while(|c| matches!(c, b' ' | b'\t')).count();
                Cow::Borrowed(&text[start..at - blanks])
            }
        };
        if column == table.u || column == table.v {
            ids[usize::from(column != table.u)] = id(value, data, line, table)?;
        } else if table.weight == Some(column) && text.get(start) != Some(&b'{') {
            if !is_weight(&text[start..at]) {
                return Err(wrong(data, line, table));
            }
            weight = start..at;
        }
        column += 1;
        let behind = trim::<D>(text, at);
        match text.get(behind) {
            None => break,
            Some(c) if D != BLANKS && *c == D => at = trim::<D>(text, behind + 1),
            Some(_) if D == BLANKS && behind > at => at = behind,
            Some(_) => return Err(wrong(data, line, table)),
        }
        // Some spreadsheets write a delimiter after the last column.
        if at == text.len() && column == table.columns {
            break;
        }
    }
    if column != table.columns { Err(wrong(data, line, table)) } else { Ok(Found::Edge(ids, weight, next)) }
}

fn id<'d>(id: Cow<'d, [u8]>, data: &[u8], line: usize, table: &TableGrammar) -> Result<Cow<'d, [u8]>, Fault> {
    let fault = |expected: String, remedy: &'static str| Fault::new(line, expected, excerpt(data, line), remedy);
    match id.len() {
        0 => {
            let expected = format!("an id in columns {} and {}, none of them empty", table.u + 1, table.v + 1);
            Err(fault(expected, "leave out lines without an id, or write a name for what is unknown"))
        }
        1..=LONGEST_NAME => Ok(id),
        _ => Err(fault(format!("ids of at most {LONGEST_NAME} bytes"), COLUMNS)),
    }
}

#[cold]
fn wrong(data: &[u8], line: usize, table: &TableGrammar) -> Fault {
    let mut expected = format!("{} columns, with ids in columns {} and {}", table.columns, table.u + 1, table.v + 1);
    if let Some(weight) = table.weight {
        expected.push_str(&format!(" and a number in column {}", weight + 1));
    }
    let remedy = if data[line..next_line(data, line)].contains(&b'"') { QUOTES } else { COLUMNS };
    Fault::new(line, expected, excerpt(data, line), remedy)
}

/// Returns the byte ranges of both ids of the line at `at`, and the start of the next line. Returns `None` unless the
/// line consists of two ids without quotes and without blanks around them.
#[inline(always)]
fn pair<const D: u8>(data: &[u8], at: usize) -> Option<([Range<usize>; 2], usize)> {
    let begins = |at: usize| data.get(at).is_some_and(|c| *c > b' ' && *c != b'"');
    if !begins(at) || matches!(data[at], b'#' | b'%') {
        return None;
    }
    let middle = stop::<D>(data, at);
    let is_middle = data.get(middle).is_some_and(|c| if D == BLANKS { matches!(c, b' ' | b'\t') } else { *c == D });
    if !is_middle || middle == at || !begins(middle + 1) || data[middle - 1] == b' ' {
        return None;
    }
    let end = stop::<D>(data, middle + 1);
    if end == middle + 1 || data[end - 1] == b' ' || end - at > LONGEST_NAME {
        return None;
    }
    let next = match data.get(end) {
        Some(b'\n') => end + 1,
        Some(b'\r') if data.get(end + 1) == Some(&b'\n') => end + 2,
        _ => return None,
    };
    Some(([at..middle, middle + 1..end], next))
}

/// Returns the offset of the first byte, at or after `at`, that may end an id: the delimiter (a blank, if blanks are
/// the delimiter) or a control character. Returns the length of `data` if there is none.
#[inline(always)]
fn stop<const D: u8>(data: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let is_stop = |c: u8| if D == BLANKS { c <= b' ' } else { c < 0x0e || c == D };
    while let Some(word) = data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) {
        // Bit 7 of a byte is set if the byte is below the bound. Borrows only reach bytes after the first such byte.
        let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
        let found = match D {
            BLANKS => below(word, b' ' + 1),
            _ => below(word, 0x0e) | below(word ^ (ONES * u64::from(D)), 1),
        } & (ONES << 7);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    data[at..].iter().position(|c| is_stop(*c)).map_or(data.len(), |n| at + n)
}

fn ends<const D: u8>(c: u8) -> bool {
    if D == BLANKS { matches!(c, b' ' | b'\t') } else { c == D }
}

/// Returns quoted text without its doubled quotes, each of which stands for one quote.
fn unquoted(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'"') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut after_quote = false;
    for &c in text {
        after_quote = c == b'"' && !after_quote;
        if !after_quote {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}
