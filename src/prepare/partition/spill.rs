//! The spill file. It has the edges of bins, and sorted rows, that do not fit memory.
#![allow(unsafe_code)] // mapping a file has no safe form

use crate::error::{Error, Result};
use crate::memory::{bytes_of, bytes_of_mut};
use crate::store::regular;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// File for chunks and rows that do not fit memory. It is unlinked as soon as it is created, so a killed job leaves
/// nothing behind.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: File,
    pub(super) written: AtomicU64,
}

impl Spill {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = regular::create_unnamed(path, "create the spill file", "unlink the spill file")?;
        Ok(Spill { path: path.to_owned(), file, written: AtomicU64::new(0) })
    }

    /// Appends `pieces` to the file, one after the other. Returns the byte offset of the first.
    pub(super) fn write(&self, pieces: &[&[u32]]) -> Result<u64> {
        let bytes: u64 = pieces.iter().map(|piece| size_of_val(*piece) as u64).sum();
        let offset = self.written.fetch_add(bytes, Ordering::Relaxed);
        let mut at = offset;
        for piece in pieces {
            let done = crate::failpoint::hit("spill.write").and_then(|()| self.file.write_all_at(bytes_of(piece), at));
            done.map_err(|e| Error::io("write the spill file", &self.path, e))?;
            at += size_of_val(*piece) as u64;
        }
        Ok(offset)
    }

    /// Maps `len` words of the file from the byte offset `offset` on. Their pages belong to the page cache, not to the
    /// process.
    pub(super) fn map(&self, offset: u64, len: usize) -> Result<Mmap> {
        // SAFETY: the file has no name, so nobody else opens it, and no byte of it is written twice.
        let map = unsafe { MmapOptions::new().offset(offset).len(4 * len).map(&self.file) };
        map.map_err(|e| Error::io("map the spill file", &self.path, e))
    }

    pub(super) fn read(&self, offset: u64, chunk: &mut [u32]) -> Result<()> {
        self.file
            .read_exact_at(bytes_of_mut(chunk), offset)
            .map_err(|e| Error::io("read the spill file", &self.path, e))
    }
}
