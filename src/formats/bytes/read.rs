//! Reads files of fixed-size records. They are not mapped: bytes in the page cache are copied at memory speed, without
//! page table entries. Bytes that are not in the page cache can be read with direct I/O into gpugraph's own cache of
//! the input.
#![allow(unsafe_code)] // preadv2 and posix_fadvise have no safe form

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{At, Error, Result};

/// Alignment in bytes of offsets, lengths and addresses for direct I/O, which bypasses the page cache.
pub(crate) const ALIGNED: usize = 4096;
/// Number of bytes per read with direct I/O; larger reads are not faster.
const DIRECT: usize = 4 << 20;

/// An open file that can be read at any offset.
pub(crate) struct Reader {
    path: PathBuf,
    length: u64,
    file: File,
    /// A second descriptor, without read-ahead, for testing whether pages are in the page cache; opened on first use.
    probe: OnceLock<Option<File>>,
    /// A descriptor for direct I/O, opened on first use, if the file system supports it.
    direct: OnceLock<Option<File>>,
}

impl Reader {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Reader> {
        let unreadable = |e| Error::unreadable(path, &e);
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let (probe, direct) = (OnceLock::new(), OnceLock::new());
        Ok(Reader { path: path.to_owned(), length, file, probe, direct })
    }

    fn probe(&self) -> Option<&File> {
        let open = || File::open(&self.path).ok().inspect(|probe| advise(probe, 0, 0, libc::POSIX_FADV_RANDOM));
        self.probe.get_or_init(open).as_ref()
    }

    fn direct(&self) -> Option<&File> {
        let open = || File::options().read(true).custom_flags(libc::O_DIRECT).open(&self.path).ok();
        self.direct.get_or_init(open).as_ref()
    }

    /// Returns the length in bytes that the file had when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns true if the bytes `from..to` seem to be in the page cache, or if the kernel can't tell. Only the first
    /// and the last byte are tested.
    pub fn cached(&self, from: u64, to: u64) -> bool {
        let Some(probe) = self.probe() else { return true };
        [from, to.max(from + 1) - 1].into_iter().all(|at| {
            let mut byte = 0u8;
            let into = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
            // SAFETY: the descriptor is open, and `into` describes one byte that outlives the call.
            let read =
                unsafe { libc::preadv2(probe.as_raw_fd(), &raw const into, 1, at as libc::off_t, libc::RWF_NOWAIT) };
            read >= 0 || std::io::Error::last_os_error().kind() != ErrorKind::WouldBlock
        })
    }

    /// Starts to read the bytes `from..to` ahead of time, without waiting. This is only a hint, so failures are
    /// ignored.
    pub fn will_need(&self, from: u64, to: u64) {
        if from < to.min(self.length) {
            will_need(&self.file, from, to.min(self.length) - from);
        }
    }

    /// Fills `into` with the bytes that start at offset `at`.
    ///
    /// # Errors
    /// Bad input if the file has become shorter, or can't be read.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match self.file.read_at(&mut into[filled..], at + filled as u64) {
                Ok(0) => {
                    let expected = format!("{} bytes, as when the file was opened", self.length);
                    let remedy = "leave the file alone while the job runs, and run again";
                    let place = At::Byte(at + filled as u64);
                    return Err(Error::input(&self.path, place, expected, "the file shorter now", remedy));
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::unreadable(&self.path, &e)),
            }
        }
        Ok(())
    }

    /// Reads the `len` bytes that start at offset `at` into the start of `memory`, bypassing the page cache if
    /// possible. For that, `at` and the address and length of `memory` should be multiples of [`ALIGNED`]. Bytes of
    /// `memory` after the first `len` may be overwritten.
    pub fn read_past_cache(&self, at: u64, memory: &mut [u8], len: usize) -> Result<()> {
        let mut filled = 0;
        while let (Some(direct), true) = (self.direct(), filled < len) {
            let most = (len - filled).next_multiple_of(ALIGNED).min(DIRECT).min(memory.len() - filled);
            match direct.read_at(&mut memory[filled..filled + most], at + filled as u64) {
                // Only whole pages and the end of the file are read directly; ordinary reads do the rest.
                Ok(n) if n > 0 && (n.is_multiple_of(ALIGNED) || filled + n >= len) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        if filled < len { self.read(at + filled as u64, &mut memory[filled..len]) } else { Ok(()) }
    }
}

/// Asks the kernel to read `len` bytes of `file`, starting at offset `from`, ahead of time.
pub fn will_need(file: &File, from: u64, len: u64) {
    advise(file, from, len, libc::POSIX_FADV_WILLNEED);
}

fn advise(file: &File, from: u64, len: u64, advice: libc::c_int) {
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), from as libc::off_t, len as libc::off_t, advice) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffered_and_direct_reads_agree_and_a_truncated_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.u32");
        let bytes: Vec<u8> = (0..3 * ALIGNED as u32 + 100).map(|i| ((i * i) >> 7) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let reader = Reader::open(&path).unwrap();
        let mut memory = vec![0u64; 4 * ALIGNED / 8];
        let memory = crate::memory::bytes_of_mut(&mut memory);
        for (at, len) in [(0, bytes.len()), (ALIGNED, 2 * ALIGNED + 100), (8, 50), (3 * ALIGNED, 100), (ALIGNED, 7)] {
            reader.read_past_cache(at as u64, memory, len).unwrap();
            assert_eq!(memory[..len], bytes[at..at + len], "{at} {len}");
            reader.read(at as u64, &mut memory[..len]).unwrap();
            assert_eq!(memory[..len], bytes[at..at + len], "{at} {len}");
        }
        File::options().write(true).open(&path).unwrap().set_len(ALIGNED as u64 + 10).unwrap();
        let error = reader.read_past_cache(ALIGNED as u64, memory, 100).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{error}");
        assert!(error.to_string().contains("a.u32 at byte 4106"), "{error}");
    }
}
