//! Reads the header of a `.npy` file (NEP 1): magic bytes, version, and a Python dictionary with type, order and
//! shape.
//!
//! The crate npyz allocates as many bytes as a header declares, up to 4 GiB, and reads an array from start to end.
//! This code limits the length of the header and returns the offset of the numbers, so that many threads can read
//! ranges of them.

use std::io::Read;
use std::path::Path;

use super::shape::{ArrayLayout, ArrayPlace, Column, EdgeArrays};
use crate::error::{At, Error};
use crate::formats::Int;

/// Maximum length of a header in bytes. numpy's own limit is 10,000.
const LONGEST: usize = 1 << 16;

/// The contents of the header of a `.npy` file.
#[derive(Debug, Clone)]
pub(super) struct NpyArray {
    /// Offset of the first number.
    pub body: u64,
    /// Type of the numbers in numpy's notation, such as `<i8`.
    pub kind: String,
    /// Whether the array is in Fortran order (the first index varies fastest).
    pub fortran: bool,
    pub shape: Vec<u64>,
}

/// Two texts for an error message: what a header should contain, and what was found instead.
pub(super) type Mismatch = (String, String);

fn wrong(expected: impl Into<String>, found: impl Into<String>) -> Mismatch {
    (expected.into(), found.into())
}

impl NpyArray {
    /// Reads the header of a `.npy` file from `from`, which is then positioned at the first number of the array.
    pub fn read(from: &mut impl Read) -> Result<NpyArray, Mismatch> {
        let short = |_| wrong("the header of a .npy file", "the end of the file");
        let mut start = [0; 8];
        from.read_exact(&mut start).map_err(short)?;
        let Some(&[version @ 1..=3, 0]) = start.strip_prefix(b"\x93NUMPY") else {
            return Err(wrong("\"\\x93NUMPY\" and a version from 1 to 3", start.escape_ascii().to_string()));
        };
        let mut length = [0; 4];
        let bytes = if version == 1 { 2 } else { 4 };
        from.read_exact(&mut length[..bytes]).map_err(short)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(wrong(format!("a header of at most {LONGEST} bytes"), format!("one of {length}")));
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text).map_err(short)?;
        let text = String::from_utf8_lossy(&text);
        let bad = || wrong("a header with descr, fortran_order and shape", format!("{:?}", text.trim()));
        let Some(inside) = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
            return Err(bad());
        };
        let (kind, fortran, shape) = (descr(inside), value(inside, "fortran_order"), value(inside, "shape"));
        let (Some(kind), Some(fortran), Some(shape)) = (kind, fortran, shape.and_then(tuple)) else {
            return Err(bad());
        };
        let fortran = match fortran.split(',').next().map(str::trim) {
            Some("True") => true,
            Some("False") => false,
            _ => return Err(bad()),
        };
        Ok(NpyArray { body: (8 + bytes + length) as u64, kind, fortran, shape })
    }

    /// Returns the integer type of the array's numbers, or an error if they can't be ids.
    pub fn int(&self) -> Result<Int, Mismatch> {
        let kind = self.kind.as_bytes();
        let order = kind.first().copied().unwrap_or(b' ');
        let (letter, bytes) = (kind.get(1), self.kind.get(2..).and_then(|size| size.parse::<usize>().ok()));
        match (letter, bytes) {
            (Some(letter @ (b'i' | b'u')), Some(bytes @ (1 | 2 | 4 | 8)))
                if matches!(order, b'<' | b'>' | b'|' | b'=') =>
            {
                Ok(Int { bytes, signed: *letter == b'i', big: order == b'>' })
            }
            _ => Err(wrong("whole numbers (i1 to i8, u1 to u8)", format!("an array of {}", self.name()))),
        }
    }

    /// Returns the name of the type of the array's numbers, for error messages.
    fn name(&self) -> String {
        let name = match self.kind.as_bytes().get(1) {
            Some(b'f') => "floats",
            Some(b'b') => "truth values",
            Some(b'c') => "complex numbers",
            Some(b'O') => "Python objects",
            Some(b'S' | b'U') => "text",
            _ => "another type",
        };
        format!("{name} ({})", self.kind.replace(char::is_control, "?"))
    }

    /// Returns the number of elements of the array; `None` if the file would have 2^63 bytes or more.
    pub fn numbers(&self, int: Int) -> Option<u64> {
        let count = self.shape.iter().try_fold(1u64, |count, length| count.checked_mul(*length))?;
        let bytes = count.checked_mul(int.bytes as u64)?.checked_add(self.body)?;
        (bytes < 1 << 63).then_some(count)
    }

    /// Returns the location of the numbers of a one-dimensional array, and their count.
    pub fn column(&self, place: ArrayPlace) -> Result<(Column, u64), Mismatch> {
        let int = self.int()?;
        match (self.shape.as_slice(), self.numbers(int)) {
            (&[count], Some(_)) => Ok((Column { place, at: self.body, int, step: int.bytes }, count)),
            _ => Err(wrong("one dimension", format!("the shape {:?}", self.shape))),
        }
    }

    /// Returns where an array with two columns or two rows stores the edges. In a 2 by 2 array, each column is an edge
    /// if `wide` is true, otherwise each row.
    pub fn pairs(&self, place: ArrayPlace, wide: bool) -> Result<EdgeArrays, Mismatch> {
        let int = self.int()?;
        let shape = || format!("the shape {:?}", self.shape);
        let (edges, by_edge) = match *self.shape.as_slice() {
            [2, 2] => (2, !wide),
            [edges, 2] => (edges, true),
            [2, edges] => (edges, false),
            _ => return Err(wrong("an array of shape (E, 2) or (2, E)", shape())),
        };
        if self.numbers(int).is_none() {
            return Err(wrong("an array of fewer than 2^63 bytes", shape()));
        }
        let (at, bytes) = (self.body, int.bytes as u64);
        let column = |nth| Column { place: place.clone(), at: at + nth * edges * bytes, int, step: int.bytes };
        let shape = match by_edge != self.fortran {
            true => ArrayLayout::Rows(column(0)),
            false => ArrayLayout::Columns { from: column(0), to: column(1) },
        };
        Ok(EdgeArrays { shape, edges, vertices: None, length: at + 2 * edges * bytes })
    }
}

