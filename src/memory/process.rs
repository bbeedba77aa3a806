//! Reads the memory of other processes on the same machine, if these processes allow it.
#![allow(unsafe_code)] // the system call that reads another process's memory

use std::io::{Error, ErrorKind, Result};

/// A process on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(libc::pid_t);

impl Process {
    /// Returns this process, and from now on allows other processes of the same user to read its memory, if the kernel
    /// permits that.
    pub fn open() -> Process {
        // Some systems let only a parent process read a process's memory. This flag allows other processes. SAFETY:
        // sets a flag of this process; on a kernel without the flag, reading fails or works as before.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
        // SAFETY: getpid always succeeds.
        Process(unsafe { libc::getpid() })
    }

    /// Returns the process with the id `number`.
    pub fn of(number: u64) -> Process {
        Process(number as libc::pid_t)
    }

    /// Returns the process id.
    pub fn number(self) -> u64 {
        self.0 as u64
    }

    /// Fills `to` with the bytes that start at `address` in the memory of this process.
    ///
    /// # Errors
    /// Errors of the system call: reading is not allowed, or the process or the memory does not exist.
    pub fn read(self, address: u64, to: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < to.len() {
            let rest = &mut to[done..];
            let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
            let from = (address as usize + done) as *mut libc::c_void;
            let remote = libc::iovec { iov_base: from, iov_len: rest.len() };
            // SAFETY: writes only to `rest`; the kernel checks the remote address.
            let read = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, &raw const remote, 1, 0) };
            done += match usize::try_from(read) {
                Ok(0) => return Err(Error::from(ErrorKind::UnexpectedEof)),
                Ok(read) => read,
                Err(_) => return Err(Error::last_os_error()),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_or_an_error_says_that_it_is_not_there() {
        let words: Vec<u64> = (0..1 << 20).collect();
        let mut found = vec![0; 8 << 10];
        let me = Process::open();
        me.read(words[5000..].as_ptr() as u64, &mut found).expect("this process's own memory");
        assert_eq!(found, crate::memory::bytes_of(&words[5000..6024]));
        assert!(me.read(4096, &mut found).is_err(), "nothing lies there");
        assert!(Process::of(0x3fff_fffe).read(words.as_ptr() as u64, &mut found).is_err(), "no such process");
        assert_eq!(Process::of(me.number()), me);
    }
}
