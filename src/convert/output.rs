//! An output file that appears only when it is complete. Many threads append to it in the order of the input.
//!
//! A thread waits until all earlier chunks have reserved their bytes in the file, but not until those bytes are
//! written.

use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::part::{self, failed};
use crate::error::Result;
use crate::formats::Packing;
use crate::store::durable::{sync_file, sync_folder};
use crate::store::replace::{TemporaryFile, target};

/// Compression level of gzip at which compressing is about as fast as reading and encoding the input.
const GZIP_LEVEL: u32 = 4;
/// Compression level of Zstandard at which compressing is about as fast as reading and encoding the input.
const ZSTD_LEVEL: i32 = 3;
/// Compression level of xz, chosen because it needs only 9 MiB of memory per thread.
const XZ_LEVEL: u32 = 1;

/// A file that is being written under a temporary name.
pub(super) struct OutputFile {
    path: PathBuf,
    temporary: TemporaryFile,
    file: File,
    packing: Packing,
    appended: Mutex<Appended>,
    /// Condition variable that is notified when a chunk of the output has reserved its bytes, and when the output is
    /// stopped.
    changed: Condvar,
}

/// How much of the file is reserved: the end of the reserved bytes, and the next chunk to append.
struct Appended {
    /// Offset in the file at which the next bytes will be written.
    end: u64,
    /// Index of the chunk to append next; `None` after the output was stopped.
    next: Option<u64>,
}

impl Appended {
    /// Reserves the next `length` bytes of the file, and returns their offset.
    fn reserve(&mut self, length: usize) -> u64 {
        let at = self.end;
        self.end += length as u64;
        at
    }
}

impl OutputFile {
    /// Creates the temporary file for `path`, or for the target if `path` is a link. The extension of `path`
    /// determines the packing.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let target = target(path)?;
        let (temporary, file) = part::create(&target)?;
        let packing = Packing::of(path);
        let (appended, changed) = (Mutex::new(Appended { end: 0, next: Some(0) }), Condvar::new());
        Ok(OutputFile { path: target, temporary, file, packing, appended, changed })
    }

    /// Appends bytes at the current end of the file. It is used for the header, and if only one thread writes.
    pub fn push(&self, bytes: &[u8]) -> Result<()> {
        let bytes = self.pack(bytes)?;
        let at = self.appended.lock().reserve(bytes.len());
        self.write(&bytes, at)
    }

    /// Appends the bytes of chunk `chunk` after the bytes of all earlier chunks.
    pub fn append(&self, chunk: u64, bytes: &[u8]) -> Result<()> {
        // Packing zero bytes would still write a member.
        let bytes = if bytes.is_empty() { bytes.into() } else { self.pack(bytes)? };
        match self.place(chunk, bytes.len()) {
            Some(at) => self.write(&bytes, at),
            None => Ok(()),
        }
    }

    /// Waits until all chunks before `chunk` have reserved their bytes, and reserves the next `length` bytes. Returns
    /// their offset, or `None` if another thread has stopped the output; that thread reports the error.
    fn place(&self, chunk: u64, length: usize) -> Option<u64> {
        let others_turn = |appended: &mut Appended| appended.next.is_some_and(|next| next != chunk);
        let mut appended = self.appended.lock();
        self.changed.wait_while(&mut appended, others_turn);
        appended.next = Some(appended.next? + 1);
        let at = appended.reserve(length);
        drop(appended);
        self.changed.notify_all();
        Some(at)
    }

    /// Stops the output: all waiting threads return.
    pub fn stop(&self) {
        self.appended.lock().next = None;
        self.changed.notify_all();
    }

    /// Compresses `bytes` as a separate member or frame; a compressed file may consist of several.
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

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(|e| failed("write the file", &self.path, e))
    }

    /// Syncs the file and renames it to its final name. Returns its size in bytes.
    pub fn finish(mut self) -> Result<u64> {
        if self.packing != Packing::Plain && self.appended.lock().end == 0 {
            self.push(b"")?; // a packed file has at least one member
        }
        sync_file(&self.file, &self.path).map_err(|e| failed("sync the file", &self.path, e))?;
        self.temporary.rename(&self.path).map_err(|e| failed("rename the file", &self.path, e))?;
        sync_folder(&self.path)?;
        Ok(self.appended.lock().end)
    }
}
