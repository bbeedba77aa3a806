//! Reads the stored bytes of a compressed file, and hashes them.

use std::io::{BufReader, Read};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::state::ScanState;
use crate::error::{At, Error, Result};
use crate::formats::packing::Decoder;

/// Number of bytes of a compressed file that are read at a time.
const STORED: usize = 256 << 10;

/// Reader of the stored bytes of a compressed file, from its start. It also hashes them.
pub(in crate::formats) struct StoredBytes<'a> {
    shared: &'a ScanState<'a>,
    part: usize,
    file: std::fs::File,
    pub length: u64,
    /// Offset of the next byte to read from the file.
    pub offset: u64,
    hasher: Xxh3,
}

impl<'a> StoredBytes<'a> {
    /// Memory that the reader needs, in bytes.
    pub const BYTES: u64 = STORED as u64;

    /// Opens the file at `path`, which has the index `part` in the input.
    ///
    /// # Errors
    /// Bad input if the file can't be read.
    pub fn open(shared: &'a ScanState<'a>, part: usize, path: &Path) -> Result<BufReader<Self>> {
        let file = std::fs::File::open(path).map_err(|e| Error::unreadable(path, &e))?;
        let length = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
        let hasher = ScanState::hasher(part, 0);
        Ok(BufReader::with_capacity(STORED, StoredBytes { shared, part, file, length, offset: 0, hasher }))
    }

    /// Hashes the bytes that were just read, with a separate hash for each chunk of the file.
    fn hash(&mut self, mut bytes: &[u8]) {
        let chunk = self.shared.chunk as u64;
        while !bytes.is_empty() {
            let room = chunk - self.offset % chunk;
            let (now, later) = bytes.split_at(bytes.len().min(room as usize));
            self.hasher.update(now);
            self.offset += now.len() as u64;
            bytes = later;
            if self.offset.is_multiple_of(chunk) || self.offset == self.length {
                let number = (self.offset - 1) / chunk;
                self.shared.set_hash(self.part, number, self.hasher.digest());
                self.hasher = ScanState::hasher(self.part, number + 1);
            }
        }
    }
}

impl Read for StoredBytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        // Do not read beyond the length that the file had when it was opened, because only chunks within it have a
        // hash.
        let left = (self.length - self.offset).min(into.len() as u64) as usize;
        let read = self.file.read(&mut into[..left])?;
        self.hash(&into[..read]);
        Ok(read)
    }
}

/// Opens compressed file `index` of the input, and returns a reader of its decompressed bytes.
pub(crate) fn unpacked<'a>(shared: &'a ScanState<'a>, index: usize) -> Result<Decoder<BufReader<StoredBytes<'a>>>> {
    let part = &shared.parts[index];
    let path = &part.path;
    let stored = StoredBytes::open(shared, index, path)?;
    if stored.get_ref().length == 0 {
        let expected = format!("a {} stream", part.packing.name());
        let remedy = "the file is cut short: fetch or make it again";
        return Err(Error::input(path, At::Byte(0), expected, "an empty file", remedy));
    }
    part.unchanged(stored.get_ref().length)?;
    Decoder::new(part.packing, stored, path).map_err(|e| Error::unreadable(path, &e))
}
