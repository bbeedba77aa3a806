//! A file that is mapped into memory.
//!
//! Text files are mapped so that parsers read them in place. Every range is populated before it is read, so that
//! truncation of the file by another process causes an error and not a SIGBUS. Every range is dropped after it is read,
//! so that clean pages of a file of tens of gigabytes do not accumulate in the resident set.
#![allow(unsafe_code)] // mmap and madvise have no safe form

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{At, Error, Result};
use crate::memory::addresses_left;

/// A whole file, mapped read-only. An empty file is an empty slice.
pub(crate) struct MappedFile {
    path: PathBuf,
    map: Option<memmap2::Mmap>,
}

/// Smallest page size of the kernel in bytes. Ranges are extended to begin at a multiple of it.
const PAGE: usize = 4096;

impl MappedFile {
    /// Maps the file at `path`.
    pub fn open(path: &Path) -> Result<MappedFile> {
        let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
        let length = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
        if length == 0 {
            return Ok(MappedFile { path: path.to_owned(), map: None });
        }
        // SAFETY: the mapping is read-only and shared. Another process may change the file at any time: its bytes are
        // only ever read as plain integers, for which every bit pattern is valid, and no decision on which memory
        // safety depends reads the same byte twice. `populate` below handles truncation.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => unmapped(path, length, &e),
            _ => Error::unreadable(path, &e),
        })?;
        Ok(MappedFile { path: path.to_owned(), map: Some(map) })
    }

    /// Returns all bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }

    /// Loads the bytes `from..to` into memory.
    ///
    /// # Errors
    /// Bad input if the file has become shorter, or can't be read.
    pub fn populate(&self, from: usize, to: usize) -> Result<()> {
        let Err(e) = self.advise(from, to, libc::MADV_POPULATE_READ) else { return Ok(()) };
        match e.raw_os_error() {
            // Linux before 5.14 does not know this advice; pages are then read when they are accessed.
            Some(libc::EINVAL | libc::ENOSYS) => Ok(()),
            // A memory shortage may be temporary; pages are then read when they are accessed.
            Some(libc::EAGAIN | libc::ENOMEM | libc::EINTR) => Ok(()),
            Some(libc::EFAULT) => {
                let expected = format!("{} bytes, as when the file was opened", self.bytes().len());
                let remedy = "leave the file alone while the job runs, check the disk, and run again";
                let found = "the file shorter or unreadable now";
                Err(Error::input(&self.path, At::Byte(from as u64), expected, found, remedy))
            }
            _ => Err(Error::unreadable(&self.path, &e)),
        }
    }

    /// Starts to read the bytes `from..to` ahead of time, without waiting. This is only a hint, so failures are
    /// ignored.
    pub fn will_need(&self, from: usize, to: usize) {
        let _ = self.advise(from, to, libc::MADV_WILLNEED);
    }

    /// Drops the pages of the bytes `from..to` from memory; later accesses read them from the file. Failures are
    /// ignored.
    pub fn drop_range(&self, from: usize, to: usize) {
        let _ = self.advise(from, to, libc::MADV_DONTNEED);
    }

    fn advise(&self, from: usize, to: usize, advice: libc::c_int) -> std::io::Result<()> {
        let bytes = self.bytes();
        let (from, to) = (from / PAGE * PAGE, to.min(bytes.len()));
        if from >= to {
            return Ok(());
        }
        // SAFETY: the range lies in this object's live mapping and starts at a page boundary (mappings are
        // page-aligned). All three kinds of advice preserve the contents of a shared read-only file mapping.
        let rc = unsafe { libc::madvise(bytes.as_ptr().add(from) as *mut libc::c_void, to - from, advice) };
        if rc == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

/// Returns the error for a file of `bytes` bytes that can't be mapped because the process has no address space left.
pub fn unmapped(path: &Path, bytes: u64, e: &std::io::Error) -> Error {
    let remedy = match path.extension() {
        Some(end) if end == "parquet" || end == "parq" || end == "pq" => ", or write the table as several files",
        _ => ", or pack the file with zstd or gzip, which is read without mapping it",
    };
    Error::unmapped(path, bytes, addresses_left(), remedy, e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_file_is_an_error_not_a_signal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.u32");
        std::fs::write(&path, vec![7u8; 3 * PAGE]).unwrap();
        let map = MappedFile::open(&path).unwrap();
        map.populate(0, 3 * PAGE).unwrap();
        assert_eq!(map.bytes()[2 * PAGE], 7);
        map.drop_range(0, 3 * PAGE);
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        let error = map.populate(PAGE, 3 * PAGE).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{error}");
        assert!(error.to_string().contains("a.u32 at byte 4096"), "{error}");
    }
}
