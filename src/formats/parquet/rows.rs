//! Builds batches of edges from both id columns of a row group.

use std::path::Path;
use std::sync::Arc;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;

use super::footer::{IdColumns, one_line};
use super::limits::PageLimits;
use super::pages::{PagePlace, Pages};
use super::schema::{IdColumn, NULLS};
use crate::error::{Error, Result};
use crate::formats::bytes::map::MappedFile;
use crate::formats::bytes::tokens::excerpt;
use crate::formats::names::LONGEST_NAME;
use crate::formats::{Edges, Sink};
use crate::process::panics::catch_panic;

/// Number of edges in a batch.
pub(super) const BATCH: usize = 4096;

/// Reader of the ids in one column of a row group.
struct IdReader {
    place: PagePlace,
    signed: bool,
    numbers: IdNumbers,
    levels: Vec<i16>,
    /// Bitwise OR of all 64-bit ids in the batch; 0 for a 32-bit column.
    bits: u64,
}

/// Reader of an id column, and the values that it read for the current batch.
enum IdNumbers {
    Of32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Of64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Strings(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
}

impl IdReader {
    fn open(end: &IdColumn, pages: Pages) -> IdReader {
        let place = pages.place.clone();
        let (description, pages) = (end.description.clone(), Box::new(pages));
        let numbers = match end.bytes {
            _ if end.strings => {
                IdNumbers::Strings(ColumnReaderImpl::new(description, pages), Vec::with_capacity(BATCH))
            }
            4 => IdNumbers::Of32(ColumnReaderImpl::new(description, pages), Vec::with_capacity(BATCH)),
            _ => IdNumbers::Of64(ColumnReaderImpl::new(description, pages), Vec::with_capacity(BATCH)),
        };
        IdReader { place, signed: end.signed, numbers, levels: Vec::with_capacity(BATCH), bits: 0 }
    }

    /// Reads up to `rows` rows. Returns the number of rows read, and the number of these rows that have a value.
    ///
    /// # Errors
    /// Bad input if pages are damaged.
    fn take(&mut self, rows: usize) -> Result<(usize, usize)> {
        let levels = &mut self.levels;
        let read = catch_panic(|| match &mut self.numbers {
            IdNumbers::Of32(reader, numbers) => batch(reader, rows, levels, numbers),
            IdNumbers::Of64(reader, numbers) => batch(reader, rows, levels, numbers),
            IdNumbers::Strings(reader, names) => batch(reader, rows, levels, names),
        });
        match read {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(ParquetError::External(error))) => Err(match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => self.damaged(&one_line(&error.to_string())),
            }),
            Ok(Err(error)) => Err(self.damaged(&one_line(&error.to_string()))),
            Err(panic) => Err(self.damaged(&one_line(&panic))),
        }
    }

    /// Reads the ids of the next `rows` rows of one column.
    ///
    /// # Errors
    /// Bad input if rows are missing or have no id, and if ids are negative or invalid strings.
    fn read(&mut self, rows: usize) -> Result<()> {
        let (found, values) = self.take(rows)?;
        if values < found {
            return Err(self.place.wrong("an id in every row", &format!("{} nulls", found - values), NULLS));
        }
        if found < rows {
            return Err(self.damaged(&format!("{} fewer", rows - found)));
        }
        let any = match &self.numbers {
            IdNumbers::Of32(_, numbers) => numbers.iter().copied().fold(0, |all, n| all | n).into(),
            IdNumbers::Of64(_, numbers) => numbers.iter().copied().fold(0, |all, n| all | n),
            IdNumbers::Strings(_, names) => {
                let is_wrong = |name: &&ByteArray| {
                    !(1..=LONGEST_NAME).contains(&name.len()) || name.data().iter().any(|c| matches!(c, b'\n' | b'\r'))
                };
                return names.iter().find(is_wrong).map_or(Ok(()), |name| {
                    let expected = format!("strings of 1 to {LONGEST_NAME} bytes without line breaks");
                    let found = format!("one of {} bytes: {}", name.len(), excerpt(name.data(), 0));
                    Err(self.place.wrong(expected, &found, "leave these rows out, or shorten the strings"))
                });
            }
        };
        if self.signed && any < 0 {
            let first = match &self.numbers {
                IdNumbers::Of32(_, numbers) => numbers.iter().find(|n| **n < 0).map(|n| i64::from(*n)),
                IdNumbers::Of64(_, numbers) => numbers.iter().find(|n| **n < 0).copied(),
                IdNumbers::Strings(..) => None,
            };
            let remedy = "correct the numbers and write them again";
            return Err(self.place.wrong("whole numbers from 0", &first.unwrap_or(any).to_string(), remedy));
        }
        self.bits = if let IdNumbers::Of64(..) = self.numbers { any.cast_unsigned() } else { 0 };
        Ok(())
    }

    fn damaged(&self, found: &str) -> Error {
        self.place.damaged("pages of as many values as the footer says", found)
    }
}

