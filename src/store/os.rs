//! Wrappers of system calls for which std has no safe interface.
#![allow(unsafe_code)] // system calls on a descriptor or a path that outlives them

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Asks the kernel to start writing bytes `offset .. offset + len` of `file` to the disk, without waiting. Then a
/// later fsync takes little time, and a small memory cgroup does not fill with dirty pages.
///
/// This is a hint. If a file system does not support it, only speed is lost, so errors are ignored.
pub fn start_writeback(file: &File, offset: u64, len: u64) {
    let (Ok(offset), Ok(len)) = (i64::try_from(offset), i64::try_from(len)) else { return };
    // SAFETY: the descriptor is open while `file` is borrowed, and no memory is passed.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Waits until a read of `file` would not block, but at most for the time `patience`. A POSIX signal ends the wait
/// early. Returns true if a read would not block, and false if the wait ended for another reason.
///
/// # Errors
/// Errors of the system call.
pub fn readable(file: &impl AsFd, patience: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: file.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `poll` is one struct of the type that the call reads and writes, and its descriptor is borrowed during
    // the call.
    match unsafe { libc::poll(&mut poll, 1, milliseconds) } {
        -1 => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            e => Err(e),
        },
        ready => Ok(ready > 0),
    }
}

/// Returns the number of bytes in the pipe `file` that have not been read yet; `None` if `file` is not a pipe.
pub fn unread(file: &impl AsFd) -> Option<u64> {
    let descriptor = file.as_fd().as_raw_fd();
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is borrowed during the call, and `bytes` is a writable integer of the type that the call
    // fills in.
    let known = unsafe { libc::ioctl(descriptor, libc::FIONREAD, &mut bytes) } == 0;
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above; `found` is a writable struct of the type that the call fills in.
    let is_pipe = unsafe { libc::fstat(descriptor, &mut found) } == 0 && found.st_mode & libc::S_IFMT == libc::S_IFIFO;
    (known && is_pipe).then(|| bytes.max(0) as u64)
}

/// Returns the resident memory of this process in bytes: anonymous and shared-memory pages, without pages of mapped
/// files. Returns 0 if the kernel does not report it.
pub fn own_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok());
    ["RssAnon:", "RssShmem:"].iter().filter_map(|key| kib(key)).map(|kib: u64| kib << 10).sum()
}

/// Returns the CPU time (user and system) of all threads of this process; 0 if it can't be read.
pub fn processor_time() -> Duration {
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a writable struct of the type that the call fills in.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) } != 0 {
        return Duration::ZERO;
    }
    let of = |time: libc::timeval| Duration::new(time.tv_sec.max(0) as u64, 1000 * time.tv_usec.max(0) as u32);
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Returns (bytes read from disks, bytes written to disks) by this process, including accesses to mapped files. They
/// are 0 if the kernel does not report them.
pub fn disk_bytes() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok()).unwrap_or(0);
    (of("read_bytes:"), of("write_bytes:"))
}

/// Returns the free space, in bytes, for unprivileged processes on the file system of `path`, which must exist.
///
/// # Errors
/// Errors of the system call, for example if `path` does not exist.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends in a zero byte, and `found` is a writable struct of the type that the call fills in.
    if unsafe { libc::statvfs(path.as_ptr(), &mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(found.f_bavail as u64 * found.f_frsize as u64)
}

/// Returns true if `path`, or its nearest existing ancestor, is on a local file system, which no other machine shares:
/// ext2 to ext4, XFS, Btrfs, ZFS, F2FS, tmpfs or overlayfs. Unknown types of file systems count as shared.
///
/// # Source
/// `linux/magic.h`; statfs(2).
pub fn is_local(path: &Path) -> bool {
    const LOCAL: [u64; 7] = [0xef53, 0x5846_5342, 0x9123_683e, 0x2fc1_2fc1, 0xf2f5_2010, 0x0102_1994, 0x794c_7630];
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    let Ok(path) = CString::new(existing.unwrap_or(Path::new(".")).as_os_str().as_bytes()) else { return false };
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends in a zero byte, and `found` is a writable struct of the type that the call fills in.
    let status = unsafe { libc::statfs(path.as_ptr(), &mut found) };
    // The type of the field is signed on some platforms.
    status == 0 && LOCAL.contains(&(found.f_type as u64 & 0xffff_ffff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn unread_bytes_of_a_pipe_are_counted() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"four").unwrap();
        assert_eq!(unread(&writer), Some(4));
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(unread(&writer), Some(1));
        assert_eq!(unread(&tempfile::tempfile().unwrap()), None);
    }

    #[test]
    fn shared_memory_is_local_and_proc_is_unknown() {
        if Path::new("/dev/shm").is_dir() {
            assert!(is_local(Path::new("/dev/shm/there/is/no/such/folder")));
        }
        assert!(!is_local(Path::new("/proc/self")));
    }
}
