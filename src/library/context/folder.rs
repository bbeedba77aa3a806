//! A folder for the files of a graph, which is removed together with the graph.

use crate::error::{Error, Result};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A new folder that only this user may read. It is removed when this value is dropped.
#[derive(Debug)]
pub(in crate::library) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes a folder in `parent`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub(in crate::library) fn new(parent: &Path) -> Result<TemporaryFolder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = parent.join(format!("gpugraph-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(TemporaryFolder(path)),
                // A process with the same number left it.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("create the folder", &path, e)),
            }
        }
    }

    pub(in crate::library) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What can't be removed is left to whoever cleans the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
