//! The layout of a file in its format: where the body begins, where it may be cut, and how a piece is parsed.

use crate::formats::arrays::Int;
use crate::formats::contents;
use crate::formats::input::part::UseOfDirection;
use crate::formats::lines::{self, Grammar, next_line};
use crate::formats::metis::{self, Cursor};
use crate::formats::scan::sink::{Fault, Sink, Stop};
use crate::formats::text::{self, Counts, TableGrammar};
use crate::formats::{Format, Part, Visitor, binary, gr, graph500, mtx};

/// Maximum length of a header in bytes, including its comments.
pub(crate) const HEAD: usize = 1 << 20;

/// The layout of a file's body.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    Pairs32,
    Pairs64,
    Packed,
    /// Pairs of any integer type.
    Rows(Int),
    /// Ends of edges in arrays, which `formats/arrays` reads.
    Arrays,
    Lines(Grammar),
    Table(TableGrammar),
    Metis(metis::Adjacency),
}

/// The contents of a header. Counts are checked when the body has been read.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub layout: Layout,
    /// Offset of the body.
    pub body: usize,
    pub vertices: Option<u64>,
    pub entries: Option<u64>,
    /// Whether edges have weights, or may have some.
    pub weighted: bool,
    pub directions: Directions,
}

/// Which directions of an edge a file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// The directions that it lists: edges are directed, or the file does not say.
    Listed,
    /// One of the two directions of each undirected edge.
    Half,
    /// Both directions of each undirected edge.
    Both,
    /// Both directions, or only one if the file has as many entries as edges.
    BothOrHalf,
}

impl Head {
    /// Returns true if a file with this header and `entries` entries contains only one direction of each undirected
    /// edge.
    pub fn is_half(&self, entries: u64) -> bool {
        match self.directions {
            Directions::Listed | Directions::Both => false,
            Directions::Half => true,
            Directions::BothOrHalf => entries > 0 && self.entries == Some(entries),
        }
    }
}

/// Parses the header at the start of a file. `prefix` must contain at least the first [`HEAD`] bytes, or the whole
/// file.
pub(crate) fn head(part: &Part, prefix: &[u8]) -> Result<Head, Fault> {
    let format = part.format();
    let plain = |layout| {
        let directions = Directions::Listed;
        Ok(Head { layout, body: 0, vertices: None, entries: None, weighted: false, directions })
    };
    let start = if format.is_lines() { contents::text_start(prefix, format)? } else { 0 };
    if let Some(fault) = contents::another(part, &prefix[start..]) {
        return Err(fault);
    }
    let head = match format {
        Format::U32 => plain(Layout::Pairs32),
        Format::U64 => plain(Layout::Pairs64),
        Format::Graph500 => {
            let weighted = part.weights_path().is_some();
            plain(Layout::Packed).map(|head| Head { weighted, ..head })
        }
        Format::Text => text::head(prefix, start, part),
        Format::Mtx => mtx::head(prefix, start, part.use_of_direction == UseOfDirection::Followed),
        Format::Metis => metis::head(prefix, start),
        Format::Gr => gr::head(prefix, start),
        Format::Npy | Format::Npz | Format::Sg | Format::Wsg | Format::Parquet => plain(Layout::Arrays),
    }?;
    if head.body > HEAD {
        return Err(Fault::new(
            0,
            format!("a header of at most {HEAD} bytes"),
            format!("one of {} bytes", head.body),
            "shorten the comments at its start",
        ));
    }
    Ok(head)
}

impl Layout {
    /// Returns the size of a record in bytes, if it is fixed.
    pub fn record(&self) -> Option<usize> {
        match self {
            Layout::Pairs32 => Some(8),
            Layout::Pairs64 => Some(16),
            Layout::Packed => Some(graph500::EDGE),
            Layout::Rows(int) => Some(2 * int.bytes),
            _ => None,
        }
    }

    /// Returns the counts in the first line, if that may contain counts rather than an edge.
    pub fn counts(&self) -> Option<&Counts> {
        match self {
            Layout::Lines(grammar) => grammar.counts.as_ref(),
            Layout::Table(table) => table.counts(),
            _ => None,
        }
    }

    /// Returns the offset of the first record that starts at or after `at`, in the body of the file `data` that starts
    /// at `body`.
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
            Layout::Lines(_) | Layout::Table(_) => &data[..data.len().min(at - 1 + lines::LONGEST)],
            _ => data,
        };
        let next = next_line(window, at - 1);
        if next == window.len() && window.len() < data.len() {
            return Err(too_long(data, at));
        }
        Ok(next)
    }

    /// Returns how much of `data`, the next bytes of a stream, can be parsed now; `None` if more bytes are needed
    /// first.
    pub fn cut_stream(&self, data: &[u8]) -> Result<Option<usize>, Fault> {
        if let Some(record) = self.record() {
            return Ok(Some(data.len() / record * record).filter(|n| *n > 0));
        }
        let end = match self {
            // A list may be larger than memory, so it is cut between numbers.
            Layout::Metis(_) => data.iter().rposition(|c| matches!(c, b'\n' | b' ' | b'\t' | b'\r')),
            _ => data.iter().rposition(|c| *c == b'\n'),
        };
        match end {
            None if data.len() > lines::LONGEST => Err(too_long(data, 0)),
            end => Ok(end.map(|n| n + 1)),
        }
    }

    /// Parses a piece that begins and ends at places returned by `cut` or `cut_stream`.
    pub fn parse<V: Visitor>(&self, data: &[u8], cursor: &mut Cursor, sink: &mut Sink<'_, V>) -> Result<(), Stop> {
        match self {
            Layout::Pairs32 => binary::parse32(data, sink),
            Layout::Pairs64 => binary::parse64(data, sink),
            Layout::Packed => graph500::parse(data, sink),
            Layout::Rows(int) => binary::parse_rows(data, *int, sink),
            Layout::Arrays => unreachable!("arrays are no pieces of bytes"),
            Layout::Lines(grammar) => lines::parse(data, grammar, sink),
            Layout::Table(table) => table.parse(data, sink),
            Layout::Metis(adjacency) => adjacency.parse(data, cursor, sink),
        }
    }

    /// Checks that a body of fixed-size records ends with a whole record.
    pub fn whole(&self, length: usize) -> Result<(), Fault> {
        match self.record() {
            Some(record) if !length.is_multiple_of(record) => Err(Fault::new(
                length / record * record,
                format!("a whole edge of {record} bytes"),
                format!("{} bytes at the end", length % record),
                "the file is cut short, or in another format: name it",
            )),
            _ => Ok(()),
        }
    }
}

fn too_long(data: &[u8], at: usize) -> Fault {
    Fault::new(
        at,
        format!("lines of at most {} bytes", lines::LONGEST),
        format!("a longer one with {}", lines::excerpt(data, at)),
        "the file is in another format: name it",
    )
}
