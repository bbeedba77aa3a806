//! Reads edge lists in the style of SNAP, and tables: one edge per line, with columns separated by blanks, tabs,
//! commas or semicolons, and comments that begin with `#`, `%`, `//` or `;`.
//!
//! The start of a file determines how its lines are parsed. Most lines have two ids, perhaps with a weight or with the
//! attributes that NetworkX writes (`{}`); `lines` parses these. `table` parses files with quotes, with a header line
//! that names other id columns, with four columns or more, or with chosen columns.
//!
//! A first line without numbers is a header line. Its names must identify the id columns, unless the user chose the
//! columns, because a wrong guess would produce a different graph.

mod advice;
pub(crate) mod attributes;
mod counts;
mod fields;
mod index;
mod kinds;
mod line;
pub(super) mod lines;
pub(super) mod names;
pub(super) mod strings;
mod table;
mod unread;
mod window;

use std::borrow::Cow;

use crate::formats::text::lines::{Grammar, WeightRule};
use crate::formats::{BodyLayout, Columns, Fault, HEAD, Head, IdKind, Part, TextOptions};
pub(in crate::formats) use advice::decimal_commas;
use advice::{COLUMNS, OTHER_COLUMNS, SKIP, advice, advice_of_two, chosen};
pub(crate) use counts::CountsLine;
use fields::{Delimiter, LineField};
use line::TextLine;
use names::EdgeColumns;
pub(crate) use table::TableGrammar;
pub(in crate::formats) use unread::unread;
use window::{NextLine, TextWindow};

/// Returns the layout of lines with two ids. `weight` states whether a weight follows them.
fn grammar(weight: WeightRule, delimiter: Delimiter, single_tabs: bool, quoted: Option<TableGrammar>) -> BodyLayout {
    BodyLayout::Lines(Grammar {
        tag: None,
        // A semicolon begins a comment unless it is the delimiter.
        comments: if delimiter == Delimiter::Semicolon { b"#%/" } else { b"#%/;" },
        commas: true,
        single_tabs,
        base: 0,
        largest: u64::MAX,
        weight,
        attributes: true,
        quoted,
        expected: match weight {
            WeightRule::Never => "two ids (whole numbers from 0 to 2^64-1)",
            WeightRule::Optional => "two ids (whole numbers from 0 to 2^64-1), perhaps a weight behind them",
            WeightRule::Required => "two ids (whole numbers from 0 to 2^64-1) and a weight",
        }
        .into(),
        remedy: if weight == WeightRule::Never { advice_of_two } else { advice },
    })
}

/// Finds where the edges begin and how their lines are parsed. `prefix` contains the first bytes of the file, whose
/// text begins at offset `start`.
///
/// # Errors
/// The parse error of the first line that can't be read.
pub(crate) fn head(prefix: &[u8], start: usize, part: &Part) -> Result<Head, Fault> {
    read_head(prefix, start, part).map_err(|fault| {
        // A decimal comma is reported before any other mistake, because it may be why the columns were not recognised.
        let window = TextWindow::new(prefix, part.text.ids);
        let lines = prefix[fault.at..window.bytes.len().max(fault.at)].split(|c| *c == b'\n').take(2);
        match lines.into_iter().find_map(decimal_commas) {
            Some(remedy) => Fault { expected: "numbers with decimal points".into(), remedy: remedy.into(), ..fault },
            None => fault,
        }
    })
}

