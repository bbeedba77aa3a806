//! Opens the files of a workdir, and refuses anything but a regular file. A FIFO instead of a file would block the
//! process until another process writes to it. A symbolic link could redirect a write to a file outside the workdir.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading. Symbolic links are followed.
///
/// # Errors
/// Errors of the system calls. If `path` is not a regular file, the error names its kind.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path, 0)
}

/// Reads a whole regular file. Symbolic links are followed.
///
/// # Errors
/// Errors of [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file for writing with these `options`. Symbolic links are an error.
///
/// # Errors
/// Errors of [`open`]; an error if `path` is a symbolic link.
pub fn open_to_write(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    if path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        return Err(refused("a link"));
    }
    open_with(options.write(true), path, libc::O_NOFOLLOW)
}

/// Creates a file for writing, or truncates an existing file. Symbolic links are an error.
///
/// # Errors
/// Errors of [`open_to_write`].
pub fn create(path: &Path) -> io::Result<File> {
    open_to_write(OpenOptions::new().create(true).truncate(true), path)
}

fn open_with(options: &mut OpenOptions, path: &Path, flags: i32) -> io::Result<File> {
    // Opening a device may have side effects, so check the path first.
    path.metadata().map_or(Ok(()), |meta| check(&meta))?;
    // With O_NONBLOCK, the call does not block even if a FIFO has replaced the file since the check.
    let file = options.custom_flags(libc::O_NONBLOCK | flags).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(meta: &Metadata) -> io::Result<()> {
    let kind = meta.file_type();
    match kind.is_file() || kind.is_dir() {
        true => Ok(()), // a later system call returns the error for a folder
        false if kind.is_fifo() => Err(refused("a FIFO")),
        false if kind.is_socket() => Err(refused("a socket")),
        false => Err(refused("a device")),
    }
}

fn refused(found: &str) -> io::Error {
    let what = format!("expected a regular file, found {found}; remove it and run the same line again");
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Returns true if `error`, from [`open`] or [`open_to_write`], means that the path is not a regular file.
pub fn refuses(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/null", at("device")).unwrap();
        for (name, found) in [("fifo", "a FIFO"), ("socket", "a socket"), ("device", "a device")] {
            assert!(open(&at(name)).unwrap_err().to_string().contains(found), "{name}");
            assert!(create(&at(name)).is_err(), "{name}");
        }
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("none", at("dangling")).unwrap();
        assert_eq!(read(&at("link")).unwrap(), b"text");
        for name in ["link", "dangling"] {
            assert!(create(&at(name)).unwrap_err().to_string().contains("a link"), "{name}");
        }
        assert_eq!(read(&at("file")).unwrap(), b"text");
        assert!(!at("none").exists());
        assert_eq!(read(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        create(&at("file")).unwrap();
        assert_eq!(read(&at("file")).unwrap(), b"");
    }
}
