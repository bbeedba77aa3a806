//! Reads and decompresses the pages of a column in a row group, in order; the crate `parquet` decodes them.
//!
//! A header is checked before memory is allocated for its page. The sizes in it must be consistent with the bytes of
//! the column, the rows of the row group, and the memory that was reserved.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as Decoded};

use super::codec;
use super::footer::{DAMAGED, RowGroup};
use super::header::{self, Header, PageKind};
use super::limits::PageLimits;
use super::schema::{IdColumn, NULLS};
use super::thrift::Compact;
use crate::error::{At, Error, Result};
use crate::formats::bytes::map::MappedFile;

/// Minimum number of bytes of the file to load into memory at a time.
const STRIDE: u64 = 1 << 20;

/// Name and position of the current page of a column, for error messages.
#[derive(Clone)]
pub(super) struct PagePlace {
    path: PathBuf,
    column: String,
    /// Offset of the page in the file.
    at: Arc<AtomicU64>,
}

impl PagePlace {
    pub fn wrong(&self, expected: impl Into<String>, found: &str, remedy: &str) -> Error {
        let found = format!("{found} in {}", self.column);
        Error::input(&self.path, At::Byte(self.at.load(Relaxed)), expected, found, remedy)
    }

    pub fn damaged(&self, expected: impl Into<String>, found: &str) -> Error {
        self.wrong(expected, found, DAMAGED)
    }
}

/// Reader of the pages of a column in a row group.
pub(super) struct Pages {
    pub place: PagePlace,
    map: Arc<MappedFile>,
    codec: Compression,
    limits: PageLimits,
    bytes: usize,
    strings: bool,
    optional: bool,
    /// File offset of the next byte to read. The column ends at `end`, and bytes before `ready` are in memory.
    at: u64,
    end: u64,
    ready: u64,
    /// Number of rows of the row group that remain to be read.
    rows: u64,
    has_dictionary: bool,
}

/// A range of a mapped file, which stays mapped while the range is in use.
struct MappedBytes {
    map: Arc<MappedFile>,
    range: Range<usize>,
}

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.map.bytes()[self.range.clone()]
    }
}

impl Pages {
    /// Creates a reader of the pages of column `nth` of a row group.
    pub fn new(
        path: &Path,
        map: &Arc<MappedFile>,
        group: &RowGroup,
        (nth, end): (usize, &IdColumn),
        limits: PageLimits,
    ) -> Pages {
        let chunk = &group.chunks[nth];
        let column = format!("column {} of row group {}", end.name, group.number);
        Pages {
            place: PagePlace { path: path.to_owned(), column, at: Arc::new(AtomicU64::new(chunk.at)) },
            map: map.clone(),
            codec: chunk.codec,
            limits,
            bytes: end.bytes,
            strings: end.strings,
            optional: end.optional,
            at: chunk.at,
            end: chunk.end,
            ready: chunk.at,
            rows: group.rows,
            has_dictionary: false,
        }
    }

    /// Loads the bytes of the column up to file offset `to` into memory.
    fn populate(&mut self, to: u64) -> Result<()> {
        if to > self.ready {
            let to = to.max(self.ready + STRIDE).min(self.end);
            self.map.populate(self.ready as usize, to as usize)?;
            self.map.will_need(to as usize, (to + STRIDE).min(self.end) as usize);
            self.ready = to;
        }
        Ok(())
    }

