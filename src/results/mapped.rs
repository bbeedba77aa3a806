//! Result columns in NumPy files, mapped into memory as slices.
#![allow(unsafe_code)] // mapping a file and viewing its bytes as numbers have no safe form

use super::Value;
use super::column::npy_header;
use crate::error::{Error, Result};
use crate::store::regular;
use memmap2::Mmap;
use std::marker::PhantomData;
use std::path::Path;

/// The values of one column, mapped from its file. They stay valid when the file is removed.
#[derive(Debug)]
pub struct MappedColumn<T> {
    map: Mmap,
    /// Size of the NumPy header in bytes; the first value follows it.
    head: usize,
    of: PhantomData<T>,
}

impl<T: Value> MappedColumn<T> {
    /// Maps `path`, a NumPy file that [`super::Columns`] wrote.
    ///
    /// # Errors
    /// [`Error::Validation`] if the file is not an array of this type, [`Error::Io`].
    pub fn open(path: &Path) -> Result<MappedColumn<T>> {
        let file = regular::open(path).map_err(|e| Error::io("open", path, e))?;
        // SAFETY: the file gets its name when it is complete, and is replaced by rename, never changed in place.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
        let head = npy_header::<T>(0).len();
        let rows = map.len().saturating_sub(head) / T::BYTES;
        let expected = npy_header::<T>(rows as u64);
        // The length of a header does not depend on the number of rows.
        let is_whole = expected.len() == head && map.len() == head + rows * T::BYTES && map.starts_with(&expected);
        if !is_whole || !head.is_multiple_of(align_of::<T>()) {
            return Err(Error::Validation(format!("{}: not a column of type {}", path.display(), T::DESCR)));
        }
        Ok(MappedColumn { map, head, of: PhantomData })
    }

    /// Returns the values of the column in the order of rows.
    pub fn values(&self) -> &[T] {
        let bytes = &self.map[self.head..];
        // SAFETY: `open` has checked length and alignment, and `Value` is implemented only for numbers, for which
        // every bit pattern is valid. The files are little-endian, and so are all supported machines (`store/map.rs`).
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / T::BYTES) }
    }

    /// Returns the bytes of the whole NumPy file, including the header.
    pub fn file(&self) -> &[u8] {
        &self.map
    }
}
