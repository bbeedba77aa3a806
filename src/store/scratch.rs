//! Unlinked temporary files, to which threads append, and which they read back or memory-map.
#![allow(unsafe_code)] // mapping a file has no safe form

use crate::error::{Error, Result};
use crate::{failpoint, store::regular};
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Temporary file for data that does not fit in memory. It is unlinked as soon as it is created, so a killed job
/// leaves no file behind.
#[derive(Debug)]
pub struct ScratchFile {
    path: PathBuf,
    file: File,
    failpoint: &'static str,
    written: AtomicU64,
}

impl ScratchFile {
    /// Creates the file at `path` and unlinks it. Each write triggers the failpoint `failpoint`.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn create(path: &Path, failpoint: &'static str) -> Result<Self> {
        let file = regular::open_to_write(File::options().read(true).create(true).truncate(true), path);
        let file = file.map_err(|e| Error::io("create a temporary file", path, e))?;
        std::fs::remove_file(path).map_err(|e| Error::io("unlink a temporary file", path, e))?;
        Ok(ScratchFile { path: path.to_owned(), file, failpoint, written: AtomicU64::new(0) })
    }

    /// Returns the number of bytes appended to the file so far.
    pub fn bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Appends the slices `pieces`, one after the other. Returns the byte offset of the first one.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`].
    pub fn append(&self, pieces: &[&[u8]]) -> Result<u64> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let offset = self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut at = offset;
        for piece in pieces {
            let done = failpoint::hit(self.failpoint).and_then(|()| self.file.write_all_at(piece, at));
            done.map_err(|e| Error::io("write a temporary file", &self.path, e))?;
            at += piece.len() as u64;
        }
        Ok(offset)
    }

    /// Fills `bytes` with the bytes of the file at byte offset `at`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, at).map_err(|e| Error::io("read a temporary file", &self.path, e))
    }

    /// Maps `bytes` bytes of the file at byte offset `at`. Their pages count as page cache, not as memory of the
    /// process.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn map(&self, at: u64, bytes: usize) -> Result<Mmap> {
        // SAFETY: the file has no name, so no other process can open it, and no byte of it is written twice.
        let map = unsafe { MmapOptions::new().offset(at).len(bytes).map(&self.file) };
        map.map_err(|e| Error::io("map a temporary file", &self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_bytes_are_read_and_mapped_and_the_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        std::fs::write(&path, "left by an earlier run").unwrap();
        let file = ScratchFile::create(&path, "spill.write").unwrap();
        assert!(!path.exists());
        assert_eq!(file.append(&[b"ab", b"", b"cde"]).unwrap(), 0);
        assert_eq!(file.append(&[b"fg"]).unwrap(), 5);
        assert_eq!(file.bytes(), 7);
        let mut bytes = [0; 4];
        file.read(3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"defg");
        assert_eq!(&*file.map(1, 5).unwrap(), b"bcdef");
        assert!(matches!(file.read(4, &mut bytes), Err(Error::Io { .. })));
    }
}