    /// Returns the next page of the column that contains values; `None` after the last one.
    fn next_page(&mut self) -> Result<Option<Page>> {
        loop {
            let before = self.place.at.swap(self.at, Relaxed);
            // Drops the previous page's bytes from memory. Memory pages at its two ends may be read again.
            self.map.drop_range(before as usize, self.at as usize);
            if self.at == self.end {
                if self.rows > 0 {
                    let found = format!("{} fewer", self.rows);
                    return Err(self.place.damaged("as many values as the row group has rows", &found));
                }
                return Ok(None);
            }
            let most = self.end.min(self.at + header::MOST as u64);
            self.populate(most)?;
            let header = Header::read(&self.map.bytes()[self.at as usize..most as usize]);
            let header = header.ok_or_else(|| self.place.damaged("the header of a page", "other bytes"))?;
            let start = self.at + header.length as u64;
            if header.stored as u64 > self.end - start {
                let found = format!("one of {} bytes", header.stored);
                return Err(self.place.damaged(format!("a page of at most {} bytes", self.end - start), &found));
            }
            self.at = start + header.stored as u64;
            self.populate(self.at)?;
            if let Some(page) = self.page(&header, start as usize..self.at as usize)? {
                return Ok(Some(page));
            }
        }
    }

    /// Decompresses the page in the byte range `range` of the file; `None` if the page contains no values.
    fn page(&mut self, header: &Header, range: Range<usize>) -> Result<Option<Page>> {
        match header.kind {
            PageKind::Other | PageKind::Data { values: 0, .. } | PageKind::Data2 { values: 0, .. } => Ok(None),
            PageKind::Dictionary { values, encoding } => {
                if self.has_dictionary || !matches!(encoding, Encoding::PLAIN | Encoding::RLE_DICTIONARY) {
                    return Err(self.place.damaged("one dictionary of plain values", "another one"));
                }
                if values as usize > header.size / self.bytes {
                    let found = format!("{} bytes", header.size);
                    return Err(self.place.damaged(format!("a dictionary of {values} values"), &found));
                }
                let buf = self.unpacked(header, range, 0, self.limits.dictionary)?;
                self.has_dictionary = true;
                Ok(Some(Page::DictionaryPage { buf, num_values: values, encoding: Encoding::PLAIN, is_sorted: false }))
            }
            PageKind::Data { values, encoding, levels } => {
                let buf = self.unpacked(header, range, 0, self.limits.page)?;
                let before = if self.optional { self.levels(values, levels, &buf)? } else { 0 };
                self.check(values, encoding, &buf[before..])?;
                Ok(Some(Page::DataPage {
                    buf,
                    num_values: values,
                    encoding,
                    def_level_encoding: levels,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                }))
            }
            PageKind::Data2 { values, nulls, rows, encoding, levels, packed } => {
                if nulls > 0 {
                    return Err(self.place.wrong("an id in every row", &format!("{nulls} nulls"), NULLS));
                }
                if rows != values || levels > header.stored.min(header.size) {
                    let found = format!("{values} values and {levels} bytes of levels");
                    return Err(self.place.damaged(format!("a page of {rows} rows"), &found));
                }
                let plain = if packed { levels } else { header.size };
                let buf = self.unpacked(header, range, plain, self.limits.page)?;
                self.check(values, encoding, &buf[levels..])?;
                Ok(Some(Page::DataPageV2 {
                    buf,
                    num_values: values,
                    encoding,
                    num_nulls: 0,
                    num_rows: rows,
                    def_levels_byte_len: levels as u32,
                    rep_levels_byte_len: 0,
                    is_compressed: packed,
                    statistics: None,
                }))
            }
        }
    }

    /// Decompresses a page of at most `most` bytes, of which the first `plain` bytes are not compressed.
    fn unpacked(&self, header: &Header, range: Range<usize>, plain: usize, most: u64) -> Result<Bytes> {
        let stored = &self.map.bytes()[range.clone()];
        if let Some(expected) = header.crc {
            let mut crc = flate2::Crc::new();
            crc.update(stored);
            if crc.sum() != expected {
                return Err(self.place.damaged("a page with the checksum in its header", "another one"));
            }
        }
        if header.size as u64 > most {
            let expected = format!("pages of at most {most} bytes, as the first pages and the footer suggest");
            let remedy = "the file is damaged, or its pages are of very different sizes: write it again \
                          (pyarrow.parquet.write_table with data_page_size=1<<20)";
            return Err(self.place.wrong(expected, &format!("one of {} bytes", header.size), remedy));
        }
        let damaged = |found: &str| self.place.damaged(format!("a page of {} bytes, unpacked", header.size), found);
        if self.codec == Compression::UNCOMPRESSED || plain >= header.size {
            if stored.len() != header.size {
                return Err(damaged(&format!("{} bytes", stored.len())));
            }
            return Ok(Bytes::from_owner(MappedBytes { map: self.map.clone(), range }));
        }
        let mut page = Vec::with_capacity(header.size);
        page.extend_from_slice(&stored[..plain]);
        codec::unpack(self.codec, &stored[plain..], header.size, &mut page).map_err(|found| damaged(&found))?;
        Ok(page.into())
    }

