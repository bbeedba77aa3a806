//! The temporary file of an output, in the same folder: `.NAME.PID.part`, locked by the process that writes it. A
//! temporary file without a lock belonged to a killed process; the next process that writes the same output removes
//! it.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::replace::TemporaryFile;

/// A number larger than any process id.
const PIDS: u64 = 1 << 22;

/// Returns the error for a failed write.
pub(super) fn failed(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::io(doing, path, source).of_output()
}

/// Creates the temporary file of `target` and locks it. Removes temporary files of killed processes. On a file system
/// without locks the new file stays unlocked.
///
/// # Errors
/// [`crate::Error::Io`] or [`crate::Error::OutputFull`] if the file can't be created.
pub(super) fn create(target: &Path) -> Result<(TemporaryFile, File)> {
    remove_abandoned(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut number = u64::from(std::process::id());
    loop {
        let path = target.with_file_name(format!(".{name}.{number}.part"));
        let file = match File::create_new(&path) {
            // The file belongs to a process with this id on another machine, or to a process that was killed on a file
            // system without locks.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                number += PIDS;
                continue;
            }
            made => made.map_err(|e| failed("create the file", target, e))?,
        };
        let taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Between creation and lock, another process may have removed the file as abandoned.
        if !taken && path.metadata().is_ok_and(|there| there.ino() == inode(&file)) {
            return Ok((TemporaryFile::new(path), file));
        }
        number += PIDS;
    }
}

/// Removes the temporary files of `target` that killed processes left. A file that can't be removed is only logged.
fn remove_abandoned(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let pid = found
            .to_str()
            .and_then(|found| found.strip_prefix('.')?.strip_prefix(&*name)?.strip_prefix('.')?.strip_suffix(".part"));
        if pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|c| c.is_ascii_digit())) {
            remove_if_abandoned(&entry.path());
        }
    }
}

fn remove_if_abandoned(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return;
    }
    // Locks on network file systems require that the file is open for writing.
    let Ok(file) = File::options().write(true).open(path) else { return };
    if file.try_lock().is_ok() {
        match std::fs::remove_file(path) {
            Ok(()) => tracing::info!("{}: removed, as the process that wrote it was killed", path.display()),
            Err(e) => tracing::warn!("{}: left by a process that was killed: {e}", path.display()),
        }
    }
}

fn inode(file: &File) -> u64 {
    file.metadata().map_or(0, |meta| meta.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_files_are_removed_and_locked_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.u32");
        let (mine, file) = create(&target).unwrap();
        let left = folder.path().join(".a.u32.99999.part");
        let others = [".b.u32.99999.part", ".a.u32.part", ".a.u32.9x.part", "a.u32.9.part", ".a.u32.8.part.txt"];
        for path in others.iter().map(|name| folder.path().join(name)).chain([left.clone()]) {
            std::fs::write(path, "x").unwrap();
        }
        remove_abandoned(&target);
        assert!(mine.path().exists() && !left.exists());
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        drop(file);
        remove_abandoned(&target);
        assert!(!mine.path().exists());
    }
}
