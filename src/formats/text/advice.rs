//! The suggested fixes in messages about malformed lines. `tests/formats/remedies.rs` runs every command in them.

use std::borrow::Cow;

use super::fields::{Delimiter, LineField, split};
use super::names;

pub(super) const ANOTHER: &str =
    "correct the line, or name the format that the file is in: [input] format, convert --from";
pub(super) const COLUMNS: &str = "say which columns are the ids, as in [input] columns = [1, 2], convert --columns 1,2";
pub(super) const SKIP: &str =
    "skip lines that are no edges with [input] skip_lines = 1 (convert --skip-lines 1), or correct the line";
pub(super) const OTHER_COLUMNS: &str = "choose other columns ([input] columns, convert --columns), or skip_lines";
const LONE: &str =
    "complete the line, or leave it out; [input] skip_lines (convert --skip-lines) skips only lines at the top";
const MORE: &str = "correct the line, or say which columns to read: [input] columns = [1, 2], convert --columns 1,2";
const SKIP_OR_COLUMNS: &str = "skip lines that are no edges ([input] skip_lines, convert --skip-lines), choose columns ([input] columns, \
    convert --columns), or name the format";

/// What each line of a list of vertices should contain, for messages. [`VERTICES`] is the suggested fix for other
/// lines.
pub(super) const VERTEX: &str = "the id of a vertex, a whole number from 0 to 2^64-1, in column 1";
pub(super) const VERTICES: &str = "correct the list of vertices: each line has one id, as the edges have it";

const NEIGHBOURS: &str =
    "of an adjacency list tr ':' ' ' < IN | awk '{for (i = 2; i <= NF; i++) print $1, $i}' > OUT makes edges";

/// Returns the suggested fix for a malformed line in a file whose first line has exactly two ids.
pub(super) fn advice_of_two(data: &[u8]) -> Cow<'static, str> {
    let line = first_line(data);
    if let Some(remedy) = of_numbers(line, [0, 1]) {
        return remedy.into();
    }
    match split(line, Delimiter::of(line, false)).unwrap_or_default().as_slice() {
        [u, v, _, ..] if u.is_id() && v.is_id() => mixed(Delimiter::of(line, false)).into(),
        _ => advice(data),
    }
}

/// Returns the suggested fix for a malformed line that is not the first line.
pub(super) fn advice(data: &[u8]) -> Cow<'static, str> {
    let line = first_line(data);
    if !is_printed(line) {
        return ANOTHER.into();
    }
    let delimiter = Delimiter::of(line, false);
    if let Some(remedy) = of_numbers(line, [0, 1]) {
        return remedy.into();
    }
    match split(line, delimiter).unwrap_or_default().as_slice() {
        [u] if u.is_id() => LONE.into(),
        [u, v] if u.is_id() && v.is_id() => mixed(delimiter).into(),
        [u, v, _, ..] if u.is_id() && v.is_id() => MORE.into(),
        [u, v, ..] if u.is_whole() && v.is_whole() => floats(delimiter, [0, 1]).into(),
        _ => separator(line).map_or(ANOTHER.into(), Cow::from),
    }
}

/// Returns the suggested fix for lines with different numbers of columns.
fn mixed(delimiter: Delimiter) -> String {
    let awk = format!("awk {}", separated(delimiter));
    format!(
        "make the columns of all lines alike: {awk}'{{print $1, $2}}' IN > OUT keeps two of each line; of an adjacency list \
         {awk}'{{for (i = 2; i <= NF; i++) print $1, $i}}' IN > OUT makes edges"
    )
}

/// Returns the suggested fix for a malformed row of a table whose ids are in the 0-based columns `ends`. In a list of
/// vertices, both columns are the same.
pub(super) fn of_row(data: &[u8], delimiter: Delimiter, ends: [usize; 2]) -> Cow<'static, str> {
    if ends[0] == ends[1] {
        return VERTICES.into();
    }
    let line = first_line(data);
    if let Some(remedy) = of_numbers(line, ends) {
        return remedy.into();
    }
    let fields = split(line, delimiter).unwrap_or_default();
    match ends.map(|at| fields.get(at).is_some_and(LineField::is_whole)) {
        [true, true] if !ends.iter().all(|at| fields[*at].is_id()) => floats(delimiter, ends).into(),
        _ => "correct the line, or say which columns to read: [input] columns, convert --columns".into(),
    }
}