fn read_head(prefix: &[u8], start: usize, part: &Part) -> Result<Head, Fault> {
    let options = &part.text;
    let window = TextWindow::new(prefix, options.ids);
    kinds::check(&window.bytes[start..], part.named)?;
    if options.ids == IdKind::String {
        return strings::head(&window, start, part);
    }
    let body = skip(&window, start, options.skip_lines.unwrap_or(0))?;
    let head = |body, layout: BodyLayout| {
        let weighted = match &layout {
            BodyLayout::Lines(grammar) => grammar.weight != WeightRule::Never,
            BodyLayout::Table(table) => table.weight.is_some(),
            _ => false,
        };
        Head { weighted, ..Head::of(layout, body) }
    };
    let Some((at, behind)) = window.line_from(body)? else {
        return Ok(head(body, grammar(WeightRule::Optional, Delimiter::Blanks, false, None)));
    };
    let tsv = crate::formats::format::ending(&part.path).as_deref() == Some("tsv");
    let mut first = TextLine::of(&window, at, behind, tsv)?;
    let second = match window.next(behind) {
        NextLine::Line { start, end } => Some(TextLine::of(&window, start, end, tsv)),
        _ => None,
    };
    let (second, broken) = match second {
        Some(Err(fault)) => (None, Some(fault)),
        Some(Ok(line)) => (Some(line), None),
        None => (None, None),
    };
    if options.columns == Columns::Auto && first.is_mixed() {
        first = first.by_blanks(&window).filter(|line| line.is_id(0) && line.is_id(1)).unwrap_or(first);
    } else if options.columns == Columns::Auto && second.as_ref().is_none_or(|row| row.aligned(&window).is_some()) {
        first = first.aligned(&window).unwrap_or(first);
    }
    let kind = FirstLines { options, first: &first, second: second.as_ref() };
    if let Some(row) = second.as_ref().filter(|_| kind.is_title()) {
        let kind = FirstLines { options, first: row, second: None };
        let counts = kind.counts(&window)?;
        return Ok(Head { counts, ..head(behind, kind.layout(row, None)?) });
    }
    let Some(ends) = kind.heading()? else {
        if options.columns == Columns::Auto && !part.is_weighted() {
            index::check(&window, at, first.delimiter)?;
        }
        let counts = kind.counts(&window)?;
        return Ok(Head { counts, ..head(body, kind.layout(&first, None)?) });
    };
    if let Some((expected, remedy)) = names::open_direction(part, &first.names(), ends) {
        return Err(first.fault(expected, remedy));
    }
    match (&second, broken) {
        (_, Some(fault)) => Err(fault),
        (Some(row), None) => Ok(head(behind, kind.layout(row, Some(ends))?)),
        // The file consists only of a header line, unless the line below it is beyond the window.
        (None, None) => {
            window.line_from(behind)?;
            Ok(head(behind, grammar(WeightRule::Optional, first.delimiter, false, None)))
        }
    }
}

/// Returns the offset after the first `lines` lines, which the user wants to skip.
fn skip(window: &TextWindow<'_>, start: usize, lines: u64) -> Result<usize, Fault> {
    let mut at = start;
    for line in 0..lines {
        at = match window.next(at) {
            NextLine::Line { end, .. } => end,
            NextLine::End if window.bytes.len() == start => return Ok(start),
            NextLine::End => {
                let expected = format!("{lines} lines to skip, as skip_lines says, and edges below them");
                return Err(Fault::new(at, expected, format!("{line} lines"), "make skip_lines smaller"));
            }
            NextLine::Beyond => {
                let expected = format!("{lines} lines to skip within the first {HEAD} bytes");
                return Err(Fault::new(at, expected, format!("{line} lines"), "make skip_lines smaller"));
            }
        };
    }
    Ok(at)
}

/// The first two lines of a file, which determine how it is parsed.
struct FirstLines<'a> {
    options: &'a TextOptions,
    first: &'a TextLine<'a>,
    second: Option<&'a TextLine<'a>>,
}

