//! Reads edges from arrays of numbers: numpy's `.npy` and `.npz`, and the serialized graphs of the GAP Benchmark Suite.
//!
//! The header of a file says where the ends of the edges are ([`EdgeArrays`]). Pairs in a plain `.npy` are read like
//! any other file of fixed-size records ([`crate::formats::scan::records`]). Ends in separate arrays, and neighbour
//! lists, are read by [`walk`]. In a plain file, any thread can read any range of edges ([`plain`]). In a packed file
//! or an archive, one thread reads all edges from first to last ([`stream`]).

mod gapbs;
mod npy;
mod npz;
mod plain;
mod sample;
mod stream;
mod walk;
mod weights;

use std::io::{BufReader, Read};
use std::sync::Arc;

pub(super) use plain::PlainArrays;
pub(super) use sample::largest;
pub(super) use stream::{MEMORY, read};

use crate::error::{At, Error, Result};
use crate::formats::contents;
use crate::formats::packing::Decoder;
use crate::formats::scan::layout::{Directions, Head, Layout};
use crate::formats::{Format, Packing, Part};
use npy::{Array, Mismatch};

const NOT_GAP: &str = "name the format that the file is in, or write it again by the suite's converter";

/// An integer type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// Size of a number in bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    pub signed: bool,
    /// Whether the numbers are big-endian.
    pub big: bool,
}

impl Int {
    /// Decodes the number in `bytes`, which has the size of the type; `None` if it is negative.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> Option<u64> {
        let mut word = [0; 8];
        word[..self.bytes].copy_from_slice(bytes);
        if self.big {
            word[..self.bytes].reverse();
        }
        let value = u64::from_le_bytes(word);
        (!self.signed || value >> (8 * self.bytes - 1) == 0).then_some(value)
    }

    /// Decodes the negative number in `bytes`.
    pub fn negative(self, bytes: &[u8]) -> i64 {
        let mut word = bytes.to_vec();
        if self.big {
            word.reverse();
        }
        word.resize(8, 0xff);
        word.first_chunk().map_or(0, |word| i64::from_le_bytes(*word))
    }
}

/// Where an array is stored: in the file itself, or in a member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArrayPlace {
    File,
    Member(Arc<npz::Member>),
}

/// An array of numbers that are `step` bytes apart.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub place: ArrayPlace,
    /// Offset of the first number in the unpacked file or member.
    pub at: u64,
    pub int: Int,
    /// Bytes from the start of one number to the start of the next.
    pub step: usize,
}

/// The layout in which the edges are stored.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Pairs, one after the other.
    Rows { place: ArrayPlace, at: u64, int: Int },
    /// One array of first ends, and one of second ends.
    Columns { from: Column, to: Column },
    /// Adjacency lists: the start of the list of each of the `rows` vertices, the end of the last list, and the
    /// neighbours.
    Adjacency { offsets: Column, rows: u64, neighbours: Column, lists: ListKind },
}

/// How the vertex that owns a list is connected to the neighbours in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Edges lead from the vertex to its neighbours.
    Outgoing,
    /// Edges lead from the neighbours to the vertex.
    Incoming,
    /// Edges have no direction, and each is in the lists of both its ends.
    Mutual,
}

/// The edges of a file, as its header describes them.
#[derive(Debug, Clone)]
pub(super) struct EdgeArrays {
    pub shape: Shape,
    pub edges: u64,
    /// The declared number of vertices; all ids must be below it.
    pub vertices: Option<u64>,
    /// Length in bytes of the unpacked file, or of its last array.
    pub length: u64,
}

impl EdgeArrays {
    /// Returns the [`Head`] of a file with these edges, which have weights if `weighted`.
    fn head(&self, weighted: bool) -> Head {
        let directions = match self.shape {
            Shape::Adjacency { lists: ListKind::Mutual, .. } => Directions::Both,
            _ => Directions::Listed,
        };
        let (vertices, entries) = (self.vertices, Some(self.edges));
        Head { layout: Layout::Arrays, body: 0, vertices, entries, weighted, directions }
    }
}

/// Returns the offset of the first pair in a plain `.npy` file of pairs, and the type of its numbers.
pub(super) fn rows(part: &Part) -> Option<(u64, Int)> {
    match (part.packing(), part.format()) {
        (Packing::Plain, Format::Npy) => match table(part).ok()?.shape {
            Shape::Rows { at, int, .. } => Some((at, int)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the head of a plain `.npy` file of pairs.
///
/// # Errors
/// Bad input if the header is malformed or the file has changed.
pub(super) fn head(part: &Part) -> Result<Head> {
    let table = table(part)?;
    match table.shape {
        Shape::Rows { at, int, .. } => {
            let (layout, body, entries) = (Layout::Rows(int), at as usize, Some(table.edges));
            Ok(Head { layout, body, vertices: None, entries, weighted: false, directions: Directions::Listed })
        }
        _ => {
            let remedy = "leave the file alone while the job runs, and run again";
            Err(Error::input(part.path(), At::File, "pairs, as when the input was opened", "columns", remedy))
        }
    }
}

/// Returns true if the edges of an archive have weights, or if the archive can't be read.
pub(super) fn have_weights(part: &Part) -> bool {
    table(part).and_then(|table| weights::of(part, &table)).map_or(true, |weights| weights.is_some())
}

/// Reads the header of a file, packed or not.
///
/// # Errors
/// Bad input if the file is malformed or has no edges that can be read.
pub(super) fn table(part: &Part) -> Result<EdgeArrays> {
    read_header(part).map_err(|error| contents::instead(part).unwrap_or(error))
}

fn read_header(part: &Part) -> Result<EdgeArrays> {
    let path = part.path();
    let unreadable = |e| Error::unreadable(path, &e);
    if part.format() == Format::Npz {
        return npz::table(path);
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut start = Decoder::new(part.packing(), BufReader::with_capacity(4096, file), path).map_err(unreadable)?;
    let table = header(part.format(), &mut start).map_err(|wrong| match part.format() {
        Format::Npy => refused(path, At::Byte(0), wrong),
        _ => Error::input(path, At::Byte(0), wrong.0, wrong.1, NOT_GAP),
    })?;
    if part.packing() == Packing::Plain && part.bytes() != table.length {
        let (at, expected) =
            (At::Byte(part.bytes().min(table.length)), format!("{} bytes, as the header says", table.length));
        let remedy = "the file is cut short, or something was appended to it: fetch or make it again";
        return Err(Error::input(path, at, expected, format!("{} bytes", part.bytes()), remedy));
    }
    Ok(table)
}

fn header(format: Format, start: &mut impl Read) -> Result<EdgeArrays, Mismatch> {
    match format {
        Format::Sg => gapbs::table(start, false),
        Format::Wsg => gapbs::table(start, true),
        _ => Array::read(start)?.pairs(ArrayPlace::File, false),
    }
}

/// Returns the error for a wrong header.
fn refused(path: &std::path::Path, at: At, (expected, found): Mismatch) -> Error {
    let remedy = match found.contains("complex numbers") {
        true => {
            "if their parts are the ids, save these: numpy.save(FILE, numpy.stack([z.real, z.imag], 1).astype('u4'))"
        }
        false => {
            "save the ids of both ends as whole numbers from 0: numpy.save(FILE, edges.astype('u4')), of two columns"
        }
    };
    Error::input(path, at, expected, found, remedy)
}
