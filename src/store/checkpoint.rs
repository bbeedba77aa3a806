//! Checkpoints of a stage in which every unit of work modifies the same arrays. A checkpoint contains all arrays and
//! the number of completed units.
//!
//! A journal of completed units is not enough to resume such a stage. A checkpoint is a sealed file that replaces the
//! previous checkpoint:
//!
//! ```text
//! done u64, total u64, number of sections u64, size of each section in bytes u64, sections (padded to 8 bytes each)
//! ```
//!
//! The first two words are the progress (`done` of `total`), which any reader can use. The stage defines the meaning
//! of the sections.

use super::file::{Kind, NewFile};
use super::map::{Mapped, as_u32, as_u64};
use crate::error::{At, Error, Result};
use crate::memory::bytes_of;
use crate::store::replace::make_folder_of;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KIND: Kind = Kind::new(b"CKPT");
/// Number of 64-bit words in a checkpoint before the lengths of the sections.
const HEAD: usize = 3;
/// Minimum time between two checkpoints of a stage.
const INTERVAL: Duration = Duration::from_secs(30);
/// Divisor: writing checkpoints takes at most about 1/`SHARE` of the running time.
const SHARE: u32 = 20;

/// Reader and writer of the checkpoint of a stage.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    key: u64,
    begun: Instant,
    saved: Instant,
    pause: Duration,
}

impl Checkpoint {
    /// Returns a handle to the checkpoint at `path` of the stage with this key. It does not access the file yet.
    pub fn new(path: PathBuf, key: u64) -> Checkpoint {
        let now = Instant::now();
        Checkpoint { path, key, begun: now, saved: now, pause: INTERVAL }
    }

    /// Returns the path of the checkpoint file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the last checkpoint; `None` if there is none. A damaged checkpoint, or a checkpoint with another key, is
    /// logged and ignored.
    ///
    /// # Errors
    /// [`Error::Io`] if it can't be read.
    pub fn load(&self) -> Result<Option<Saved>> {
        match Saved::open(&self.path, self.key) {
            Ok(saved) => Ok(Some(saved)),
            Err(e) if e.is_missing() => Ok(None),
            Err(e @ Error::Corrupt { .. }) => {
                tracing::warn!("{e}; starting from the beginning");
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns true if it is time to write the next checkpoint.
    pub fn is_due(&self) -> bool {
        self.saved.elapsed() > self.pause
    }

    /// Returns true if the stage has run so long that a checkpoint at its end pays off. The checkpoint preserves the
    /// work if the job is stopped while it writes the results.
    pub fn is_worth_it(&self) -> bool {
        self.begun.elapsed() > INTERVAL
    }

    /// Replaces the checkpoint by the state after `done` of `total` units, whose arrays are `sections`.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`]; the previous checkpoint remains.
    pub fn save(&mut self, done: u64, total: u64, sections: &[&[u8]]) -> Result<()> {
        let begun = Instant::now();
        make_folder_of(&self.path)?;
        let mut file = NewFile::create(&self.path, KIND, self.key)?;
        file.write(bytes_of(&[done, total, sections.len() as u64]))?;
        file.write(bytes_of(&sections.iter().map(|section| section.len() as u64).collect::<Vec<_>>()))?;
        for section in sections {
            file.write(section)?;
            file.write(&[0; 8][..section.len().next_multiple_of(8) - section.len()])?;
        }
        file.finish()?;
        (self.saved, self.pause) = (Instant::now(), INTERVAL.max(begun.elapsed() * SHARE));
        Ok(())
    }
}

/// A saved checkpoint, opened for reading.
#[derive(Debug)]
pub struct Saved {
    file: Mapped,
    done: u64,
    sections: Vec<Range<usize>>,
}

impl Saved {
    /// Opens the checkpoint of the stage with this key and verifies its checksum and lengths.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(path: &Path, key: u64) -> Result<Saved> {
        let file = Mapped::open(path, KIND, key)?;
        file.verify_checksum()?;
        let words = as_u64(file.body()).unwrap_or_default();
        let wrong =
            || Error::corrupt(path, At::File, format!("{} bytes are not a valid checkpoint", file.body().len()));
        let [done, _total, number] = *words.first_chunk::<HEAD>().ok_or_else(wrong)?;
        let lengths = words[HEAD..].get(..number as usize).ok_or_else(wrong)?;
        let mut at = 8 * (HEAD + lengths.len());
        let mut sections = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length)).ok_or_else(wrong)?;
            sections.push(at..end);
            at = end.checked_next_multiple_of(8).ok_or_else(wrong)?;
        }
        if at != file.body().len() {
            return Err(wrong());
        }
        Ok(Saved { done, sections, file })
    }

    /// Returns the number of units that were complete when the checkpoint was written.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns section `number` (0-based) of the checkpoint as 64-bit words.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is no such section, or its length is not a multiple of 8 bytes.
    pub fn words(&self, number: usize) -> Result<&[u64]> {
        let section = self.section(number).and_then(as_u64);
        section.ok_or_else(|| self.other("no such section of words"))
    }

    /// Returns section `number` (0-based) of the checkpoint as 32-bit words.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is no such section, or its length is not a multiple of 4 bytes.
    pub fn words_u32(&self, number: usize) -> Result<&[u32]> {
        let section = self.section(number).and_then(as_u32);
        section.ok_or_else(|| self.other("no such section of 32-bit words"))
    }

    fn section(&self, number: usize) -> Option<&[u8]> {
        self.sections.get(number).map(|range| &self.file.body()[range.clone()])
    }

    /// Returns the error for an intact checkpoint whose contents do not fit its stage. `what` describes the mismatch.
    pub fn other(&self, what: &str) -> Error {
        Error::corrupt(self.file.path(), At::File, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_any_length_come_back_and_any_flipped_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let mut checkpoint = Checkpoint::new(path.clone(), 7);
        assert!(checkpoint.load().unwrap().is_none());
        for sections in [vec![], vec![0], vec![8, 16], vec![3, 0, 9, 12, 24]] {
            let bytes: Vec<Vec<u8>> = sections.iter().map(|&length| (0..length).collect()).collect();
            checkpoint.save(3, 5, &bytes.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            let saved = checkpoint.load().unwrap().unwrap();
            assert_eq!(saved.done(), 3);
            for (number, section) in bytes.iter().enumerate() {
                assert_eq!(&saved.file.body()[saved.sections[number].clone()], section);
                assert_eq!(saved.words(number).is_ok(), section.len() % 8 == 0);
                assert_eq!(saved.words_u32(number).is_ok(), section.len() % 4 == 0);
            }
            assert!(saved.words(bytes.len()).is_err());
        }
        assert!(Checkpoint::new(path.clone(), 8).load().unwrap().is_none(), "of another key");
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bad).unwrap();
            assert_eq!(Saved::open(&path, 7).unwrap_err().exit_code(), 4, "byte {at}");
        }
    }

    /// Checks files that have correct checksums, but whose section lengths are missing or do not match the size of the
    /// file.
    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        for words in
            [vec![], vec![1, 1], vec![1, 1, u64::MAX], vec![1, 1, 1], vec![1, 1, 1, u64::MAX], vec![1, 1, 1, 9, 0]]
        {
            let mut file = NewFile::create(&path, KIND, 7).unwrap();
            file.write(bytes_of(&words)).unwrap();
            file.finish().unwrap();
            assert_eq!(Saved::open(&path, 7).unwrap_err().exit_code(), 4, "{words:?}");
        }
    }
}