fn batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    numbers: &mut Vec<T::T>,
) -> Result<(usize, usize), ParquetError> {
    levels.clear();
    numbers.clear();
    let (rows, values, _) = reader.read_records(rows, Some(levels), None, numbers)?;
    Ok((rows, values))
}

/// Reader of the edges of a row group.
pub(super) struct RowGroupReader {
    columns: [IdReader; 2],
    narrow: Vec<[u32; 2]>,
    wide: Vec<[u64; 2]>,
    pub left: u64,
}

impl RowGroupReader {
    /// Opens both id columns of the row group at index `nth` of a mapped file.
    pub fn open(
        table: &IdColumns,
        path: &Path,
        map: &Arc<MappedFile>,
        nth: usize,
        limits: [PageLimits; 2],
    ) -> RowGroupReader {
        let group = &table.groups[nth];
        let columns = [0, 1].map(|column| {
            let end = &table.ends[column];
            IdReader::open(end, Pages::new(path, map, group, (column, end), limits[column]))
        });
        RowGroupReader { columns, narrow: Vec::with_capacity(BATCH), wide: Vec::new(), left: group.rows }
    }

    /// Passes up to `most` edges to `sink`. Returns their number, which is 0 after the last edge.
    ///
    /// # Errors
    /// Bad input, and any error that the visitor returns.
    pub fn step(&mut self, most: usize, sink: &mut Sink<'_>) -> Result<usize> {
        let rows = self.left.min(most.min(BATCH) as u64) as usize;
        if self.left == 0 {
            return self.finish().map(|()| 0);
        }
        let [from, to] = &mut self.columns;
        from.read(rows)?;
        to.read(rows)?;
        self.left -= rows as u64;
        if let (IdNumbers::Strings(_, u), IdNumbers::Strings(_, v)) = (&from.numbers, &to.numbers) {
            u.iter().zip(v).try_for_each(|(u, v)| sink.push_names(u.data(), v.data()))?;
            return Ok(rows);
        }
        if from.bits | to.bits <= u32::MAX.into() {
            pairs(from, to, |id| id as u32, |id| id as u32, &mut self.narrow);
            sink.batch(Edges::Narrow(&self.narrow))?;
        } else {
            pairs(from, to, |id| id.cast_unsigned().into(), i64::cast_unsigned, &mut self.wide);
            sink.batch(Edges::Wide(&self.wide))?;
        }
        Ok(rows)
    }

    /// Checks that both columns end after the last row of the row group.
    fn finish(&mut self) -> Result<()> {
        self.columns.iter_mut().try_for_each(|column| match column.take(1)? {
            (0, _) => Ok(()),
            _ => Err(column.damaged("more")),
        })
    }
}

/// Sets `pairs` to the ids of both columns, converted to the same type.
fn pairs<T>(
    from: &IdReader,
    to: &IdReader,
    of32: impl Fn(i32) -> T + Copy,
    of64: impl Fn(i64) -> T + Copy,
    pairs: &mut Vec<[T; 2]>,
) {
    use IdNumbers::{Of32, Of64, Strings};
    match (&from.numbers, &to.numbers) {
        (Of32(_, u), Of32(_, v)) => zip(u, v, of32, of32, pairs),
        (Of32(_, u), Of64(_, v)) => zip(u, v, of32, of64, pairs),
        (Of64(_, u), Of32(_, v)) => zip(u, v, of64, of32, pairs),
        (Of64(_, u), Of64(_, v)) => zip(u, v, of64, of64, pairs),
        (Strings(..), _) | (_, Strings(..)) => {}
    }
}

fn zip<A: Copy, B: Copy, T>(u: &[A], v: &[B], of_u: impl Fn(A) -> T, of_v: impl Fn(B) -> T, pairs: &mut Vec<[T; 2]>) {
    pairs.clear();
    pairs.extend(u.iter().zip(v).map(|(&u, &v)| [of_u(u), of_v(v)]));
}
