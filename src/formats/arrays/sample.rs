//! Estimates the largest id of an uncompressed file from a sample, for plans.

use std::os::unix::fs::FileExt;

use super::shape::ArrayLayout;
use super::table::table;
use crate::error::{Error, Result};
use crate::formats::Part;

/// Number of offsets in each array at which samples are read.
const PLACES: u64 = 64;
/// Number of values in a sample of an array.
const NUMBERS: u64 = 2048;

/// Returns the number of vertices that the header of a file of arrays declares. Without such a declaration, returns the
/// largest id in a sample + 1.
///
/// # Errors
/// Bad input if the file can't be read.
pub(in crate::formats) fn largest(part: &Part) -> Result<u64> {
    let table = table(part)?;
    if let Some(vertices) = table.vertices {
        return Ok(vertices);
    }
    let file = std::fs::File::open(&part.path).map_err(|e| Error::unreadable(&part.path, &e))?;
    let columns = match table.shape {
        ArrayLayout::Rows(all) => vec![(all, 2 * table.edges)],
        ArrayLayout::Columns { from, to } => vec![(from, table.edges), (to, table.edges)],
        ArrayLayout::Adjacency { neighbours, .. } => vec![(neighbours, table.edges)],
    };
    let mut largest = 0;
    for (column, count) in columns {
        let mut bytes = vec![0; NUMBERS.min(count) as usize * column.step];
        for place in 0..PLACES {
            let first = (u128::from(count - NUMBERS.min(count)) * u128::from(place) / u128::from(PLACES - 1)) as u64;
            let at = column.at + first * column.step as u64;
            let read = file.read_at(&mut bytes, at).map_err(|e| Error::unreadable(&part.path, &e))?;
            let numbers = bytes[..read].chunks_exact(column.step);
            let ids = numbers.filter_map(|bytes| column.int.of(&bytes[..column.int.bytes]));
            largest = ids.max().map_or(largest, |id| largest.max(id.saturating_add(1)));
        }
    }
    Ok(largest)
}
