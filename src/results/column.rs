//! Writes a result column chunk by chunk in the order of its rows, because a column of a list may be larger than
//! memory.

use super::file::{Output, ResultFile};
use super::parquet::{self, IdColumn, Layout};
use super::{OutputFormat, Value};
use crate::error::{Error, Result};
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

/// A result column that is being written to its file.
pub struct Column<T> {
    path: String,
    file: ResultFile,
    format: OutputFormat,
    headings: [String; 2],
    rows: u64,
    written: u64,
    values: PhantomData<T>,
}

/// Returns the header of a NumPy array of `rows` numbers.
pub(super) fn npy_header<T: Value>(rows: u64) -> Vec<u8> {
    let shape = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({rows},), }}", T::DESCR);
    // The magic, the version and the header length take 10 bytes. The size of the whole header is a multiple of 64,
    // and it ends in a newline.
    let length = (shape.len() + 11).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{shape:<width$}\n", width = length - 1).bytes());
    header
}

impl<T: Value> Column<T> {
    /// Creates a column of `rows` values in the file `to`, whose path relative to the workdir is `path`. In CSV and
    /// Parquet the column is called `name`, and a column `key` with the row indices precedes it.
    pub(super) fn create(
        path: String,
        to: &Path,
        format: OutputFormat,
        [key, name]: [&str; 2],
        rows: u64,
    ) -> Result<Column<T>> {
        let mut file = ResultFile::create(to)?;
        match format {
            OutputFormat::Npy => file.write(&npy_header::<T>(rows))?,
            OutputFormat::Csv => file.write(format!("{key},{name}\n").as_bytes())?,
            OutputFormat::Parquet => file.write(parquet::MAGIC)?,
        }
        let headings = [key, name].map(str::to_owned);
        Ok(Column { path, file, format, headings, rows, written: 0, values: PhantomData })
    }

    /// Appends `rows` values to the column. `values` is called with a range of these rows, and must return their
    /// values; row 0 is the first row of this call. Up to `threads` threads format the values.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::Stopped`].
    pub fn push<V: Iterator<Item = T>>(
        &mut self,
        rows: u64,
        threads: usize,
        values: impl Fn(Range<u64>) -> V + Sync,
    ) -> Result<()> {
        let (written, format, in_column) = (self.written, self.format, self.rows);
        let append = |range: Range<u64>, bytes: &mut Vec<u8>| {
            let first = written + range.start;
            match format {
                OutputFormat::Npy => values(range).for_each(|value| value.append(bytes)),
                OutputFormat::Parquet => parquet::append_numbers(bytes, first, in_column, values(range)),
                OutputFormat::Csv => {
                    for (row, value) in (first..).zip(values(range)) {
                        writeln!(bytes, "{row},{}", value.shown()).map_err(|e| Error::internal("write a number", e))?;
                    }
                }
            }
            Ok(())
        };
        self.file.write_rows(rows, threads, &append)?;
        self.written += rows;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(String, Output)> {
        if self.written != self.rows {
            let what = format!("{} of {} values", self.written, self.rows);
            return Err(Error::internal("write a column of results", what));
        }
        if self.format == OutputFormat::Parquet {
            let ([key, name], rows) = (self.headings, self.rows);
            parquet::write_numbers(&mut self.file, rows, 1, |row| row as i64)?;
            let (columns, ids) = (vec![(name, T::DESCR.into())], IdColumn::Numbers(i64::DESCR.into()));
            parquet::write_footer(&mut self.file, &Layout { rows, columns, key, ids })?;
        }
        Ok((self.path, self.file.finish(0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::file::PIECE;
    use crate::results::{RowId, column as read_back};

    #[test]
    fn values_are_read_back_and_an_incomplete_column_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for format in [OutputFormat::Npy, OutputFormat::Csv, OutputFormat::Parquet] {
            let to = folder.path().join(format!("a.{}", format.ending()));
            let mut column = Column::<i64>::create("a".into(), &to, format, ["id", "a"], 5).unwrap();
            column.push(2, 1, |rows| [3, -1][rows.start as usize..rows.end as usize].iter().copied()).unwrap();
            column.push(3, 4, |rows| [i64::MAX, 0, 7][rows.start as usize..rows.end as usize].iter().copied()).unwrap();
            assert!(!to.exists(), "it has its name at the end");
            let (_, output) = column.finish().unwrap();
            assert!(output.is_of(&to));
            let read: Vec<i64> = read_back(&to, ["id", "a"], 5, RowId::Number).unwrap().map(Result::unwrap).collect();
            assert_eq!(read, [3, -1, i64::MAX, 0, 7]);
            let short = Column::<i64>::create("b".into(), &folder.path().join("b"), format, ["id", "b"], 1).unwrap();
            assert!(short.finish().is_err());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            std::fs::remove_file(&to).unwrap();
        }
    }
    #[test]
    fn pieces_of_many_threads_are_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let rows = 5 * PIECE + 17;
        for format in [OutputFormat::Npy, OutputFormat::Csv, OutputFormat::Parquet] {
            let to = folder.path().join(format!("a.{}", format.ending()));
            let mut column = Column::<i64>::create("a".into(), &to, format, ["id", "a"], 2 * rows).unwrap();
            for first in [0, rows] {
                column.push(rows, 7, |part| part.map(move |row| ((first + row) * 3) as i64)).unwrap();
            }
            let (_, output) = column.finish().unwrap();
            assert!(output.is_of(&to));
            let read = read_back(&to, ["id", "a"], 2 * rows, RowId::Number).unwrap().map(Result::unwrap);
            assert_eq!(read.zip(0..).find(|&(value, row): &(i64, i64)| value != 3 * row), None);
        }
    }
}
