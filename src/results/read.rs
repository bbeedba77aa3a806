//! Reads result columns back row by row, because they may be larger than memory, and rejects files with another layout
//! or length.

use super::column::npy_header;
use super::parquet::{self, FOOTER_END, IdColumn, Layout, NamePages};
use super::{OutputFormat, Value, csv_field};
use crate::error::{Error, Result};
use crate::formats::names::LONGEST_NAME;
use crate::store::regular;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Number of bytes of a result column that are read at a time.
const BUFFER: usize = 1 << 16;
/// Maximum length in bytes of a CSV line: an id, a comma and a number. A string id may be twice as long as the string,
/// if every byte is a quotation mark.
pub(super) const LINE: u64 = 2 * LONGEST_NAME as u64 + 64;

/// Number of ids of a table that are compared at a time: one page of strings, or a fraction of a page of numbers.
const COMPARED: u64 = parquet::PAGE_OF_NAMES;

/// Memory in bytes that is needed to read one result column.
pub const READING: u64 = 2 * BUFFER as u64;

/// The id of a row in a result file.
pub enum RowId<'a> {
    /// The id is a number, or the index of the row.
    Number(u64),
    /// The id is a string.
    Name(&'a [u8]),
}

impl RowId<'_> {
    fn is_shown_as(&self, text: &[u8]) -> bool {
        match self {
            RowId::Number(number) => std::str::from_utf8(text).is_ok_and(|text| text.parse() == Ok(*number)),
            RowId::Name(name) => *csv_field(name) == *text,
        }
    }
}

impl fmt::Display for RowId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowId::Number(number) => number.fmt(f),
            RowId::Name(name) => String::from_utf8_lossy(name).fmt(f),
        }
    }
}

/// Iterator over the values of a result column, in the order of its rows.
pub type Values<'p, T> = Box<dyn Iterator<Item = Result<T>> + Send + 'p>;

/// Opens the column `name`, with exactly `rows` rows, in the file `path`, and returns its values. The extension of
/// `path` determines the format: a NumPy array, CSV, or a Parquet table, which may have more columns. CSV files and
/// tables also have a column `key` with the id of each row; `id` returns the id that a row must have.
///
/// # Errors
/// [`Error::Io`]; [`Error::Validation`] if the file has another header, other ids, or more or fewer rows.
pub fn column<'p, T: Value + 'p>(
    path: &Path,
    [key, name]: [&str; 2],
    rows: u64,
    id: impl Fn(u64) -> RowId<'p> + Send + 'p,
) -> Result<Values<'p, T>> {
    let file = regular::open(path).map_err(|e| Error::io("read", path, e))?;
    let file = BufReader::with_capacity(BUFFER, file);
    let ending = path.extension().unwrap_or_default();
    let format = [OutputFormat::Csv, OutputFormat::Parquet].into_iter().find(|format| ending == format.ending());
    let format = format.unwrap_or_default();
    let (path, line) = (path.to_owned(), Vec::new());
    let mut column = ColumnReader { path, file, ids: None, format, line, row: 0, rows, id, of: PhantomData };
    match format {
        OutputFormat::Parquet => column.open_table(key, name)?,
        OutputFormat::Csv => column.check_header(format!("{key},{name}\n").as_bytes())?,
        OutputFormat::Npy => column.check_header(&npy_header::<T>(rows))?,
    }
    Ok(Box::new(column))
}

struct ColumnReader<T, F> {
    path: PathBuf,
    file: BufReader<File>,
    /// Separate reader of the id column of a Parquet table, positioned at the next ids to compare.
    ids: Option<BufReader<File>>,
    format: OutputFormat,
    line: Vec<u8>,
    row: u64,
    rows: u64,
    id: F,
    of: PhantomData<fn() -> T>,
}

impl<'p, T: Value, F: Fn(u64) -> RowId<'p>> ColumnReader<T, F> {
    fn wrong(&self, what: &str) -> Error {
        Error::Validation(format!("{}: {what}", self.path.display()))
    }

    /// Checks that the bytes at the current position of the file are the header `expected`.
    fn check_header(&mut self, expected: &[u8]) -> Result<()> {
        if !is_next(&mut self.file, expected).map_err(|e| Error::io("read", &self.path, e))? {
            return Err(self.no_column());
        }
        Ok(())
    }

    fn no_column(&self) -> Error {
        self.wrong(&format!("its header is not that of {} numbers of type {}", self.rows, T::DESCR))
    }

