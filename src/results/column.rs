//! A column whose values come in the order of its rows, piece by piece: that of a list may be larger than memory.

use super::file::{NewFile, Output};
use super::{OutputFormat, Value};
use crate::error::{Error, Result};
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;

/// A column that is being written.
pub struct Column<T> {
    path: String,
    file: NewFile,
    format: OutputFormat,
    rows: u64,
    written: u64,
    bytes: Vec<u8>,
    values: PhantomData<T>,
}

/// Returns the header of a NumPy array of `rows` numbers.
pub(super) fn npy_header<T: Value>(rows: u64) -> Vec<u8> {
    let shape = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({rows},), }}", T::DESCR);
    // Magic, version and length take 10 bytes; the whole header is a multiple of 64, ending in a newline.
    let length = (shape.len() + 11).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{shape:<width$}\n", width = length - 1).bytes());
    header
}

impl<T: Value> Column<T> {
    /// Begins the column `name` of `rows` values, in the file `to`; `path` is its path in the workdir.
    pub(super) fn create(path: String, to: &Path, format: OutputFormat, name: &str, rows: u64) -> Result<Column<T>> {
        let mut file = NewFile::create(to)?;
        match format {
            OutputFormat::Npy => file.write(&npy_header::<T>(rows))?,
            OutputFormat::Csv => file.write(format!("id,{name}\n").as_bytes())?,
        }
        Ok(Column { path, file, format, rows, written: 0, bytes: Vec::new(), values: PhantomData })
    }

    /// Appends values; a few thousand at a time are written fastest.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::Stopped`].
    pub fn push(&mut self, values: impl Iterator<Item = T>) -> Result<()> {
        self.bytes.clear();
        match self.format {
            OutputFormat::Npy => {
                values.for_each(|value| value.append(&mut self.bytes));
                self.written += (self.bytes.len() / T::BYTES) as u64;
            }
            OutputFormat::Csv => {
                for (row, value) in (self.written..).zip(values) {
                    writeln!(self.bytes, "{row},{value}").map_err(|e| Error::internal("write a number", e))?;
                    self.written += 1;
                }
            }
        }
        self.file.write(&self.bytes)
    }

    pub(super) fn finish(self) -> Result<(String, Output)> {
        if self.written != self.rows {
            let what = format!("{} of {} values", self.written, self.rows);
            return Err(Error::internal("write a column of results", what));
        }
        Ok((self.path, self.file.finish(0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::values;

    #[test]
    fn values_come_back_and_a_column_without_all_of_them_is_none() {
        let folder = tempfile::tempdir().unwrap();
        for format in [OutputFormat::Npy, OutputFormat::Csv] {
            let to = folder.path().join(format!("a.{}", format.ending()));
            let mut column = Column::<i64>::create("a".into(), &to, format, "a", 5).unwrap();
            column.push([3, -1].into_iter()).unwrap();
            column.push([i64::MAX, 0, 7].into_iter()).unwrap();
            assert!(!to.exists(), "it has its name at the end");
            let (_, output) = column.finish().unwrap();
            assert!(output.is_of(&to));
            let read: Vec<i64> = values(&to).unwrap().map(Result::unwrap).collect();
            assert_eq!(read, [3, -1, i64::MAX, 0, 7]);
            let short = Column::<i64>::create("b".into(), &folder.path().join("b"), format, "b", 1).unwrap();
            assert!(short.finish().is_err());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            std::fs::remove_file(&to).unwrap();
        }
    }
}
