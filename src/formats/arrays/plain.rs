//! Reads arrays in uncompressed files, chunk by chunk. A thread that takes chunk k of n hashes the bytes of that chunk.
//! It also reads the k-th of n equal ranges of edges, wherever the file stores them.

use std::io::{BufReader, Read};

use super::npy::WeightColumn;
use super::numbers::{ArrayReader, BATCH};
use super::shape::{ArrayLayout, Column, EdgeArrays};
use super::walk::{AdjacencyListReader, EdgeWalk, EndpointArrays};
use super::{table, weights};
use crate::error::{At, Error, Result};
use crate::formats::bytes::read::Reader;
use crate::formats::{Part, ScanState, Sink, Stop};

/// Number of bytes of a file that are read at a time.
const STRIDE: usize = 64 << 10;

/// An open file whose edges are stored in arrays.
pub(in crate::formats) struct PlainArrays {
    reader: Reader,
    table: EdgeArrays,
    /// Location of the weights in the file, if the pass needs them.
    weights: Option<WeightColumn>,
}

impl PlainArrays {
    /// Opens file `index` of the input, whose edges are not stored as fixed-size pairs.
    ///
    /// # Errors
    /// Bad input if the header is malformed, or the file's length has changed.
    pub fn open(shared: &ScanState<'_>, index: usize) -> Result<PlainArrays> {
        let part = &shared.parts[index];
        let reader = Reader::open(&part.path)?;
        part.unchanged(reader.length())?;
        let (table, weights) = table::open(shared, index)?;
        let plain = PlainArrays { reader, table, weights };
        if let ArrayLayout::Adjacency { offsets, rows, .. } = &plain.table.shape {
            for (row, want) in [(0, 0), (*rows, plain.table.edges)] {
                let found = plain.number(part, offsets, row)?;
                if found != want {
                    return Err(plain.not_ascending(part, offsets, row, found));
                }
            }
        }
        Ok(plain)
    }

    /// Hashes one chunk of bytes, and passes the corresponding fraction of the edges to `sink`.
    ///
    /// # Errors
    /// Bad input, and any error that the visitor or the progress observer (`Watch`) returns.
    pub fn chunk(&self, shared: &ScanState<'_>, index: usize, chunk: u64, sink: &mut Sink<'_>) -> Result<()> {
        let part = &shared.parts[index];
        let from = chunk * shared.chunk as u64;
        let to = self.reader.length().min(from + shared.chunk as u64);
        self.hash(shared, index, chunk, (from, to))?;
        let chunks = shared.chunks(index);
        let share = |count: u64, chunk: u64| (u128::from(count) * u128::from(chunk) / u128::from(chunks)) as u64;
        let (first, end) = (share(self.table.edges, chunk), share(self.table.edges, chunk + 1));
        let column = |column: &Column, next: u64| {
            let at = column.at + next * column.step as u64;
            let from = OffsetReader { reader: &self.reader, at };
            ArrayReader::new(&part.path, column, next, Box::new(BufReader::with_capacity(STRIDE, from)))
        };
        let ends = match &self.table.shape {
            ArrayLayout::Rows(all) => EndpointArrays::Rows(column(all, 2 * first)),
            ArrayLayout::Columns { from, to } => EndpointArrays::Columns(column(from, first), column(to, first)),
            ArrayLayout::Adjacency { offsets, rows, neighbours, lists } => {
                self.check_offsets(part, offsets, (share(*rows, chunk), share(*rows, chunk + 1)), &column)?;
                if first == end {
                    return self.done(shared, index, (from, to), sink);
                }
                let (row, start) = self.row_of(part, offsets, *rows, first)?;
                let (offsets, neighbours) = (column(offsets, row + 1), column(neighbours, first));
                EndpointArrays::Lists(
                    AdjacencyListReader::at(offsets, neighbours, (row, start), *rows, self.table.edges),
                    *lists,
                )
            }
        };
        let weights = weights::open(self.weights.as_ref(), first, |all, next| Ok(column(all, next)))?;
        let mut walk = EdgeWalk::new((ends, weights), first, end, self.table.vertices);
        while walk.step(sink)? {}
        shared.note_rounded((index, chunk), sink.take_rounded(), Stop::into_error);
        self.done(shared, index, (from, to), sink)
    }

    fn done(&self, shared: &ScanState<'_>, index: usize, (from, to): (u64, u64), sink: &mut Sink<'_>) -> Result<()> {
        sink.flush()?;
        shared.count(index, sink.take_count());
        shared.advance(to - from)
    }

    fn hash(&self, shared: &ScanState<'_>, index: usize, chunk: u64, (from, to): (u64, u64)) -> Result<()> {
        if !self.reader.cached(from, to) {
            self.reader.will_need(from, to + 2 * shared.chunk as u64);
        }
        let mut hasher = ScanState::hasher(index, chunk);
        let (mut at, mut buffer) = (from, [0; STRIDE]);
        while at < to {
            let bytes = &mut buffer[..STRIDE.min((to - at) as usize)];
            self.reader.read(at, bytes)?;
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        shared.set_hash(index, chunk, hasher.digest());
        Ok(())
    }

    /// Checks that the offsets of the adjacency lists are in ascending order from vertex `from` to vertex `to`.
    fn check_offsets<'a>(
        &self,
        part: &Part,
        offsets: &Column,
        (from, to): (u64, u64),
        column: &impl Fn(&Column, u64) -> ArrayReader<'a>,
    ) -> Result<()> {
        let mut numbers = column(offsets, from);
        let (mut row, mut last, mut read) = (from, 0, Vec::new());
        while row <= to {
            numbers.read((to - row + 1).min(BATCH as u64) as usize, &mut read)?;
            for offset in &read {
                if *offset < last || *offset > self.table.edges {
                    return Err(self.not_ascending(part, offsets, row, *offset));
                }
                (last, row) = (*offset, row + 1);
            }
        }
        Ok(())
    }

    /// Returns the vertex whose adjacency list contains the edge with index `edge`, and the start of that list.
    fn row_of(&self, part: &Part, offsets: &Column, rows: u64, edge: u64) -> Result<(u64, u64)> {
        // Invariant of the binary search: the list of `low` begins at or before the edge, the list of `high` after it.
        let (mut low, mut high, mut start) = (0, rows, 0);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let offset = self.number(part, offsets, middle)?;
            if offset <= edge { (low, start) = (middle, offset) } else { high = middle }
        }
        Ok((low, start))
    }

    fn number(&self, part: &Part, column: &Column, index: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..column.int.bytes];
        self.reader.read(column.at + index * column.step as u64, bytes)?;
        let below = || self.not_ascending(part, column, index, column.int.negative(bytes));
        column.int.of(bytes).ok_or_else(below)
    }

    fn not_ascending(&self, part: &Part, offsets: &Column, row: u64, found: impl std::fmt::Display) -> Error {
        let at = At::Byte(offsets.at + row * offsets.step as u64);
        let expected = format!("offsets that ascend from 0 to {}", self.table.edges);
        let remedy = "the file is damaged, or in another format: make it again";
        Error::input(&part.path, at, expected, format!("{found} as offset {row}"), remedy)
    }
}

/// Sequential reader of the bytes of a file from a given offset on.
struct OffsetReader<'a> {
    reader: &'a Reader,
    at: u64,
}

impl Read for OffsetReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let bytes = (self.reader.length().saturating_sub(self.at)).min(into.len() as u64) as usize;
        self.reader.read(self.at, &mut into[..bytes]).map_err(|e| std::io::Error::other(e.to_string()))?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}
