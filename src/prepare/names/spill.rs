//! Blocks that many threads append to many parts, and from which each part is read back: in memory, or in a temporary
//! file.

use crate::error::{Error, Result};
use crate::store::scratch::ScratchFile;
use parking_lot::Mutex;
use std::path::Path;

/// Maximum number of bytes of a block that a [`SpillWriter`] gathers for memory. These blocks are small, because the
/// last block of each part is not full.
const IN_MEMORY: u64 = 16 << 10;
/// Maximum number of bytes of a block that a [`SpillWriter`] gathers for the file.
const IN_FILE: u64 = 256 << 10;
/// Failpoint that each block hits.
const FAILPOINT: &str = "names.write";

/// The blocks of all parts, in memory or in a file.
pub(super) struct Spill {
    /// The file with the blocks; `None` if the blocks are in memory.
    file: Option<ScratchFile>,
    parts: Vec<Mutex<Vec<Block>>>,
}

enum Block {
    Memory(Vec<u8>),
    /// The block is in the file, at this offset and with this length.
    File(u64, u32),
}

impl Spill {
    /// Makes a spill that has its blocks in memory.
    pub fn in_memory(parts: usize) -> Spill {
        Spill { file: None, parts: (0..parts).map(|_| Mutex::default()).collect() }
    }

    /// Makes a spill that has its blocks in a file next to `path`.
    pub fn to_file(path: &Path, parts: usize) -> Result<Spill> {
        let file = ScratchFile::create(&path.with_extension("spill"), FAILPOINT)?;
        Ok(Spill { file: Some(file), ..Spill::in_memory(parts) })
    }

    /// Makes a spill for about `bytes` bytes, in memory if these are at most `memory`.
    pub fn new(path: &Path, parts: usize, bytes: u64, memory: u64) -> Result<Spill> {
        if bytes <= memory { Ok(Spill::in_memory(parts)) } else { Spill::to_file(path, parts) }
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Appends the bytes of `buffer` to a part, and empties `buffer`.
    pub fn append(&self, part: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let Some(file) = &self.file else {
            crate::failpoint::hit(FAILPOINT).map_err(|e| Error::io("write strings", "memory", e))?;
            let fresh = Vec::with_capacity(buffer.capacity());
            self.parts[part].lock().push(Block::Memory(std::mem::replace(buffer, fresh)));
            return Ok(());
        };
        // A block of more than 4 GiB is several.
        for bytes in buffer.chunks(1 << 30) {
            let at = file.append(&[bytes])?;
            self.parts[part].lock().push(Block::File(at, bytes.len() as u32));
        }
        buffer.clear();
        Ok(())
    }

    /// Returns the number of bytes of a part.
    pub fn bytes(&self, part: usize) -> u64 {
        self.parts[part].lock().iter().map(Block::bytes).sum()
    }

    /// Calls `each` with the blocks of a part.
    pub fn each_block(&self, part: usize, mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut buffer = Vec::new();
        for block in self.parts[part].lock().iter() {
            match block {
                Block::Memory(bytes) => each(bytes),
                Block::File(..) => {
                    buffer.clear();
                    self.copy(block, &mut buffer)?;
                    each(&buffer);
                }
            }
        }
        Ok(())
    }

    /// Reads a whole part to `to`, and frees its memory.
    pub fn take(&self, part: usize, to: &mut Vec<u8>) -> Result<()> {
        to.clear();
        let blocks = std::mem::take(&mut *self.parts[part].lock());
        to.reserve(blocks.iter().map(Block::bytes).sum::<u64>() as usize);
        blocks.into_iter().try_for_each(|block| self.copy(&block, to))
    }

    /// Appends the bytes of a block to `to`.
    fn copy(&self, block: &Block, to: &mut Vec<u8>) -> Result<()> {
        match (block, &self.file) {
            (Block::Memory(bytes), _) => to.extend_from_slice(bytes),
            (&Block::File(at, length), Some(file)) => {
                let start = to.len();
                to.resize(start + length as usize, 0);
                file.read(at, &mut to[start..])?;
            }
            (Block::File(..), None) => {}
        }
        Ok(())
    }
}

impl Block {
    fn bytes(&self) -> u64 {
        match self {
            Block::Memory(bytes) => bytes.len() as u64,
            Block::File(_, length) => u64::from(*length),
        }
    }
}

/// Buffers the records that one thread adds to each part, and appends them in blocks.
pub(super) struct SpillWriter<'a> {
    spill: &'a Spill,
    buffers: Vec<Vec<u8>>,
    block: usize,
}

impl<'a> SpillWriter<'a> {
    /// Makes a writer that takes about `room` bytes.
    pub fn new(spill: &'a Spill, room: u64) -> SpillWriter<'a> {
        let most = if spill.file.is_some() { IN_FILE } else { IN_MEMORY };
        let block = (room / spill.parts().max(1) as u64).clamp(512, most) as usize;
        SpillWriter { spill, buffers: vec![Vec::new(); spill.parts()], block }
    }

    /// Appends a record to a part.
    #[inline]
    pub fn put(&mut self, part: usize, record: &[u8]) -> Result<()> {
        let buffer = &mut self.buffers[part];
        if buffer.len() + record.len() > self.block && !buffer.is_empty() {
            self.spill.append(part, buffer)?;
        }
        buffer.extend_from_slice(record);
        Ok(())
    }

    /// Appends the remaining records.
    pub fn finish(self) -> Result<()> {
        let left = self.buffers.into_iter().enumerate().filter(|(_, buffer)| !buffer.is_empty());
        left.into_iter().try_for_each(|(part, mut buffer)| {
            buffer.shrink_to_fit();
            self.spill.append(part, &mut buffer)
        })
    }
}
