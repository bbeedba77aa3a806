//! How many edges a file may hold, without reading it all: for plans, never for allocation.

use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;

use super::layout::{self, Layout};
use super::lines::newlines;
use super::packing::Decoder;
use super::{Format, Packing, Part, arrays};
use crate::error::{Error, Result};

/// Bytes of a sample, and how many of a plain file.
const SAMPLE: usize = 256 << 10;
const SAMPLES: u64 = 8;

/// Edges of one part; lines of a METIS file count an edge for every neighbour.
pub(super) fn edges(part: &Part) -> Result<u64> {
    let unreadable = |e| Error::unreadable(part.path(), &e);
    if part.format().is_arrays() {
        // An end takes a byte at least, and nothing unpacks to much more than a thousand times its size.
        let most = part.bytes().saturating_mul(if part.packing() == Packing::Plain { 1 } else { 1040 });
        // What is wrong with it is said by the scan.
        return Ok(arrays::table(part).map_or(0, |table| table.edges.min(most)));
    }
    if let (Packing::Plain, Some(record)) = (part.packing(), part.format().record()) {
        return Ok(part.bytes() / record);
    }
    let file = std::fs::File::open(part.path()).map_err(unreadable)?;
    let mut prefix = Vec::new();
    let (stored, unpacked) = match part.packing() {
        Packing::Plain => {
            (&file).take(layout::HEAD as u64).read_to_end(&mut prefix).map_err(unreadable)?;
            (prefix.len() as u64, prefix.len() as u64)
        }
        packing => unpack(&file, packing, part, &mut prefix).map_err(unreadable)?,
    };
    if prefix.is_empty() || stored == 0 {
        return Ok(0);
    }
    // what is not read yet, unpacked like the beginning
    let scale = part.bytes().max(stored) as f64 / stored as f64;
    if let Some(record) = part.format().record() {
        return Ok((unpacked as f64 * scale) as u64 / record);
    }
    let head = match layout::head(part, &prefix) {
        Ok(head) => head,
        // the scan will say what is wrong
        Err(_) => return Ok(0),
    };
    // An entry takes two bytes at least, and nothing unpacks to much more than a thousand times its size: what a
    // header claims beyond that is no estimate.
    let most = if part.packing() == Packing::Plain { part.bytes() / 2 } else { part.bytes().saturating_mul(512) };
    match (&head.layout, head.entries) {
        (Layout::Metis(_), Some(edges)) => return Ok(edges.saturating_mul(2).min(most)),
        (_, Some(entries)) => return Ok(entries.min(most)),
        _ => {}
    }
    if part.packing() != Packing::Plain || part.format() != Format::Text || part.bytes() <= layout::HEAD as u64 {
        return Ok((lines(&prefix) * scale) as u64);
    }
    let (mut seen, mut counted) = (0, 0.0);
    let mut sample = vec![0; SAMPLE];
    for index in 0..SAMPLES {
        let offset = (part.bytes() - SAMPLE as u64) / (SAMPLES - 1) * index;
        let n = file.read_at(&mut sample, offset).map_err(unreadable)?;
        seen += n;
        counted += newlines(&sample[..n]) as f64;
    }
    Ok((counted * part.bytes() as f64 / seen.max(1) as f64) as u64)
}

impl Part {
    /// Returns what finds the largest id in a window of a plain file of text; None where the first two numbers of each
    /// line are its ids.
    ///
    /// # Errors
    /// Bad input when the file can't be read.
    pub fn largest_in(&self) -> Result<Option<impl Fn(&[u8]) -> u64>> {
        let unreadable = |e| Error::unreadable(self.path(), &e);
        let mut prefix = Vec::new();
        let file = std::fs::File::open(self.path()).map_err(unreadable)?;
        file.take(layout::HEAD as u64).read_to_end(&mut prefix).map_err(unreadable)?;
        // What is wrong is said by the scan.
        Ok(match layout::head(self, &prefix).map(|head| head.layout) {
            Ok(Layout::Table(table)) => Some(move |window: &[u8]| table.largest(window)),
            _ => None,
        })
    }
}

/// Lines of a text, the last one without a newline, too.
fn lines(data: &[u8]) -> f64 {
    newlines(data) as f64 + if data.last().is_some_and(|c| *c != b'\n') { 1.0 } else { 0.0 }
}

/// Unpacks the first bytes of a file; how many stored bytes that took, and how many it gave.
fn unpack(file: &std::fs::File, packing: Packing, part: &Part, into: &mut Vec<u8>) -> std::io::Result<(u64, u64)> {
    let stored = std::io::BufReader::with_capacity(4096, file);
    let mut decoder = Decoder::new(packing, stored, part.path())?;
    // a damaged file still gives an estimate from what can be unpacked; the scan will say what is wrong
    let _ = (&mut decoder).take(layout::HEAD as u64).read_to_end(into);
    let mut file = *decoder.stored().get_ref();
    let taken = file.stream_position()? - decoder.stored().buffer().len() as u64;
    Ok((taken, into.len() as u64))
}
