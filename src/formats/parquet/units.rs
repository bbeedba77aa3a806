//! Assigns the row groups of a file to the threads of a scan.
//!
//! A row group has one chunk index for every [`ROWS`] rows, but at least one. A file has at least as many chunk indices
//! as chunks of bytes to be hashed. The thread that takes the first chunk index of a group reads the whole group. It
//! reports each index as done when its rows have been read. So a visitor that restores the order of the input never has
//! to buffer more than [`ROWS`] edges.

use crate::formats::bytes::map::MappedFile;
use crate::formats::pass::state::WorkResult;
use crate::formats::weights::missing;
use crate::formats::{BodyLayout, Head, ScanState, Sink};
use std::sync::Arc;

use super::footer::{IdColumns, unread};
use super::limits::{self, PageLimits};
use super::rows::RowGroupReader;
use crate::error::Result;

/// Number of rows of a row group for each chunk index.
const ROWS: usize = 1 << 20;
/// Number of batches between two reports of progress.
const TURN: usize = 64;
/// Number of bytes to hash between two reports of progress.
const STRIDE: usize = 1 << 20;

/// An open Parquet file of a scan.
pub(crate) struct Units {
    map: Arc<MappedFile>,
    table: IdColumns,
    limits: [PageLimits; 2],
    /// For each unit (row groups that one thread reads): its first chunk index, and the index of its first row group.
    units: Vec<(u64, usize)>,
    /// Exclusive upper bound on the chunk indices with rows to read. For the other indices below `count`, only bytes
    /// are hashed.
    ends: u64,
    /// Number of chunk indices of the file.
    count: u64,
}

impl Units {
    /// Returns the number of chunk indices of the file.
    pub fn chunks(&self) -> u64 {
        self.count
    }

    /// Opens Parquet file `index` of the input.
    ///
    /// # Errors
    /// Bad input if the file is damaged or not Parquet, if the id columns are missing or can't be ids, or if the pass
    /// reads weights.
    pub fn open(shared: &ScanState<'_>, index: usize) -> Result<Units> {
        let part = &shared.parts[index];
        let table = IdColumns::read(part)?;
        let limits = limits::limits(part, &table)?;
        let map = Arc::new(MappedFile::open(&part.path)?);
        part.unchanged(map.bytes().len() as u64)?;
        if shared.weights.is_read() {
            return Err(missing(&part.path.display().to_string(), unread(part).as_ref()));
        }
        shared.set_head(index, Head { entries: Some(table.rows), ..Head::of(BodyLayout::Arrays, 0) })?;
        let (mut units, mut ends) = (Vec::new(), 0);
        let heavy = limits::is_heavy(&table, limits);
        for (number, group) in table.groups.iter().enumerate() {
            if number == 0 || !heavy {
                units.push((ends, number));
            }
            ends += group.rows.div_ceil(ROWS as u64);
        }
        let count = ends.max(shared.chunks(index));
        Ok(Units { map, table, limits, units, ends, count })
    }

    /// Processes chunk index `number`: hashes its fraction of the file. If a unit (row groups that one thread reads)
    /// begins at this index, also reads all row groups of the unit. `first` is the index of the file's first chunk
    /// among all chunks of the scan.
    ///
    /// # Errors
    /// Bad input, and any error that the visitor or the progress observer (`Watch`) returns.
    pub fn chunk(
        &self,
        shared: &ScanState<'_>,
        index: usize,
        (first, number): (u64, u64),
        sink: &mut Sink<'_>,
    ) -> WorkResult {
        let at = |error, number| Box::new(((index, number), error));
        self.hash(shared, index, number).map_err(|error| at(error, number))?;
        let mut end = ChunkNumbers { units: self, shared, index, first, next: number };
        if number >= self.ends {
            return end.end(sink).map_err(|error| at(error, number));
        }
        let Ok(unit) = self.units.binary_search_by_key(&number, |(number, _)| *number) else { return Ok(()) };
        let groups = self.units[unit].1..self.units.get(unit + 1).map_or(self.table.groups.len(), |unit| unit.1);
        for group in groups {
            self.group(&mut end, group, sink).map_err(|error| at(error, end.next))?;
        }
        Ok(())
    }

    /// Reads row group `group`. Reports each of its chunk indices as done when the rows of that index have been read.
    fn group(&self, end: &mut ChunkNumbers<'_, '_>, group: usize, sink: &mut Sink<'_>) -> Result<()> {
        let shared = end.shared;
        let path = &shared.parts[end.index].path;
        let mut rows = RowGroupReader::open(&self.table, path, &self.map, group, self.limits);
        let mut left = ROWS;
        for turn in 1.. {
            let read = rows.step(left, sink)?;
            if read == 0 {
                return end.end(sink);
            }
            left -= read;
            if left == 0 && rows.left > 0 {
                end.end(sink)?;
                left = ROWS;
            }
            if turn % TURN == 0 {
                if shared.stopped() {
                    return Ok(());
                }
                shared.advance(0)?;
            }
        }
        Ok(())
    }

    /// Hashes the chunks of the file's bytes that are assigned to chunk index `number`.
    fn hash(&self, shared: &ScanState<'_>, index: usize, number: u64) -> Result<()> {
        let bytes = self.map.bytes();
        let chunks = shared.chunks(index);
        for chunk in share(chunks, number, self.count)..share(chunks, number + 1, self.count) {
            let from = chunk as usize * shared.chunk;
            let to = bytes.len().min(from + shared.chunk);
            let mut hasher = ScanState::hasher(index, chunk);
            for at in (from..to).step_by(STRIDE) {
                let behind = to.min(at + STRIDE);
                self.map.populate(at, behind)?;
                hasher.update(&bytes[at..behind]);
                self.map.drop_range(at, behind);
                shared.advance(0)?;
            }
            shared.set_hash(index, chunk, hasher.digest());
        }
        Ok(())
    }
}

/// Progress through the chunk indices of a unit (row groups that one thread reads).
struct ChunkNumbers<'a, 's> {
    units: &'a Units,
    shared: &'a ScanState<'s>,
    index: usize,
    /// Index of the file's first chunk among all chunks of the scan. `next` is the next chunk index, within the file,
    /// to report.
    first: u64,
    next: u64,
}

impl ChunkNumbers<'_, '_> {
    /// Reports the next chunk index as done, after passing all its edges to the visitor.
    fn end(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let (shared, number) = (self.shared, self.next);
        self.next += 1;
        sink.flush()?;
        shared.count(self.index, sink.take_count());
        sink.visitor.chunk_done(self.first + number)?;
        let bytes = self.units.map.bytes().len() as u64;
        shared.advance(share(bytes, number + 1, self.units.count) - share(bytes, number, self.units.count))
    }
}

/// Returns the start of part `number` if `count` items are divided into `parts` equal parts.
fn share(count: u64, number: u64, parts: u64) -> u64 {
    (u128::from(count) * u128::from(number) / u128::from(parts.max(1))) as u64
}
