//! The footer of a Parquet file: schema and row groups, decoded by the crate `parquet` and checked against the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::basic::Compression;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
    RowGroupMetaData,
};

use super::schema::{self, IdColumn};
use super::thrift::{Compact, LIST};
use crate::error::{At, Error, Result};
use crate::formats::contents::{self, PARQUET};
use crate::formats::weights::UnreadColumns;
use crate::formats::{Format, Part, typed};
use crate::process::panics::catch_panic;

/// Maximum size of a footer in bytes: enough for 100,000 row groups of ten columns.
const MOST: u64 = 64 << 20;
/// Maximum memory in bytes for decoding the footer.
const MEMORY: u64 = 1 << 30;
pub(super) const DAMAGED: &str = "the file is cut short or damaged: fetch or make it again";

/// The two id columns and the row groups of a Parquet file.
#[derive(Debug)]
pub(super) struct IdColumns {
    pub ends: [IdColumn; 2],
    pub groups: Vec<RowGroup>,
    /// Number of rows in all groups.
    pub rows: u64,
    /// Upper bound on the memory in bytes for decoding the footer.
    pub opening: u64,
    /// Names of the other numeric columns.
    pub others: Vec<String>,
}

/// Returns the numeric columns of a Parquet file that are not ids; `None` for other files, and if there are none.
pub(crate) fn unread(part: &Part) -> Option<UnreadColumns> {
    if part.format != Format::Parquet {
        return None;
    }
    let IdColumns { ends: [u, v], others, .. } = IdColumns::read(part).ok()?;
    let remedy = with_weights(&part.path, [&u.name, &v.name, others.first()?]);
    Some(UnreadColumns::of(&others.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>(), remedy))
}

/// A row group: consecutive rows of a Parquet table.
#[derive(Debug)]
pub(super) struct RowGroup {
    /// Index of the row group in the file.
    pub number: usize,
    /// Number of rows, at least one.
    pub rows: u64,
    /// The two column chunks that contain the ids of the edges' ends.
    pub chunks: [ColumnChunk; 2],
}

/// The pages of one column in a row group of a Parquet file.
#[derive(Debug, Clone)]
pub(super) struct ColumnChunk {
    /// Offset of the first page in the file. The last page ends at `end`.
    pub at: u64,
    pub end: u64,
    /// Uncompressed size in bytes of the pages and their headers, as the footer declares it.
    pub size: u64,
    pub codec: Compression,
    /// The largest value of the column in this row group, as a signed number, according to the statistics in the
    /// footer.
    pub largest: Option<i64>,
}

impl IdColumns {
    /// Reads the footer of a Parquet file.
    ///
    /// # Errors
    /// Bad input if the file is damaged or not Parquet, or if the id columns are missing or can't be ids.
    pub fn read(part: &Part) -> Result<IdColumns> {
        let path = &part.path;
        let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
        let length = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
        part.unchanged(length)?;
        let (bytes, start) = footer(part, &file, length)?;
        let opening = memory(&bytes).ok_or_else(|| damaged(part, start, "a footer of Parquet", "other bytes"))?;
        if opening > MEMORY {
            let found = format!("one of {} bytes that needs up to {opening}", bytes.len());
            let expected = format!("a footer that takes at most {MEMORY} bytes of memory");
            return Err(Error::input(path, At::Byte(start), expected, found, SMALLER));
        }
        let options = ParquetMetaDataOptions::new()
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let decoded = catch_panic(|| ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options)));
        let metadata = match decoded {
            Ok(Ok(metadata)) => metadata,
            Ok(Err(e)) => return Err(damaged(part, start, "a footer of Parquet", one_line(&e.to_string()))),
            Err(e) => return Err(damaged(part, start, "a footer of Parquet", e)),
        };
        IdColumns::of(part, &metadata, start, opening)
    }

    /// Extracts the id columns and the row groups from the footer, which starts at byte `start` of the file.
    fn of(part: &Part, metadata: &ParquetMetaData, start: u64, opening: u64) -> Result<IdColumns> {
        let file = metadata.file_metadata();
        let ends = schema::ends(part, file.schema_descr())?;
        let mut groups = Vec::with_capacity(metadata.num_row_groups());
        let mut rows = 0u64;
        for (number, group) in metadata.row_groups().iter().enumerate() {
            // In a group without rows, the page offsets are meaningless.
            if group.num_rows() != 0 {
                let group = RowGroup::of(part, group, number, &ends, start)?;
                rows = rows.saturating_add(group.rows);
                groups.push(group);
            }
        }
        if u64::try_from(file.num_rows()) != Ok(rows) {
            let found = format!("{rows} in {} row groups", groups.len());
            return Err(damaged(part, start, format!("{} rows, as the footer says", file.num_rows()), found));
        }
        let mut chunks: Vec<(u64, u64)> =
            groups.iter().flat_map(|group| &group.chunks).map(|chunk| (chunk.at, chunk.end)).collect();
        chunks.sort_unstable();
        if let Some(pair) = chunks.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            let found = format!("bytes {} to {} and {} to {}", pair[0].0, pair[0].1, pair[1].0, pair[1].1);
            return Err(damaged(part, start, "columns of row groups apart from each other", found));
        }
        let others = schema::others(file.schema_descr(), &ends);
        Ok(IdColumns { ends, groups, rows, opening, others })
    }
}