/// Returns the suggested fix for a first line that is neither an edge nor a header line.
pub(super) fn of_first(line: &[u8], delimiter: Delimiter, fields: &[LineField<'_>]) -> Cow<'static, str> {
    if !is_printed(line) {
        return SKIP_OR_COLUMNS.into();
    }
    let ids: Vec<usize> = (0..fields.len()).filter(|&at| fields[at].is_id()).collect();
    let is_word = |field: &LineField<'_>| !field.is_number() && !field.text.is_empty();
    if let Some(remedy) = of_numbers(line, [0, 1]) {
        return remedy.into();
    }
    if line.starts_with(b"(") {
        return "write the numbers alone: tr -d '()' < IN > OUT".into();
    }
    match fields {
        [u, v, ..] if u.is_whole() && v.is_whole() => floats(delimiter, [0, 1]).into(),
        [u, ..] if u.text.ends_with(b":") && is_word(u) => NEIGHBOURS.into(),
        _ if let [u, v] = ids[..] => chosen(u, v),
        [u, v, ..] if is_word(u) && is_word(v) => numbering(line, delimiter, ends(fields), NumberedLines::None).into(),
        _ => separator(line).map_or(SKIP_OR_COLUMNS.into(), Cow::from),
    }
}

/// Returns the suggested fix for a line whose numbers are written in another style, or are too large; `ends` are the
/// id columns.
pub(super) fn of_numbers(line: &[u8], ends: [usize; 2]) -> Option<String> {
    if let Some(remedy) = decimal_commas(line) {
        return Some(remedy.into());
    }
    let (delimiter, text) = (Delimiter::of(line, false), String::from_utf8_lossy(line));
    if text.starts_with("; ") && text.contains(char::is_alphabetic) {
        return Some("leave out lines of comments: grep -v '^;' IN > OUT".into());
    }
    let fields = split(line, delimiter).unwrap_or_default();
    let is_grouped = |field: &LineField<'_>| field.quoted && is_grouped(field.text);
    if ends.iter().any(|at| fields.get(*at).is_some_and(is_grouped)) {
        return Some(
            "write numbers without commas: sed -E ':a; s/\"([0-9]+),([0-9,]+)\"/\"\\1\\2\"/; ta' IN > OUT".into(),
        );
    }
    let large = ends.iter().filter_map(|at| fields.get(*at)).find(|field| field.is_id() && field.id().is_none())?;
    let id = String::from_utf8_lossy(large.text);
    Some(format!("{id} takes more than 64 bits: {}", numbering(line, delimiter, ends, NumberedLines::Numbers)))
}

/// Returns true for digits in groups of three separated by commas, such as 1,234,567.
fn is_grouped(text: &[u8]) -> bool {
    let mut groups = text.split(|c| *c == b',');
    let is_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && is_digits(group));
    text.contains(&b',') && first && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// Returns the suggested fix if the first line of `data` contains decimal commas, as in `0;1;2,5` and `0 1 2,5`.
pub(in crate::formats) fn decimal_commas(data: &[u8]) -> Option<&'static str> {
    let line = first_line(data);
    let is_number = |text: &[u8], mark: u8| {
        let text = text.strip_prefix(b"-").unwrap_or(text);
        let mut halves = text.splitn(2, |c| *c == mark);
        let [whole, rest] = [halves.next()?, halves.next()?];
        let fraction = rest.split(|c| matches!(c, b'e' | b'E')).next()?;
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let grouped: Vec<u8> = whole.iter().map(|c| if *c == b'.' { b',' } else { *c }).collect();
        (digits(fraction) && (digits(whole) || is_grouped(&grouped))).then(|| whole.contains(&b'.'))
    };
    let quoted = split(line, Delimiter::Comma).unwrap_or_default();
    if quoted.len() > 2 && quoted.iter().any(|field| field.quoted && is_number(field.text, b',').is_some()) {
        let ids = quoted.iter().filter(|field| field.is_id()).count();
        return (ids >= 2).then_some("write decimal points, if the commas in quotes are these: sed -E 's/\"(-?[0-9]+),([0-9]+)\"/\\1.\\2/g' IN > OUT");
    }
    [Delimiter::Semicolon, Delimiter::Tab, Delimiter::Blanks].into_iter().find_map(|delimiter| {
        let fields = split(line, delimiter)?;
        let ids = fields.iter().filter(|field| field.is_id()).count();
        let commas: Vec<bool> = fields.iter().filter_map(|field| is_number(field.text, b',')).collect();
        let grouped = commas.contains(&true);
        (ids >= 2 && !commas.is_empty()).then_some(match grouped {
            true => "write decimal points, and none between thousands: tr -d . < IN | tr , . > OUT",
            false => "write decimal points, if the commas are these: tr , . < IN > OUT",
        })
    })
}

/// Returns the suggested fix for a header line that does not identify the id columns, and for rows that do not match
/// their header line.
pub(super) fn of_heading(names: &[String]) -> Cow<'static, str> {
    let others: Vec<usize> = (0..names.len()).filter(|&at| !names::is_no_end(&names[at])).collect();
    match others[..] {
        [u, v] => chosen(u, v),
        _ => COLUMNS.into(),
    }
}

/// Returns the suggested fix if the 0-based columns `u` and `v` are probably the ids.
pub(super) fn chosen(u: usize, v: usize) -> Cow<'static, str> {
    let (u, v) = (u + 1, v + 1);
    format!("say which columns are the ids, if these are: [input] columns = [{u}, {v}], convert --columns {u},{v}")
        .into()
}

