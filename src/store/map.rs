//! Sealed files, mapped read-only. No value in a file is used before header, footer and lengths have been checked.
#![allow(unsafe_code)] // mapping a file and viewing its bytes as integers have no safe form

use crate::store::regular;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, UncheckedAdvice};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::file::{CHUNK, FRAME_BYTES, Kind, Seal, check_footer, check_header, chunk_seed, combine};
use crate::error::{At, Error, Result};
use crate::memory::addresses_left;

// Mapped files are used without conversion of the byte order.
const _: () = assert!(cfg!(target_endian = "little"), "stored files are little-endian and mapped as they are");

/// A memory-mapped sealed file. Its clean pages count as page cache, not as memory of the process.
///
/// If the file is truncated or its disk fails while it is mapped, an access raises SIGBUS. The handler of
/// [`crate::process::signals`] then prints one line and exits.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    path: PathBuf,
    salt: u64,
    seal: Seal,
}

impl Mapped {
    /// Maps the sealed file `path`, which must be complete and have this kind and salt. The salt identifies the graph
    /// and the role of the file. Only header and footer are read; [`Mapped::verify_checksum`] checks the body.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the offset of the first field that is wrong; [`Error::Io`] if the file can't be opened,
    /// read or mapped.
    pub fn open(path: &Path, kind: Kind, salt: u64) -> Result<Mapped> {
        let file = regular::open(path).map_err(|e| Error::io("open", path, e))?;
        let len = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
        if len < 2 * FRAME_BYTES as u64 {
            let what = format!("{len} bytes, fewer than the {} of header and footer", 2 * FRAME_BYTES);
            return Err(Error::corrupt(path, At::Byte(len), what));
        }
        let mut edge = [0; FRAME_BYTES];
        file.read_exact_at(&mut edge, 0).map_err(|e| Error::io("read", path, e))?;
        check_header(path, &edge, kind, salt)?;
        file.read_exact_at(&mut edge, len - FRAME_BYTES as u64).map_err(|e| Error::io("read", path, e))?;
        let seal = check_footer(path, &edge, len, salt)?;
        // SAFETY: sealed files are never modified in place, only replaced by rename, which leaves this inode
        // unchanged. If another process modifies a file nevertheless: every value is checked before it is used as an
        // index, and a truncation ends the process through SIGBUS.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| map_failed(path, len, e))?;
        if map.len() as u64 != len {
            return Err(Error::corrupt(path, At::Byte(len), "the file changed its length while it was opened"));
        }
        Ok(Mapped { map, path: path.to_owned(), salt, seal })
    }

    /// Returns the path of the mapped file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the body of the sealed file. Its address is a multiple of 64 bytes.
    pub fn body(&self) -> &[u8] {
        &self.map[FRAME_BYTES..self.map.len() - FRAME_BYTES]
    }

    /// Returns the body of the sealed file as a slice of little-endian `u32`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its length is not a multiple of 4.
    pub fn body_as_u32(&self) -> Result<&[u32]> {
        as_u32(self.body()).ok_or_else(|| self.not_whole(4))
    }

    /// Returns the body of the sealed file as a slice of little-endian `u64`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its length is not a multiple of 8.
    pub fn body_as_u64(&self) -> Result<&[u64]> {
        as_u64(self.body()).ok_or_else(|| self.not_whole(8))
    }

    fn not_whole(&self, of: usize) -> Error {
        Error::corrupt(
            &self.path,
            At::File,
            format!("the body has {} bytes, which is not a multiple of {of}", self.seal.bytes),
        )
    }

    /// Reads the whole body in parallel, and compares its checksum with the checksum in the footer. It drops the pages
    /// of each chunk afterwards, so that verifying large files takes little memory.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn verify_checksum(&self) -> Result<()> {
        let chunks: Vec<u64> = self
            .body()
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(i, chunk)| {
                let checksum = xxh3_64_with_seed(chunk, chunk_seed(self.salt, i as u64));
                self.drop_range(i * CHUNK..i * CHUNK + chunk.len());
                checksum
            })
            .collect();
        let found = combine(chunks.into_iter(), self.seal.bytes, self.salt);
        if found != self.seal.checksum {
            let what = format!("the body's checksum is {found:016x}, the footer says {:016x}", self.seal.checksum);
            return Err(Error::corrupt(&self.path, At::Byte(FRAME_BYTES as u64), what));
        }
        Ok(())
    }

    /// Returns the length of the sealed file's body in bytes.
    pub fn bytes(&self) -> u64 {
        self.body().len() as u64
    }

    /// Drops all pages of the body from the process, as [`Self::drop_range`] does for a range.
    pub fn release(&self) {
        self.drop_range(0..self.body().len());
    }

    /// Drops the pages of the byte range `range` of the body from the process (madvise). They stay in the page cache,
    /// and a later access maps them again. The range is clamped to the body.
    pub fn drop_range(&self, range: Range<usize>) {
        let body = self.body().len();
        let (start, end) = (range.start.min(body), range.end.min(body));
        if start < end {
            // SAFETY: the mapping is shared and read-only, so a dropped page is mapped again with the same bytes of
            // the file; borrowed slices stay valid.
            let _ =
                unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, FRAME_BYTES + start, end - start) };
        }
    }
}

/// Returns the error for a file of `bytes` bytes that could not be mapped because of `e`.
pub(super) fn map_failed(path: &Path, bytes: u64, e: std::io::Error) -> Error {
    match e.raw_os_error() {
        Some(libc::ENOMEM) => Error::unmapped(path, bytes, addresses_left(), ", or set limits.host_memory to less", &e),
        _ => Error::io("map", path, e),
    }
}

/// Returns `bytes` as a slice of `u32`, or `None` if their address or length is not a multiple of 4.
pub fn as_u32(bytes: &[u8]) -> Option<&[u32]> {
    // SAFETY: every pattern of four bytes is a u32, and align_to splits off unaligned and incomplete words.
    let (before, words, after) = unsafe { bytes.align_to() };
    (before.is_empty() && after.is_empty()).then_some(words)
}

/// Returns `bytes` as a slice of `u64`, or `None` if their address or length is not a multiple of 8.
pub fn as_u64(bytes: &[u8]) -> Option<&[u64]> {
    // SAFETY: every pattern of eight bytes is a u64, and align_to splits off unaligned and incomplete words.
    let (before, words, after) = unsafe { bytes.align_to() };
    (before.is_empty() && after.is_empty()).then_some(words)
}
