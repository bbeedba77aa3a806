//! Makes files durable, except in temporary folders, whose files are removed with them.

use crate::error::{Error, Result};
use parking_lot::RwLock;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The temporary folders of this process.
static TEMPORARY: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// A new folder that only this user may read. It is removed when this value is dropped, so [`sync_file`] and
/// [`sync_folder`] do nothing for its files. A file that is moved out must be synced by itself.
#[derive(Debug)]
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes a folder in `parent`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn new(parent: &Path) -> Result<TemporaryFolder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = parent.join(format!("gpugraph-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    TEMPORARY.write().push(path.clone());
                    return Ok(TemporaryFolder(path));
                }
                // A process with the same number left it.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("create the folder", &path, e)),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What can't be removed is left to whoever cleans the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
        TEMPORARY.write().retain(|path| *path != self.0);
    }
}

/// Makes the bytes of the file at `path` durable, unless it is in a temporary folder. Its length is durable as well, but
/// not its times.
///
/// # Errors
/// Errors of the system.
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    if is_temporary(path) { Ok(()) } else { file.sync_data() }
}

/// Makes the name of `path` durable, by syncing its folder, unless that is temporary.
///
/// # Errors
/// [`Error::Io`] if the folder can't be opened or synced.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    if is_temporary(path) {
        return Ok(());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let sync = || File::open(folder)?.sync_all();
    match sync() {
        // Some network and FUSE file systems can't sync a folder; they make renames as durable as they can.
        Err(e) if e.kind() == ErrorKind::InvalidInput || e.kind() == ErrorKind::Unsupported => Ok(()),
        other => other.map_err(|e| Error::io("sync the folder", folder, e)),
    }
}

fn is_temporary(path: &Path) -> bool {
    TEMPORARY.read().iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_a_temporary_folder_are_temporary() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::new(parent.path()).unwrap();
        let (inside, beside) = (folder.path().join("graph/a.blk"), parent.path().join("a.blk"));
        assert!(is_temporary(&inside) && is_temporary(folder.path()) && !is_temporary(&beside));
        assert!(!is_temporary(&folder.path().with_extension("x")));
        // A pipe can't be synced, so a sync of it shows.
        let (_, pipe) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        sync_file(&pipe, &inside).unwrap();
        sync_file(&pipe, &beside).unwrap_err();
        drop(folder);
        assert!(!inside.parent().unwrap().parent().unwrap().exists() && !is_temporary(&inside));
    }
}