    /// Checks the footer of a Parquet table, moves the file position to the first value of the column `name`, and
    /// opens the reader of the ids.
    fn open_table(&mut self, key: &str, name: &str) -> Result<()> {
        let failed = |e| Error::io("read", &self.path, e);
        let bytes = self.file.get_ref().metadata().map_err(failed)?.len();
        let mut end = [0; FOOTER_END as usize];
        self.file.seek(SeekFrom::Start(bytes.saturating_sub(FOOTER_END))).map_err(failed)?;
        let _ = self.file.read(&mut end).map_err(failed)?;
        let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
        let footer_at = bytes.checked_sub(FOOTER_END + length).ok_or_else(|| self.no_column())?;
        let mut footer = Vec::new();
        self.file.seek(SeekFrom::Start(footer_at)).map_err(failed)?;
        self.file.read_to_end(&mut footer).map_err(failed)?;
        let layout = Layout::of_footer(&footer, self.rows).filter(|of| of.key == key);
        let layout = layout.filter(|of| of.end() == Some(footer_at)).ok_or_else(|| self.no_column())?;
        let column = layout.columns.iter().position(|(of, descr)| of == name && descr == T::DESCR);
        let starts = column.and_then(|column| Some((layout.offset(column)?, layout.offset(layout.columns.len())?)));
        let (values_at, ids_at) = starts.ok_or_else(|| self.no_column())?;
        self.file.rewind().map_err(failed)?;
        self.check_header(parquet::MAGIC)?;
        let failed = |e| Error::io("read", &self.path, e);
        self.file.seek(SeekFrom::Start(values_at)).map_err(failed)?;
        if layout.ids != IdColumn::Nothing {
            let mut ids = BufReader::with_capacity(BUFFER, regular::open(&self.path).map_err(failed)?);
            ids.seek(SeekFrom::Start(ids_at)).map_err(failed)?;
            self.ids = Some(ids);
        }
        Ok(())
    }

    /// If a page of a Parquet table begins at the current row, checks its header. At every multiple of [`COMPARED`]
    /// rows, checks the next [`COMPARED`] ids.
    fn check_table(&mut self) -> Result<()> {
        let (row, rows) = (self.row, self.rows);
        let failed = |e| Error::io("read", &self.path, e);
        let header = parquet::header_at(row, rows, T::BYTES as u64).unwrap_or_default();
        let mut matches = is_next(&mut self.file, &header).map_err(failed)?;
        if row.is_multiple_of(COMPARED)
            && let Some(ids) = &mut self.ids
        {
            self.line.clear();
            let mut names = NamePages::new();
            for row in row..rows.min(row + COMPARED) {
                match (self.id)(row) {
                    RowId::Number(id) => parquet::append_numbers(&mut self.line, row, rows, std::iter::once(id)),
                    RowId::Name(name) => self.line.extend(names.push(name).unwrap_or_default()),
                }
            }
            self.line.extend(names.finish().0);
            matches &= is_next(ids, &self.line).map_err(failed)?;
        }
        if !matches {
            return Err(self.wrong(&format!("the pages or ids from row {row} on are others than they should be")));
        }
        Ok(())
    }

    /// Reads the next value of the column; `None` if the file ends before it.
    fn value(&mut self) -> Result<Option<T>> {
        if self.format == OutputFormat::Parquet {
            self.check_table()?;
        }
        let failed = |e| Error::io("read", &self.path, e);
        if self.format != OutputFormat::Csv {
            let mut bytes = [0; 8];
            let bytes = &mut bytes[..T::BYTES];
            return match self.file.read_exact(bytes) {
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
                read => read.map_err(failed).map(|()| T::get(bytes)),
            };
        }
        self.line.clear();
        if self.file.by_ref().take(LINE).read_until(b'\n', &mut self.line).map_err(failed)? == 0 {
            return Ok(None);
        }
        let line = self.line.strip_suffix(b"\n");
        // A string id may contain commas, but the number after the last comma has none.
        let fields = line.and_then(|line| line.iter().rposition(|c| *c == b',').map(|comma| line.split_at(comma)));
        let id = (self.id)(self.row);
        let value = |value: &[u8]| std::str::from_utf8(&value[1..]).ok()?.parse::<T>().ok();
        match fields.map(|(shown, of)| (id.is_shown_as(shown), value(of))) {
            Some((true, Some(value))) => Ok(Some(value)),
            _ => Err(self.wrong(&format!(
                "line {} is {:?}, not a number of {id}",
                self.row + 2,
                String::from_utf8_lossy(&self.line).trim_end()
            ))),
        }
    }
}

