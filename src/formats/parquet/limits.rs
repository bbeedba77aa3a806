//! Limits the sizes of a file's pages, from a sample of them before it is read, so that memory is reserved for these and no others.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::Summary;
use super::footer::{Chunk, Group, IdColumns};
use super::header::{self, Header, Kind};
use crate::error::{Error, Result};
use crate::formats::Part;

/// Row groups that are sampled, and pages at the start of each column there; with a dictionary, the first page may be small.
const GROUPS: usize = 64;
const PAGES: usize = 4;
/// Bytes of a usual header, with statistics.
const PREFIX: usize = 4096;
/// Least limit of a page; most writers make pages of 1 MiB.
const LEAST: u64 = 2 << 20;
/// A file whose pages take more memory than this is read by one thread.
const HEAVY: u64 = 64 << 20;
/// Bytes for the numbers of a batch.
const BATCH: u64 = 256 << 10;

/// Most bytes of an unpacked page: of values, and of a dictionary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub page: u64,
    pub dictionary: u64,
}

impl Limits {
    /// Samples the pages of one column.
    ///
    /// # Errors
    /// Bad input for a file that can't be read. A malformed header is reported when its page is read.
    fn of(part: &Part, file: &File, table: &IdColumns, column: usize) -> Result<Limits> {
        let mut seen = Limits::default();
        let count = table.groups.len();
        for look in 0..GROUPS.min(count) {
            let chunk = &table.groups[look * count / GROUPS.min(count)].chunks[column];
            let (mut at, mut pages) = (chunk.at, 0);
            while at < chunk.end && pages < PAGES {
                let mut bytes = [0; PREFIX];
                let most = (chunk.end - at).min(PREFIX as u64) as usize;
                let read = file.read_at(&mut bytes[..most], at).map_err(|e| Error::unreadable(part.path(), &e))?;
                let Some(header) = Header::read(&bytes[..read]) else { break };
                match header.kind {
                    Kind::Dictionary { .. } => seen.dictionary = seen.dictionary.max(header.size as u64),
                    Kind::Data { .. } | Kind::Data2 { .. } => {
                        seen.page = seen.page.max(header.size as u64);
                        pages += 1;
                    }
                    Kind::Other => {}
                }
                at += (header.length + header.stored) as u64;
            }
        }
        // All pages of a column in a row group fit the size that the footer declares.
        let all = table.groups.iter().map(|group| group.chunks[column].size).max().unwrap_or(0);
        let more = |size: u64| (size + size / 2).max(LEAST).min(all);
        Ok(Limits { page: more(seen.page), dictionary: more(seen.dictionary) })
    }

    /// Returns the bytes that reading a column takes.
    fn memory(self, chunk: impl Iterator<Item = Chunk>) -> u64 {
        let (mut packed, mut codec) = (false, 0);
        for chunk in chunk {
            packed |= chunk.codec != super::codec::Codec::Plain;
            codec = codec.max(chunk.codec.memory());
        }
        // The current page stays until the next one is read. Pages of files that are not packed stay in the mapped file.
        let pages = if packed { 2 * self.page } else { 0 };
        pages + 2 * self.dictionary + codec
    }
}

/// Returns the limits of the pages of both columns.
///
/// # Errors
/// Bad input for a file that can't be read.
pub(super) fn limits(part: &Part, table: &IdColumns) -> Result<[Limits; 2]> {
    let file = File::open(part.path()).map_err(|e| Error::unreadable(part.path(), &e))?;
    Ok([Limits::of(part, &file, table, 0)?, Limits::of(part, &file, table, 1)?])
}

/// Returns the bytes that one thread takes to read a row group.
fn memory(table: &IdColumns, limits: [Limits; 2]) -> u64 {
    let column = |column: usize| limits[column].memory(table.groups.iter().map(|group| group.chunks[column].clone()));
    BATCH + header::MOST as u64 + column(0) + column(1)
}

/// Returns true if the pages are so large that one thread should read all of the file.
pub(super) fn is_heavy(table: &IdColumns, limits: [Limits; 2]) -> bool {
    memory(table, limits) > HEAVY
}

/// Returns the summary of a file, known before its pages are read.
///
/// # Errors
/// Bad input for a file that is damaged or not Parquet, or for columns that are missing or are not ids.
pub(crate) fn summary(part: &Part) -> Result<Summary> {
    let table = IdColumns::read(part)?;
    let limits = limits(part, &table)?;
    let readers = if is_heavy(&table, limits) { 1 } else { table.groups.len() as u64 };
    Ok(Summary {
        edges: table.rows,
        narrow: table.ends.iter().all(|end| end.bytes == 4),
        readers,
        memory: memory(&table, limits),
        opening: table.opening,
        open: (table.groups.len() * size_of::<Group>()) as u64,
    })
}