/// Returns the text that follows `key` and its colon in the dictionary of a `.npy` header.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let behind = ['\'', '"'].into_iter().find_map(|quote| text.split_once(&format!("{quote}{key}{quote}")))?.1;
    Some(behind.trim_start().strip_prefix(':')?.trim_start())
}

/// Returns the type (`descr`) in a `.npy` header as text. The type of a structured array is a list, which is returned
/// unparsed.
fn descr(text: &str) -> Option<String> {
    let value = value(text, "descr")?;
    let quote = value.chars().next()?;
    match quote {
        '\'' | '"' => Some(value[1..].split_once(quote)?.0.to_owned()),
        '[' => Some(value.split_inclusive(']').next()?.to_owned()),
        _ => None,
    }
}

/// Parses a Python tuple, such as `(3, 2)`. Python 2 appended an L to each number.
fn tuple(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty());
    numbers.map(|number| number.trim_end_matches('L').parse().ok()).collect()
}

/// Returns the error for a `.npy` file whose header does not describe edges.
pub(super) fn refused(path: &Path, at: At, (expected, found): Mismatch) -> Error {
    let remedy = match found.contains("complex numbers") {
        true => {
            "if their parts are the ids, save these: numpy.save(FILE, numpy.stack([z.real, z.imag], 1).astype('u4'))"
        }
        false => {
            "save the ids of both ends as whole numbers from 0: numpy.save(FILE, edges.astype('u4')), of two columns"
        }
    };
    Error::input(path, at, expected, found, remedy)
}

/// An array with one weight per edge.
#[derive(Debug, Clone)]
pub(super) struct WeightColumn {
    /// Location of the array, and the size and byte order of its numbers.
    pub column: Column,
    /// Whether the numbers are floats.
    pub float: bool,
}

impl WeightColumn {
    /// Returns the location and type of the weights that follow the header `array`; `None` if its numbers can't be
    /// weights.
    pub fn of(array: &NpyArray, place: ArrayPlace) -> Option<WeightColumn> {
        let letters = array.kind.as_bytes();
        let bytes: usize = array.kind.get(2..)?.parse().ok()?;
        let (signed, float) = match letters.get(1)? {
            b'i' => (true, false),
            b'u' | b'b' => (false, false),
            b'f' if bytes >= 4 => (true, true),
            _ => return None,
        };
        let int = Int { bytes, signed, big: letters.first() == Some(&b'>') };
        let column = Column { place, at: array.body, int, step: bytes };
        matches!(bytes, 1 | 2 | 4 | 8).then_some(WeightColumn { column, float })
    }
}
