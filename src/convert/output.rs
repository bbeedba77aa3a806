//! An output file that appears only when it is complete, and to which many threads append in the order of the input.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::part::{self, failed};
use crate::error::Result;
use crate::formats::Packing;
use crate::store::replace::target;

/// Compression levels at which packing is about as fast as reading and encoding.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
/// Compression level of xz, at which it needs 9 MiB of memory per thread.
const XZ_LEVEL: u32 = 1;

/// A file that is being written under a temporary name.
pub(super) struct OutputFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    packing: Packing,
    /// Offset at which the next bytes are written.
    end: Mutex<u64>,
    finished: bool,
}

impl OutputFile {
    /// Creates the temporary file for `path`, or for the file to which it links. It will be packed as the name says.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let target = target(path)?;
        part::remove_abandoned(&target);
        let (temporary, file) = part::create(&target)?;
        let packing = Packing::of(path);
        Ok(OutputFile { path: target, temporary, file, packing, end: Mutex::new(0), finished: false })
    }

    /// Appends the header, which must come before all other bytes.
    pub fn header(&self, bytes: &[u8]) -> Result<()> {
        let bytes = self.pack(bytes)?;
        let end = self.reserve(bytes.len());
        self.write(&bytes, end)
    }

    /// Packs `bytes` as a separate member or frame; a packed file may consist of several.
    fn pack<'b>(&self, bytes: &'b [u8]) -> Result<std::borrow::Cow<'b, [u8]>> {
        let packed = match self.packing {
            Packing::Plain | Packing::Zip => return Ok(bytes.into()),
            Packing::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(bytes.len() / 2 + 64), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
            Packing::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL),
            Packing::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
            Packing::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), XZ_LEVEL);
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
        };
        packed.map(Into::into).map_err(|e| failed("pack the file", &self.path, e))
    }

    /// Reserves the next `length` bytes of the file, and returns their offset.
    fn reserve(&self, length: usize) -> u64 {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *end;
        *end += length as u64;
        at
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(|e| failed("write the file", &self.path, e))
    }

    /// Syncs the file and renames it to its final name. Returns its size in bytes.
    pub fn finish(mut self) -> Result<u64> {
        if self.packing != Packing::Plain && self.reserve(0) == 0 {
            self.header(b"")?; // a packed file has at least one member
        }
        let at = |doing| move |e| (doing, e);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.file
            .sync_all()
            .map_err(at("sync the file"))
            .and_then(|()| std::fs::rename(&self.temporary, &self.path).map_err(at("rename the file")))
            .and_then(|()| File::open(folder).and_then(|f| f.sync_all()).map_err(at("sync the folder")))
            .map_err(|(doing, e)| failed(doing, &self.path, e))?;
        self.finished = true;
        Ok(self.reserve(0))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.finished {
            // A partial file is useless, and the caller already has an error to report.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Lets threads append chunks in order. A thread waits until earlier chunks have reserved their bytes in the file, but
/// not until those bytes are written.
pub(super) struct AppendTurns<'a> {
    output: &'a OutputFile,
    /// The next chunk; `None` once the output is stopped.
    next: Mutex<Option<u64>>,
    changed: Condvar,
}

impl<'a> AppendTurns<'a> {
    pub fn new(output: &'a OutputFile) -> Self {
        AppendTurns { output, next: Mutex::new(Some(0)), changed: Condvar::new() }
    }

    /// Appends the bytes of a chunk after those of all chunks before it.
    pub fn append(&self, chunk: u64, bytes: &[u8]) -> Result<()> {
        // Packing nothing would still write a member.
        let bytes = if bytes.is_empty() { bytes.into() } else { self.output.pack(bytes)? };
        match self.place(chunk, bytes.len()) {
            Some(at) => self.output.write(&bytes, at),
            None => Ok(()),
        }
    }

    /// Waits for the turn of `chunk`, and reserves `length` bytes. Returns their offset, or `None` if another thread
    /// has stopped the output; the error of that thread is reported.
    fn place(&self, chunk: u64, length: usize) -> Option<u64> {
        let others_turn = |next: &mut Option<u64>| next.is_some_and(|next| next != chunk);
        let mut next = self.changed.wait_while(self.lock(), others_turn).unwrap_or_else(PoisonError::into_inner);
        *next = Some((*next)? + 1);
        let at = self.output.reserve(length);
        drop(next);
        self.changed.notify_all();
        Some(at)
    }

    /// Makes all waiting threads return.
    pub fn stop(&self) {
        *self.lock() = None;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<u64>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
