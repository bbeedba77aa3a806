//! The file that bins spill to.

use crate::error::{Error, Result};
use crate::memory::{bytes_of, bytes_of_mut};
use crate::store::regular;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Chunks that did not fit memory. The file is unlinked at once, so a killed job leaves nothing behind.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: File,
    pub(super) written: AtomicU64,
}

impl Spill {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = regular::open_to_write(File::options().read(true).create(true).truncate(true), path);
        let file = file.map_err(|e| Error::io("create the spill file", path, e))?;
        std::fs::remove_file(path).map_err(|e| Error::io("unlink the spill file", path, e))?;
        Ok(Spill { path: path.to_owned(), file, written: AtomicU64::new(0) })
    }

    pub(super) fn write(&self, chunk: &[u32]) -> Result<u64> {
        let bytes = bytes_of(chunk);
        let offset = self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let done = crate::failpoint::hit("spill.write").and_then(|()| self.file.write_all_at(bytes, offset));
        done.map_err(|e| Error::io("write the spill file", &self.path, e))?;
        Ok(offset)
    }

    pub(super) fn read(&self, offset: u64, chunk: &mut [u32]) -> Result<()> {
        self.file
            .read_exact_at(bytes_of_mut(chunk), offset)
            .map_err(|e| Error::io("read the spill file", &self.path, e))
    }
}
