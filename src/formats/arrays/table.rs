//! Finds the arrays that contain the edges and the weights of a file, from its header.

use std::io::Read;

use super::npy::{Mismatch, NpyArray, WeightColumn, refused};
use super::shape::{ArrayLayout, ArrayPlace, Column, EdgeArrays};
use super::{gapbs, npz};
use crate::error::{At, Error, Result};
use crate::formats::{BodyLayout, Format, Head, Int, Packing, Part, ScanState, contents};

const NOT_GAP: &str = "name the format that the file is in, or write it again by the suite's converter";

/// Returns the offset of the first pair in an uncompressed `.npy` file of pairs, and the type of its numbers; `None`
/// for other files.
pub(in crate::formats) fn rows(part: &Part) -> Option<(u64, Int)> {
    match (part.packing, part.format) {
        (Packing::Plain, Format::Npy) => match table(part).ok()?.shape {
            ArrayLayout::Rows(all) => Some((all.at, all.int)),
            _ => None,
        },
        _ => None,
    }
}

/// Reads the number of pairs, their type and their offset from the header of an uncompressed `.npy` file of pairs.
///
/// # Errors
/// Bad input if the header is malformed or the file has changed.
pub(in crate::formats) fn head(part: &Part) -> Result<Head> {
    let table = table(part)?;
    match table.shape {
        ArrayLayout::Rows(all) => {
            Ok(Head { entries: Some(table.edges), ..Head::of(BodyLayout::Rows(all.int), all.at as usize) })
        }
        _ => {
            let remedy = "leave the file alone while the job runs, and run again";
            Err(Error::input(&part.path, At::File, "pairs, as when the input was opened", "columns", remedy))
        }
    }
}

/// Returns true if the edges of an archive have weights, or if the archive can't be read; the scan then reports why.
pub(in crate::formats) fn have_weights(part: &Part) -> bool {
    table(part).and_then(|table| weights_of(part, &table)).map_or(true, |weights| weights.is_some())
}

/// Reads the header of a file of arrays, compressed or not, and returns where the file stores its edges.
///
/// # Errors
/// Bad input if the file is malformed or contains no edges that can be read.
pub(in crate::formats) fn table(part: &Part) -> Result<EdgeArrays> {
    read_header(part).map_err(|error| contents::wrong_format_error(part).unwrap_or(error))
}

fn read_header(part: &Part) -> Result<EdgeArrays> {
    let path = &part.path;
    if part.format == Format::Npz {
        return npz::table(path);
    }
    let table = header(part.format, &mut part.unpacked()?).map_err(|wrong| match part.format {
        Format::Npy => refused(path, At::Byte(0), wrong),
        _ => Error::input(path, At::Byte(0), wrong.0, wrong.1, NOT_GAP),
    })?;
    if part.packing == Packing::Plain && part.bytes != table.length {
        let (at, expected) =
            (At::Byte(part.bytes.min(table.length)), format!("{} bytes, as the header says", table.length));
        let remedy = "the file is cut short, or something was appended to it: fetch or make it again";
        return Err(Error::input(path, at, expected, format!("{} bytes", part.bytes), remedy));
    }
    Ok(table)
}

fn header(format: Format, start: &mut impl Read) -> Result<EdgeArrays, Mismatch> {
    match format {
        Format::Sg => gapbs::table(start, false),
        Format::Wsg => gapbs::table(start, true),
        _ => NpyArray::read(start)?.pairs(ArrayPlace::File, false),
    }
}

/// Finds the edges of file `index` of the input, and their weights if the pass needs them. Stores the header of the
/// file in the state of the pass.
///
/// # Errors
/// The errors of [`table`]; bad input if the weights are malformed.
pub(super) fn open(shared: &ScanState<'_>, index: usize) -> Result<(EdgeArrays, Option<WeightColumn>)> {
    let part = &shared.parts[index];
    let table = table(part)?;
    let weights = if shared.weights.is_wanted() { weights_of(part, &table)? } else { None };
    shared.set_head(index, table.head(weights.is_some()))?;
    Ok((table, weights))
}

/// Returns where a file stores the weights of the edges in `table`; `None` if the edges have no weights.
///
/// # Errors
/// Bad input if the array has another length or type, or the file can't be read.
fn weights_of(part: &Part, table: &EdgeArrays) -> Result<Option<WeightColumn>> {
    match (part.format, &table.shape) {
        (Format::Wsg, ArrayLayout::Adjacency { neighbours, .. }) => {
            let int = Int { signed: true, ..neighbours.int };
            let column = Column { at: neighbours.at + int.bytes as u64, int, ..neighbours.clone() };
            Ok(Some(WeightColumn { column, float: false }))
        }
        (Format::Npz, _) => npz::weights(&part.path, table.edges),
        _ => Ok(None),
    }
}
