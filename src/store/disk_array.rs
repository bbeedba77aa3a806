//! Files for work in progress, which threads write and read at given offsets. The files do not record their expected
//! lengths, so callers must know these.
#![allow(unsafe_code)] // mapping a file has no safe form

use crate::store::regular;
pub use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::durable::sync_file;
use super::map::map_failed;
use super::os::start_writeback;
use crate::error::{At, Error, Result};
use crate::failpoint;

/// An open file for work in progress. Its contents are durable after [`DiskArray::sync`], and its directory entry
/// after [`sync_folder`](super::durable::sync_folder).
#[derive(Debug)]
pub struct DiskArray {
    file: File,
    path: PathBuf,
    /// True if this process has written to the file since opening it.
    written: AtomicBool,
}

impl DiskArray {
    /// Opens or creates a file and sets its length to `bytes` bytes: truncates a longer file, and extends a shorter
    /// one with zeros.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn create(path: PathBuf, bytes: u64) -> Result<DiskArray> {
        let make = || {
            failpoint::hit("placed.create")?;
            let file = regular::open_to_write(File::options().read(true).create(true).truncate(false), &path)?;
            file.set_len(bytes)?;
            Ok(file)
        };
        match make() {
            Ok(file) => Ok(DiskArray { file, path, written: AtomicBool::new(false) }),
            Err(e) => Err(Error::io("create", path, e)),
        }
    }

    /// Opens an existing file that must have at least `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is missing or shorter; [`Error::Io`].
    pub fn open(path: PathBuf, bytes: u64) -> Result<DiskArray> {
        let file = match regular::open_to_write(File::options().read(true), &path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(too_short(&path, bytes, 0)),
            other => other.map_err(|e| Error::io("open", &path, e))?,
        };
        let placed = DiskArray { file, path, written: AtomicBool::new(false) };
        match placed.bytes()? {
            found if found < bytes => Err(too_short(&placed.path, bytes, found)),
            _ => Ok(placed),
        }
    }

    /// Returns the length of the file in bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn bytes(&self) -> Result<u64> {
        self.file.metadata().map(|found| found.len()).map_err(|e| Error::io("look at", &self.path, e))
    }

    /// Returns true if this process has written to the file since opening it.
    pub fn is_written(&self) -> bool {
        self.written.load(Ordering::Relaxed)
    }

    /// Writes `bytes` at byte offset `at`, and asks the kernel to begin writing them to the disk.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.written.store(true, Ordering::Relaxed);
        let done = failpoint::hit("placed.write").and_then(|()| self.file.write_all_at(bytes, at));
        done.map_err(|e| Error::io("write", &self.path, e))?;
        start_writeback(&self.file, at, bytes.len() as u64);
        Ok(())
    }

    /// Fills `bytes` with the bytes of the file at byte offset `at`.
    ///
    /// # Errors
    /// [`Error::Io`], also if the file ends too early.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(bytes, at).map_err(|e| Error::io("read", &self.path, e))
    }

    /// Maps the file, which must be completely written. It is for data of a task that does not fit in memory, because
    /// clean pages count as page cache, not as memory of the process. The file may be removed afterwards; its contents
    /// remain until the mapping is dropped.
    ///
    /// # Errors
    /// [`Error::Io`] if the file can't be mapped.
    pub fn map(&self) -> Result<Mmap> {
        let bytes = self.bytes()?;
        // SAFETY: the file belongs to this process, which does not write it any more. If another process truncates it,
        // SIGBUS ends this process.
        unsafe { Mmap::map(&self.file) }.map_err(|e| map_failed(&self.path, bytes, e))
    }

    /// Makes all bytes written to the file durable.
    ///
    /// # Errors
    /// [`Error::DiskFull`] or [`Error::Io`].
    pub fn sync(&self) -> Result<()> {
        failpoint::hit("placed.sync")
            .and_then(|()| sync_file(&self.file, &self.path))
            .map_err(|e| Error::io("sync", &self.path, e))
    }
}

fn too_short(path: &Path, bytes: u64, found: u64) -> Error {
    Error::corrupt(path, At::File, format!("{bytes} bytes were written, {found} are left"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::durable::sync_folder;
    use crate::store::replace::remove_file;

    #[test]
    fn bytes_are_at_their_offsets_and_missing_bytes_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p");
        assert_eq!(DiskArray::open(path.clone(), 0).unwrap_err().exit_code(), 4);
        let file = DiskArray::create(path.clone(), 4).unwrap();
        file.write(b"cd", 6).unwrap();
        file.write(b"ab", 4).unwrap();
        file.sync().unwrap();
        sync_folder(&path).unwrap();
        let mut bytes = [1; 8];
        DiskArray::open(path.clone(), 8).unwrap().read(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"\0\0\0\0abcd");
        assert_eq!(DiskArray::open(path.clone(), 9).unwrap_err().exit_code(), 4);
        assert_eq!(DiskArray::create(path.clone(), 5).unwrap().bytes().unwrap(), 5);
        for _ in 0..2 {
            remove_file(&path).unwrap();
        }
    }

    #[test]
    fn mapped_bytes_stay_when_their_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        let bytes: Vec<u8> = (0..10_000u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let placed = DiskArray::create(path.clone(), bytes.len() as u64).unwrap();
        placed.write(&bytes, 0).unwrap();
        let written = placed.map().unwrap();
        drop(placed);
        remove_file(&path).unwrap();
        assert_eq!(&*written, &*bytes);
    }
}
