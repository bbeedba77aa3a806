//! Reads the packed edges of the Graph500 reference, and their weights, which are in a separate file.
//!
//! The reference writes the weights of the edges in `FILE` to `FILE.weights`: one little-endian f32 per edge, in the
//! same order. If the edges are compressed (`FILE.gz`), the weights are still in `FILE.weights`. That file is never
//! compressed, because threads read it at arbitrary offsets.

use std::ops::Range;
use std::path::PathBuf;

use crate::error::{At, Error, Result};
use crate::formats::bytes::read::Reader;
use crate::formats::part::weights_path;
use crate::formats::sink;
use crate::formats::weights::Weight;
use crate::formats::{Fault, Format, Packing, Part, Sink, Stop};
use crate::memory::bytes_of_mut;

/// Size in bytes of an edge in a Graph500 file.
pub(crate) const EDGE: usize = 12;
/// Size in bytes of a weight in a Graph500 weights file.
const WEIGHT: usize = 4;
/// Number of edges, and of weights, that are decoded at a time.
const BATCH: usize = sink::BATCH;

/// Parses packed edges. The first 8 bytes of an edge are the low 32 bits of its two ids. The last 4 bytes are a 32-bit
/// word: its low half contains the upper 16 bits of the first id, and its high half those of the second. These halves
/// are signed in `packed_edge` of the Graph500 reference, where a negative id means that there is no edge.
pub(crate) fn parse(data: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
    for (nth, batch) in data.as_chunks::<EDGE>().0.chunks(BATCH).enumerate() {
        if sink.fill(batch.len(), None, |edges| narrow(batch, edges))? {
            continue;
        }
        for (index, record) in batch.iter().enumerate() {
            let (u, v) = ends(record).map_err(|high| negative(nth * BATCH + index, high))?;
            sink.push(u, v)?;
        }
    }
    Ok(())
}

/// Decodes packed edges (`records`) to pairs of 32-bit ids. Returns true if all ids fit in 32 bits.
fn narrow(records: &[[u8; EDGE]], edges: &mut [[u32; 2]]) -> bool {
    let mut high = 0;
    for ([a, b, c, d, e, f, g, h, rest @ ..], edge) in records.iter().zip(edges) {
        *edge = [u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h])];
        high |= u32::from_le_bytes(*rest);
    }
    high == 0
}

/// Returns the two ids of a packed edge. If an id is negative, returns as the error the 32-bit word with the upper
/// bits of both ids.
#[inline]
fn ends(record: &[u8; EDGE]) -> Result<(u64, u64), u64> {
    let word = |n: usize| u64::from(u32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]));
    let high = word(8);
    if high & 0x8000_8000 != 0 {
        Err(high)
    } else {
        Ok((word(0) | (high & 0xffff) << 32, word(4) | (high >> 16) << 32))
    }
}

fn negative(index: usize, high: u64) -> Fault {
    let remedy = "name the format that the file is in, or write it again";
    Fault::new(index * EDGE, "ids of at most 47 bits", format!("{high:#x} as the high halves"), remedy)
}

/// The open weights file of an edge file.
pub(crate) struct WeightsFile {
    path: PathBuf,
    reader: Reader,
}

impl WeightsFile {
    /// Opens the weights file of an edge file; `None` if it has none.
    ///
    /// # Errors
    /// Bad input if the file can't be read or is compressed.
    pub fn open(part: &Part) -> Result<Option<WeightsFile>> {
        if let Some(path) = part.weights_path() {
            return Ok(Some(WeightsFile { reader: Reader::open(&path)?, path }));
        }
        let path = weights_path(&part.path, part.packing);
        for packing in [Packing::Gzip, Packing::Zstd, Packing::Bzip2, Packing::Xz] {
            let mut packed = path.clone();
            packed.as_mut_os_string().push(packing.ending());
            if packed.exists() {
                let remedy = "unpack it: weights are read at arbitrary offsets";
                return Err(Error::input(&packed, At::File, "weights as a plain file", "a packed one", remedy));
            }
        }
        Ok(None)
    }

    /// Opens the weights file of an uncompressed edge file, and checks its length; `None` if there is no weights file.
    ///
    /// # Errors
    /// The errors of [`Self::open`] and [`Self::check`].
    pub fn open_checked(part: &Part) -> Result<Option<WeightsFile>> {
        if part.format != Format::Graph500 {
            return Ok(None);
        }
        let weights = WeightsFile::open(part)?;
        weights.iter().try_for_each(|weights| weights.check(part.bytes / EDGE as u64))?;
        Ok(weights)
    }

    /// Checks that the file contains one weight for each of `edges` edges.
    ///
    /// # Errors
    /// Bad input if the length of the file differs.
    pub fn check(&self, edges: u64) -> Result<()> {
        let bytes = edges.saturating_mul(WEIGHT as u64);
        if self.reader.length() == bytes { Ok(()) } else { Err(self.length(&format!("{edges} edges"), bytes)) }
    }

    /// Starts to read the weights of the edges with the indices `edges` from the file, and does not wait for them.
    pub fn will_need(&self, edges: Range<u64>) {
        self.reader.will_need(edges.start * WEIGHT as u64, edges.end * WEIGHT as u64);
    }

    fn length(&self, edges: &str, bytes: u64) -> Error {
        let expected = format!("{bytes} bytes, {WEIGHT} for each of {edges}");
        let found = format!("{} bytes", self.reader.length());
        let remedy = "fetch or make both files again, or read the edges without weights: [input] weights = \"none\", convert --weights none";
        Error::input(&self.path, At::File, expected, found, remedy)
    }

    /// Parses packed edges with their weights. `first` is the index in the file of the first edge in `data`; `hash` is
    /// called with the bytes of the weights.
    pub fn parse(&self, data: &[u8], first: u64, sink: &mut Sink<'_>, mut hash: impl FnMut(&[u8])) -> Result<(), Stop> {
        let mut buffer = [0; BATCH];
        let (records, _) = data.as_chunks::<EDGE>();
        for (nth, batch) in records.chunks(BATCH).enumerate() {
            let (from, weights) = (first + (nth * BATCH) as u64, &mut buffer[..batch.len()]);
            let bytes = bytes_of_mut(weights);
            let end = (from + batch.len() as u64) * WEIGHT as u64;
            if end > self.reader.length() {
                return Err(self.length("the edges, of which there are more", end).into());
            }
            self.reader.read(from * WEIGHT as u64, bytes)?;
            hash(bytes);
            weights.iter_mut().for_each(|weight| *weight = u32::from_le(*weight));
            if let Some(found) = sink.reading.take_floats(weights)
                && sink.fill(weights.len(), Some((weights, found)), |edges| narrow(batch, edges))?
            {
                continue;
            }
            for (index, (record, &weight)) in batch.iter().zip(&*weights).enumerate() {
                let (u, v) = ends(record).map_err(|high| negative(nth * BATCH + index, high))?;
                let weight = f32::from_bits(weight);
                sink.push_weighted(u, v, Weight::Single(weight), |mistake| {
                    let at = At::Byte((from + index as u64) * WEIGHT as u64);
                    Error::input(&self.path, at, mistake.expected(), weight.to_string(), mistake.remedy())
                })?;
            }
        }
        Ok(())
    }
}
