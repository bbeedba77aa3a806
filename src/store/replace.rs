//! Atomic replacement of small files such as JSON. A reader sees either the old or the new contents, even if the
//! process dies.

use super::durable::{sync_file, sync_folder};
use crate::store::regular;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::failpoint;

/// Atomically replaces the contents of `path` by `bytes`, durably: writes a temporary file, syncs it, renames it, and
/// syncs the folder.
///
/// # Errors
/// [`Error::DiskFull`] or [`Error::Io`]. The temporary file is then removed, and the old contents remain. If only the
/// last step failed, `path` has the new contents, but they may not survive a power failure.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and_rename(path, bytes, true)?;
    failpoint::hit("replace.dirsync").map_err(|e| Error::io("sync the folder of", path, e))?;
    sync_folder(path)
}

/// Replaces a file atomically like [`replace`], but without syncing. It is for files whose loss does not matter, such
/// as `status.json`. If the process dies, the file has either the old or the new contents.
///
/// # Errors
/// Errors of [`replace`].
pub fn replace_volatile(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and_rename(path, bytes, false)
}

/// Resolves the symbolic links of an output path. Returns the path of the regular file that a write to `path` must
/// create or replace. Without this, renaming a temporary file over a link would replace the link itself.
///
/// # Errors
/// [`Error::Usage`] if `path` exists and is not a regular file, or is `-`; [`Error::Io`] if it can't be examined.
pub fn target(path: &Path) -> Result<PathBuf> {
    let refused = |found: &str| {
        Error::Usage(format!("{}: expected a file to write, found {found}; name a regular file", path.display()))
    };
    if path == Path::new("-") {
        return Err(refused("the sign for standard output, which is not written to"));
    }
    let there = match path.metadata() {
        Ok(meta) if meta.is_dir() => return Err(refused("a folder")),
        Ok(meta) if !meta.is_file() => return Err(refused("a pipe, a terminal or another device")),
        Ok(_) => true,
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(e) => return Err(Error::io("look at the file", path, e)),
    };
    let mut target = path.to_owned();
    while let Ok(next) = target.read_link() {
        target.set_file_name(next); // the target of a link is relative to the folder of the link, unless it is absolute
    }
    match target.file_name() {
        None => Err(refused("a path without a file name")),
        // A link below /proc can point to an open file that has been deleted. Such a file has no name.
        Some(_) if there && !target.exists() => Err(refused("an open file without a name")),
        Some(_) => Ok(target),
    }
}

fn write_and_rename(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
    let mut temp = TemporaryFile::new(temp_path(path));
    // Volatile files are written at intervals, so a test could not predict how often their failpoints are hit.
    let hit = |name| if durable { failpoint::hit(name) } else { Ok(()) };
    let mut write = || -> io::Result<()> {
        hit("replace.create")?;
        let mut file = regular::create(temp.path())?;
        hit("replace.write")?;
        file.write_all(bytes)?;
        if durable {
            hit("replace.fsync")?;
            sync_file(&file, temp.path())?;
        }
        hit("replace.rename")?;
        temp.rename(path)
    };
    write().map_err(|e| Error::io("replace", path, e))
}

/// Returns the temporary path of a file until it is complete: `PATH.tmp-PID`. It is in the same folder, so that a
/// rename completes the file.
pub(crate) fn temp_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tmp-{}", std::process::id()));
    name.into()
}

/// Guard of a file with a temporary name. If it is dropped before [`TemporaryFile::rename`] has succeeded, it removes
/// the incomplete file.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    path: PathBuf,
    renamed: bool,
}

impl TemporaryFile {
    pub fn new(path: PathBuf) -> TemporaryFile {
        TemporaryFile { path, renamed: false }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// Errors of the system call; the file then still has its temporary name.
    pub fn rename(&mut self, to: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, to)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Creates the parent folder of `path`, and the folders above it, if they do not exist.
///
/// # Errors
/// [`Error::Io`].
pub fn make_folder_of(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), make_folder)
}

/// Calls [`remove_leftovers`] for `folder` and all its subfolders, recursively.
///
/// # Errors
/// Errors of [`remove_leftovers`].
pub fn remove_leftovers_below(folder: &Path) -> Result<()> {
    remove_leftovers(folder)?;
    let below = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Symbolic links are not followed.
    let mut folders = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.try_for_each(|entry| remove_leftovers_below(&entry.path()))
}

/// Removes the incomplete files of killed processes, named `*.tmp-PID`, from `folder` (but not from its subfolders).
/// Only the holder of the workdir's lock may call it, before it writes any file. Returns the number of removed files.
///
/// # Errors
/// [`Error::Io`] if the folder can't be listed or a file in it can't be removed. A missing folder is not an error.
pub fn remove_leftovers(folder: &Path) -> Result<u64> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other.map_err(|e| Error::io("list", folder, e))?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", folder, e))?;
        let name = entry.file_name();
        let Some((_, pid)) = name.to_str().and_then(|name| name.rsplit_once(".tmp-")) else { continue };
        if !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()) {
            std::fs::remove_file(entry.path()).map_err(|e| Error::io("remove", entry.path(), e))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Creates the folder `path`, and the folders above it, if they do not exist.
///
/// # Errors
/// [`Error::DiskFull`], [`Error::Io`].
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io("create the folder", path, e))
}

/// Removes a file, if it exists.
///
/// # Errors
/// [`Error::Io`].
pub fn remove_file(path: &Path) -> Result<()> {
    removed(path, std::fs::remove_file(path))
}

/// Removes a folder and everything in it, if it exists.
///
/// # Errors
/// [`Error::Io`].
pub fn remove_folder(path: &Path) -> Result<()> {
    removed(path, std::fs::remove_dir_all(path))
}

fn removed(path: &Path, done: io::Result<()>) -> Result<()> {
    match done {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for text in ["one", "", "three"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            replace_volatile(&path, text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let missing = dir.path().join("none/a.json");
        assert_eq!(replace(&missing, b"x").unwrap_err().exit_code(), 10);
    }

    #[test]
    fn leftovers_go_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.blk.tmp-123", "b.tmp-9", "c.tmp-x", "d.tmp-", "e.blk"] {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        assert_eq!(remove_leftovers(dir.path()).unwrap(), 2);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
        assert_eq!(remove_leftovers(&dir.path().join("none")).unwrap(), 0);
    }
}
