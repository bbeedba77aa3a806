//! Reads arrays in compressed files and archives, from the first number to the last, with one thread. If the ends of
//! the edges are in two arrays, the file is decompressed twice at the same time, and a third time for weights. So the
//! memory in use does not grow with the file.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::numbers::{ArrayReader, BATCH};
use super::shape::{ArrayLayout, ArrayPlace, Column};
use super::walk::{AdjacencyListReader, EdgeWalk, EndpointArrays};
use super::{npz, table, weights};
use crate::error::{At, Error, Result};
use crate::formats::pass::stored::{StoredBytes, unpacked};
use crate::formats::{Packing, ScanState, Sink, Stop};

/// Upper bound on the memory in bytes for reading one file of arrays, not counting the decoder of each array.
pub(in crate::formats) const MEMORY: u64 = 1 << 20;

/// Number of batches of edges between two reports of progress.
const TURN: usize = 64;
/// Number of bytes of a stream that are skipped at a time.
const STRIDE: u64 = 1 << 20;

/// Reads all edges of file `index` of the input. `number` is the index of the next chunk of the scan, and is
/// incremented when a chunk has been read.
///
/// # Errors
/// Bad input, and any error that the visitor or the progress observer (`Watch`) returns.
pub(in crate::formats) fn read(
    shared: &ScanState<'_>,
    index: usize,
    number: &AtomicU64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let part = &shared.parts[index];
    let (table, weights) = table::open(shared, index)?;
    if part.packing == Packing::Zip {
        let mut stored = StoredBytes::open(shared, index, &part.path)?;
        part.unchanged(stored.get_ref().length)?;
        skip(shared, index, &mut stored, u64::MAX)?;
    }
    let open = |column: &Column, first: u64| -> Result<ArrayReader<'_>> {
        let mut from: Box<dyn Read + '_> = match &column.place {
            ArrayPlace::File => Box::new(unpacked(shared, index)?),
            ArrayPlace::Member(member) => npz::open(&part.path, member)?,
        };
        let at = column.at + first * column.step as u64;
        skip(shared, index, &mut from, at)?;
        Ok(ArrayReader::new(&part.path, column, first, from))
    };
    let ends = match &table.shape {
        ArrayLayout::Rows(all) => EndpointArrays::Rows(open(all, 0)?),
        ArrayLayout::Columns { from, to } => EndpointArrays::Columns(open(from, 0)?, open(to, 0)?),
        ArrayLayout::Adjacency { offsets, rows, neighbours, lists } => EndpointArrays::Lists(
            AdjacencyListReader::begin(open(offsets, 0)?, open(neighbours, 0)?, *rows, table.edges)?,
            *lists,
        ),
    };
    let weights = weights::open(weights.as_ref(), 0, open)?;
    let mut walk = EdgeWalk::new((ends, weights), 0, table.edges, table.vertices);
    let mut reported = 0;
    loop {
        let mut more = true;
        for _ in 0..TURN {
            more = walk.step(sink)?;
            if !more {
                break;
            }
        }
        sink.flush()?;
        shared.count(index, sink.take_count());
        shared.note_rounded((index, 0), sink.take_rounded(), Stop::into_error);
        sink.visitor.chunk_done(number.fetch_add(1, Relaxed))?;
        if shared.stopped() {
            return Ok(());
        }
        if !more {
            break;
        }
        let done = (u128::from(part.bytes) * u128::from(walk.next) / u128::from(table.edges.max(1))) as u64;
        shared.advance(done - reported)?;
        reported = done;
    }
    walk.finish()?;
    let length = (part.packing != Packing::Zip).then_some(table.length);
    read_to_end(&mut walk, length, || shared.advance(0))?;
    shared.advance(part.bytes - reported)
}

/// Reads the streams of all columns to their ends, where the checksums are stored. `length` is the uncompressed size of
/// a compressed file in bytes, and `None` for an archive.
fn read_to_end(walk: &mut EdgeWalk<'_>, length: Option<u64>, watch: impl Fn() -> Result<()> + Copy) -> Result<()> {
    let (first, last) = match &mut walk.ends {
        EndpointArrays::Rows(all) => (None, all),
        EndpointArrays::Columns(from, to) => (Some(from), to),
        EndpointArrays::Lists(lists, _) => (Some(&mut lists.offsets), &mut lists.neighbours),
    };
    if let Some(first) = first.filter(|first| first.column.place != last.column.place) {
        first.finish(None, watch)?;
    }
    last.finish(length, watch)?;
    match &mut walk.weights {
        Some(weights) if length.is_none() => weights.numbers.finish(None, watch),
        _ => Ok(()),
    }
}

/// Skips the next `bytes` bytes of the stream `from`, or fewer if the stream ends earlier.
fn skip(shared: &ScanState<'_>, index: usize, from: &mut impl Read, bytes: u64) -> Result<()> {
    let mut left = bytes;
    while left > 0 {
        let now = left.min(STRIDE);
        let read = std::io::copy(&mut from.by_ref().take(now), &mut std::io::sink()).map_err(|e| {
            let remedy = "the file is cut short or damaged: fetch or make it again";
            Error::input(&shared.parts[index].path, At::File, "a whole file", e.to_string(), remedy)
        })?;
        if read < now {
            break;
        }
        left -= now;
        shared.advance(0)?;
    }
    Ok(())
}

const _: () = assert!(BATCH * 8 * 2 * 8 < MEMORY as usize);
