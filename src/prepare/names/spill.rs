//! A temporary file in which many threads append blocks to many parts, and from which each part is read back.

use crate::error::{Error, Result};
use crate::store::regular;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The file. It is unlinked, so a killed job leaves nothing behind.
pub(super) struct Spill {
    file: File,
    path: PathBuf,
    end: AtomicU64,
    /// Place and length of each block of each part.
    blocks: Vec<Mutex<Vec<(u64, u32)>>>,
}

impl Spill {
    pub fn create(path: &Path, parts: usize) -> Result<Spill> {
        let path = path.with_extension("spill");
        let file = regular::create_unnamed(&path, "create the file of strings", "unlink the file of strings")?;
        let blocks = (0..parts).map(|_| Mutex::default()).collect();
        Ok(Spill { file, path, end: AtomicU64::new(0), blocks })
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.blocks.len()
    }

    /// Appends a block to a part.
    pub fn append(&self, part: usize, bytes: &[u8]) -> Result<()> {
        // A block of more than 4 GiB is several.
        for bytes in bytes.chunks(1 << 30) {
            let at = self.end.fetch_add(bytes.len() as u64, Relaxed);
            let written = crate::failpoint::hit("names.write").and_then(|()| self.file.write_all_at(bytes, at));
            written.map_err(|e| Error::io("write strings", &self.path, e))?;
            self.of(part).push((at, bytes.len() as u32));
        }
        Ok(())
    }

    fn of(&self, part: usize) -> std::sync::MutexGuard<'_, Vec<(u64, u32)>> {
        self.blocks[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes of a part.
    pub fn bytes(&self, part: usize) -> u64 {
        self.of(part).iter().map(|&(_, length)| u64::from(length)).sum()
    }

    /// Calls `each` with the blocks of a part, of which `buffer` holds one at a time.
    pub fn each_block(&self, part: usize, buffer: &mut Vec<u8>, mut each: impl FnMut(&[u8])) -> Result<()> {
        for (at, length) in self.of(part).clone() {
            buffer.resize(length as usize, 0);
            self.file.read_exact_at(buffer, at).map_err(|e| Error::io("read strings", &self.path, e))?;
            each(buffer);
        }
        Ok(())
    }

    /// Reads a whole part.
    pub fn read(&self, part: usize) -> Result<Vec<u8>> {
        let mut all = Vec::with_capacity(self.bytes(part) as usize);
        for (at, length) in self.of(part).clone() {
            let start = all.len();
            all.resize(start + length as usize, 0);
            let read = self.file.read_exact_at(&mut all[start..], at);
            read.map_err(|e| Error::io("read strings", &self.path, e))?;
        }
        Ok(all)
    }
}

/// Gathers what one thread appends to each part, and appends it in blocks.
pub(super) struct SpillWriter<'a> {
    spill: &'a Spill,
    buffers: Vec<Vec<u8>>,
    block: usize,
}

impl<'a> SpillWriter<'a> {
    /// Makes a writer that takes about `room` bytes.
    pub fn new(spill: &'a Spill, room: u64) -> SpillWriter<'a> {
        let block = (room / spill.parts().max(1) as u64).clamp(512, 256 << 10) as usize;
        SpillWriter { spill, buffers: vec![Vec::new(); spill.parts()], block }
    }

    /// Returns the buffer of a part, to which the caller appends a record of up to `bytes` bytes.
    #[inline]
    pub fn buffer(&mut self, part: usize, bytes: usize) -> Result<&mut Vec<u8>> {
        let buffer = &mut self.buffers[part];
        if buffer.len() + bytes > self.block && !buffer.is_empty() {
            self.spill.append(part, buffer)?;
            buffer.clear();
        }
        Ok(buffer)
    }

    /// Appends what is left.
    pub fn finish(self) -> Result<()> {
        let left = self.buffers.into_iter().enumerate().filter(|(_, buffer)| !buffer.is_empty());
        left.into_iter().try_for_each(|(part, buffer)| self.spill.append(part, &buffer))
    }
}
