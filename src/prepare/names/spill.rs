//! Storage for a fixed number of byte sequences, the *parts*, in memory or in a temporary file. Threads append blocks
//! of bytes to any part, and later read each part as a whole.

use crate::error::{Error, Result};
use crate::store::scratch::ScratchFile;
use parking_lot::Mutex;
use std::path::Path;

/// Maximum size in bytes of a block in memory. These blocks are small, because the last block of each part is not full.
const IN_MEMORY: u64 = 16 << 10;
/// Maximum size in bytes of a block that a [`SpillWriter`] writes to the file.
const IN_FILE: u64 = 256 << 10;
/// Name of the failpoint that is hit whenever a block is appended.
const FAILPOINT: &str = "names.write";

/// The blocks of all parts, all in memory or all in a file.
pub(super) struct Spill {
    /// The file with the blocks; `None` if the blocks are in memory.
    file: Option<ScratchFile>,
    parts: Vec<Mutex<Vec<Block>>>,
}

enum Block {
    Memory(Vec<u8>),
    /// A block in the file: its byte offset, and its length in bytes.
    File(u64, u32),
}

impl Spill {
    /// Makes storage for `parts` parts (byte sequences), with all blocks in memory.
    pub fn in_memory(parts: usize) -> Spill {
        Spill { file: None, parts: (0..parts).map(|_| Mutex::default()).collect() }
    }

    /// Makes storage for `parts` parts (byte sequences), with all blocks in a file next to `path`.
    pub fn to_file(path: &Path, parts: usize) -> Result<Spill> {
        let file = ScratchFile::create(&path.with_extension("spill"), FAILPOINT)?;
        Ok(Spill { file: Some(file), ..Spill::in_memory(parts) })
    }

    /// Makes storage for `parts` parts (byte sequences) with about `bytes` bytes in total. The blocks are in memory if
    /// `bytes` is at most `memory`, otherwise in a file next to `path`.
    pub fn new(path: &Path, parts: usize, bytes: u64, memory: u64) -> Result<Spill> {
        if bytes <= memory { Ok(Spill::in_memory(parts)) } else { Spill::to_file(path, parts) }
    }

    /// Returns the number of parts (byte sequences).
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Appends the bytes of `buffer` to a part (byte sequence), and empties `buffer`.
    pub fn append(&self, part: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let Some(file) = &self.file else {
            crate::failpoint::hit(FAILPOINT).map_err(|e| Error::io("write strings", "memory", e))?;
            let fresh = Vec::with_capacity(buffer.capacity());
            self.parts[part].lock().push(Block::Memory(std::mem::replace(buffer, fresh)));
            return Ok(());
        };
        // A large buffer becomes several blocks, because the length of a block has 32 bits.
        for bytes in buffer.chunks(1 << 30) {
            let at = file.append(&[bytes])?;
            self.parts[part].lock().push(Block::File(at, bytes.len() as u32));
        }
        buffer.clear();
        Ok(())
    }

    /// Returns the size of a part (byte sequence) in bytes.
    pub fn bytes(&self, part: usize) -> u64 {
        self.parts[part].lock().iter().map(Block::bytes).sum()
    }

    /// Calls `each` with each block of a part (byte sequence).
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

    /// Replaces the contents of `to` by a whole part, and frees the memory of the part.
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

/// Writer that one thread uses. It buffers the records for each part (byte sequence), and appends them to the part in
/// blocks.
pub(super) struct SpillWriter<'a> {
    spill: &'a Spill,
    buffers: Vec<Vec<u8>>,
    block: usize,
}

impl<'a> SpillWriter<'a> {
    /// Makes a writer whose buffers use about `room` bytes in total.
    pub fn new(spill: &'a Spill, room: u64) -> SpillWriter<'a> {
        let most = if spill.file.is_some() { IN_FILE } else { IN_MEMORY };
        let block = (room / spill.parts().max(1) as u64).clamp(512, most) as usize;
        SpillWriter { spill, buffers: vec![Vec::new(); spill.parts()], block }
    }

    /// Adds a record to a part (byte sequence).
    #[inline]
    pub fn put(&mut self, part: usize, record: &[u8]) -> Result<()> {
        let buffer = &mut self.buffers[part];
        if buffer.len() + record.len() > self.block && !buffer.is_empty() {
            self.spill.append(part, buffer)?;
        }
        buffer.extend_from_slice(record);
        Ok(())
    }

    /// Appends the records that are still buffered to their parts (byte sequences).
    pub fn finish(self) -> Result<()> {
        let left = self.buffers.into_iter().enumerate().filter(|(_, buffer)| !buffer.is_empty());
        left.into_iter().try_for_each(|(part, mut buffer)| {
            buffer.shrink_to_fit();
            self.spill.append(part, &mut buffer)
        })
    }
}
