//! Numbers in a file that this process wrote, mapped read-only: for what does not fit memory while a task runs.
#![allow(unsafe_code)] // mapping a file and viewing its bytes as integers have no safe form

use super::placed::Placed;
use crate::error::{Error, Result};
use crate::memory::addresses_left;
use memmap2::Mmap;
use std::ops::Deref;

/// A file of u64. Its clean pages belong to the page cache, not to the process.
#[derive(Debug)]
pub struct Words(Mmap);

impl Words {
    /// Maps a file that is written. It may be removed afterwards: the numbers stay as long as this does.
    ///
    /// # Errors
    /// [`Error::Io`] where it can't be mapped.
    pub fn map(placed: &Placed) -> Result<Words> {
        let bytes = placed.bytes()?;
        // SAFETY: the file is this process's own, which writes it no more. A truncation by others ends the process through SIGBUS, and any bytes are
        // numbers.
        let map = unsafe { Mmap::map(placed.file()) };
        map.map(Words).map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => {
                let remedy = ", or set limits.host_memory to less";
                Error::unmapped(placed.path(), bytes, addresses_left(), remedy, &e)
            }
            _ => Error::io("map", placed.path(), e),
        })
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: a mapping begins at a page, and holds that many whole words, which are valid whatever their bits.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() / size_of::<u64>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::bytes_of;

    #[test]
    fn numbers_stay_when_their_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let numbers: Vec<u64> = (0..10_000).map(|number| number * number).collect();
        let placed = Placed::create(path.clone(), 8 * numbers.len() as u64).unwrap();
        placed.write(bytes_of(&numbers), 0).unwrap();
        let words = Words::map(&placed).unwrap();
        drop(placed);
        crate::store::placed::remove(&path).unwrap();
        assert_eq!(&*words, &*numbers);
    }
}
