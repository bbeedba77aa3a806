//! The layout of a file in its format: where the body begins, where it may be split, and how its bytes are parsed.

use crate::formats::bytes::tokens::{excerpt, next_line};
use crate::formats::metis::{self, Cursor};
use crate::formats::text::lines::{self, Grammar, LONGEST};
use crate::formats::text::{self, TableGrammar, strings};
use crate::formats::{
    Fault, Format, HEAD, Head, Int, Part, Sink, Stop, UseOfDirection, binary, contents, gr, graph500, mtx,
};

/// The layout of a file's body.
#[derive(Debug, Clone)]
pub(crate) enum BodyLayout {
    /// Binary pairs of integers.
    Rows(Int),
    /// Packed edges of the Graph500 reference.
    Packed,
    /// Arrays with the ends of edges, which `formats/arrays` reads.
    Arrays,
    /// Lines with one edge and perhaps a weight.
    Lines(Grammar),
    /// Lines of a table, with the ids in any columns.
    Table(TableGrammar),
    /// Lines with string ids.
    Strings(TableGrammar),
    Metis(metis::MetisGrammar),
}

/// Parses the header at the start of a file. `prefix` must contain at least the first [`HEAD`] bytes, or the whole
/// file.
pub(crate) fn head(part: &Part, prefix: &[u8]) -> Result<Head, Fault> {
    let format = part.format;
    let start = if format.is_lines() { contents::text_start(prefix, format)? } else { 0 };
    if let Some(fault) = contents::another(part, &prefix[start..]) {
        return Err(fault);
    }
    let head = match format {
        Format::U32 => Head::of(BodyLayout::Rows(Int::unsigned(4)), 0),
        Format::U64 => Head::of(BodyLayout::Rows(Int::unsigned(8)), 0),
        Format::Graph500 => Head { weighted: part.weights_path().is_some(), ..Head::of(BodyLayout::Packed, 0) },
        Format::Text => text::head(prefix, start, part)?,
        Format::Mtx => mtx::head(prefix, start, part.use_of_direction == UseOfDirection::Followed)?,
        Format::Metis => metis::head(prefix, start)?,
        Format::Gr => gr::head(prefix, start)?,
        Format::Npy | Format::Npz | Format::Sg | Format::Wsg | Format::Parquet => Head::of(BodyLayout::Arrays, 0),
    };
    if head.body > HEAD {
        let (expected, found) = (format!("a header of at most {HEAD} bytes"), format!("one of {} bytes", head.body));
        return Err(Fault::new(0, expected, found, "shorten the comments at its start"));
    }
    Ok(head)
}

impl BodyLayout {
    /// Returns the size in bytes of a record of the file; `None` if records have no fixed size.
    pub fn record(&self) -> Option<usize> {
        match self {
            BodyLayout::Packed => Some(graph500::EDGE),
            BodyLayout::Rows(int) => Some(2 * int.bytes),
            _ => None,
        }
    }

    /// Returns the offset of the first record that starts at or after `at`. `data` is the whole file, whose body
    /// starts at `body`.
    pub fn cut(&self, data: &[u8], body: usize, at: usize) -> Result<usize, Fault> {
        if at <= body {
            return Ok(body);
        }
        if at >= data.len() {
            return Ok(data.len());
        }
        if let Some(record) = self.record() {
            return Ok((at.div_ceil(record) * record).min(data.len()));
        }
        let window = match self {
            BodyLayout::Metis(_) => data,
            _ => &data[..data.len().min(at - 1 + LONGEST)],
        };
        let next = next_line(window, at - 1);
        if next == window.len() && window.len() < data.len() {
            return Err(too_long(data, at));
        }
        Ok(next)
    }

    /// Returns the number of bytes of `data`, the next bytes of a stream, that can be parsed now; `None` if more bytes
    /// are needed first.
    pub fn cut_stream(&self, data: &[u8]) -> Result<Option<usize>, Fault> {
        if let Some(record) = self.record() {
            return Ok(Some(data.len() / record * record).filter(|n| *n > 0));
        }
        let end = match self {
            // An adjacency list may be larger than memory, so it may be split between any two numbers.
            BodyLayout::Metis(_) => data.iter().rposition(|c| matches!(c, b'\n' | b' ' | b'\t' | b'\r')),
            _ => data.iter().rposition(|c| *c == b'\n'),
        };
        match end {
            None if data.len() > LONGEST => Err(too_long(data, 0)),
            end => Ok(end.map(|n| n + 1)),
        }
    }

    /// Parses `data`, which begins and ends at offsets that `cut` or `cut_stream` returned.
    pub fn parse(&self, data: &[u8], cursor: &mut Cursor, sink: &mut Sink<'_>) -> Result<(), Stop> {
        match self {
            BodyLayout::Packed => graph500::parse(data, sink),
            BodyLayout::Rows(int) => binary::parse(data, *int, sink),
            BodyLayout::Arrays => unreachable!("arrays are no pieces of bytes"),
            BodyLayout::Lines(grammar) => lines::parse(data, grammar, sink),
            BodyLayout::Table(table) => table.parse(data, sink),
            BodyLayout::Strings(table) => strings::parse(data, table, sink),
            BodyLayout::Metis(adjacency) => adjacency.parse(data, cursor, sink),
        }
    }

    /// Checks that a body of `length` bytes with fixed-size records ends with a complete record.
    pub fn whole(&self, length: usize) -> Result<(), Fault> {
        match self.record() {
            Some(record) if !length.is_multiple_of(record) => {
                let (expected, rest) = (format!("a whole edge of {record} bytes"), length % record);
                let remedy = "the file is cut short, or in another format: name it";
                Err(Fault::new(length - rest, expected, format!("{rest} bytes at the end"), remedy))
            }
            _ => Ok(()),
        }
    }
}

fn too_long(data: &[u8], at: usize) -> Fault {
    let (expected, found) = (format!("lines of at most {LONGEST} bytes"), excerpt(data, at));
    Fault::new(at, expected, format!("a longer one with {found}"), "the file is in another format: name it")
}
