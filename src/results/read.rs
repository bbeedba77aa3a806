//! Reads columns back, row by row, as they may be larger than memory.

use super::Value;
use crate::error::{Error, Result};
use crate::store::regular;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes read at a time.
const BUFFER: usize = 1 << 20;

/// The values of a column, in the order of its rows.
pub type Values<'p, T> = Box<dyn Iterator<Item = Result<T>> + Send + 'p>;

/// Returns the values of a column: the elements of an array `NAME.npy`, or the second fields of `NAME.csv`.
///
/// # Errors
/// [`Error::Io`]; [`Error::Validation`] for an array of another type, and for a line without such a number.
pub fn values<'p, T: Value + 'p>(path: &'p Path) -> Result<Values<'p, T>> {
    let failed = move |e| Error::io("read", path, e);
    let mut file = BufReader::with_capacity(BUFFER, regular::open(path).map_err(failed)?);
    let wrong = move |what: &str| Error::Validation(format!("{}: {what}", path.display()));
    if path.extension().is_some_and(|ending| ending == "csv") {
        let number = |line: String| line.split(',').nth(1).and_then(|number| number.parse().ok());
        let value = move |line: std::io::Result<String>| {
            number(line.map_err(failed)?).ok_or_else(|| wrong("a row without a number of its column"))
        };
        return Ok(Box::new(file.lines().skip(1).map(value)));
    }
    let mut head = [0; 10];
    file.read_exact(&mut head).map_err(failed)?;
    let mut shape = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
    file.read_exact(&mut shape).map_err(failed)?;
    if !String::from_utf8_lossy(&shape).contains(&format!("'{}'", T::DESCR)) {
        return Err(wrong(&format!("no array of type {}", T::DESCR)));
    }
    Ok(Box::new(std::iter::from_fn(move || {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..T::BYTES];
        match file.read_exact(bytes) {
            Ok(()) => T::get(bytes).map(Ok),
            // The length is not checked here: it is compared with the manifest's.
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) => Some(Err(failed(e))),
        }
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_another_type_or_with_a_line_that_is_no_number_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "id,a\n0,-1\n7,2\n9,x\n").unwrap();
        let read: Vec<_> = values::<i32>(&path).unwrap().collect();
        assert_eq!(read.iter().flatten().collect::<Vec<_>>(), [&-1, &2]);
        assert_eq!(read[2].as_ref().unwrap_err().exit_code(), 8);
        let path = folder.path().join("a.npy");
        let shape = format!("{:<117}\n", "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(shape.as_bytes());
        bytes.extend([-5i32, 6].iter().flat_map(|value| value.to_le_bytes()));
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(values::<i32>(&path).unwrap().map(Result::unwrap).collect::<Vec<_>>(), [-5, 6]);
        assert_eq!(values::<u32>(&path).err().unwrap().exit_code(), 8);
    }
}
