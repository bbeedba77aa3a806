//! Makes files durable (fsync), except in temporary folders, which are removed with their files.

use crate::error::{Error, Result};
use parking_lot::RwLock;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Paths of the temporary folders of this process.
static TEMPORARY: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// A temporary folder that only this user may read. It is removed when this value is dropped, so [`sync_file`] and
/// [`sync_folder`] do nothing for its files. A file that is moved out must be synced explicitly. If the process is
/// killed, [`remove_abandoned`] removes its temporary folders later.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// Open descriptor of the folder, which holds a lock as long as the folder is in use.
    _lock: File,
}

/// Prefix of the names of temporary folders.
const PREFIX: &str = "gpugraph-tmp-";

impl TemporaryFolder {
    /// Creates a temporary folder in `parent`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn new(parent: &Path) -> Result<TemporaryFolder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = parent.join(format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                // An earlier process with the same process id has left this folder.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(Error::io("create the folder", &path, e)),
            }
            // Another process may have removed the folder before the lock was taken.
            let lock = match File::open(&path) {
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|e| Error::io("open the folder", &path, e))?,
            };
            if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && path.exists() {
                TEMPORARY.write().push(path.clone());
                return Ok(TemporaryFolder { path, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Errors are ignored, because nothing depends on the removal.
        let _ = std::fs::remove_dir_all(&self.path);
        TEMPORARY.write().retain(|path| *path != self.path);
    }
}

/// Removes the temporary folders in `parent` that ended processes have left behind. On file systems without locks, it
/// removes nothing.
pub(crate) fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok())
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes the contents and the length of the file at `path` durable (fdatasync), unless it is in a temporary folder.
/// Its timestamps may not be durable.
///
/// # Errors
/// Errors of the system calls.
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    if is_temporary(path) { Ok(()) } else { file.sync_data() }
}

/// Makes the directory entry of `path` durable by syncing its folder, unless the folder is temporary.
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
    fn folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let used = TemporaryFolder::new(parent.path()).unwrap();
        let left = TemporaryFolder::new(parent.path()).unwrap();
        std::fs::write(left.path().join("a.blk"), "rows").unwrap();
        let (of_others, path) = (parent.path().join("gpugraph-1-0"), left.path().to_owned());
        std::fs::create_dir(&of_others).unwrap();
        // Simulate a killed process: the lock is free, but the folder still exists.
        let TemporaryFolder { _lock: lock, .. } = &*std::mem::ManuallyDrop::new(left);
        lock.unlock().unwrap();
        remove_abandoned(parent.path());
        assert!(!path.exists() && used.path().exists() && of_others.exists());
    }

    #[test]
    fn only_files_in_a_temporary_folder_are_temporary() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::new(parent.path()).unwrap();
        let (inside, beside) = (folder.path().join("graph/a.blk"), parent.path().join("a.blk"));
        assert!(is_temporary(&inside) && is_temporary(folder.path()) && !is_temporary(&beside));
        assert!(!is_temporary(&folder.path().with_extension("x")));
        // Syncing a pipe is an error, so `sync_file` fails if it syncs the pipe.
        let (_, pipe) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        sync_file(&pipe, &inside).unwrap();
        sync_file(&pipe, &beside).unwrap_err();
        drop(folder);
        assert!(!inside.parent().unwrap().parent().unwrap().exists() && !is_temporary(&inside));
    }
}
