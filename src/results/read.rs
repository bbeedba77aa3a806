//! Reads columns of results back row by row, because they may be larger than memory, and refuses files with another
//! layout or length.

use super::column::npy_header;
use super::{Value, csv_field};
use crate::error::{Error, Result};
use crate::formats::names::LONGEST_NAME;
use crate::store::regular;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Number of bytes that are read from a column at a time.
const BUFFER: usize = 1 << 16;
/// Maximum length in bytes of a line of text: an id, a comma and a number. An id that is a string may have each of its
/// bytes doubled.
const LINE: u64 = 2 * LONGEST_NAME as u64 + 64;

/// Memory in bytes that reading one column needs.
pub const READING: u64 = BUFFER as u64;

/// The id at the start of a line of text.
pub enum RowId<'a> {
    /// A number.
    Number(u64),
    /// A string.
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

/// Iterator over the values of a column, in the order of its rows.
pub type Values<'p, T> = Box<dyn Iterator<Item = Result<T>> + Send + 'p>;

/// Opens a column of results of exactly `rows` rows and returns its values. The file is an array `NAME.npy` or a text
/// `NAME.csv`. In text, each line begins with the row's id, which `id` returns, and `key` is the heading of the ids.
///
/// # Errors
/// [`Error::Io`]; [`Error::Validation`] if the file has another header, other ids, or more or fewer rows.
pub fn column<'p, T: Value + 'p>(
    path: &Path,
    key: &str,
    rows: u64,
    id: impl Fn(u64) -> RowId<'p> + Send + 'p,
) -> Result<Values<'p, T>> {
    let file = regular::open(path).map_err(|e| Error::io("read", path, e))?;
    let file = BufReader::with_capacity(BUFFER, file);
    let is_text = path.extension().is_some_and(|ending| ending == "csv");
    let line = Vec::new();
    let mut column = ColumnReader { path: path.to_owned(), file, is_text, line, row: 0, rows, id, of: PhantomData };
    column.check_header(key)?;
    Ok(Box::new(column))
}

/// A reader of one column of results.
struct ColumnReader<T, F> {
    path: PathBuf,
    file: BufReader<File>,
    is_text: bool,
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

    /// Checks that the file begins with the header of a column with this name, type and number of rows.
    fn check_header(&mut self, key: &str) -> Result<()> {
        let expected = match self.is_text {
            true => format!("{key},{}\n", self.path.file_stem().unwrap_or_default().to_string_lossy()).into_bytes(),
            false => npy_header::<T>(self.rows),
        };
        let mut found = vec![0; expected.len()];
        match self.file.read_exact(&mut found) {
            Err(e) if e.kind() != ErrorKind::UnexpectedEof => Err(Error::io("read", &self.path, e)),
            Ok(()) if found == expected => Ok(()),
            _ => Err(self.wrong(&format!("its header is not that of {} numbers of type {}", self.rows, T::DESCR))),
        }
    }

    /// Reads the next value; returns `None` if the file ends before it.
    fn value(&mut self) -> Result<Option<T>> {
        let failed = |e| Error::io("read", &self.path, e);
        if !self.is_text {
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
        // A string may have commas, and a number has none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Value>(path: &Path, rows: u64) -> Result<Vec<T>> {
        column(path, "id", rows, |row| RowId::Number(7 * row))?.collect()
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