impl FirstLines<'_> {
    /// Returns true if the first line is a title above the edges: a single word, such as a link. A title does not name
    /// columns.
    fn is_title(&self) -> bool {
        let [u, v] = match &self.options.columns {
            Columns::Auto => [0, 1],
            Columns::Numbers(numbers) => [numbered(numbers).u, numbered(numbers).v],
            Columns::Names(_) => return false,
        };
        self.first.fields.len() == 1
            && self.first.is_words()
            && self.first.fields[0].name().starts_with(|c: char| c.is_alphabetic() || c == '_')
            && self.second.is_some_and(|row| row.is_id(u) && row.is_id(v))
    }

    /// Returns the counts in the first line, if it may contain counts and the options do not set the number of lines
    /// to skip.
    fn counts(&self, window: &TextWindow<'_>) -> Result<Option<CountsLine>, Fault> {
        match (self.options.skip_lines, self.first.fields.len()) {
            (None, 2 | 3) => counts::check(&self.first.fields, self.first.at, self.first.behind, window),
            _ => Ok(None),
        }
    }

    /// Returns the columns of the ids and weights if the first line is a header line: the columns that the options
    /// choose or, by default, the columns that the header line identifies. Returns `None` if the first line is an edge.
    fn heading(&self) -> Result<Option<EdgeColumns>, Fault> {
        let first = self.first;
        match &self.options.columns {
            Columns::Numbers(numbers) => {
                let ends = numbered(numbers);
                // A line with an empty field above a value is a header line, even if the other names are numbers
                // (",0,1" above an index).
                let gap = |(at, field): (usize, &LineField<'_>)| {
                    field.text.is_empty()
                        && self.second.is_some_and(|row| row.fields.get(at).is_some_and(|f| !f.text.is_empty()))
                };
                if first.is_id(ends.u) && first.is_id(ends.v) && !first.fields.iter().enumerate().any(gap) {
                    return Ok(None);
                }
                let is_text = |column: usize| {
                    first.fields.get(column).is_some_and(|field| !field.is_number() && !field.text.is_empty())
                };
                // R names the columns of its tables, but not the column of row names.
                let of_r =
                    first.is_words() && self.second.is_some_and(|row| row.fields.len() == first.fields.len() + 1);
                let gaps = first.fields.iter().enumerate().any(gap);
                let heading = (is_text(ends.u) && is_text(ends.v)) || gaps || of_r;
                let edges = self.second.is_none_or(|row| row.is_id(ends.u) && row.is_id(ends.v));
                if heading && edges && first.is_printed() {
                    return Ok(Some(ends));
                }
                if ends.u == ends.v {
                    return Err(first.fault(advice::VERTEX, advice::VERTICES));
                }
                let expected = format!("whole numbers in columns {} and {}, as chosen", ends.u + 1, ends.v + 1);
                let ends = [ends.u, ends.v];
                let remedy = advice::of_numbers(first.text, ends).map_or(OTHER_COLUMNS.into(), Cow::from);
                Err(first.fault(&expected, remedy))
            }
            Columns::Names(wanted) => {
                let expected = format!("a header line with the columns {}", wanted.join(" and "));
                let remedy =
                    "name columns of the header line, each once, or give their numbers: [input] columns = [1, 2]";
                names::chosen(wanted, &first.names()).map(Some).ok_or_else(|| first.fault(&expected, remedy))
            }
            Columns::Auto => self.named_by_heading(),
        }
    }

    /// Implements [`Self::heading`] for options that choose no columns.
    fn named_by_heading(&self) -> Result<Option<EdgeColumns>, Fault> {
        let first = self.first;
        if first.is_id(0) && first.is_id(1) {
            return Ok(None);
        }
        let unnamed = first.fields.len() > 1 && first.fields[0].text.is_empty() && first.is_printed();
        if first.is_words() || unnamed {
            if let Some(ends) = names::columns(&first.names()) {
                return Ok(Some(ends));
            }
            let is_text = |line: &TextLine<'_>| {
                line.fields.len() >= 2 && line.fields[..2].iter().all(|f| !f.is_number() && !f.text.is_empty())
            };
            if self.second.is_some_and(is_text) {
                let remedy = advice::numbering(
                    first.text,
                    first.delimiter,
                    advice::ends(&first.fields),
                    advice::NumberedLines::None,
                );
                return Err(first.fault("ids that are whole numbers from 0 to 2^64-1", remedy));
            }
            let expected = "edges, or a header line that names two columns of ids (source and target, src and dst, from and to, u and v)";
            let remedy = match self.second.and_then(|row| advice::separator(row.text)) {
                Some(remedy) => remedy.into(),
                None if first.fields.len() == 1 => SKIP.into(),
                None if let Some(remedy) = advice::of_numbers(first.text, [0, 1]) => remedy.into(),
                None => advice::of_heading(&first.names()),
            };
            return Err(first.fault(expected, remedy));
        }
        Err(match first.fields.as_slice() {
            [count] if count.is_id() => {
                let expected = "two ids a line (whole numbers from 0 to 2^64-1)";
                first.fault(
                    expected,
                    "skip a line of counts with [input] skip_lines = 1 (convert --skip-lines 1), or name the format",
                )
            }
            fields => {
                let expected = "edges (two whole numbers a line), or one header line without numbers above them";
                first.fault(expected, advice::of_first(first.text, first.delimiter, fields))
            }
        })
    }

    /// Returns the layout of lines like `row`. The columns to read are those that the user chose by number, or else
    /// those of the header line `heading`, or else the first ones.
    fn layout(&self, row: &TextLine<'_>, heading: Option<EdgeColumns>) -> Result<BodyLayout, Fault> {
        let columns = row.fields.len();
        let third_is_number = row.fields.get(2).is_some_and(LineField::is_number);
        let attributes = row.fields.get(2).is_some_and(|field| field.text.first() == Some(&b'{'));
        let auto = EdgeColumns { u: 0, v: 1, weight: (columns > 2 && (third_is_number || attributes)).then_some(2) };
        let ends = match &self.options.columns {
            Columns::Numbers(numbers) => numbered(numbers),
            _ => heading.unwrap_or(auto),
        };
        let by_name = !matches!(self.options.columns, Columns::Numbers(_));
        let named = self.first.fields.len();
        // A delimiter at the end of a line is followed by a column that is empty on that line, but may have values on
        // other lines.
        let (more, row_more) = (usize::from(self.first.open), usize::from(row.open));
        let fits = named == columns || named + more == columns || named == columns + row_more;
        let whole = if heading.is_some() && fits { named.max(columns) } else { columns + row_more };
        if by_name && heading.is_some() && !fits {
            let expected = format!("{named} columns, as the header line names");
            // R writes row names in a column that the header line does not name.
            let remedy = if columns == named + 1 { chosen(ends.u + 1, ends.v + 1) } else { COLUMNS.into() };
            return Err(Fault::new(row.at, expected, format!("{columns} in {}", row.shown), remedy));
        }
        if let Some(far) = [Some(ends.u), Some(ends.v), ends.weight].into_iter().flatten().find(|&at| at >= whole) {
            let expected = format!("a column {}, as chosen", far + 1);
            return Err(Fault::new(row.at, expected, format!("{columns} in {}", row.shown), COLUMNS));
        }
        if heading.is_some()
            && self.first.delimiter != row.delimiter
            && self.first.fields.iter().any(|f| f.text.is_empty())
        {
            return Err(row.fault("columns that are separated as in the header line", COLUMNS));
        }
        let is_word =
            |column: usize| row.fields.get(column).is_some_and(|field| !field.is_number() && !field.text.is_empty());
        if heading.is_some() && is_word(ends.u) && is_word(ends.v) {
            let remedy = advice::numbering(row.text, row.delimiter, [ends.u, ends.v], advice::NumberedLines::First);
            return Err(row.fault("ids that are whole numbers from 0 to 2^64-1", remedy));
        }
        let plain = (ends.u, ends.v) == (0, 1) && columns <= 3 && !row.fields.iter().any(|field| field.quoted);
        let declared = heading.is_some() || self.options.columns != Columns::Auto;
        let is_edge = self.options.skip_lines == Some(0);
        let weight = match (declared, ends.weight, columns) {
            // A line with another number of columns belongs to an adjacency list or to another format, unless the
            // options state that the first line is an edge like the others (skip_lines = 0).
            (false, _, 2) if row_more == 0 && !is_edge => Some(WeightRule::Never),
            (false, Some(_), 3) if !attributes && row_more == 0 && !is_edge => Some(WeightRule::Required),
            (false, _, 2 | 3) => Some(WeightRule::Optional),
            (true, None, 2) if whole == 2 || heading.is_none() => Some(WeightRule::Never),
            (true, Some(2), 3) if attributes => Some(WeightRule::Optional),
            (true, Some(2), 3) => Some(WeightRule::Required),
            _ => None,
        };
        let (EdgeColumns { u, v, weight: of_weight }, delimiter) = (ends, row.delimiter);
        let table = TableGrammar { delimiter, u, v, weight: of_weight, columns: whole };
        // A third column that is not a weight is a mistake, unless the header line or the options name the columns.
        let quoted = declared || columns < 3 || of_weight.is_some();
        Ok(match weight.filter(|_| plain) {
            Some(weight) => grammar(
                weight,
                delimiter,
                (declared || columns == 3) && delimiter == Delimiter::Tab,
                quoted.then_some(table),
            ),
            None => BodyLayout::Table(table),
        })
    }
}

fn numbered(numbers: &[u64]) -> EdgeColumns {
    let column = |at: usize| numbers.get(at).map(|number| *number as usize - 1);
    EdgeColumns { u: column(0).unwrap_or(0), v: column(1).unwrap_or(1), weight: column(2) }
}
