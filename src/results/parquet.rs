//! Layout of the Parquet files of results: a table with the id of each row and one or more result columns.
//!
//! The crate `parquet` is not used. It takes longer to build than all of gpugraph's other readers. It also needs all
//! columns of a row at once, whereas results are computed column by column. Here, each column is contiguous in the
//! file, and the ids come last. The footer records where the values of each row group begin in each column. Values are
//! neither encoded nor compressed. The [`Layout`] of a table and its values determine every byte of the file, so that a
//! reader can check all bytes. Format: <https://github.com/apache/parquet-format>.

use super::Value;
use super::file::ResultFile;
use super::thrift::Record;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Magic bytes at the start and the end of every Parquet file.
pub const MAGIC: &[u8; 4] = b"PAR1";
/// Number of rows in a Parquet row group. Readers may read several row groups in parallel.
const GROUP: u64 = 1 << 20;
/// Number of values in a Parquet page of numbers.
const PAGE: u64 = 1 << 17;
/// Number of strings in a page. A string is up to 64 KiB long, and each page is assembled in memory.
pub const PAGE_OF_NAMES: u64 = 1 << 10;
/// Parquet's code for the `PLAIN` encoding: values are stored unchanged.
const PLAIN: i32 = 0;
/// Key under which the footer's metadata contains the [`Layout`] of the table.
const KEY: &str = "gpugraph";
/// Size in bytes of the end of a file: the footer's length in 4 bytes, and the magic.
pub const FOOTER_END: u64 = 8;

/// Layout of a table. The result columns follow each other in the order of `columns`, and the id column comes last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of rows of the table.
    pub rows: u64,
    /// Name and type (NumPy's name, such as `<i8`) of each result column.
    pub columns: Vec<(String, String)>,
    /// Name of the table's id column.
    pub key: String,
    /// Type of the table's id column.
    pub ids: IdColumn,
}

/// Type of the id column of a table, if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdColumn {
    /// The table has no id column.
    Nothing,
    /// The ids are numbers of this type, given by its NumPy name.
    Numbers(String),
    /// The ids are strings.
    Names {
        /// Whether all strings are valid UTF-8.
        is_text: bool,
        /// For each row group, the total size in bytes of its pages of ids.
        groups: Vec<u64>,
    },
}

impl Layout {
    /// Returns the file offset of the result column with index `column`, or of the ids if there is no such column;
    /// `None` if a type is unknown.
    pub fn offset(&self, column: usize) -> Option<u64> {
        let before = &self.columns[..column.min(self.columns.len())];
        before.iter().try_fold(MAGIC.len() as u64, |offset, (_, descr)| {
            Some(offset + numbers_bytes(0..self.rows, self.rows, Type::of(descr)?.width))
        })
    }

    /// Returns the file offset of the end of the ids, where the footer begins; `None` if a type is unknown.
    pub fn end(&self) -> Option<u64> {
        let ids = match &self.ids {
            IdColumn::Nothing => 0,
            IdColumn::Numbers(descr) => numbers_bytes(0..self.rows, self.rows, Type::of(descr)?.width),
            IdColumn::Names { groups, .. } => groups.iter().sum(),
        };
        Some(self.offset(self.columns.len())? + ids)
    }

