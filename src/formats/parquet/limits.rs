//! Estimates limits on a file's page sizes from a sample of its pages, before the file is read. So only the memory that
//! pages need is reserved.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::basic::Compression;

use super::codec;
use super::footer::{ColumnChunk, IdColumns, RowGroup};
use super::header::{self, Header, PageKind};
use crate::error::{Error, Result};
use crate::formats::Part;
use crate::formats::part::TableSummary;

/// Number of row groups whose pages are sampled.
const GROUPS: usize = 64;
/// Number of pages to sample at the start of each column. The first page after a dictionary may be small.
const PAGES: usize = 4;
/// Number of bytes to read for a page header; most headers are smaller, even with statistics.
const PREFIX: usize = 4096;
/// Smallest limit on the size of a page, in bytes. Most writers produce pages of 1 MiB.
const LEAST: u64 = 2 << 20;
/// Maximum memory per thread for pages, in bytes, with which several threads may read a file. If a thread needs more, a
/// single thread reads the whole file.
const HEAVY: u64 = 64 << 20;
/// Memory in bytes for the ids of a batch.
const BATCH: u64 = 256 << 10;

/// Maximum uncompressed size in bytes of a page of values, and of a dictionary page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageLimits {
    pub page: u64,
    pub dictionary: u64,
}

impl PageLimits {
    /// Estimates the limits on the page sizes of one column from a sample of its pages.
    ///
    /// # Errors
    /// Bad input if the file can't be read. A malformed header is reported when its page is read.
    fn of(part: &Part, file: &File, table: &IdColumns, column: usize) -> Result<PageLimits> {
        let mut seen = PageLimits::default();
        let count = table.groups.len();
        for look in 0..GROUPS.min(count) {
            let chunk = &table.groups[look * count / GROUPS.min(count)].chunks[column];
            let (mut at, mut pages) = (chunk.at, 0);
            while at < chunk.end && pages < PAGES {
                let mut bytes = [0; PREFIX];
                let most = (chunk.end - at).min(PREFIX as u64) as usize;
                let read = file.read_at(&mut bytes[..most], at).map_err(|e| Error::unreadable(&part.path, &e))?;
                let Some(header) = Header::read(&bytes[..read]) else { break };
                match header.kind {
                    PageKind::Dictionary { .. } => seen.dictionary = seen.dictionary.max(header.size as u64),
                    PageKind::Data { .. } | PageKind::Data2 { .. } => {
                        seen.page = seen.page.max(header.size as u64);
                        pages += 1;
                    }
                    PageKind::Other => {}
                }
                at += (header.length + header.stored) as u64;
            }
        }
        // No page of a column chunk is larger than the size that the footer declares for the chunk.
        let all = table.groups.iter().map(|group| group.chunks[column].size).max().unwrap_or(0);
        let more = |size: u64| (size + size / 2).max(LEAST).min(all);
        Ok(PageLimits { page: more(seen.page), dictionary: more(seen.dictionary) })
    }

    /// Returns the memory that reading a column needs, in bytes.
    fn memory(self, strings: bool, chunk: impl Iterator<Item = ColumnChunk>) -> u64 {
        let (mut packed, mut codec) = (false, 0);
        for chunk in chunk {
            packed |= chunk.codec != Compression::UNCOMPRESSED;
            codec = codec.max(codec::memory(chunk.codec));
        }
        // The current page stays in memory until the next one is read. Uncompressed pages stay in the mapped file.
        let pages = if packed { 2 * self.page } else { 0 };
        // A string needs at least four bytes in a dictionary page, and forty after decoding.
        let times = if strings { 12 } else { 2 };
        pages + times * self.dictionary + codec
    }
}

/// Returns the limits on the page sizes of both id columns.
///
/// # Errors
/// Bad input if the file can't be read.
pub(super) fn limits(part: &Part, table: &IdColumns) -> Result<[PageLimits; 2]> {
    let file = File::open(&part.path).map_err(|e| Error::unreadable(&part.path, &e))?;
    Ok([PageLimits::of(part, &file, table, 0)?, PageLimits::of(part, &file, table, 1)?])
}

/// Returns the memory that one thread needs to read a row group, in bytes.
fn memory(table: &IdColumns, limits: [PageLimits; 2]) -> u64 {
    let chunks = |column: usize| table.groups.iter().map(move |group| group.chunks[column].clone());
    let column = |column: usize| limits[column].memory(table.ends[column].strings, chunks(column));
    BATCH + header::MOST as u64 + column(0) + column(1)
}

/// Returns true if the pages are so large that a single thread should read the whole file.
pub(super) fn is_heavy(table: &IdColumns, limits: [PageLimits; 2]) -> bool {
    memory(table, limits) > HEAVY
}

/// Returns the summary of a Parquet file, from its footer and a sample of page headers.
///
/// # Errors
/// Bad input if the file is damaged or not Parquet, or if the id columns are missing or can't be ids.
pub(crate) fn summary(part: &Part) -> Result<TableSummary> {
    let table = IdColumns::read(part)?;
    let limits = limits(part, &table)?;
    let readers = if is_heavy(&table, limits) { 1 } else { table.groups.len() as u64 };
    Ok(TableSummary {
        edges: table.rows,
        narrow: table.ends.iter().all(|end| end.bytes == 4),
        readers,
        memory: memory(&table, limits),
        opening: table.opening,
        open: (table.groups.len() * size_of::<RowGroup>()) as u64,
    })
}
