//! Edges as arrays of numbers: numpy's `.npy` and `.npz`, and the serialized graphs of the GAP benchmark suite.
//!
//! A header says where in the file the ends of edges stand ([`Table`]). Pairs of a plain `.npy` are then read as every other
//! file of fixed records ([`super::records`]), by the same means and at the same speed. Ends that stand apart, and lists
//! of neighbours, are read by [`walk`]: of a plain file any range of edges, by as many threads as there are ([`plain`]);
//! of a packed one, or of an archive, from the first to the last ([`stream`]).

mod gapbs;
mod npy;
mod npz;
mod plain;
mod sample;
mod stream;
mod walk;

use std::io::{BufReader, Read};
use std::sync::Arc;

pub(super) use plain::Plain;
pub(super) use sample::largest;
pub(super) use stream::{MEMORY, read};

use super::layout::{Head, Layout};
use super::packing::Decoder;
use super::{Format, Packing, Part};
use crate::error::{At, Error, Result};
use npy::{Array, Wrong};

/// A type of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Int {
    /// 1, 2, 4 or 8.
    pub bytes: usize,
    pub signed: bool,
    /// True if the highest byte comes first.
    pub big: bool,
}

impl Int {
    /// Returns the number in `bytes`, as many as it has; nothing for one below 0.
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

    /// Returns the number below 0 in `bytes`.
    pub fn negative(self, bytes: &[u8]) -> i64 {
        let mut word = bytes.to_vec();
        if self.big {
            word.reverse();
        }
        word.resize(8, 0xff);
        word.first_chunk().map_or(0, |word| i64::from_le_bytes(*word))
    }
}

/// Where numbers stand: in the file itself, or in a member of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File,
    Member(Arc<npz::Member>),
}

/// Numbers at equal distances.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub place: Place,
    /// The first byte of the first one, unpacked.
    pub at: u64,
    pub int: Int,
    /// Bytes from one to the next.
    pub step: usize,
}

/// How edges are stored.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Pairs, one behind the other.
    Rows { place: Place, at: u64, int: Int },
    /// All first ends, and all second ends.
    Columns { from: Column, to: Column },
    /// Lists of neighbours, and where the list of each of `rows` vertices begins, and the last one ends.
    Adjacency { offsets: Column, rows: u64, neighbours: Column },
}

/// The edges of a file, as its header says.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub shape: Shape,
    pub edges: u64,
    /// The vertices that it declares; ids are below.
    pub vertices: Option<u64>,
    /// Bytes of the unpacked file, or of its last array.
    pub length: u64,
}

/// Returns where a plain `.npy` of pairs has them: the first byte, and the type.
pub(super) fn rows(part: &Part) -> Option<(u64, Int)> {
    match (part.packing(), part.format()) {
        (Packing::Plain, Format::Npy) => match table(part).ok()?.shape {
            Shape::Rows { at, int, .. } => Some((at, int)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns what the header of a plain `.npy` of pairs says.
///
/// # Errors
/// Bad input for a file that is none, or none any more.
pub(super) fn head(part: &Part) -> Result<Head> {
    let table = table(part)?;
    match table.shape {
        Shape::Rows { at, int, .. } => {
            Ok(Head { layout: Layout::Rows(int), body: at as usize, vertices: None, entries: Some(table.edges) })
        }
        _ => {
            let remedy = "leave the file alone while the job runs, and run again";
            Err(Error::input(part.path(), At::File, "pairs, as when the input was opened", "columns", remedy))
        }
    }
}

/// Reads the header of a file, packed or not.
///
/// # Errors
/// Bad input for what is no such file, or has no edges that can be read.
pub(super) fn table(part: &Part) -> Result<Table> {
    let path = part.path();
    let unreadable = |e| Error::unreadable(path, &e);
    if part.format() == Format::Npz {
        return npz::table(path);
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut start = Decoder::new(part.packing(), BufReader::with_capacity(4096, file), path).map_err(unreadable)?;
    let table = header(part.format(), &mut start).map_err(|wrong| refused(path, At::Byte(0), wrong))?;
    if part.packing() == Packing::Plain && part.bytes() != table.length {
        let (at, expected) =
            (At::Byte(part.bytes().min(table.length)), format!("{} bytes, as the header says", table.length));
        let remedy = "the file is cut short, or something was written behind it: fetch or make it again";
        return Err(Error::input(path, at, expected, format!("{} bytes", part.bytes()), remedy));
    }
    Ok(table)
}

fn header(format: Format, start: &mut impl Read) -> Result<Table, Wrong> {
    match format {
        Format::Sg => gapbs::table(start, false),
        Format::Wsg => gapbs::table(start, true),
        _ => Array::read(start)?.pairs(Place::File, false),
    }
}

/// The error of a header.
fn refused(path: &std::path::Path, at: At, (expected, found): Wrong) -> Error {
    let remedy =
        "save the ids of both ends as whole numbers from 0: numpy.save(FILE, edges.astype('u4')), of two columns";
    Error::input(path, at, expected, found, remedy)
}