    /// Returns the footer, which follows the ids and ends the file; `None` if a type is unknown.
    pub fn footer(&self) -> Option<Vec<u8>> {
        let layout = serde_json::to_string(self).ok()?;
        let groups = self.rows.div_ceil(GROUP);
        let ids_at = self.offset(self.columns.len())?;
        let id_type = match &self.ids {
            IdColumn::Nothing => None,
            IdColumn::Numbers(descr) => Some(Type::of(descr)?),
            IdColumn::Names { is_text, .. } => Some(Type { physical: 6, converted: is_text.then_some(0), width: 0 }),
        };
        let mut columns: Vec<_> = id_type.map(|id_type| (&self.key, id_type, ids_at)).into_iter().collect();
        for (at, (name, descr)) in self.columns.iter().enumerate() {
            columns.push((name, Type::of(descr)?, self.offset(at)?));
        }
        let mut ends: Vec<u64> = columns.iter().map(|&(_, _, at)| at).collect();

        let mut footer = Vec::new();
        let mut file = Record::new(&mut footer);
        file.i32(1, 1);
        file.list(2, columns.len() + 1);
        file.element(|root| {
            root.text(4, "table");
            root.i32(5, columns.len() as i32);
        });
        for (name, of, _) in &columns {
            file.element(|column| {
                column.i32(1, of.physical);
                // The column is required: every row has a value.
                column.i32(3, 0);
                column.text(4, name);
                if let Some(converted) = of.converted {
                    column.i32(6, converted);
                }
            });
        }
        file.i64(3, self.rows as i64);
        file.list(4, groups as usize);
        for group in 0..groups {
            let rows = group * GROUP..self.rows.min((group + 1) * GROUP);
            let bytes: Vec<u64> = columns
                .iter()
                .map(|(_, of, _)| match &self.ids {
                    IdColumn::Names { groups, .. } if of.width == 0 => groups.get(group as usize).copied(),
                    _ => Some(numbers_bytes(rows.clone(), self.rows, of.width)),
                })
                .collect::<Option<_>>()?;
            file.element(|record| {
                record.list(1, columns.len());
                for (((name, of, _), &bytes), end) in columns.iter().zip(&bytes).zip(&mut ends) {
                    record.element(|chunk| {
                        chunk.i64(2, 0);
                        chunk.record(3, |about| {
                            about.i32(1, of.physical);
                            about.list_of_i32(2, PLAIN);
                            about.list_of_text(3, name);
                            about.i32(4, 0);
                            about.i64(5, (rows.end - rows.start) as i64);
                            about.i64(6, bytes as i64);
                            about.i64(7, bytes as i64);
                            about.i64(9, *end as i64);
                        });
                    });
                    *end += bytes;
                }
                record.i64(2, bytes.iter().sum::<u64>() as i64);
                record.i64(3, (rows.end - rows.start) as i64);
            });
        }
        file.list(5, 1);
        file.element(|pair| {
            pair.text(1, KEY);
            pair.text(2, &layout);
        });
        file.text(6, "gpugraph");
        file.end();
        let length = footer.len() as u32;
        footer.extend(length.to_le_bytes());
        footer.extend(MAGIC);
        Some(footer)
    }

    /// Parses the layout in `footer`, the end of a file; `None` if these are not the bytes that [`Self::footer`]
    /// returns for a table of `rows` rows.
    pub fn of_footer(footer: &[u8], rows: u64) -> Option<Layout> {
        // Between the key and the layout are the field header of a string, and its length.
        let key = footer.windows(KEY.len()).position(|bytes| bytes == KEY.as_bytes())?;
        let text = &footer[key + KEY.len()..];
        let start = text.iter().take(8).position(|&byte| byte == b'{')?;
        let layout: Layout = serde_json::Deserializer::from_slice(&text[start..]).into_iter().next()?.ok()?;
        (layout.rows == rows && layout.footer()? == footer).then_some(layout)
    }
}

/// Writes a column of `rows` numbers with up to `threads` threads; `of` returns the value of a row.
///
/// # Errors
/// The errors of [`ResultFile::write`].
pub fn write_numbers<T: Value>(
    file: &mut ResultFile,
    rows: u64,
    threads: usize,
    of: impl Fn(u64) -> T + Sync,
) -> Result<()> {
    file.write_rows(rows, threads, &|range, bytes| {
        append_numbers(bytes, range.start, rows, range.map(&of));
        Ok(())
    })
}

/// Writes a column of strings, and returns its description for the [`Layout`].
///
/// # Errors
/// The errors of [`ResultFile::write`].
pub fn write_names<'n>(file: &mut ResultFile, names: impl Iterator<Item = &'n [u8]>) -> Result<IdColumn> {
    let mut pages = NamePages::new();
    for name in names {
        if let Some(page) = pages.push(name) {
            file.write(&page)?;
        }
    }
    let (last, column) = pages.finish();
    file.write(&last)?;
    Ok(column)
}

/// Writes the footer of a table whose columns and ids have been written.
///
/// # Errors
/// The errors of [`ResultFile::write`].
pub fn write_footer(file: &mut ResultFile, layout: &Layout) -> Result<()> {
    let footer = layout.footer().ok_or_else(|| Error::internal("write a table", "a type that Parquet has not"))?;
    file.write(&footer)
}

