//! Signals to processes that are found in /proc.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Sends a signal to every process that `belongs` accepts by its folder in /proc. Schedulers' tests start thousands of processes a second,
/// so within seconds a number may belong to another process. A descriptor is opened before the process is looked at, so that the signal
/// reaches that process or none.
#[allow(unsafe_code)]
pub fn signal_all(signal: i32, belongs: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // SAFETY: the call takes a number of a process and flags.
        let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if process < 0 {
            continue;
        }
        // SAFETY: the descriptor is new, so that nobody else closes it.
        let process = unsafe { OwnedFd::from_raw_fd(process as i32) };
        if belongs(&entry.path()) {
            let information = std::ptr::null::<libc::siginfo_t>();
            // SAFETY: the call takes a descriptor, a signal, no information and no flags. It fails if the process has ended.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, information, 0) };
        }
    }
}

/// A number in `stat` of a process: of its parent (1), its group (2) or its session (3), by the field's index after the name.
pub fn stat(process: &Path, field: usize) -> Option<u32> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(field)?.parse().ok()
}

/// Whether the environment or the command line of a process names `text`.
pub fn names(process: &Path, text: &str) -> bool {
    let names = |file| String::from_utf8_lossy(&fs::read(process.join(file)).unwrap_or_default()).contains(text);
    names("environ") || names("cmdline")
}