impl<'p, T: Value, F: Fn(u64) -> RowId<'p>> Iterator for ColumnReader<T, F> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.row == self.rows {
            if self.format == OutputFormat::Parquet {
                return None;
            }
            return match self.file.fill_buf() {
                Ok([]) => None,
                Ok(_) => Some(Err(self.wrong(&format!("more than {} rows", self.rows)))),
                Err(e) => Some(Err(Error::io("read", &self.path, e))),
            };
        }
        let value = self.value().and_then(|value| {
            value.ok_or_else(|| self.wrong(&format!("{} rows, where there should be {}", self.row, self.rows)))
        });
        self.row += 1;
        Some(value)
    }
}

/// Reads `expected.len()` bytes of the file, and returns true if they equal `expected`.
fn is_next(file: &mut BufReader<File>, expected: &[u8]) -> std::io::Result<bool> {
    let mut found = vec![0; expected.len()];
    match file.read_exact(&mut found) {
        Err(e) if e.kind() != ErrorKind::UnexpectedEof => Err(e),
        read => Ok(read.is_ok() && found == expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Column;

    fn read<T: Value>(path: &Path, rows: u64) -> Result<Vec<T>> {
        column(path, ["id", "a"], rows, |row| RowId::Number(7 * row))?.collect()
    }

    #[test]
    fn a_table_that_differs_in_any_byte_is_refused_or_has_another_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let values = [5i64, -1, i64::MAX];
        let mut column = Column::create("a".into(), &path, OutputFormat::Parquet, ["id", "a"], 3).unwrap();
        column.push(3, 1, |rows| values[rows.start as usize..rows.end as usize].iter().copied()).unwrap();
        column.finish().unwrap();
        let read = |rows| super::column::<i64>(&path, ["id", "a"], rows, RowId::Number)?.collect::<Result<Vec<i64>>>();
        assert_eq!(read(3).unwrap(), values);
        assert_eq!(read(2).unwrap_err().exit_code(), 8);
        for (key, name) in [("id", "b"), ("place", "a")] {
            assert!(super::column::<i64>(&path, [key, name], 3, RowId::Number).is_err());
        }
        assert!(super::column::<u64>(&path, ["id", "a"], 3, RowId::Number).is_err());
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for other in [bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] = other;
                std::fs::write(&path, &bytes).unwrap();
                assert_ne!(read(3).ok(), Some(values.to_vec()), "byte {at} is {other}");
            }
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert_eq!(read(3).map_err(|e| e.exit_code()), Err(8), "{at} bytes");
        }
    }

    #[test]
    fn a_column_that_differs_in_any_way_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let text = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read::<i32>(&path, 2).map_err(|e| e.exit_code())
        };
        assert_eq!(text("id,a\n0,-1\n7,2\n"), Ok(vec![-1, 2]));
        for other in
            ["id,b\n0,-1\n7,2\n", "id,a\n0,-1\n8,2\n", "id,a\n0,x\n7,2\n", "id,a\n0,-1,1\n7,2\n", "id,a\n0,-1\n"]
        {
            assert_eq!(text(other), Err(8), "{other}");
        }
        for other in ["id,a\n0,-1\n7,2\n9,2\n", "id,a\n0,-1\n7,2", "id,a\n0,-1\n7,2\n\n", ""] {
            assert_eq!(text(other), Err(8), "{other}");
        }
        let path = folder.path().join("a.npy");
        let array = |rows: u64, numbers: &[i32]| {
            let mut bytes = npy_header::<i32>(rows);
            bytes.extend(numbers.iter().flat_map(|value| value.to_le_bytes()));
            std::fs::write(&path, bytes).unwrap();
        };
        array(2, &[-5, 6]);
        assert_eq!(read::<i32>(&path, 2).unwrap(), [-5, 6]);
        assert_eq!(read::<u32>(&path, 2).unwrap_err().exit_code(), 8);
        for (rows, numbers) in [(3, &[-5, 6][..]), (2, &[-5]), (2, &[-5, 6, 7])] {
            array(rows, numbers);
            assert_eq!(read::<i32>(&path, 2).unwrap_err().exit_code(), 8, "{rows} {numbers:?}");
        }
    }
}