/// Appends consecutive values of a column of `rows` numbers to `bytes`, and before each value that begins a page, the
/// page header. `first` is the row of the first value.
pub fn append_numbers<T: Value>(bytes: &mut Vec<u8>, first: u64, rows: u64, values: impl Iterator<Item = T>) {
    for (row, value) in (first..).zip(values) {
        if let Some(header) = header_at(row, rows, T::BYTES as u64) {
            bytes.extend(header);
        }
        value.append(bytes);
    }
}

/// Returns the page header before row `row` of a column of `rows` numbers of `width` bytes; `None` if no page begins
/// there.
pub fn header_at(row: u64, rows: u64, width: u64) -> Option<Vec<u8>> {
    row.is_multiple_of(PAGE).then(|| {
        let numbers = PAGE.min(rows - row);
        page_header(numbers, numbers * width)
    })
}

/// Builds a Parquet column of strings page by page.
#[derive(Default)]
pub struct NamePages {
    page: Vec<u8>,
    in_page: u64,
    row: u64,
    is_text: bool,
    groups: Vec<u64>,
}

impl NamePages {
    /// Creates an empty Parquet column of strings.
    pub fn new() -> NamePages {
        NamePages { is_text: true, ..NamePages::default() }
    }

    /// Adds a string to the current page. Returns the bytes of this page if the string completes it.
    pub fn push(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        if self.row.is_multiple_of(GROUP) {
            self.groups.push(0);
        }
        self.page.extend((name.len() as u32).to_le_bytes());
        self.page.extend(name);
        self.is_text &= std::str::from_utf8(name).is_ok();
        (self.in_page, self.row) = (self.in_page + 1, self.row + 1);
        (self.in_page == PAGE_OF_NAMES).then(|| self.take())
    }

    /// Returns the bytes of the last page, which may be empty, and the description of the column.
    pub fn finish(mut self) -> (Vec<u8>, IdColumn) {
        let last = if self.in_page > 0 { self.take() } else { Vec::new() };
        (last, IdColumn::Names { is_text: self.is_text, groups: self.groups })
    }

    fn take(&mut self) -> Vec<u8> {
        let mut page = page_header(self.in_page, self.page.len() as u64);
        page.append(&mut self.page);
        self.in_page = 0;
        if let Some(group) = self.groups.last_mut() {
            *group += page.len() as u64;
        }
        page
    }
}

/// Returns the header of a Parquet page with `values` values that take `bytes` bytes.
fn page_header(values: u64, bytes: u64) -> Vec<u8> {
    let mut header = Vec::new();
    let mut page = Record::new(&mut header);
    page.i32(1, 0);
    page.i32(2, bytes as i32);
    page.i32(3, bytes as i32);
    page.record(5, |data| {
        data.i32(1, values as i32);
        data.i32(2, PLAIN);
        // Encodings of the definition and repetition levels, which a required column does not store.
        data.i32(3, 3);
        data.i32(4, 3);
    });
    page.end();
    header
}

/// Returns the size in bytes, with page headers, of rows `range` of a column of `rows` numbers of `width` bytes.
/// `range` begins at a page.
fn numbers_bytes(range: Range<u64>, rows: u64, width: u64) -> u64 {
    let headers = |page: u64| header_at(page, rows, width).map_or(0, |header| header.len() as u64);
    let full = (range.end - range.start) / PAGE;
    let rest = range.start + full * PAGE;
    let mut bytes = (range.end - range.start) * width;
    if full > 0 {
        bytes += full * headers(range.start);
    }
    if rest < range.end {
        bytes += headers(rest);
    }
    bytes
}

/// Type of the values of a column in a Parquet file.
#[derive(Clone, Copy)]
struct Type {
    /// Parquet's code for the physical type, which determines how values are stored.
    physical: i32,
    /// Parquet's code for the converted type, which determines what values mean.
    converted: Option<i32>,
    /// Size of a value in bytes; 0 if values vary in length.
    width: u64,
}

impl Type {
    /// Returns the Parquet type for the NumPy name `descr`; `None` if the name is unknown.
    fn of(descr: &str) -> Option<Type> {
        let (physical, converted, width) = match descr {
            "<i4" => (1, None, 4),
            "<u4" => (1, Some(13), 4),
            "<i8" => (2, None, 8),
            "<u8" => (2, Some(14), 8),
            "<f4" => (4, None, 4),
            "<f8" => (5, None, 8),
            _ => return None,
        };
        Some(Type { physical, converted, width })
    }
}
