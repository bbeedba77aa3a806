//! Sealed files, mapped read-only. Nothing of a file is trusted before header, footer and lengths agree.
#![allow(unsafe_code)] // Mapping a file and viewing its bytes as integers have no safe form.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, UncheckedAdvice};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::file::{CHUNK, EDGE, Kind, Seal, check_footer, check_header, chunk_seed, combine};
use crate::error::{At, Error, Result};

// Files are little-endian and are viewed in place.
const _: () = assert!(cfg!(target_endian = "little"), "stored files are little-endian and mapped as they are");

/// A sealed file mapped into memory. Its clean pages belong to the page cache, not to the process.
///
/// If the file is truncated or its disk fails while it is mapped, a read raises SIGBUS; [`crate::process::signals`] turns
/// that into one line and an exit.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    path: PathBuf,
    salt: u64,
    seal: Seal,
}

impl Mapped {
    /// Maps `path`, which must be a complete file of this kind and salt. Reads the header and the footer only; the body
    /// is checked by [`Mapped::verify_checksum`].
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the byte that disagrees; [`Error::Io`] if it can't be opened, read or mapped.
    pub fn open(path: &Path, kind: Kind, salt: u64) -> Result<Mapped> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        let len = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
        if len < 2 * EDGE as u64 {
            let what = format!("{len} bytes, fewer than the {} of header and footer", 2 * EDGE);
            return Err(Error::corrupt(path, At::Byte(len), what));
        }
        let mut edge = [0; EDGE];
        file.read_exact_at(&mut edge, 0).map_err(|e| Error::io("read", path, e))?;
        check_header(path, &edge, kind, salt)?;
        file.read_exact_at(&mut edge, len - EDGE as u64).map_err(|e| Error::io("read", path, e))?;
        let seal = check_footer(path, &edge, len, salt)?;
        // SAFETY: sealed files are never changed in place, only replaced by rename, which leaves this inode as it is.
        // Should anyone else change one, every value read from it is checked before it serves as an index, and a
        // truncation ends the process through SIGBUS.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
        if map.len() as u64 != len {
            return Err(Error::corrupt(path, At::Byte(len), "the file changed its length while it was opened"));
        }
        Ok(Mapped { map, path: path.to_owned(), salt, seal })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length and checksum as the footer has them.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// The body. It starts at a multiple of 64 bytes.
    pub fn body(&self) -> &[u8] {
        &self.map[EDGE..self.map.len() - EDGE]
    }

    /// The body as little-endian `u32`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its length is no multiple of 4.
    pub fn body_as_u32(&self) -> Result<&[u32]> {
        as_u32(self.body()).ok_or_else(|| self.not_whole(4))
    }

    /// The body as little-endian `u64`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its length is no multiple of 8.
    pub fn body_as_u64(&self) -> Result<&[u64]> {
        as_u64(self.body()).ok_or_else(|| self.not_whole(8))
    }

    fn not_whole(&self, of: usize) -> Error {
        Error::corrupt(&self.path, At::File, format!("{} bytes of body are no multiple of {of}", self.seal.bytes))
    }

    /// Reads the whole body, in parallel, and compares its checksum with the footer's. Drops each chunk's pages from
    /// the process behind it, so that checking a store never looks like using its size in memory.
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
            return Err(Error::corrupt(&self.path, At::Byte(EDGE as u64), what));
        }
        Ok(())
    }

    /// Asks the kernel to read these bytes of the body ahead. A hint; ranges beyond the body are cut.
    pub fn advise_willneed(&self, range: Range<usize>) {
        if let Some((start, len)) = self.in_map(range) {
            let _ = self.map.advise_range(Advice::WillNeed, start, len);
        }
    }

    /// Takes the pages of these bytes of the body out of the process; they stay in the page cache, and a later read
    /// maps them again. Ranges beyond the body are cut.
    pub fn drop_range(&self, range: Range<usize>) {
        if let Some((start, len)) = self.in_map(range) {
            // SAFETY: the mapping is shared and read-only, so a dropped page comes back from the file with the same
            // bytes; borrowed slices stay valid.
            let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, len) };
        }
    }

    fn in_map(&self, range: Range<usize>) -> Option<(usize, usize)> {
        let body = self.map.len() - 2 * EDGE;
        let (start, end) = (range.start.min(body), range.end.min(body));
        (start < end).then(|| (EDGE + start, end - start))
    }
}

/// `bytes` as `u32`, or nothing if they are not aligned to 4 or no multiple of 4 long.
pub fn as_u32(bytes: &[u8]) -> Option<&[u32]> {
    // SAFETY: every pattern of four bytes is a u32, and align_to splits off what is not aligned or whole.
    let (before, words, after) = unsafe { bytes.align_to() };
    (before.is_empty() && after.is_empty()).then_some(words)
}

/// `bytes` as `u64`, or nothing if they are not aligned to 8 or no multiple of 8 long.
pub fn as_u64(bytes: &[u8]) -> Option<&[u64]> {
    // SAFETY: every pattern of eight bytes is a u64, and align_to splits off what is not aligned or whole.
    let (before, words, after) = unsafe { bytes.align_to() };
    (before.is_empty() && after.is_empty()).then_some(words)
}
