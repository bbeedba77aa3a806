//! Estimates the number of edges of a file without reading all of it. The result is used for plans, never for
//! allocations.

use std::os::unix::fs::FileExt;

use crate::error::{Error, Result};
use crate::formats::bytes::tokens::newlines;
use crate::formats::pass::layout;
use crate::formats::{BodyLayout, Format, HEAD, Packing, Part, arrays, contents, parquet};

/// Size in bytes of a sample of a file.
const SAMPLE: usize = 256 << 10;
/// Number of samples of an uncompressed file from which its edges are estimated.
const SAMPLES: u64 = 8;

/// Returns the estimated number of edges of one file. In a METIS file every neighbour counts as an edge.
pub(crate) fn edges(part: &Part) -> Result<u64> {
    let unreadable = |e| Error::unreadable(&part.path, &e);
    if part.format == Format::Parquet {
        return parquet::summary(part).map(|summary| summary.edges);
    }
    if part.format.is_arrays() {
        // An edge needs at least one byte, and no compression shrinks a file much more than a thousandfold.
        let most = part.bytes.saturating_mul(if part.packing == Packing::Plain { 1 } else { 1040 });
        // The scan reports any error of the file.
        return Ok(arrays::table(part).map_or(0, |table| table.edges.min(most)));
    }
    if let (Packing::Plain, Some(record)) = (part.packing, part.format.record()) {
        return Ok(part.bytes / record);
    }
    let (prefix, stored) = contents::prefix_of(part)?;
    if prefix.is_empty() || stored == 0 {
        return Ok(0);
    }
    // Assumes that the rest of the file compresses like its beginning.
    let scale = part.bytes.max(stored) as f64 / stored as f64;
    if let Some(record) = part.format.record() {
        return Ok((prefix.len() as f64 * scale) as u64 / record);
    }
    let head = match layout::head(part, &prefix) {
        Ok(head) => head,
        // The scan reports the error.
        Err(_) => return Ok(0),
    };
    // A listed edge needs at least two bytes, and no compression shrinks a file much more than a thousandfold. This
    // limits the number of edges that a header may claim.
    let most = if part.packing == Packing::Plain { part.bytes / 2 } else { part.bytes.saturating_mul(512) };
    match (&head.layout, head.entries) {
        (BodyLayout::Metis(_), Some(edges)) => return Ok(edges.saturating_mul(2).min(most)),
        (_, Some(entries)) => return Ok(entries.min(most)),
        _ => {}
    }
    if part.packing != Packing::Plain || part.format != Format::Text || part.bytes <= HEAD as u64 {
        return Ok((lines(&prefix) * scale) as u64);
    }
    let file = std::fs::File::open(&part.path).map_err(unreadable)?;
    let (mut seen, mut counted) = (0, 0.0);
    let mut sample = vec![0; SAMPLE];
    for index in 0..SAMPLES {
        let offset = (part.bytes - SAMPLE as u64) / (SAMPLES - 1) * index;
        let n = file.read_at(&mut sample, offset).map_err(unreadable)?;
        seen += n;
        counted += newlines(&sample[..n]) as f64;
    }
    Ok((counted * part.bytes as f64 / seen.max(1) as f64) as u64)
}

/// Returns a function that returns the largest id in a section of the file, if the file is a table of text. Returns
/// `None` for all other text files: there, the ids are the first two numbers of each line.
///
/// # Errors
/// Bad input if the file can't be read.
pub fn largest_in(part: &Part) -> Result<Option<impl Fn(&[u8]) -> u64>> {
    let (prefix, _) = contents::prefix_of(part)?;
    // The scan reports any error of the file.
    Ok(match layout::head(part, &prefix).map(|head| head.layout) {
        Ok(BodyLayout::Table(table)) => Some(move |window: &[u8]| table.largest(window)),
        _ => None,
    })
}

/// Counts the lines of a text, including a last line without a newline.
fn lines(data: &[u8]) -> f64 {
    newlines(data) as f64 + if data.last().is_some_and(|c| *c != b'\n') { 1.0 } else { 0.0 }
}

/// Returns 1 + the largest id in a sample of an uncompressed file of arrays or a Parquet file.
///
/// # Errors
/// Bad input if the file can't be read.
pub fn largest_of_arrays(part: &Part) -> Result<u64> {
    if part.format == Format::Parquet { parquet::largest(part) } else { arrays::largest(part) }
}