impl RowGroup {
    fn of(part: &Part, group: &RowGroupMetaData, number: usize, ends: &[IdColumn; 2], start: u64) -> Result<RowGroup> {
        let rows = u64::try_from(group.num_rows())
            .map_err(|_| damaged(part, start, "a number of rows", group.num_rows().to_string()))?;
        let of = |end: &IdColumn| ColumnChunk::of(part, group.column(end.leaf), (number, rows), end, start);
        Ok(RowGroup { number, rows, chunks: [of(&ends[0])?, of(&ends[1])?] })
    }
}

impl ColumnChunk {
    fn of(
        part: &Part,
        column: &ColumnChunkMetaData,
        (group, rows): (usize, u64),
        end: &IdColumn,
        start: u64,
    ) -> Result<ColumnChunk> {
        let refuse = |expected: &str, found: String, remedy: &str| {
            let found = format!("{found} as column {} of row group {group}", end.name);
            Err(Error::input(&part.path, At::Byte(start), expected, found, remedy))
        };
        if let Some(path) = column.file_path() {
            let remedy = "name the files of the data themselves, or their folder";
            return refuse("columns in the file itself", format!("one in {}", schema::shown(path)), remedy);
        }
        let codec = column.compression();
        if codec == Compression::LZO {
            let remedy = "write it again, packed by snappy or zstd";
            return refuse("pages packed by snappy, gzip, brotli, lz4 or zstd", "LZO".into(), remedy);
        }
        let statistics = column.statistics();
        if let Some(nulls) = statistics.and_then(|s| s.null_count_opt()).filter(|&nulls| nulls > 0) {
            return refuse("an id in every row", format!("{nulls} nulls"), schema::NULLS);
        }
        let data = column.data_page_offset();
        let at = column.dictionary_page_offset().filter(|at| (1..data).contains(at)).unwrap_or(data);
        let bytes = column.compressed_size();
        let within =
            at >= PARQUET.len() as i64 && bytes >= 0 && at.checked_add(bytes).is_some_and(|end| end <= start as i64);
        let sizes = column.uncompressed_size() >= 0 && u64::try_from(column.num_values()) == Ok(rows);
        if !(within && sizes) {
            let found = format!("{} values in {bytes} bytes from byte {at} on", column.num_values());
            return refuse(&format!("{rows} values before the footer"), found, DAMAGED);
        }
        let (at, end) = (at as u64, (at + bytes) as u64);
        let word = |bytes: &[u8]| match bytes.len() {
            4 => bytes.first_chunk().map(|bytes| i32::from_le_bytes(*bytes).into()),
            _ => bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes)),
        };
        let largest = statistics.and_then(|s| s.max_bytes_opt()).and_then(word);
        Ok(ColumnChunk { at, end, size: column.uncompressed_size() as u64, codec, largest })
    }
}

