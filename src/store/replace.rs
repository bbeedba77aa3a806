//! Atomic replacement of small files such as JSON: a reader finds the old bytes or the new, whenever the process dies.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::failpoint;

/// Makes `bytes` the durable content of `path`: temporary file, fsync, rename, fsync of the folder.
///
/// # Errors
/// [`Error::DiskFull`] or [`Error::Io`]. The temporary file is gone then. The old content still stands, unless only
/// the last step failed: then the new content stands but may not survive a loss of power.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and_rename(path, bytes, true)?;
    failpoint::hit("replace.dirsync").map_err(|e| Error::io("sync the folder of", path, e))?;
    sync_folder(path)
}

/// Like [`replace`], but leaves it to the system when the bytes reach the disk: for files whose loss costs nothing,
/// such as `status.json`. A process that dies still leaves the old bytes or the new.
///
/// # Errors
/// As [`replace`].
pub fn replace_volatile(path: &Path, bytes: &[u8]) -> Result<()> {
    write_and_rename(path, bytes, false)
}

fn write_and_rename(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
    let temp = temp_path(path);
    // Volatile files are written by the clock, so their failpoints could not be counted on.
    let hit = |name| if durable { failpoint::hit(name) } else { Ok(()) };
    let write = || -> io::Result<()> {
        hit("replace.create")?;
        let mut file = File::create(&temp)?;
        hit("replace.write")?;
        file.write_all(bytes)?;
        if durable {
            hit("replace.fsync")?;
            file.sync_all()?;
        }
        hit("replace.rename")?;
        std::fs::rename(&temp, path)
    };
    write().map_err(|e| {
        let _ = std::fs::remove_file(&temp);
        Error::io("replace", path, e)
    })
}

/// Where a file is written before it gets its name: `PATH.tmp-PID`, in the same folder so that a rename suffices.
pub(crate) fn temp_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tmp-{}", std::process::id()));
    name.into()
}

/// Makes the folder entry of `path` durable.
///
/// # Errors
/// [`Error::Io`] if the folder can't be opened or synced.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let sync = || File::open(folder)?.sync_all();
    match sync() {
        // Some network and FUSE file systems can't sync a folder; their renames are as durable as they get.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput || e.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other.map_err(|e| Error::io("sync the folder", folder, e)),
    }
}

/// Removes what killed processes left half written in `folder` (not below it): files named `*.tmp-PID`. Only for the
/// holder of the workdir's lock, before it writes. Returns how many files it removed.
///
/// # Errors
/// [`Error::Io`] if the folder can't be listed or a file in it can't be removed. No folder is no error.
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