    /// Returns the size in bytes of the definition levels at the start of a page, which mark the rows that have a
    /// value.
    fn levels(&self, values: u32, encoding: Encoding, page: &[u8]) -> Result<usize> {
        let bytes = match encoding {
            Encoding::RLE => page.first_chunk().map(|bytes| 4 + u64::from(u32::from_le_bytes(*bytes))),
            #[expect(deprecated, reason = "old files have it")]
            Encoding::BIT_PACKED => Some(u64::from(values).div_ceil(8)),
            _ => None,
        };
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= page.len());
        bytes.ok_or_else(|| self.place.damaged("definition levels in a page", "none"))
    }

    /// Checks that a page has no more values than rows remain, and that its data is valid for its encoding. Then
    /// subtracts `values` from the number of remaining rows.
    fn check(&mut self, values: u32, encoding: Encoding, data: &[u8]) -> Result<()> {
        let Some(left) = self.rows.checked_sub(values.into()) else {
            let found = format!("a page of {values}");
            return Err(self.place.damaged(format!("at most {} more values", self.rows), &found));
        };
        let fits = match encoding {
            Encoding::PLAIN => self.optional || data.len() / self.bytes >= values as usize,
            Encoding::RLE_DICTIONARY => self.has_dictionary && !data.is_empty(),
            Encoding::BYTE_STREAM_SPLIT if !self.strings => {
                data.len().is_multiple_of(self.bytes) && (self.optional || data.len() / self.bytes == values as usize)
            }
            Encoding::DELTA_BINARY_PACKED if !self.strings => is_delta(data, values, self.optional),
            _ => false,
        };
        if !fits && self.strings && matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) {
            let remedy = "write it again with plain strings or a dictionary (pyarrow.parquet.write_table)";
            return Err(self.place.wrong("strings, plain or of a dictionary", &encoding.to_string(), remedy));
        }
        if !fits {
            let expected = format!("{values} values, plain, of a dictionary or as differences");
            return Err(self.place.damaged(expected, &format!("{} bytes of {encoding}", data.len())));
        }
        self.rows = left;
        Ok(())
    }
}

/// Returns true if delta-encoded values begin with a valid header: whole miniblocks, and the right number of values.
fn is_delta(data: &[u8], values: u32, optional: bool) -> bool {
    let mut numbers = Compact::new(data);
    let mut next = || numbers.unsigned();
    let Some(((block, bundles), count)) = next().zip(next()).zip(next()) else { return false };
    let whole = bundles > 0 && block <= 1 << 24 && block.is_multiple_of(128) && (block / bundles).is_multiple_of(32);
    whole && block >= bundles && (count == u64::from(values) || (optional && (1..=values.into()).contains(&count)))
}

impl Iterator for Pages {
    type Item = Decoded<Page>;

    fn next(&mut self) -> Option<Decoded<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Decoded<Option<Page>> {
        self.next_page().map_err(|error| ParquetError::External(Box::new(error)))
    }

    fn peek_next_page(&mut self) -> Decoded<Option<PageMetadata>> {
        Err(ParquetError::NYI("pages are read in order".into()))
    }

    fn skip_next_page(&mut self) -> Decoded<()> {
        Err(ParquetError::NYI("pages are read in order".into()))
    }
}