const SMALLER: &str = "write it again with larger row groups, or with the columns of ids alone";
const ENCRYPTED: &str = "decrypt it first, with the keys, by the library that wrote it";

/// Returns an upper bound on the memory in bytes for decoding a footer, from the lengths of its lists of columns and
/// row groups; `None` if the footer is malformed.
fn memory(footer: &[u8]) -> Option<u64> {
    let mut counts = [0; 2];
    let mut compact = Compact::new(footer);
    compact.fields(|compact, id, kind| match (id, kind) {
        (2 | 4, LIST) => {
            counts[usize::from(id == 4)] = compact.list(0)?;
            Some(true)
        }
        _ => Some(false),
    })?;
    let [columns, groups] = counts;
    // A column of a row group needs about 450 bytes, with its statistics; a column of the schema needs less than 1
    // KiB.
    let of_groups = groups.checked_mul(columns.checked_mul(512)?.checked_add(256)?)?;
    of_groups.checked_add(columns.checked_mul(1024)?)?.checked_add(footer.len() as u64)
}

/// Reads the footer of a Parquet file. Returns its bytes and its file offset.
fn footer(part: &Part, file: &File, length: u64) -> Result<(Vec<u8>, u64)> {
    let path = &part.path;
    let read = |bytes: &mut [u8], at: u64| file.read_exact_at(bytes, at).map_err(|e| Error::unreadable(path, &e));
    let whole = "a Parquet file, which begins and ends with PAR1";
    if length < 12 {
        return Err(damaged(part, 0, whole, format!("{length} bytes")));
    }
    let (mut head, mut tail) = ([0; 4], [0; 8]);
    read(&mut head, 0)?;
    read(&mut tail, length - 8)?;
    let [a, b, c, d, magic @ ..] = tail;
    if [&head, &magic].contains(&b"PARE") {
        let expected = "a Parquet file that is not encrypted";
        return Err(Error::input(path, At::File, expected, "an encrypted one", ENCRYPTED));
    }
    if head != PARQUET {
        let remedy = "name its format, or fetch it again";
        let other = || Error::input(path, At::Byte(0), whole, "other bytes at its start", remedy);
        return Err(contents::wrong_format_error(part).unwrap_or_else(other));
    }
    if magic != PARQUET {
        return Err(damaged(part, length - 4, whole, "other bytes at its end"));
    }
    let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let start = (length - 12).checked_sub(bytes).map(|_| length - 8 - bytes);
    let Some(start) = start.filter(|_| bytes > 0) else {
        return Err(damaged(part, length - 8, "a footer within the file", format!("one of {bytes} bytes")));
    };
    if bytes > MOST {
        let expected = format!("a footer of at most {MOST} bytes");
        return Err(Error::input(path, At::Byte(start), expected, bytes.to_string(), SMALLER));
    }
    let mut footer = vec![0; bytes as usize];
    read(&mut footer, start)?;
    Ok((footer, start))
}

/// Returns an error text of the crate `parquet` on one line, for use within a sentence.
pub(super) fn one_line(text: &str) -> String {
    schema::shown(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn damaged(part: &Part, at: u64, expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::input(&part.path, At::Byte(at), expected, found, DAMAGED)
}

/// Returns the advice for reading the weights of a Parquet table whose id columns are `u` and `v`.
fn with_weights(path: &Path, [u, v, weight]: [&str; 3]) -> String {
    let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ' '));
    let [u, v, weight] = [u, v, weight].map(|name| if is_plain(name) { name } else { "NAME" });
    let file = typed(path);
    format!(
        "weights of Parquet are not read, so write a table with a column of that name: python3 -c \"import pandas as p; \
         p.read_parquet('{file}', columns=['{u}', '{v}', '{weight}']).set_axis(['source', 'target', 'weight'], \
         axis=1).to_csv('{file}.csv', index=False)\""
    )
}
