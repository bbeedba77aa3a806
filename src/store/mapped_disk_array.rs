//! Read-only mappings of files that this process wrote, for data that does not fit memory while a task runs.
#![allow(unsafe_code)] // mapping a file has no safe form

use super::disk_array::DiskArray;
use super::map::map_failed;
use crate::error::Result;
use memmap2::Mmap;
use std::ops::Deref;

/// The mapped bytes of a file. Clean pages belong to the page cache, not to the process.
#[derive(Debug)]
pub struct MappedDiskArray(Mmap);

impl MappedDiskArray {
    /// Maps a file that is completely written. The file may be removed afterwards; the bytes stay until the mapping is
    /// dropped.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the file can't be mapped.
    pub fn map(placed: &DiskArray) -> Result<MappedDiskArray> {
        let bytes = placed.bytes()?;
        // SAFETY: the file belongs to this process, which does not write it any more. A truncation by others ends the
        // process through SIGBUS.
        let map = unsafe { Mmap::map(placed.file()) };
        map.map(MappedDiskArray).map_err(|e| map_failed(placed.path(), bytes, e))
    }
}

impl Deref for MappedDiskArray {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_when_their_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        let bytes: Vec<u8> = (0..10_000u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let placed = DiskArray::create(path.clone(), bytes.len() as u64).unwrap();
        placed.write(&bytes, 0).unwrap();
        let written = MappedDiskArray::map(&placed).unwrap();
        drop(placed);
        crate::store::replace::remove_file(&path).unwrap();
        assert_eq!(&*written, &*bytes);
    }
}
