//! Handler of SIGBUS, which the kernel sends on an access to a mapped file that was truncated or whose disk failed.
//! The handler prints one line that names the file, and exits with code 3.
#![allow(unsafe_code)] // a signal handler may only make system calls

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// Maximum length of a line of `/proc/self/maps`: numbers and a path.
const LONGEST: usize = libc::PATH_MAX as usize + 128;

/// Installs the SIGBUS handler.
///
/// # Errors
/// The error of `sigaction`.
pub(super) fn install() -> io::Result<()> {
    // SAFETY: all fields of this struct may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_bus_error as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler calls only open, read, write, pause and _exit, which are async-signal-safe.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_bus_error(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if REPORTED.swap(true, Ordering::SeqCst) {
        // Several threads may access the same file. The first one reports the error and ends the process.
        loop {
            // SAFETY: it only waits.
            unsafe { libc::pause() };
        }
    }
    // SAFETY: the kernel passes a description of the signal, which for SIGBUS contains the address.
    let address = unsafe { (*info).si_addr() } as usize;
    let mut line = [0; LONGEST];
    write_stderr(b"error: ");
    write_stderr(mapped_at(address, &mut line).unwrap_or(b"a mapped file"));
    write_stderr(b": was truncated, or its disk failed, while it was read; don't change files that a job reads, and run the same line again\n");
    // SAFETY: it ends the process.
    unsafe { libc::_exit(3) };
}

fn write_stderr(text: &[u8]) {
    // SAFETY: the slice has that length.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// Returns the path of the file that is mapped at `address`, according to `/proc/self/maps`; `None` if no file is
/// mapped there. `line` is a buffer for one line of the list.
fn mapped_at(address: usize, line: &mut [u8; LONGEST]) -> Option<&[u8]> {
    // SAFETY: the path ends with a zero.
    let list = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let mut length = 0;
    let mut chunk = [0_u8; 4096];
    loop {
        // SAFETY: `chunk` has that many bytes.
        let read = unsafe { libc::read(list, chunk.as_mut_ptr().cast(), chunk.len()) };
        // `read` is 0 at the end, and negative if there is no list.
        let bytes = chunk.get(..usize::try_from(read).ok()?).filter(|bytes| !bytes.is_empty())?;
        for &byte in bytes {
            if byte != b'\n' {
                *line.get_mut(length)? = byte;
                length += 1;
                continue;
            }
            if contains_address(line.get(..length)?, address) {
                let path = line[..length].iter().position(|&byte| byte == b'/')?;
                return line.get(path..length);
            }
            length = 0;
        }
    }
}

/// Returns true if `address` is in the address range at the start of `line`, a line of `/proc/self/maps`.
fn contains_address(line: &[u8], address: usize) -> bool {
    let mut parts = line.split(|byte| matches!(byte, b'-' | b' '));
    let mut number = || parts.next().map(|digits| digits.iter().fold(0, |sum, &digit| sum << 4 | hex(digit)));
    let (from, to) = (number(), number());
    from.is_some_and(|from| from <= address) && to.is_some_and(|to| address < to)
}

fn hex(digit: u8) -> usize {
    (digit as char).to_digit(16).unwrap_or(0) as usize
}