/// Returns the 0-based columns that contain the two ends of an edge. These are the first two, except in N-Triples,
/// whose second column is the relation between the ends.
pub(super) fn ends(fields: &[LineField<'_>]) -> [usize; 2] {
    match fields {
        [_, _, _, dot] if dot.text == b"." => [0, 2],
        _ => [0, 1],
    }
}

/// Which lines of a file must be processed by a command that replaces ids by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberedLines {
    /// All lines, because there is no header line.
    None,
    /// All lines except the first, which is a header line.
    First,
    /// Only lines whose ids consist of digits, because the first line may or may not be a header line.
    Numbers,
}

/// Returns the command that replaces the ids of a file by numbers. The file has lines like `shown`, whose ids are words
/// or too large.
pub(super) fn numbering(shown: &[u8], delimiter: Delimiter, ends: [usize; 2], heading: NumberedLines) -> String {
    let from = separated(delimiter);
    let line = if shown.contains(&b'"') {
        let ([u, v], byte) = (ends, delimiter.byte().map_or(' ', char::from).escape_default());
        let rows = format!("csv.reader(open('IN'), delimiter='{byte}')");
        let rows = match heading {
            NumberedLines::None => rows,
            NumberedLines::First => format!("list({rows})[1:]"),
            NumberedLines::Numbers => format!("{rows} if (r[{u}] + r[{v}]).isdigit()"),
        };
        format!(
            "python3 -c \"import csv; n = {{}}; [print(*(n.setdefault(x, len(n)) for x in (r[{u}], r[{v}]))) for r in {rows}]\" > OUT"
        )
    } else {
        let [u, v] = ends.map(|at| format!("${}", at + 1));
        let below = match heading {
            NumberedLines::None => String::new(),
            NumberedLines::First => "NR>1".into(),
            NumberedLines::Numbers => format!("{u}{v}~/^[0-9]+$/"),
        };
        // Lines may end with CR LF, as on Windows.
        format!(
            "awk {from}'function id(x){{if(!(x in n))n[x]=c++;return n[x]}} {{sub(/\\r$/,\"\")}} {below}{{u=id({u});print u,id({v})}}' IN > OUT"
        )
    };
    format!("number the ids first: {line}")
}

/// Returns the command that writes ids without a fraction. Only ids with an exponent are converted to floats, which
/// have 53 bits.
fn floats(delimiter: Delimiter, ends: [usize; 2]) -> String {
    let [u, v] = ends.map(|at| at + 1);
    let from = separated(delimiter);
    // Lines may end with CR LF, and the ids of a table may be surrounded by blanks.
    let not_of_ids = if from.is_empty() { r#"\r""# } else { r#"\r" "# };
    let id = r#"function id(x){gsub(/^\+|\.0*$/,"",x);return x~/[eE]/?sprintf("%.0f",x):x}"#;
    format!(
        "write the ids without a fraction: tr -d '{not_of_ids}' < IN | awk {from}'{id} ${u}==${u}+0{{print id(${u}),id(${v})}}' > OUT"
    )
}

/// Returns awk's option for a delimiter, followed by a blank; an empty string for blanks.
fn separated(delimiter: Delimiter) -> &'static str {
    match delimiter {
        Delimiter::Comma => "-F, ",
        Delimiter::Semicolon => "-F';' ",
        Delimiter::Tab => "-F'\\t' ",
        Delimiter::Blanks => "",
    }
}

/// Separators that some programs write between columns, and that are never part of a word.
const BETWEEN: [&str; 5] = ["|", "||", "::", "->", "-->"];
/// Separators that may be part of a word, but are unlikely within a number.
const BETWEEN_NUMBERS: [&str; 9] = [":", "-", "--", "=", "=>", "/", "~", "&", "<->"];

/// Returns the command that replaces the text between the first two columns with a blank, if that text is one of the
/// unsupported separators [`BETWEEN`] or [`BETWEEN_NUMBERS`].
pub(super) fn separator(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let (first, rest) = line.split_at(line.find(|c| !is_part(c))?);
    let (between, second) = rest.split_at(rest.find(is_part)?);
    let known = between.trim();
    let second = second.split(|c| !is_part(c)).next()?;
    let digits = |word: &str| word.bytes().all(|c| c.is_ascii_digit());
    // A minus sign has a blank before it but none after it: "1 -2".
    let even = between.len() == known.len() || (between.starts_with([' ', '\t']) && between.ends_with([' ', '\t']));
    let is_one = BETWEEN.contains(&known) || (BETWEEN_NUMBERS.contains(&known) && digits(first) && digits(second));
    (!first.is_empty() && even && is_one)
        .then(|| format!("write blanks between the columns: sed 's#{known}# #g' IN > OUT"))
}

fn first_line(data: &[u8]) -> &[u8] {
    let line = data.split(|c| *c == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_printed(line: &[u8]) -> bool {
    line.iter().all(|c| *c >= b' ' || matches!(c, b'\t' | b'\r'))
}
